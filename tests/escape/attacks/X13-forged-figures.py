# tries: to have files of the host, fifos and bombs sent as figures
# stopped by: worker
# expected: figures == [] and seconds < 2
import struct

directory = '/run/box/figures/'
os.symlink('/etc/passwd', directory + '001.png')
os.symlink('/usr/share/pixmaps', directory + '002.png')
os.mkdir(directory + '003.png')
png = b'\x89PNG\r\n\x1a\n' + struct.pack('>I4sIIB', 13, b'IHDR', 1 << 31,
                                         1 << 31, 8)
open(directory + '004.png', 'wb').write(png.ljust(64, b'\0'))
open(directory + '005.png', 'wb').truncate(31 << 20)
os.link(directory + '005.png', directory + '006.png')
os.mkdir(directory + 'd')
print('forged')
