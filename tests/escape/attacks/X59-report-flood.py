# tries: to drown the service in reports, and to forge one that is huge
# stopped by: worker
# expected: kind == 'crash' and seconds < 3
line = b'{"result":"' + b'9' * 65000 + b'","error":null}\n'
while True:
    os.write(3, line)
