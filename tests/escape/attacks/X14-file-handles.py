# tries: to open a file by its handle, past every path
# stopped by: seccomp
# expected: kind is None and oks == 2
class Handle(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint), ('type', ctypes.c_int),
                ('bytes', ctypes.c_char * 128)]


handle, mount = Handle(size=128), ctypes.c_int()
attempt('name_to_handle_at', call, 303, ctypes.c_long(-100), b'/work',
        ctypes.byref(handle), ctypes.byref(mount), 0)
attempt('open_by_handle_at', call, 304, ctypes.c_long(-100),
        ctypes.byref(handle), 0)
