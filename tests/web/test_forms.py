"""Jobs carried by web forms, as clients send them: curl, requests, and the
bytes of a browser."""

import json
import subprocess
import time
from urllib.parse import urlencode

import pytest
import requests
from service import files_of

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=xyz"
MIB = 1 << 20


def part(name, data, more=""):
    """One part of a form whose boundary is xyz."""
    return (f'--xyz\r\nContent-Disposition: form-data; name="{name}"{more}'
            "\r\n\r\n").encode() + data + b"\r\n"


def multipart(*parts):
    return b"".join(parts) + b"--xyz--\r\n"


def as_json(fields):
    """The same job as JSON; what is not JSON there stays a string."""
    members = {}
    for name, value in fields.items():
        members[name] = value
        if name in ("context", "timeout"):
            try:
                members[name] = json.loads(value)
            except ValueError:
                pass
    return json.dumps(members).encode(), "application/json"


CARRIERS = {
    "json": as_json,
    "urlencoded": lambda fields: (urlencode(fields).encode(), URLENCODED),
    "multipart": lambda fields: (multipart(*(
        part(name, value.encode()) for name, value in fields.items())),
        MULTIPART),
}


@pytest.fixture(params=CARRIERS)
def send(request, service):
    """send(code=..., ...) posts the fields, one way and then another."""
    def send_fields(**fields):
        body, kind = CARRIERS[request.param](fields)
        return service.post(body, headers={"Content-Type": kind})
    return send_fields


def post_form(service, *parts):
    return service.post(multipart(*parts), headers={"Content-Type": MULTIPART})


def curl(service, *arguments, given=b""):
    done = subprocess.run(["curl", "-sS", service.url + "/run", *arguments],
                          input=given, capture_output=True, check=True)
    return json.loads(done.stdout)


# The three carriers say the same

def test_a_job_is_the_same_however_it_comes(send):
    answer = send(code='print(n + 1, s, "100%+1&=é")', timeout="5", key="k",
                  context='{"n": 9007199254740993, "s": "a\\u0000b"}')
    assert answer.status == 200, answer.body
    assert answer.json["output"] == '9007199254740994 a\0b 100%+1&=é\n'


@pytest.mark.parametrize("fields, member", [
    ({}, "code"), ({"cod": "1"}, "cod"), ({"code": "1", "submit": "Run"},
                                          "submit"),
    ({"code": "1", "context": "[]"}, "context"),
    ({"code": "1", "context": "{"}, "context"),
    ({"code": "1", "context": '{"__x": 1}'}, "context"),
    ({"code": "1", "timeout": "0"}, "timeout"),
    ({"code": "1", "timeout": "1000"}, "timeout"),
    ({"code": "1", "timeout": "soon"}, "timeout"),
    ({"code": "1", "key": "geheim geheim"}, "key"),
    ({"code": "1", "key": "k" * 257}, "key"),
    ({"code": "1", "files": "a.csv"}, "files"),
    ({"code": "#" * (MIB + 1)}, "code"),
])
def test_a_bad_job_is_refused_however_it_comes(send, fields, member):
    answer = send(**fields)
    assert answer.status == 400 and answer.json["member"] == member
    assert f'"{member}"' in answer.json["detail"]
    assert b"geheim" not in answer.body
    if len(fields.get("code", "")) > MIB:
        assert str(MIB) in answer.json["detail"]


def test_code_may_be_as_long_as_its_limit(send):
    assert send(code="1" + "#" * (MIB - 1)).json["result"] == "1"


# Clients

def test_curl_sends_fields_and_files(service, tmp_path):
    (tmp_path / "main.py").write_text(
        "import os\nprint(sorted(os.listdir()), n)\n"
        "open('quote\".bin', 'rb').read() == bytes(range(256)) * 2")
    (tmp_path / "a b.csv").write_bytes(b"1,2\r\n")
    (tmp_path / 'quote".bin').write_bytes(bytes(range(256)) * 2)
    reply = curl(service, "-F", f"code=<{tmp_path}/main.py",
                 "-F", 'context={"n": 1.5}', "-F", "timeout=5",
                 "-F", f"files=@{tmp_path}/a b.csv",
                 "-F", f'more=@"{tmp_path}/quote\\".bin"')
    assert reply["output"] == "['a b.csv', 'quote\".bin'] 1.5\n"
    assert reply["result"] == "True"


def test_curl_urlencodes_a_program(service, tmp_path):
    (tmp_path / "main.py").write_text("print(1 + 1, '&=%41é')")
    reply = curl(service, "--data-urlencode", f"code@{tmp_path}/main.py",
                 "-d", "timeout=5")
    assert reply["output"] == "2 &=%41é\n"


def test_curl_is_told_to_encode_what_it_did_not(service):
    told = curl(service, "-d", "code=print(5 % 2)")
    assert told["status"] == 400 and "--data-urlencode" in told["detail"]


def test_a_key_sent_as_a_file_never_reaches_the_program(service):
    told = curl(service, "-F", "code=1", "-F", "key=@-;filename=key.txt",
                given=b"geheim")
    assert told["member"] == "key" and "not a file" in told["detail"]


def test_python_requests_send_a_job(service):
    answer = requests.post(service.url + "/run", data={
        "code": "print(open('é.txt').read(), x)", "context": '{"x": 1}'},
        files=[("files", ("é.txt", "ü".encode(), "text/plain"))])
    assert answer.json()["output"] == "ü 1\n", answer.text
    answer = requests.post(service.url + "/run", data={"code": "print('ü')"})
    assert answer.json()["output"] == "ü\n"


