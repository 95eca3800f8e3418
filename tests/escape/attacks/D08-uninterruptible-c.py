# tries: to stay inside C code that looks at no signal
# stopped by: worker
# expected: kind == 'timeout' and seconds < 3
import re

re.match(r'(a+)+$', 'a' * 40 + 'b')
