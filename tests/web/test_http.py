"""What goes in and what comes out: the HTTP contract, through nginx, and the
FastCGI below it, spoken well and badly."""

import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess

import hypothesis
import pytest
import service as service_module
from fastcgi import (ABORT, BEGIN, END, GET_VALUES, HEALTH, KEEP, PARAMS,
                     POST, STDIN, Connection, ask, begin, job, pairs, record,
                     request)
from hypothesis import strategies
from service import BUILD, NGINX, Service, figures_of, wait_for

MIB = 1 << 20
JSON = {"Content-Type": "application/json"}
LONG = {"code": "import subprocess\nprint('begun')\n"
                "subprocess.run(['sleep', '1234'])", "timeout": 8}


@pytest.fixture(scope="module")
def narrow_service():
    with Service(max_runs=1, ready=1, workers=3,
                 queue_wait="1s") as service:
        yield service


@pytest.fixture
def narrow(narrow_service):
    """One run at a time, three workers: as good as new after each test."""
    workers = sorted(narrow_service.pids("worker"))
    yield narrow_service
    wait_for(lambda: not narrow_service.pids("run"), 15, "the end of all runs")
    assert sorted(narrow_service.pids("worker")) == workers
    wait_for(lambda: narrow_service.pids("ready"), what="the next child")
    assert post_patiently(narrow_service, {"code": "1"}).status == 200
    wait_for(lambda: narrow_service.pids("ready"), what="the next child")


def post_patiently(service, body):
    """Until there is a place for it."""
    def answer():
        got = service.post(body)
        return got if got.status != 503 else None
    return wait_for(answer, what="a place for a run")


def is_a(value, *kinds):
    """The type itself: True is no integer here."""
    return type(value) in kinds


def problem(answer, status):
    """The problem that an answer must be, as API.md has it."""
    assert answer.status == status, (answer.status, answer.body[:500])
    assert answer.headers.get_content_type() == "application/problem+json"
    told = answer.json
    assert set(told) - {"member"} == {"title", "status", "detail"}
    assert told["status"] == status and is_a(told["status"], int)
    assert told["title"] and told["detail"].endswith(".")
    assert str(BUILD.parent) not in answer.body.decode()
    return told


def begin_run(service, peer, behind=b""):
    """Let a run begin and wait until it has."""
    body = json.dumps(LONG).encode()
    peer.send(b"".join(request(body, POST)) + behind)
    wait_for(lambda: service.pids("sleep 1234"), what="the run")


def ends_soon(service):
    wait_for(lambda: not service.pids("sleep 1234"), 1.5, "the run's end")
    wait_for(lambda: not service.pids("run"), 1.5, "the run's end")
    return True


# The reply of a run

MEMBERS = {
    "output": [str], "output_dropped": [int], "result": [str, type(None)],
    "figures": [list], "files": [list], "error": [dict, type(None)],
    "notes": [list], "market": [list], "exit_code": [int, type(None)],
    "seconds": [float], "cpu_seconds": [float], "peak_memory": [int],
    "id": [str],
}
RICH = """print("some text")
plt.plot([1, 2, 3])
save_excel(pd.DataFrame({"a": [1, 2]}), "table.xlsx")
open("note.txt", "w").write("words")
6 * 7"""


def assert_members(reply):
    assert set(reply) == set(MEMBERS)
    for name, kinds in MEMBERS.items():
        assert is_a(reply[name], *kinds), (name, reply[name])


def test_a_rich_run_has_every_member_and_no_other(service):
    reply = service.run(RICH)
    assert_members(reply)
    assert reply["output"] == "some text\n" and reply["result"] == "42"
    assert reply["error"] is None and reply["exit_code"] == 0
    assert reply["output_dropped"] == 0 and reply["market"] == []
    assert reply["seconds"] > 0 and reply["cpu_seconds"] > 0
    assert all(is_a(note, str) for note in reply["notes"])


def test_a_file_has_name_type_size_and_data(service):
    note, table = service.run(RICH)["files"]
    assert note == {"name": "note.txt", "type": "text/plain", "size": 5,
                    "data": "d29yZHM="}
    assert set(table) == set(note) and table["name"] == "table.xlsx"
    assert table["type"] == ("application/vnd.openxmlformats-officedocument."
                             "spreadsheetml.sheet")
    assert is_a(table["size"], int) and table["size"] > 1000


