"""Behind Apache and lighttpd, by FastCGI and by CGI, with the configuration
that the README shows; and how each of them treats what nginx does well."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess

import pytest
from fastcgi import HEALTH, ask
from service import (BUILD, TOP, Service, free_port, processes_below, title,
                     wait_for)

README = (TOP / "README.md").read_text()
SOCKET = "/run/sandbox-fcgi.sock"
OPTIONS = {"workers": 4, "max_runs": 3, "ready": 2, "timeout": "30s"}
TALK = "import time\nwhile True:\n    print('on')\n    time.sleep(0.5)"
EVENTS = {"Accept": "text/event-stream"}
SLEEP = "import subprocess\nprint('on')\nsubprocess.run(['sleep', '%s'])"

APACHE = """\
ServerRoot {directory}
PidFile apache.pid
DefaultRuntimeDir {directory}
Listen 127.0.0.1:{port}
ServerName localhost
ErrorLog {directory}/log
DocumentRoot {directory}/html
{user}
"""
MODULES = "/usr/lib/apache2/modules/mod_{0}.so"
LIGHTTPD = """\
server.document-root = "{directory}/html"
server.port = {port}
server.bind = "127.0.0.1"
{user}
"""


def snippet(language, index):
    return re.findall(rf"^```{language}\n(.*?)^```$", README,
                      re.DOTALL | re.MULTILINE)[index]


class Behind(Service):
    """A front of another kind, as one process: self.nginx.

    changes: of the README's text, as (old, new).
    """

    def __init__(self, changes=(), **options):
        super().__init__(**{**OPTIONS, **options})
        self.changes = changes

    def configuration(self, head, language, index):
        text = snippet(language, index)
        for old, new in self.changes:
            assert old in text, old
            text = text.replace(old, new)
        text = text.replace(SOCKET, str(self.socket))
        (self.directory / "html").mkdir(exist_ok=True)
        path = self.directory / "front.conf"
        path.write_text(head.format(directory=self.directory, port=self.port,
                                    user=self.user) + text)
        return path

    def start_front(self, *command):
        environment = {"PATH": os.environ["PATH"]}
        with open(self.log, "ab") as log:
            self.nginx = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment)

    def wait_until_warm(self, seconds=60):
        def warm():
            assert self.nginx.poll() is None, self.log.read_text()
            with contextlib.suppress(OSError):
                return self.get("/healthz").status == 200
        wait_for(warm, seconds, "a warm child")


class Apache(Behind):
    index, modules = 0, ("proxy", "proxy_fcgi")
    user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""

    def start_nginx(self):
        modules = ("mpm_event", "authz_core", "authz_host", "alias",
                   *self.modules)
        head = APACHE + "".join(
            f"LoadModule {name}_module {MODULES.format(name)}\n"
            for name in modules)
        path = self.configuration(head, "apache", self.index)
        self.start_front("apache2", "-DFOREGROUND", "-f", path)


class Lighttpd(Behind):
    index = 0
    user = ('server.username = "www-data"\nserver.groupname = "www-data"\n'
            if os.geteuid() == 0 else "")

    def start_nginx(self):
        path = self.configuration(LIGHTTPD, "lighttpd", self.index)
        self.start_front("lighttpd", "-D", "-f", path)


class Cgi:
    """Without a service: the front starts the program."""

    index = 1

    def start_responder(self, environment=None):
        self.stage()
        place = self.directory / "libexec"
        shutil.copy(BUILD / "sandbox-fcgi", place)
        self.changes = [("/usr/sbin", str(place))]

    def pids(self, name):
        return [pid for pid in processes_below(self.nginx.pid)
                if title(pid).endswith(name)]


class ApacheCgi(Cgi, Apache):
    modules = ("cgid",)


class LighttpdCgi(Cgi, Lighttpd):
    pass


FRONTS = {"apache": Apache, "lighttpd": Lighttpd, "apache-cgi": ApacheCgi,
          "lighttpd-cgi": LighttpdCgi}


WARM = [name for name, kind in FRONTS.items() if not issubclass(kind, Cgi)]


@pytest.fixture(scope="module", params=FRONTS)
def front(request):
    with FRONTS[request.param]() as one:
        yield one


def is_warm(front):
    return not isinstance(front, Cgi)


def test_a_program_is_run(front):
    reply = front.post({"code": "plt.plot(x)\nopen('a', 'w').write('b')\n"
                                "print('x' * 99999)", "context": {"x": [1]}})
    assert reply.status == 200
    assert reply.headers["X-Run-Id"] == reply.json["id"]
    assert len(reply.json["output"]) == 100000
    assert len(reply.json["figures"]) == len(reply.json["files"]) == 1


def test_what_can_be_got(front):
    assert front.get("/healthz").json == {"status": "ok"}
    assert front.get("/status").status == 200
    assert front.get("/tool.json").json["name"] == "run_python"
    assert "paths" in front.get("/openapi.json").json
    assert "limits" in front.get("/about").json
    assert front.get("/run").status == 404


@pytest.mark.parametrize("method, body, headers, status", [
    ("POST", b"{", {}, 400), ("GET", None, {}, 404),
    ("PUT", b"{}", {}, 405), ("POST", b"{}", {"Accept": "image/png"}, 406),
    ("POST", b"{}", {"Content-Type": "text/plain"}, 415)])
def test_problems_come_through(front, method, body, headers, status):
    answer = front.request(method, "/run", body, {
        "Content-Type": "application/json", **headers})
    assert answer.status == answer.json["status"] == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert status != 405 or answer.headers["Allow"] == "POST"


def test_a_body_of_just_the_limit_is_taken(front):
    job = b'{"code": "print(1)"}'
    body = job + b" " * ((16 << 20) - len(job))
    assert front.post(body).json["output"] == "1\n"
    assert front.post(body + b" ").status == 413


def test_a_body_in_chunks_is_taken(front):
    connection = http.client.HTTPConnection("127.0.0.1", front.port,
                                            timeout=60)
    with contextlib.closing(connection):
        connection.request("POST", "/run", iter(
            [b'{"code": ', b'"print(1)"', b"}"] + [b" " * 100000] * 20),
            {"Content-Type": "application/json"}, encode_chunked=True)
        answer = connection.getresponse()
        told = json.load(answer)
    if isinstance(front, ApacheCgi):  # which does not say its length
        assert answer.status == 400 and "empty" in told["detail"]
    else:
        assert (answer.status, told["output"]) == (200, "1\n")


def test_a_form_comes_through(front):
    boundary = "x"
    body = (f"--{boundary}\r\nContent-Disposition: form-data; name=\"code\""
            f"\r\n\r\nprint(open('a.txt').read())\r\n--{boundary}\r\n"
            "Content-Disposition: form-data; name=\"f\"; filename=\"a.txt\""
            f"\r\n\r\nhello\r\n--{boundary}--\r\n").encode()
    answer = front.request("POST", "/run", body, {
        "Content-Type": f"multipart/form-data; boundary={boundary}",
        "Accept": "text/html"})
    assert answer.status == 200 and b"hello" in answer.body


@contextlib.contextmanager
def asked(front, code, **headers):
    """A run whose reply has not been read."""
    connection = http.client.HTTPConnection("127.0.0.1", front.port,
                                            timeout=60)
    with contextlib.closing(connection):
        connection.request("POST", "/run", json.dumps({"code": code}), {
            "Content-Type": "application/json", **headers})
        yield connection


def test_events_come_as_they_are_told(front):
    """By CGI they come in the end."""
    with asked(front, SLEEP % 3, **EVENTS) as connection:
        answer = connection.getresponse()
        first = b"".join(answer.readline() for _ in range(3))
        assert b'event: output\ndata: {"text":"on\\n"}' in first
        assert not is_warm(front) or front.pids("sleep 3")
        assert b"event: done" in answer.read()


@pytest.mark.parametrize("front", WARM, indirect=True)
def test_a_run_with_events_ends_when_its_client_leaves(front):
    """By CGI it ends by its time limit."""
    with asked(front, TALK, **EVENTS) as connection:
        connection.getresponse().readline()
        wait_for(lambda: front.pids("run"), 15, "the run")
    wait_for(lambda: not front.pids("run"), 10, "the end of the run")


def test_many_at_once(front):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(
            lambda number: front.post({"code": f"print({number})"}).json,
            range(24 if is_warm(front) else 4)))
    assert [reply["output"] for reply in replies] == [
        f"{number}\n" for number in range(len(replies))]


@pytest.mark.parametrize("kind, changes", [
    (Apache, [(f"unix:{SOCKET}|fcgi://sandbox-fcgi/", "fcgi://HOST/"),
              ("fcgi://sandbox-fcgi/", "fcgi://HOST/")]),
    (Lighttpd, [(f'"socket" => "{SOCKET}"', '"host" => "127.0.0.1", "port" => '
                 "PORT")])])
def test_on_tcp_it_is_the_same(kind, changes):
    port = free_port()
    changes = [(old, new.replace("HOST", f"127.0.0.1:{port}").replace(
        "PORT", str(port))) for old, new in changes]

    class OnTcp(kind):
        def wait_until_listening(self):
            def listens():
                with contextlib.suppress(OSError):
                    return ask(("127.0.0.1", port), b"", HEALTH)
            wait_for(listens, what="an answer")

    with OnTcp(changes, listen=f"127.0.0.1:{port}", zygote="off") as one:
        assert one.post({"code": "print(1)"}).json["output"] == "1\n"
        assert one.post({"code": 1}).json["member"] == "code"
