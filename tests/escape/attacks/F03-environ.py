# tries: to find the key in an environment, its own or another's
# stopped by: exec
# expected: kind is None and 'ok own' in output
import glob

key = b'$KEY_HEAD' + b'$KEY_TAIL'
own = [name + value for name, value in os.environb.items()]
print('LEAK' if any(key in pair for pair in own) else 'ok own', len(own))
for path in glob.glob('/proc/*/environ'):
    try:
        print('LEAK' if key in open(path, 'rb').read() else 'ok', path)
    except OSError as error:
        print('ok', path, error)
