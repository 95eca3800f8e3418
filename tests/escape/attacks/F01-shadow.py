# tries: to read the passwords of the host
# stopped by: root, user
# expected: kind is None and oks
attempt('shadow', lambda: open('/etc/shadow').read()[:20])
