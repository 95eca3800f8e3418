# tries: to run out of C stack
# stopped by: worker
# expected: seconds < 11
sys.setrecursionlimit(10 ** 9)


def deeper(level):
    return deeper(level + 1)


try:
    deeper(0)
except BaseException as error:
    print(type(error))
