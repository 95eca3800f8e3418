import builtins
import numpy
import pandas

numpy.pi = 3
pandas.isna = lambda value: False
builtins.len = lambda thing: 7
