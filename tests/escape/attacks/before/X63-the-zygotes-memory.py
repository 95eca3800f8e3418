import ctypes
import numpy

ctypes.c_double.from_address(id(numpy.pi) + 16).value = 3.0
print('LEFT', numpy.pi)
