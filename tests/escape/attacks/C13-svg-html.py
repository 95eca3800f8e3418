# tries: to have a browser run what it returns
# stopped by: worker
# expected: set(files) == {'x.svg', 'x.html'}
open('x.svg', 'w').write('<svg xmlns="http://www.w3.org/2000/svg">'
                         '<script>alert(1)</script></svg>')
open('x.html', 'w').write('<script>fetch("/")</script>')
