# tries: an x32 call that creates a socket, past libc
# stopped by: seccomp
# expected: kind == 'crash' and type == 'SIGSYS'
import mmap

# mov eax, 0x40000029; mov edi, 2; mov esi, 1; xor edx, edx; syscall; ret
code = (b'\xb8\x29\0\0\x40\xbf\2\0\0\0\xbe\1\0\0\0\x31\xd2\x0f\x05\xc3')
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                 mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
result = ctypes.CFUNCTYPE(ctypes.c_int)(
    ctypes.addressof(ctypes.c_char.from_buffer(page)))()
print('LEAK' if result >= 0 else 'ok', result)
