# tries: to take the harness apart from inside
# stopped by: worker
# expected: seconds < 3
sys.modules['sandbox.run'].__dict__.clear()
frame = sys._getframe()
while frame:
    print(frame.f_code.co_filename, frame.f_code.co_name)
    frame = frame.f_back
sys.settrace(lambda *arguments: 1 / 0)
sys.modules.clear()
