# tries: to end with a status that is none
# stopped by: worker
# expected: exit_code == 0 and seconds < 2
sys.exit(256)
