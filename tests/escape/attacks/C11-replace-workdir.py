# tries: to put a link in the place of the working directory
# stopped by: root
# expected: oks == 3 and files == {}
import shutil

os.chdir('/')
attempt('rename', os.rename, '/work', '/tmp/w2')
attempt('rmdir', os.rmdir, '/work')
attempt('rmtree', shutil.rmtree, '/work')
