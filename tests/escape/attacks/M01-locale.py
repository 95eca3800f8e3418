# tries: to load a locale from where it likes
# stopped by: worker
# expected: kind is None and output.count('Error') == 4
import locale

for name in 'C', 'xx_XX', 'A' * 100000, '../../../etc/passwd', '/etc/passwd':
    try:
        print(locale.setlocale(locale.LC_ALL, name)[:20])
    except Exception as error:
        print(type(error).__name__)
os.environ['LC_ALL'] = '\udcff'
os.environ['PYTHONSTARTUP'] = '/etc/passwd'
