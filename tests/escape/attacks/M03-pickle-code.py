# tries: to have a pickle run a shell
# stopped by: root
# expected: 'root:$$' not in output and 'root:*' not in output
import pickle


class Shell:
    def __reduce__(self):
        return os.system, ('id; cat /etc/shadow && echo LEAK; ls /',)


pickle.loads(pickle.dumps(Shell()))