def test_a_figure_is_a_png_of_150_dots_an_inch(service):
    (figure,) = figures_of(service.run(RICH))
    assert figure.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", figure[16:24]) == (960, 720)


def test_a_failed_run_has_the_same_members_and_an_error_of_five(service):
    reply = service.run("print('before')\n{}['absent']")
    assert_members(reply)
    error = reply["error"]
    assert set(error) == {"kind", "type", "message", "traceback", "line"}
    assert (error["kind"], error["type"], error["line"]) == ("exception",
                                                             "KeyError", 2)
    assert reply["output"] == "before\n" and reply["result"] is None
    assert "main.py" in error["traceback"] and "absent" in error["message"]


def test_an_error_without_type_line_and_exit_code_has_null_for_them(service):
    empty = service.run("x = 1")
    assert empty["error"]["kind"] == "empty" and empty["result"] is None
    assert empty["error"]["type"] is None and empty["error"]["line"] is None
    killed = service.run("import ctypes\nctypes.string_at(0)")
    assert_members(killed)
    assert killed["exit_code"] is None and killed["error"]["kind"] == "crash"


def test_the_run_id_is_nginx_s_request_id_and_in_the_header(service):
    answer = service.post({"code": "1"})
    assert re.fullmatch("[0-9a-f]{32}", answer.json["id"])
    assert answer.headers["X-Run-Id"] == answer.json["id"]
    assert service.post({"code": "1"}).json["id"] != answer.json["id"]


def test_the_run_id_is_what_the_server_in_front_passes(service):
    answer = ask(service.socket, *job("1", REQUEST_ID="Some-1d"))
    assert answer.json["id"] == answer.headers["X-Run-Id"] == "Some-1d"


@pytest.mark.parametrize("given", ["", "a b", "../x", "a\nX: y", "é", 'a"b',
                                   "x" * 65])
def test_a_request_id_that_is_not_fit_for_logs_is_replaced(service, given):
    answer = ask(service.socket, *job("1", REQUEST_ID=given))
    assert re.fullmatch("[0-9a-f]{32}", answer.json["id"])
    assert answer.headers["X-Run-Id"] == answer.json["id"]


# Replies without a run

@pytest.mark.parametrize("body, member", [
    (b"", None), (b"{", None), (b'{"code":"1"} x', None), (b"[]", None),
    (b'\xef\xbb\xbf{"code":"1"}', None), (b'{"code":"\xff"}', "code"),
    (b"{}", "code"), (b'{"code":5}', "code"), (b'{"code":null}', "code"),
    (b'{"code":"1","code":"2"}', "code"), (b'{"code":"1","cod":1}', "cod"),
    (b'{"code":"1","context":[]}', "context"),
    (b'{"code":"1","context":{"__x":1}}', "context"),
    (b'{"code":"1","context":{"x":NaN}}', "context"),
    (b'{"code":"1","timeout":0}', "timeout"),
    (b'{"code":"1","timeout":1e3}', "timeout"),
    (b'{"code":"1","timeout":"1"}', "timeout"),
    (b'{"code":"1","key":"a b"}', "key"),
    (b'{"code":"1","files":{}}', "files"),
    (b'{"code":"1","files":[{"name":"a","data":"?"}]}', "files"),
    (b'{"code":"1","files":[{"name":"../a","data":""}]}', "files"),
])
def test_a_bad_job_is_refused_and_its_member_named(service, body, member):
    told = problem(service.post(body), 400)
    assert told.get("member") == member
    assert member is None or member in told["detail"]


def test_code_above_its_limit_is_refused_and_the_limit_named(service):
    told = problem(service.post({"code": "#" * (MIB + 1)}), 400)
    assert told["member"] == "code" and str(MIB) in told["detail"]


def test_an_unknown_path_to_get_is_404(service):
    problem(service.get("/run"), 404)
    problem(ask(service.socket, b"", {**HEALTH, "SCRIPT_NAME": "/x"}), 404)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "X"])
def test_another_method_is_405_and_allow_says_which(service, method):
    answer = service.request(method, "/run", b"{}", JSON)
    problem(answer, 405)
    assert answer.headers["Allow"] == "POST"
    answer = service.request(method, "/healthz")
    problem(answer, 405)
    assert answer.headers["Allow"] == "GET, HEAD"


