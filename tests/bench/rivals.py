"""What the service is compared with: behind the same nginx a bare responder
(echo.c) and the naive design (naive); and a warm Jupyter kernel."""

import os
import pathlib
import subprocess
import tempfile
import time

from jupyter_client.manager import start_new_kernel
from service import BUILD, Service, wait_for

HERE = pathlib.Path(__file__).parent

LOCATIONS = """
location = /echo {{
    fastcgi_pass unix:{directory}/echo.sock;
    fastcgi_param REQUEST_METHOD $request_method;
    fastcgi_param QUERY_STRING   $query_string;
    fastcgi_param CONTENT_LENGTH $content_length;
}}
location = /naive {{
    proxy_pass http://unix:{directory}/naive.sock;
}}
"""


class ServiceAndRivals(Service):
    """A Service that also answers at /echo and /naive."""

    @property
    def locations(self):
        return LOCATIONS.format(directory=self.directory)

    def start(self):
        self.rivals = []
        for program in BUILD / "bench" / "echo", HERE / "naive":
            socket = self.directory / f"{program.name}.sock"
            self.rivals.append(subprocess.Popen([program, socket], umask=0))
            wait_for(socket.exists, what=f"the socket of {program}")
        super().start()

    def end(self):
        for rival in self.rivals:
            rival.terminate()
            rival.wait()
        super().end()


class Jupyter:
    """A kernel of IPython's: no isolation, no HTTP."""

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        for name in "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR":
            os.environ[name] = self.directory.name
        os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a warning
        self.manager, self.client = start_new_kernel()
        return self

    def __exit__(self, *exception):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.directory.cleanup()

    def run(self, code):
        """Seconds from the request to the kernel's word that it is idle."""
        begun = time.perf_counter()
        request = self.client.execute(code)
        while True:
            message = self.client.get_iopub_msg(timeout=10)
            if (message["parent_header"].get("msg_id") == request and
                    message["content"].get("execution_state") == "idle"):
                return time.perf_counter() - begun
