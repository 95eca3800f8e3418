import site

for directory in (site.getusersitepackages(), '/tmp', '/work',
                  '/run/box/matplotlib'):
    os.makedirs(directory, exist_ok=True)
    for name in 'usercustomize.py', 'sitecustomize.py':
        open(f'{directory}/{name}', 'w').write('print("POISON")')
    open(f'{directory}/matplotlibrc', 'w').write('lines.linewidth: 77')
