# tries: to have files of the host collected through links
# stopped by: worker
# expected: files == {'a.txt': b'fine'} and notes.count('symbolic link') == 4
os.symlink('/etc/passwd', 'p.txt')
os.symlink('/etc/shadow', 's.png')
os.symlink('/proc/self/environ', 'e')
os.symlink('a.txt', 'loop')
open('a.txt', 'w').write('fine')
