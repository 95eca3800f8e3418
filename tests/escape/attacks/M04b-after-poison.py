# tries: to find a module as an earlier run has changed it
# stopped by: worker
# expected: kind is None and oks
import numpy
import pandas

is_clean = numpy.pi > 3.1 and len([1]) == 1 and pandas.isna(None)
print('ok' if is_clean else 'LEAK')
