# tries: the system calls of 32-bit programs, which have other numbers
# stopped by: seccomp
# expected: kind == 'crash' and output == 'before\n'
import mmap

code = b'\xb8\x14\0\0\0\xcd\x80\xc3'  # mov eax, getpid; int 0x80; ret
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                 mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
function = ctypes.CFUNCTYPE(ctypes.c_int)(
    ctypes.addressof(ctypes.c_char.from_buffer(page)))
print('before')
print('LEAK' if function() == os.getpid() else 'ok')
