# tries: to replace what the harness uses to report
# stopped by: worker
# expected: figures == [] and seconds < 3
import builtins
import json
import traceback

import matplotlib.pyplot as plt

json.dumps = lambda *arguments, **named: 'FORGED'
plt.Figure.savefig = lambda *arguments, **named: open(
    arguments[1], 'w').write('FAKE')
builtins.print = lambda *arguments, **named: None
builtins.compile = builtins.exec = None
sys.stdout = None
sys.stderr = object()
traceback.print_exc = lambda *arguments, **named: 1 / 0
plt.figure()
raise ValueError('x')