def test_a_program_posted_to_a_get_path_is_405_and_not_run(service):
    answer = service.post({"code": "print(1)"}, path="/healthz")
    problem(answer, 405)
    assert answer.headers["Allow"] == "GET, HEAD"


def test_a_request_without_any_parameter_is_answered(service):
    problem(ask(service.socket, b"", {}), 405)


@pytest.mark.parametrize("accept, status", [
    (None, 200), ("", 200), ("*/*", 200), ("application/*", 200),
    ("application/json", 200), ("APPLICATION/Json", 200),
    ("application/json;q=0.001", 200), ("image/png, */*;q=0.1", 200),
    ("*/*;q=0, application/json", 200), ("image/png,application/json", 200),
    ("application/json;charset=utf-8;q=0.5", 200),
    ("image/png", 406), ("application/jsonx", 406), ("application", 406),
    ("application/json;q=0", 406), ("application/json ; q=0.000", 406),
    ("*/*, application/json;q=0", 200), ("application/*;Q=0, */*", 200),
    ("image/png, application/xml;q=0.9", 406),
])
def test_accept_is_honoured_with_its_q_values(service, accept, status):
    headers = {} if accept is None else {"Accept": accept}
    answer = service.post({"code": "print(1)"}, headers=headers)
    assert answer.status == status
    if status == 406:
        problem(answer, 406)


@pytest.mark.parametrize("kind", [
    "", "text/plain", "application/octet-stream", "application/jsonx",
    "application/json; charset=latin-1",
    "application/json; charset=utf-8; charset=latin-1"])
def test_another_content_type_is_415(service, kind):
    answer = service.post({"code": "1"}, headers={"Content-Type": kind})
    assert "member" not in problem(answer, 415)
    problem(ask(service.socket, b"{}", {"REQUEST_METHOD": "POST"}), 415)


@pytest.mark.parametrize("kind", [
    "application/json;charset=UTF-8", "Application/JSON ; x=y",
    'application/json; charset="utf-8"'])
def test_utf_8_may_be_said_and_other_parameters_do_not_matter(service, kind):
    answer = service.post({"code": "1"}, headers={"Content-Type": kind})
    assert answer.status == 200


def test_healthz_tells_that_a_child_is_warm(service):
    answer = service.get("/healthz")
    assert answer.status == 200 and answer.json == {"status": "ok"}
    assert answer.headers.get_content_type() == "application/json"


def test_head_is_get_without_a_body(service):
    assert service.request("HEAD", "/healthz").status == 200
    assert service.request("HEAD", "/run").status == 404
    answer = ask(service.socket, b"", {**HEALTH, "REQUEST_METHOD": "HEAD"})
    assert answer.status == 200 and answer.body == b""


def test_a_run_that_finds_no_place_in_time_is_503(narrow):
    with Connection(narrow.socket) as peer:
        begin_run(narrow, peer)
        answer = narrow.post({"code": "1"})
        assert "1 s" in problem(answer, 503)["detail"]
        assert int(answer.headers["Retry-After"]) > 0
        assert narrow.get("/healthz").status == 200


# Bodies through nginx

def test_a_chunked_body_is_read_whole(service):
    body = json.dumps({"code": "print(len(x))",
                       "context": {"x": "y" * 100000}}).encode()
    chunks = iter([body[:1], body[1:7], body[7:70000], body[70000:]])
    answer = service.request("POST", "/run", chunks, JSON)
    assert answer.json["output"] == "100000\n"


@pytest.mark.parametrize("length", [20000, 60000])
def test_large_headers_do_not_matter(service, length):  # http-09
    answer = service.post({"code": "print('hdr ok')"},
                          headers={"X-Long": "a" * length})
    assert answer.json["output"] == "hdr ok\n"


def test_nginx_refuses_a_larger_body_before_it_has_come(service):
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    connection.putrequest("POST", "/run")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(16 * MIB + 1))
    connection.endheaders()
    answer = connection.getresponse()
    problem(service_module.Reply(answer.status, answer.headers,
                                 answer.read()), 413)
    connection.close()


def test_nginx_refuses_a_larger_chunked_body(service):
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    connection.request("POST", "/run", iter([bytes(MIB)] * 17), JSON,
                       encode_chunked=True)
    answer = connection.getresponse()
    problem(service_module.Reply(answer.status, answer.headers,
                                 answer.read()), 413)
    connection.close()


