# tries: to ask a cloud's metadata service
# stopped by: seccomp, network
# expected: kind is None and oks and seconds < 1
import urllib.request

attempt('metadata', lambda: urllib.request.urlopen(
    'http://169.254.169.254/latest/meta-data/', timeout=2).read())
