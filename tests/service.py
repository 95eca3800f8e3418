"""A real nginx in front of a real responder, for the tests.

Service starts both on a private port, below a directory of its own, the way
`make run` does, and ends them; afterwards nothing of it is left, which end()
checks. Everything that speaks HTTP goes through nginx; fastcgi() speaks to
the responder's socket directly.
"""

import base64
import functools
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import jsonschema

TOP = pathlib.Path(__file__).resolve().parent.parent
#: Another for `make sanitize`.
BUILD = TOP / os.environ.get("BUILD", "build")
NGINX = TOP / "nginx"


def wait_for(condition, seconds=10, what="a condition"):
    """Wait until condition() is true, and return its value."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > until:
            raise TimeoutError(f"{what} did not come about in {seconds} s")
        time.sleep(0.01)
    return value


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def processes_below(pid):
    """The process ids of all descendants, from /proc."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = pathlib.Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            parent = int(stat.rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def title(pid):
    """What ps shows for a process; empty when it is gone."""
    try:
        line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return line.replace(b"\0", b" ").decode(errors="replace").strip()


def schema(openapi, name):
    """A validator of one of the schemas in an OpenAPI description."""
    return jsonschema.Draft202012Validator(
        {"$ref": f"#/components/schemas/{name}",
         "components": openapi["components"]})


def assert_sanitary(text):
    """No sanitizer has said anything in it: a log, or what a run has put out."""
    assert not re.search(r"ERROR: \w+Sanitizer|\.[ch]:\d+:\d+: runtime error: ",
                         text), text


class Reply:
    """An HTTP answer: status, headers, body, and json where it is that."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        def refuse(name):
            raise ValueError(f"{name} is no JSON")
        return json.loads(self.body.decode("utf-8"), parse_constant=refuse)


class Service:
    """One instance: Service(timeout="3s", zygote="off") takes any key of
    sandbox-fcgi.conf as an option of the responder."""

    #: What the responder is started by.
    wrapper = ()
    #: More of nginx's server block.
    locations = ""

    def __init__(self, **options):
        self.options = options
        self.directory = pathlib.Path(
            tempfile.mkdtemp(prefix="sandbox-fcgi-test."))
        self.directory.chmod(0o755)
        self.socket = self.directory / "fcgi.sock"
        self.log = self.directory / "log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.responder = self.nginx = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *exception):
        self.end()

    # Start and end

    def start(self):
        self.start_responder()
        self.start_nginx()
        self.wait_until_warm()

    def start_responder(self, environment=None):
        options = {"listen": self.socket, "child": self.stage(),
                   **self.options}
        command = [*self.wrapper, BUILD / "sandbox-fcgi"]
        for key, value in options.items():
            command += [f"--{key}", str(value)]
        with open(self.log, "ab") as log:
            self.responder = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment)
        self.wait_until_listening()

    def wait_until_listening(self):
        wait_for(self.socket.exists, 60, "the socket")

    def stage(self):
        """A copy of its own, which www-data can reach wherever the checkout
        is."""
        place = self.directory / "libexec"
        if not place.exists():
            place.mkdir()
            shutil.copy(BUILD / "sandbox-child", place)
            for name in ("python", "matplotlib"):
                shutil.copytree(BUILD / name, place / name)
        return place / "sandbox-child"

    def start_nginx(self):
        shutil.copytree(NGINX / "html", self.directory / "html",
                        dirs_exist_ok=True)
        shutil.copy(NGINX / "nginx.conf", self.directory)
        include = (NGINX / "sandbox-fcgi.conf").read_text()
        (self.directory / "sandbox-fcgi.conf").write_text(
            include.replace("/run/sandbox-fcgi.sock", str(self.socket)))
        (self.directory / "listen.conf").write_text(
            f"listen 127.0.0.1:{self.port};\n{self.locations}")
        user = "user www-data;" if os.geteuid() == 0 else ""
        with open(self.log, "ab") as log:
            self.nginx = subprocess.Popen(
                ["nginx", "-p", self.directory, "-e", "stderr", "-c",
                 "nginx.conf", "-g", f"daemon off; {user}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_until_warm(self, seconds=60):
        def warm():
            try:
                return self.get("/healthz").status == 200
            except OSError:
                return False
        try:
            wait_for(warm, seconds, "a warm child")
        except TimeoutError as error:
            raise TimeoutError(f"{error}:\n{self.log.read_text()[-2000:]}")

    def end(self):
        """End both; say what is left, as an error."""
        started = [process for process in (self.nginx, self.responder)
                   if process]
        below = [pid for process in started
                 for pid in processes_below(process.pid)]
        for process in started:
            process.send_signal(signal.SIGTERM)
        for process in started:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        left = [(pid, title(pid)) for pid in below if title(pid)]
        text = self.log.read_text(errors="replace")
        has_socket = self.socket.exists()
        shutil.rmtree(self.directory)
        assert not left, f"processes are left: {left}"
        assert not has_socket, "the socket is left"
        assert_sanitary(text)

    # Requests

    def request(self, method, path, body=None, headers=None, timeout=120):
        request = urllib.request.Request(self.url + path, data=body,
                                         headers=headers or {},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                reply = Reply(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as answer:
            reply = Reply(answer.code, answer.headers, answer.read())
        assert_sanitary(reply.body.decode(errors="replace"))
        return reply

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, body, path="/run", headers=None, **more):
        """POST a body: bytes as they are, anything else as JSON."""
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **(headers or {})}
        return self.request("POST", path, body, headers, **more)

    def run(self, code, **members):
        """Run a program; give its reply, which must be a 200."""
        answer = self.post({"code": code, **members})
        assert answer.status == 200, (answer.status, answer.body[:500])
        self.reply_schema.validate(answer.json)
        return answer.json

    @functools.cached_property
    def reply_schema(self):
        return schema(self.get("/openapi.json").json, "Reply")

    # What it is made of

    def pids(self, name):
        """Processes whose title ends in `name`: worker, zygote, run, ..."""
        return [pid for pid in processes_below(self.responder.pid)
                if title(pid).endswith(name)]


def memory_mib(pids):
    """What processes hold of it, for root: what is theirs alone, and the files
    of memory that they have mapped, each once and whole, as the zygote's is
    there mapped or not. Less other files, in which all of the machine share."""
    total, files = 0, {}
    for pid in pids:
        process = pathlib.Path(f"/proc/{pid}")
        rollup = (process / "smaps_rollup").read_text()
        total += int(rollup.partition("\nPss_Anon:")[2].split()[0])
        for mapping in (process / "map_files").iterdir():
            if os.readlink(mapping).startswith(("/memfd:", "/dev/zero ")):
                status = mapping.stat()
                files[status.st_dev, status.st_ino] = status.st_blocks / 2
    return (total + sum(files.values())) / 1024


def files_of(reply):
    """The files of a reply, name to bytes."""
    return {file["name"]: base64.b64decode(file["data"], validate=True)
            for file in reply["files"]}


def figures_of(reply):
    """The figures of a reply as PNG bytes."""
    return [base64.b64decode(figure, validate=True)
            for figure in reply["figures"]]


def service_account():
    """The account that runs' processes belong to outside."""
    return "www-data" if os.geteuid() == 0 else pwd.getpwuid(
        os.geteuid()).pw_name
