# tries: to go on for ever, deaf to every signal
# stopped by: worker
# expected: kind == 'timeout' and seconds < 3
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