def test_a_path_on_the_client_s_machine_is_left_out(service):
    code = b"import os\nprint(os.listdir())"
    reply = post_form(service, part("code", code), part(
        "files", b"x", '; filename="/home/me/a.csv"')).json
    assert reply["output"] == "['a.csv']\n"


# Browsers

def test_lines_of_a_textarea_are_what_was_typed(service):
    code = b"s = '''a\r\nb'''\r\nprint(repr(s))\r\n1 / 0"
    reply = post_form(service, part("code", code)).json
    assert reply["output"] == "'a\\nb'\n" and reply["error"]["line"] == 4
    assert "\r" not in reply["error"]["traceback"]


@pytest.mark.parametrize("name", ["urlencoded", "multipart"])
def test_empty_inputs_of_a_page_count_as_absent(service, name):
    body, kind = CARRIERS[name]({"_charset_": "UTF-8", "code": "1 + 1",
                                 "context": "", "key": "", "timeout": ""})
    if name == "multipart":
        body = part("files", b"", '; filename=""\r\n'
                    "Content-Type: application/octet-stream") + body
    reply = service.post(body, headers={"Content-Type": kind}).json
    assert reply["result"] == "2", reply


@pytest.mark.parametrize("kind", ["text/csv", "message/rfc822",
                                  "multipart/related; boundary=xyz"])
def test_a_file_arrives_byte_for_byte_and_goes_back(service, kind):
    data = (b"\r\n--xyz-\r\n--xyza\r\n" + bytes(range(256)) * 4096 +
            b"\r\n\r\n\r")
    code = b"import pathlib\npathlib.Path('out').write_bytes(" \
           b"pathlib.Path('d/in').read_bytes())"
    reply = post_form(service, part("code", code), part(
        "files", data, f'; filename="d/in"\r\nContent-Type: {kind}')).json
    assert files_of(reply) == {"out": data}


def test_a_form_may_end_with_its_last_boundary(service):
    code = b"print(repr(open('a', 'rb').read()))"
    body = multipart(part("code", code),
                     part("f", b"x\r\n", "; filename=a"))[:-2]
    answer = service.post(body, headers={"Content-Type": MULTIPART})
    assert answer.json["output"] == "b'x\\r\\n'\n"


@pytest.mark.parametrize("name, text", [
    ("../a", "part"), ("/", "relative"), ("C:\\fakepath\\a.csv", "backslash"),
    ("a\\\\b", "backslash"), ("a%0D%0Ab", "control"), ("a/", "empty"),
    ("a/" * 16 + "b", "16"), ("x" * 256, "255"),
])
def test_a_bad_file_name_is_refused(service, name, text):
    answer = post_form(service, part("code", b"1"),
                       part("files", b"x", f'; filename="{name}"'))
    assert answer.status == 400 and text in answer.json["detail"], answer.body


def test_files_are_bounded_in_number_and_size(start_cold):
    service = start_cold(max_files=2, max_file_bytes="1K")
    def send(*sizes):
        return post_form(service, part("code", b"1"), *(
            part("files", b"x" * size, f"; filename=f{number}")
            for number, size in enumerate(sizes)))
    assert send(512, 512).json["result"] == "1"
    assert "at most 1024" in send(512, 513).json["detail"]
    assert "at most 2 files" in send(1, 1, 1).json["detail"]
    assert send(0, 0, 0).json["member"] == "files"


# What is no form

@pytest.mark.parametrize("kind, body", [
    ("multipart/form-data", multipart(part("code", b"1"))),
    ("multipart/form-data; boundary=" + "b" * 71, b"--" + b"b" * 71 + b"--"),
    ("multipart/form-data; boundary=other", multipart(part("code", b"1"))),
    (MULTIPART, b""), (MULTIPART, part("code", b"1")),
    (MULTIPART, multipart(b"--xyz\r\n\r\n1\r\n")),
    (MULTIPART, multipart(part("code", b"1")).replace(b"\r\n", b"\n")),
    (MULTIPART, multipart(part("code", b"1" * 9, "\r\nX: " + "x" * 4096))),
    (MULTIPART, multipart(part("files", b"--b--", "\r\nContent-Type: "
                               "multipart/mixed; boundary=b"))),
    (MULTIPART, multipart(*(part("_charset_", b"") for _ in range(1000)))),
    (URLENCODED, b"code=%"), (URLENCODED, b"code=%ff"), (URLENCODED, b""),
])
def test_a_broken_form_is_a_bad_job(service, kind, body):
    answer = service.post(body, headers={"Content-Type": kind})
    assert answer.status == 400, answer.body
    assert answer.headers.get_content_type() == "application/problem+json"
    assert answer.json["detail"].endswith(".")


def test_another_type_is_told_all_three(service):
    answer = service.post(b"1", headers={"Content-Type": "text/plain"})
    assert answer.status == 415
    for kind in ("application/json", URLENCODED, "multipart/form-data"):
        assert kind in answer.json["detail"]


@pytest.mark.parametrize("piece", [
    b"--xyz\r\n\r\n\r\n", part("code", b""), part("f", b"", "; filename=a"),
    b"\r\n--xyz.", b"\r\n--xyz--.", b"\r", b"A:\r\n",
], ids=repr)
def test_a_hostile_form_is_refused_at_once(service, piece):
    body = b"--xyz\r\n" + piece * (15 * MIB // len(piece))
    began = time.monotonic()
    answer = service.post(body, headers={"Content-Type": MULTIPART})
    assert answer.status == 400
    assert time.monotonic() - began < 5