# Bodies in FastCGI

BODY, RIGHT = job("print('read')")


def test_a_larger_body_is_refused_by_the_responder_itself(service):
    stated = {**POST, "CONTENT_LENGTH": 16 * MIB + 1}
    assert str(16 * MIB) in problem(ask(service.socket, b"", stated),
                                    413)["detail"]
    problem(ask(service.socket, b" " * (16 * MIB + 1)), 413)


def test_a_body_of_just_the_limit_is_read(service):
    body = BODY + b" " * (16 * MIB - len(BODY))
    assert ask(service.socket, body).json["output"] == "read\n"


@pytest.mark.parametrize("length, status", [
    (None, 200), ("", 200), (len(BODY), 200), ("000%d" % len(BODY), 200),
    (len(BODY) - 1, 400), (len(BODY) + 1, 400), ("0", 400), ("999999", 400),
    ("-5", 400), ("12abc", 400), ("+20", 400), (" 20", 400), ("0x20", 400),
    ("99999999999999999999", 400), ("9" * 1000, 400),
])
def test_content_length_is_not_believed(service, length, status):  # http-06
    params = {**POST, "CONTENT_LENGTH": length}
    if length is None:
        del params["CONTENT_LENGTH"]
    answer = ask(service.socket, BODY, params)
    assert answer.status == status
    if status == 400:
        problem(answer, 400)


def test_a_stated_length_allocates_nothing(narrow):
    def most_memory():
        return max(int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(
            f"/proc/{pid}/status").read_text())[1])
            for pid in narrow.pids("worker"))
    before = most_memory()
    for _ in range(6):
        problem(ask(narrow.socket, b"{}",
                    {**POST, "CONTENT_LENGTH": 16 * MIB}), 400)
    assert most_memory() < before + 8 * 1024


@pytest.mark.parametrize("shape", [
    {"size": 1}, {"size": 1, "padding": 255}, {"size": 7, "padding": 1},
    {"size": 13, "padding": 8}, {"size": 65535, "padding": 255}],
    ids=str)
def test_records_may_have_any_size_and_padding(service, shape):
    assert ask(service.socket, BODY, RIGHT, **shape).json["output"] == "read\n"


@pytest.mark.parametrize("at", [1, 7])
def test_a_record_may_come_in_several_writes(service, at):
    with Connection(service.socket) as peer:
        for one in request(BODY, RIGHT):
            peer.send_apart(one[:at], one[at:9], *filter(None, [one[9:]]))
        assert peer.reply().json["output"] == "read\n"


