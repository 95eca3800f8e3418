"""The same service by every way in: --stdio, CGI, a socket that is handed
over, one that it opens itself, with and without a zygote."""

import contextlib
import http.client
import io
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest
import service as service_module
from fastcgi import HEALTH, ask, job
from service import (BUILD, NGINX, Reply, Service, figures_of, free_port,
                     processes_below, title, wait_for)

MEMBERS = {"output", "output_dropped", "result", "figures", "files", "error",
           "notes", "market", "exit_code", "seconds", "cpu_seconds",
           "peak_memory", "id"}
OVER = {"CONTENT_LENGTH": "", "CONTENT_TYPE": "application/json",
        "GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "/cgi-bin/sandbox-fcgi"}
SLEEP = {"code": "import subprocess\nsubprocess.run(['sleep', '1234'])",
         "timeout": 8}


@pytest.fixture(scope="module")
def program():
    """The built programs where any account can reach them."""
    with tempfile.TemporaryDirectory(prefix="sandbox-fcgi-test.") as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        for name in ("sandbox-fcgi", "sandbox-child"):
            shutil.copy(BUILD / name, place)
        for name in ("python", "matplotlib"):
            shutil.copytree(BUILD / name, place / name)
        yield place / "sandbox-fcgi"


def strict(text):
    """One JSON value on one line, and nothing else."""
    def refuse(name):
        raise ValueError(f"{name} is no JSON")
    assert text.endswith(b"\n") and text.count(b"\n") == 1
    return json.loads(text.decode("utf-8"), parse_constant=refuse)


def coded(value):
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def sleeps(pid):
    return any(title(one) == "sleep 1234" for one in processes_below(pid))


# --stdio

def stdio(program, body, *options, **more):
    ended = subprocess.run([program, "--stdio", *options], input=coded(body),
                           capture_output=True, timeout=60, **more)
    return ended.returncode, strict(ended.stdout)


def test_stdio_exits_0_with_the_reply_of_a_good_run(program):
    status, reply = stdio(program, {"code": "print(n)\nn + 1",
                                    "context": {"n": 2 ** 64}})
    assert status == 0 and set(reply) == MEMBERS and reply["error"] is None
    assert reply["output"] == f"{2 ** 64}\n"
    assert reply["result"] == str(2 ** 64 + 1)


def test_stdio_exits_1_when_the_program_failed(program):
    status, reply = stdio(program, {"code": "print('x')\n1 / 0"})
    assert status == 1 and set(reply) == MEMBERS
    assert reply["error"]["type"] == "ZeroDivisionError"
    assert reply["output"] == "x\n"


@pytest.mark.parametrize("body, member", [
    (b"", None), (b"{", None), ({"code": 1}, "code"), (b"\xff", None),
    ({"code": "1", "timeout": 91}, "timeout")])
def test_stdio_exits_2_for_a_refused_job(program, body, member):
    status, told = stdio(program, body)
    assert status == 2 and told["status"] == 400
    assert told.get("member") == member


def test_stdio_refuses_a_body_above_the_limit(program):
    status, told = stdio(program, b" " * 3000, "--max-body=2K",
                         "--max-code=1K")
    assert status == 2 and told["status"] == 413


def test_stdio_needs_no_environment_and_no_directory(program):
    code = "import os\nprint(os.getcwd() != '/', os.environ['LANG'])"
    status, reply = stdio(program, {"code": code}, cwd="/", env={})
    assert status == 0 and reply["output"] == "True C.UTF-8\n"


def test_stdio_writes_into_a_file_as_well(program, tmp_path):
    with open(tmp_path / "reply", "wb") as reply:
        subprocess.run([program, "--stdio"], input=b'{"code": "3 + 4"}',
                       stdout=reply, stderr=subprocess.DEVNULL, check=True)
    assert strict((tmp_path / "reply").read_bytes())["result"] == "7"


@contextlib.contextmanager
def one_socket(*command, **more):
    """A program whose input and output are one socket; the other end."""
    ours, theirs = socket.socketpair()
    ours.settimeout(20)
    with ours, subprocess.Popen(command, stdin=theirs, stdout=theirs,
                                stderr=subprocess.DEVNULL, **more):
        theirs.close()
        yield ours


def test_stdio_over_one_socket_ends_a_job_by_shutting_it_down(program):
    with one_socket(program, "--stdio") as peer:
        peer.sendall(b'{"code": "3 + 4"}')
        peer.shutdown(socket.SHUT_WR)
        assert strict(peer.makefile("rb").read())["result"] == "7"


@pytest.fixture
def running(program):
    """--stdio while it runs a program that goes on."""
    with subprocess.Popen([program, "--stdio"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        process.stdin.write(coded(SLEEP))
        process.stdin.close()
        wait_for(lambda: sleeps(process.pid), what="the run")
        yield process
        process.kill()


def test_stdio_ends_the_run_when_nobody_reads_any_more(running):
    running.stdout.close()
    running.wait(3)


def test_stdio_that_is_killed_leaves_nothing(running):
    below = processes_below(running.pid)
    running.kill()
    wait_for(lambda: not any(title(pid) for pid in below), 3, "all ends")


# CGI

def cgi_reply(text):
    stream = io.BytesIO(text)
    headers = http.client.parse_headers(stream)
    return Reply(int(headers["Status"].split()[0]), headers, stream.read())


def cgi(program, body=b"", *options, length=None, **variables):
    """Start it as a web server would: an environment, and standard input."""
    environment = {**OVER, "CONTENT_LENGTH": str(len(body)), **variables}
    if length is not None:
        environment["CONTENT_LENGTH"] = length
    ended = subprocess.run([program, *options], input=body, env=environment,
                           capture_output=True, timeout=20)
    assert ended.returncode == 0, ended.stderr
    return cgi_reply(ended.stdout)


def test_cgi_runs_a_program(program):
    answer = cgi(program, b'{"code": "print(1)"}', REQUEST_ID="one-2")
    assert answer.status == 200 and set(answer.json) == MEMBERS
    assert answer.json["output"] == "1\n"
    assert answer.headers["X-Run-Id"] == answer.json["id"] == "one-2"
    assert answer.headers["Content-Type"] == "application/json"


def test_cgi_answers_200_for_a_program_that_fails(program):
    answer = cgi(program, b'{"code": "1 / 0"}')
    assert answer.json["error"]["type"] == "ZeroDivisionError"


def test_cgi_answers_healthz(program):
    answer = cgi(program, REQUEST_METHOD="GET", PATH_INFO="/healthz")
    assert answer.status == 200 and answer.json == {"status": "ok"}


@pytest.mark.parametrize("variables, body, status", [
    ({"REQUEST_METHOD": "GET"}, b"", 404),
    ({"REQUEST_METHOD": "PUT"}, b"{}", 405),
    ({"HTTP_ACCEPT": "image/png"}, b"{}", 406),
    ({"CONTENT_TYPE": "text/plain"}, b"{}", 415),
    ({"length": ""}, b'{"code": "1"}', 400),
    ({"length": "12abc"}, b"{}", 400), ({"length": "-1"}, b"{}", 400),
    ({"length": "99"}, b"{}", 400), ({"length": "99999999"}, b"{}", 413),
    ({"length": "99999999999999999999"}, b"{}", 400),
])
def test_cgi_refuses_with_a_problem(program, variables, body, status):
    answer = cgi(program, body, **variables)
    assert answer.status == status == answer.json["status"]
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_cgi_without_a_length_has_no_body(program):
    environment = {name: value for name, value in OVER.items()
                   if name != "CONTENT_LENGTH"}
    ended = subprocess.run([program], input=b'{"code": "1"}', timeout=60,
                           env=environment, capture_output=True, check=True)
    assert "empty" in cgi_reply(ended.stdout).json["detail"]


def test_cgi_reads_no_further_than_its_length(program):
    body = b'{"code": "3 + 4"}'
    environment = {**OVER, "CONTENT_LENGTH": str(len(body))}
    with subprocess.Popen([program], env=environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        process.stdin.write(body)
        process.stdin.flush()  # and it stays open
        assert cgi_reply(process.stdout.read()).json["result"] == "7"


def test_cgi_answers_head_without_a_body(program):
    answer = cgi(program, REQUEST_METHOD="HEAD", PATH_INFO="/healthz")
    assert answer.status == 200 and answer.body == b""


def test_cgi_over_one_socket_runs_what_came_before_the_shutdown(program):
    body = b'{"code": "3 + 4"}'
    with one_socket(program, env={**OVER,
                                  "CONTENT_LENGTH": str(len(body))}) as peer:
        peer.sendall(body)
        peer.shutdown(socket.SHUT_WR)
        answer = cgi_reply(peer.makefile("rb").read())
    assert answer.json["result"] == "7"


def test_cgi_serves_its_request_whatever_the_service_listens_on(program,
                                                                tmp_path):
    (tmp_path / "conf").write_text(f"listen = {tmp_path / 'socket'}\n")
    answer = cgi(program, b"", f"--config={tmp_path / 'conf'}",
                 REQUEST_METHOD="GET", PATH_INFO="/healthz")
    assert answer.status == 200 and not (tmp_path / "socket").exists()


class UnderFcgiwrap(Service):
    """nginx, and behind it fcgiwrap, which starts the program by CGI."""

    def start_responder(self, environment=None):
        with open(self.log, "ab") as log:
            self.responder = subprocess.Popen(
                ["spawn-fcgi", "-n", "-M", "0666", "-s", self.socket, "--",
                 shutil.which("fcgiwrap")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(self.socket.exists, what="the socket")

    def end(self):
        self.socket.unlink(missing_ok=True)  # which fcgiwrap leaves
        super().end()


@pytest.fixture
def under_fcgiwrap(program, monkeypatch, tmp_path):
    copy = shutil.copytree(NGINX, tmp_path / "nginx")
    text = (NGINX / "sandbox-fcgi.conf").read_text()
    (copy / "sandbox-fcgi.conf").write_text(text.replace(
        "fastcgi_read_timeout",
        "fastcgi_param GATEWAY_INTERFACE CGI/1.1;\n"
        f"fastcgi_param SCRIPT_FILENAME {program};\nfastcgi_read_timeout", 1))
    monkeypatch.setattr(service_module, "NGINX", copy)
    with UnderFcgiwrap() as service:
        yield service


def test_under_fcgiwrap_it_is_the_same_service(under_fcgiwrap):
    assert under_fcgiwrap.get("/healthz").json == {"status": "ok"}
    answer = under_fcgiwrap.post({"code": "plt.plot([1])\nprint('x' * 99999)"})
    assert set(answer.json) == MEMBERS and len(figures_of(answer.json)) == 1
    assert len(answer.json["output"]) == 100000
    assert answer.headers["X-Run-Id"] == answer.json["id"]
    assert under_fcgiwrap.post({"code": 1}).json["member"] == "code"
    assert under_fcgiwrap.get("/run").status == 404


# Sockets

@contextlib.contextmanager
def serving(program, address, *options, through=(), **more):
    """A responder that answers at an address."""
    command = [*through, program, *options, "--zygote=off", "--workers=2",
               "--max-runs=1"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, **more) as it:
        def is_up():
            assert it.poll() is None, it.returncode
            with contextlib.suppress(OSError):
                return ask(address, b"", HEALTH).status == 200
        try:
            wait_for(is_up, what="an answer")
            yield it
        finally:
            it.terminate()
        assert it.wait(5) == 0


def runs(address):
    return ask(address, *job("3 + 4")).json["result"] == "7"


@contextlib.contextmanager
def bound(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        path.chmod(0o666)
        yield listener


def test_a_socket_on_descriptor_0_is_served(program, tmp_path):
    with bound(tmp_path / "socket") as listener:
        with serving(program, tmp_path / "socket", stdin=listener):
            assert runs(tmp_path / "socket")
        assert (tmp_path / "socket").exists()  # not ours to remove


def test_a_socket_on_descriptor_0_outranks_the_cgi_variables(program,
                                                             tmp_path):
    with bound(tmp_path / "socket") as listener, \
            serving(program, tmp_path / "socket", stdin=listener, env=OVER):
        assert runs(tmp_path / "socket")


AS_SYSTEMD = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ["LISTEN_FDS"] = "1"
os.environ["LISTEN_PID"] = str(os.getpid() + int(sys.argv[2]))
os.execv(sys.argv[3], sys.argv[3:])"""


def as_systemd(fd, pid_offset=0):
    return sys.executable, "-c", AS_SYSTEMD, str(fd), str(pid_offset)


def test_a_socket_that_systemd_hands_over_is_served(program, tmp_path):
    with bound(tmp_path / "socket") as listener, \
            serving(program, tmp_path / "socket", stdin=subprocess.DEVNULL,
                    through=as_systemd(listener.fileno()),
                    pass_fds=[listener.fileno()]):
        assert runs(tmp_path / "socket")


def refused(*command, **more):
    """A start that fails: its exit status and what it says."""
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30,
                           **{"stdin": subprocess.DEVNULL, **more})
    assert ended.stdout == "" and ended.stderr.count("\n") == 1
    return ended.returncode, ended.stderr


def test_what_systemd_hands_to_another_process_is_not_taken(program, tmp_path):
    with bound(tmp_path / "socket") as listener:
        status, said = refused(*as_systemd(listener.fileno(), 1), program,
                               pass_fds=[listener.fileno()])
    assert status == 111 and "no socket to serve" in said


def test_without_any_socket_it_says_what_to_do(program):
    status, said = refused(program)
    assert status == 111 and "set listen" in said and "descriptor 0" in said


def test_it_listens_on_a_host_and_port(program):
    address = "127.0.0.1", free_port()
    with serving(program, address, f"--listen={address[0]}:{address[1]}"):
        assert runs(address)
        status, said = refused(program, f"--listen=127.0.0.1:{address[1]}")
    assert status == 111
    assert f"127.0.0.1:{address[1]}: Address already in use" in said


def test_it_listens_on_an_ipv6_address_and_port(program):
    address = "::1", free_port()
    try:
        socket.create_server(address, family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    with serving(program, address, f"--listen=[::1]:{address[1]}"):
        assert runs(address)


def test_a_host_that_is_not_known_is_named(program):
    status, said = refused(program, "--listen=no..host:9000")
    assert status == 111 and "cannot look up no..host:9000" in said


def test_a_stale_socket_is_replaced_and_removed_in_the_end(program, tmp_path):
    path = tmp_path / "socket"
    with bound(path):
        pass
    assert path.is_socket()
    with serving(program, path, f"--listen=unix:{path}"):
        assert runs(path)
    assert not path.exists()


def test_a_served_socket_is_not_taken_over(program, tmp_path):
    path = tmp_path / "socket"
    with serving(program, path, f"--listen={path}"):
        status, said = refused(program, f"--listen={path}")
        assert status == 111 and f"{path}: Address already in use" in said
        assert ask(path, b"", HEALTH).status == 200


def test_a_file_in_the_socket_s_place_is_left_alone(program, tmp_path):
    (tmp_path / "file").write_text("mine")
    status, said = refused(program, f"--listen={tmp_path / 'file'}")
    assert status == 111 and f"{tmp_path / 'file'}: File exists" in said
    assert (tmp_path / "file").read_text() == "mine"


def test_the_socket_has_the_permissions_that_were_asked_for(program, tmp_path):
    path = tmp_path / "socket"
    with serving(program, path, f"--listen={path}", "--listen-mode=0600"):
        assert path.stat().st_mode & 0o7777 == 0o600


# A wrong start

@pytest.mark.parametrize("options, named", [
    (["--no-such"], "--no-such"), (["--timeout"], "--timeout"),
    (["--timeout=never"], "--timeout"), (["--memory", "1"], "--memory"),
    (["--workers=2", "--max-runs=2"], "workers (2)"), (["word"], "word"),
    (["--config=/no/such/file"], "/no/such/file"),
    (["--listen=nowhere"], "--listen")])
def test_a_wrong_option_is_named_and_exits_100(program, options, named):
    status, said = refused(program, *options)
    assert status == 100 and named in said


def test_a_child_that_is_not_there_is_named(program):
    status, said = refused(program, "--stdio", "--child=/no/such/child")
    assert status == 111 and "/no/such/child" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its user")
@pytest.mark.parametrize("user", ["no-such-user", "root"])
def test_a_user_who_cannot_be_is_named(program, user):
    status, said = refused(program, "--stdio", f"--user={user}")
    assert status == 100 and user in said


# Without a zygote

PROGRAMS = {
    "text": {"code": "print('é\\0\\u20ac'); import sys\n"
                     "print('error', file=sys.stderr)\n[1, 2]"},
    "context": {"code": "print(n, data['x'])\ndef main(): return n + 1",
                "context": {"n": 2 ** 70, "data": {"x": 0.1}}},
    "figures": {"code": "plt.plot([1])\nplt.figure(figsize=(2, 3))\n"
                        "sns.lineplot(x=[1, 2], y=[3, 4])"},
    "files": {"code": "print(open('in.txt').read())\n"
                      "import os; os.mkdir('d')\n"
                      "open('d/out.csv', 'w').write('a,b')\n"
                      "save_excel(pd.DataFrame({'a': [1]}), 'x')",
              "files": [{"name": "in.txt", "data": "aGVsbG8="}]},
    "exception": {"code": "print('x')\ndef f(d):\n    return d['no']\nf({})"},
    "timeout": {"code": "print('y')\nwhile True:\n    pass", "timeout": 0.5},
}


def to_compare(reply):
    """Less what differs from run to run; of figures and files what counts."""
    for name in ("seconds", "cpu_seconds", "peak_memory", "id"):
        del reply[name]
    reply["figures"] = [struct.unpack(">II", figure[16:24])
                        for figure in figures_of(reply)]
    for file in reply["files"]:
        if file["name"].endswith(".xlsx"):  # it holds the time
            del file["data"], file["size"]
    return reply


@pytest.fixture(scope="module")
def cold():
    with Service(zygote="off", workers=2, max_runs=1) as service:
        yield service


def test_without_a_zygote_max_runs_holds_as_well(cold):
    code = "import time; print(time.time()); time.sleep(1); print(time.time())"
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(cold.run, [code] * 2))
    (_, end), (begin, _) = sorted(reply["output"].split() for reply in replies)
    assert end <= begin


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_without_a_zygote_the_reply_is_the_same(service, cold, body):
    warm = to_compare(service.post(body).json)
    assert to_compare(cold.post(body).json) == warm
