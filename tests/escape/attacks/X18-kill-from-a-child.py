# tries: to end the run's first process from below, or to stop it
# stopped by: pid
# expected: kind is None and 'still here' in output
child = os.fork()
if child == 0:
    for number in signal.SIGKILL, signal.SIGSTOP:
        os.kill(1, number)
    os._exit(0)
os.waitpid(child, 0)
print('still here')
