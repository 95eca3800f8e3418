# tries: to stop its parent, and itself
# stopped by: pid
# expected: kind is None and 'still here' in output and output[:1] == '0'
print(os.getppid())
for pid in os.getppid(), 1:
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError as error:
        print(error)
print('still here')
