# tries: to hold the harness up while it reports
# stopped by: worker
# expected: kind in ('timeout', 'exception') and seconds < 3
class Evil(BaseException):
    def __str__(self):
        while True:
            pass
    __repr__ = __str__


raise Evil()