@hypothesis.settings(max_examples=30, derandomize=True, suppress_health_check=[
    hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(strategies.integers(1, 300), strategies.integers(0, 255),
                  strategies.lists(strategies.integers(1, 200), max_size=30))
def test_a_request_may_be_cut_anywhere(service, size, padding, cuts):
    text = b"".join(request(BODY, RIGHT, size=size, padding=padding))
    with Connection(service.socket) as peer:
        for cut in cuts:
            peer.send(text[:cut])
            text = text[cut:]
        peer.send(text)
        assert peer.reply().json["output"] == "read\n"


def test_records_of_others_between_ours_are_skipped(service):
    others = [record(PARAMS, b"x" * 9, number=2, padding=3),
              record(GET_VALUES, pairs({"FCGI_MAX_CONNS": ""}), number=0),
              record(77, number=0)]
    pieces = request(BODY, RIGHT, size=40)
    with Connection(service.socket) as peer:
        peer.send(*[piece for one in pieces[:-1] for piece in [one, *others]],
                  pieces[-1])
        records = list(peer.records())
    assert any(b'"read\\n"' in content for kind, content in records)


def test_a_second_request_on_a_connection_is_turned_down(service):
    pieces = request(BODY, RIGHT)
    second = record(BEGIN, b"\0\1" + bytes(6), number=2)
    with Connection(service.socket) as peer:
        peer.send(*pieces[:3], second, *pieces[3:])
        records = list(peer.records())
    assert records[0] == (END, b"\0\0\0\0\1\0\0\0")  # CANT_MPX_CONN
    assert any(b'"read\\n"' in content for kind, content in records)


@pytest.mark.parametrize("change", [
    {2: record(PARAMS, padding=8)},
    {3: record(77, b"??", number=0) + record(STDIN, BODY)}], ids=[
    "padding behind the end of the parameters", "an unknown kind's content"])
def test_what_libfcgi_cannot_skip_is_refused(service, change):
    pieces = [change.get(at, one) for at, one in
              enumerate(request(BODY, RIGHT))]
    with Connection(service.socket) as peer:
        peer.send(b"".join(pieces))
        assert b'"status":400' in peer.rest()


# A client that leaves

PIECES = request(BODY, RIGHT)
HALF = {
    "nothing": [], "begin": PIECES[:1],
    "half a header": [PIECES[0], PIECES[1][:5]],
    "half the parameters": [PIECES[0], PIECES[1][:30]],
    "a pair cut in two": [PIECES[0], record(PARAMS, pairs(RIGHT)[:30])],
    "all parameters": PIECES[:3],
    "half the body": [*PIECES[:3], record(STDIN, BODY[:9])],
    "the body without its end": PIECES[:4],
}


@pytest.mark.parametrize("sent", HALF.values(), ids=HALF)
def test_an_early_close_frees_the_worker(narrow, sent):  # http-11
    for _ in range(4):  # more than there are workers
        with Connection(narrow.socket) as peer:
            peer.send(*sent)
    assert ask(narrow.socket, b"", HEALTH).status == 200


@pytest.mark.parametrize("sent", [HALF["begin"], HALF["all parameters"],
                                  HALF["half the body"]])
def test_an_abort_before_the_run_frees_the_worker(narrow, sent):
    peers = [Connection(narrow.socket) for _ in range(4)]
    for peer in peers:
        peer.send(*sent, record(ABORT))
    for peer in peers:
        assert b'"read' not in peer.rest()
        peer.__exit__()


def test_an_abort_ends_the_run(service):
    with Connection(service.socket) as peer:
        begin_run(service, peer)
        peer.send(record(ABORT))
        assert ends_soon(service)
        assert b"begun" not in peer.rest()


def test_a_close_ends_the_run(service):
    with Connection(service.socket) as peer:
        begin_run(service, peer)
    assert ends_soon(service)


def test_a_close_ends_the_run_even_behind_bytes_too_many(service):
    with Connection(service.socket) as peer:
        begin_run(service, peer, record(STDIN, bytes(20000)))
    assert ends_soon(service)


def test_a_close_of_the_browser_s_connection_ends_the_run(service):
    body = json.dumps(LONG).encode()
    with socket.create_connection(("127.0.0.1", service.port)) as browser:
        browser.sendall(b"POST /run HTTP/1.1\r\nHost: x\r\nContent-Type: "
                        b"application/json\r\nContent-Length: %d\r\n\r\n%b"
                        % (len(body), body))
        wait_for(lambda: service.pids("sleep 1234"), what="the run")
    assert ends_soon(service)


# Nonsense

NONSENSE = {
    "HTTP": [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
    "zeros": [bytes(64)], "ones": [b"\xff" * 64],
    "another version": [record(1, bytes(8), version=2)],
    "no begin": [record(STDIN, b"{}"), record(STDIN)],
    "a short begin": [record(1, b"\0\1")],
    "request number 0": [record(1, b"\0\1" + bytes(6), number=0)],
    "an unknown role": [begin(role=9), *PIECES[1:]],
    "a body before the parameters": [PIECES[0], *PIECES[3:]],
    "a name too long for its record": [PIECES[0], record(PARAMS, b"\x05\x05a"),
                                       record(PARAMS)],
    "a name of 2 GiB": [PIECES[0], record(PARAMS, b"\xff" * 8 + b"a=b"),
                        record(PARAMS)],
    "names that add up to 0": [
        PIECES[0], record(PARAMS, b"\xff\xff\xff\xff\x80\0\0\1" + b"a" * 999),
        record(PARAMS)],
}


@pytest.mark.parametrize("sent", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_cut_off_and_costs_no_worker(service, sent):
    with Connection(service.socket) as peer:
        peer.send(b"".join(sent))
        peer.socket.shutdown(socket.SHUT_WR)
        assert b'"read' not in peer.rest()


@hypothesis.settings(max_examples=60, derandomize=True, suppress_health_check=[
    hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(strategies.sampled_from([b"", PIECES[0],
                                           b"".join(PIECES[:3])]),
                  strategies.binary(max_size=200))
def test_any_bytes_are_cut_off_and_cost_no_worker(service, start, rest):
    with Connection(service.socket) as peer:
        peer.send(start + rest)
        peer.socket.shutdown(socket.SHUT_WR)
        assert b'"read' not in peer.rest()


def test_a_kept_connection_is_closed_after_one_reply(narrow):
    peers = [Connection(narrow.socket) for _ in range(4)]
    for peer in peers:
        peer.send(*request(b"", HEALTH, flags=KEEP))
        assert peer.reply().status == 200  # which ends in a close
    assert ask(narrow.socket, b"", HEALTH).status == 200
    for peer in peers:
        peer.__exit__()


def test_silent_connections_leave_the_other_workers_free(service):
    peers = [Connection(service.socket)
             for _ in service.pids("worker")[:-1]]
    for peer in peers:
        peer.send_apart(PIECES[0])
    assert service.run("print(1)")["output"] == "1\n"
    for peer in peers:
        peer.__exit__()


def test_a_worker_shows_nothing_of_the_request_before(narrow):  # json-09
    silent = [Connection(narrow.socket) for _ in range(2)]
    for peer in silent:
        peer.send_apart(PIECES[0])  # one worker is left
    for _ in range(3):
        large = {"code": "print(len(x))", "context": {"x": "Z" * 100000}}
        assert post_patiently(narrow, large).json["output"] == "100000\n"
        answer = post_patiently(narrow, b'{"code":"print(1)"}')
        assert answer.json["output"] == "1\n" and b"ZZ" not in answer.body
        told = problem(narrow.post(b'{"code":"print(1)"'), 400)
        assert "Z" not in told["detail"]
    for peer in silent:
        peer.__exit__()


# The nginx include

INCLUDE = (NGINX / "sandbox-fcgi.conf").read_text()
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600,
         "K": 1 << 10, "k": 1 << 10, "M": MIB, "G": 1 << 30, "": 1}


def amount(text, **units):
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()
    return int(number) * {**UNITS, **units}[unit]


def directive(name):
    (value,) = re.findall(rf"^\s*{name}\s+([^;]+);", INCLUDE, re.MULTILINE)
    return value


@pytest.fixture(scope="module")
def defaults():
    text = subprocess.run([BUILD / "sandbox-fcgi", "--check"], check=True,
                          capture_output=True, text=True).stdout
    return dict(line.split(" =", 1) for line in text.splitlines()
                if " =" in line)


def test_nginx_waits_longer_than_the_responder_ever_takes(defaults):
    longest = sum(amount(defaults[key].strip())
                  for key in ("queue_wait", "timeout", "grace"))
    assert amount(directive("fastcgi_read_timeout")) > longest


def test_nginx_and_the_responder_take_the_same_body(defaults):
    size = amount(directive("client_max_body_size"), m=MIB)
    assert size == amount(defaults["max_body"].strip())
    assert f"({size // MIB} MiB)" in INCLUDE


def test_nginx_keeps_no_connection_and_sends_no_request_twice():
    assert directive("fastcgi_keep_conn") == "off"
    # What was sent goes to no other: tests/growth/test_retry.py tries it.
    assert directive("fastcgi_next_upstream") == "error timeout http_503"


@pytest.fixture
def hasty(start, monkeypatch, tmp_path):
    """Behind an nginx that waits for one second."""
    copy = shutil.copytree(NGINX, tmp_path / "nginx")
    text = INCLUDE.replace("fastcgi_read_timeout 120s",
                           "fastcgi_read_timeout 1s")
    assert text != INCLUDE
    (copy / "sandbox-fcgi.conf").write_text(text)
    monkeypatch.setattr(service_module, "NGINX", copy)
    return start(zygote="off", workers=3, max_runs=1)


def test_what_nginx_itself_answers_is_a_problem_as_well(hasty):
    problem(hasty.post(LONG), 504)
    wait_for(lambda: not hasty.pids("run"), 1.5, "the run's end")

    hasty.responder.send_signal(signal.SIGTERM)
    hasty.responder.wait(5)
    answer = hasty.post({"code": "1"})
    problem(answer, 502)
    assert int(answer.headers["Retry-After"]) > 0

    hasty.start_responder()
    hasty.wait_until_warm()
    assert hasty.post({"code": "2"}).status in (200, 504)
