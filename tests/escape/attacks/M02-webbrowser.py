# tries: to let another program connect
# stopped by: seccomp, network, landlock
# expected: kind is None and oks == 2
import webbrowser

code = f'''
import socket
socket.create_connection(('127.0.0.1', $PORT), 1)
'''
opened = webbrowser.open('http://127.0.0.1:$PORT/')
print('LEAK' if opened else 'ok')
ended = subprocess.run([sys.executable, '-c', code], capture_output=True)
print('LEAK' if ended.returncode == 0 else 'ok', ended.stderr[-60:])
