# tries: a user namespace of its own, by the host's program for it
# stopped by: seccomp
# expected: kind is None and oks
ended = subprocess.run(['unshare', '--user', 'true'], capture_output=True)
print('LEAK' if ended.returncode == 0 else 'ok', ended.stderr)
