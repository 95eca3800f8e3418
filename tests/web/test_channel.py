"""Programs that attack what lies between them and the reply.

Whatever a program does to its descriptors, its files and its figures: the
reply is strict JSON with all members, and nothing but its own run is harmed.
"""

import base64
import json
import os
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service import Service, files_of, figures_of, title, wait_for

NUMBER = (int, float)
MEMBERS = {
    "output": str, "output_dropped": int, "result": (str, type(None)),
    "figures": list, "files": list, "error": (dict, type(None)),
    "notes": list, "market": list, "exit_code": (int, type(None)),
    "seconds": NUMBER, "cpu_seconds": NUMBER, "peak_memory": int, "id": str,
}
ERROR = {"kind": str, "type": (str, type(None)), "message": str,
         "traceback": str, "line": (int, type(None))}
FILE = {"name": str, "type": str, "size": int, "data": str}
KINDS = ("exception", "exit", "timeout", "memory", "crash", "empty",
         "figure", "limit")


def assert_members(thing, members):
    assert set(thing) == set(members)
    for name, kind in members.items():
        assert isinstance(thing[name], kind), (name, thing[name])
        assert not isinstance(thing[name], bool)


def run(service, code, **members):
    """Run a program; give its reply, whose form is checked whole."""
    reply = service.run(code, **{"timeout": 10, **members})
    assert_members(reply, MEMBERS)
    assert all(isinstance(note, str) for note in reply["notes"])
    assert len(figures_of(reply)) == len(reply["figures"])
    for file in reply["files"]:
        assert_members(file, FILE)
        assert len(base64.b64decode(file["data"])) == file["size"]
    if reply["error"]:
        assert_members(reply["error"], ERROR)
        assert reply["error"]["kind"] in KINDS and reply["error"]["message"]
    return reply


@pytest.fixture(scope="module")
def target_service():
    with Service(grace="500ms", work_size="64M", max_output="64K") as service:
        yield service


@pytest.fixture
def target(target_service):
    """A service that stays as good as new whatever is done to it."""
    workers = sorted(target_service.pids("worker"))
    yield target_service
    wait_for(lambda: not target_service.pids("run"), 15, "the end of all runs")
    assert sorted(target_service.pids("worker")) == workers
    wait_for(lambda: not [pid for pid in target_service.pids("")
                          if "sandbox-" not in title(pid)], 5,
             "the end of what was started")
    assert target_service.run("print(1)")["output"] == "1\n"


# Descriptor 3, the report

FORGED = {"result": "'forged'", "error": None, "figure": None, "limit": None,
          "notes": []}


@pytest.mark.parametrize("text", [
    b"rubbish", b"rubbish\n", b"{\n", b'{"result": 1}\n', b"\xff\xfe\n",
    b"\0\n", b"[" * 1000 + b"\n", b"null\n", b'{"result": NaN}\n', b"\n" * 99,
    b'  File "/tmp/main.py", line 99999999999999999999 in x\n',
])
def test_rubbish_in_the_report_changes_nothing(target, text):
    reply = run(target, f"import os\nos.write(3, {text!r} + b'\\n')\n"
                        "print('mine')\n1 + 1")
    assert reply["error"] is None and reply["result"] == "2"
    assert reply["output"] == "mine\n"


@pytest.mark.parametrize("text", [b"{", b'{"result": "x', b"rubbish"])
def test_a_line_that_has_no_end_costs_the_report_at_most(target, text):
    reply = run(target, f"import os\nos.write(3, {text!r})\nprint('mine')")
    assert reply["output"] == "mine\n"
    assert reply["error"] is None or reply["error"]["kind"] == "crash"


@pytest.mark.parametrize("change", [
    {}, {"result": None}, {"notes": ["forged"]}, {"result": "\ud800"},
    {"limit": "forged"}, {"figure": {"type": "E", "message": "forged"}},
    {"error": {"kind": "exception", "type": "E", "message": "forged",
               "traceback": "forged", "line": 10 ** 8}},
])
def test_a_forged_report_lies_about_its_own_run_alone(target, change):
    line = json.dumps({**FORGED, **change})
    reply = run(target, f"import os\nprint('mine')\n"
                        f"os.write(3, {line!r}.encode() + b'\\n')\n"
                        "os._exit(0)")
    assert reply["output"] == "mine\n" and reply["exit_code"] == 0
    assert reply["id"] and reply["seconds"] < 5


@pytest.mark.parametrize("change", [
    {"result": 1}, {"notes": [1]}, {"notes": None}, {"more": 1},
    {"error": {}}, {"error": "E"}, {"figure": []}, {"limit": {}},
    {"error": {"kind": "crash", "type": "E", "message": "forged",
               "traceback": "", "line": None}},
    {"error": {"kind": "exception", "type": "E", "message": "forged",
               "traceback": "", "line": -1}},
    {"error": {"kind": "exception", "type": "E", "message": "forged",
               "traceback": "", "line": 1e300}},
])
def test_a_forged_report_of_another_form_is_none(target, change):
    line = json.dumps({**FORGED, **change})
    reply = run(target, f"import os\nprint('mine')\n"
                        f"os.write(3, {line!r}.encode() + b'\\n')\n"
                        "os._exit(0)")
    assert reply["error"]["kind"] == "crash" and reply["result"] is None
    assert "forged" not in json.dumps(reply)


def test_text_that_a_report_carries_is_json_again(target):
    odd = "\"\\/\b\f\n\r\t\0\x1b\x7f\u2028é😀</script>"
    line = json.dumps({**FORGED, "result": odd, "notes": [odd]})
    reply = run(target, f"import os\nprint('mine')\n"
                        f"os.write(3, {line!r}.encode() + b'\\n')\n"
                        "os._exit(0)")
    assert reply["result"] == odd and odd in reply["notes"]


def test_a_raw_control_character_in_a_report_is_no_json(target):
    reply = run(target, "import os\nprint('mine')\nos.write(3, "
                        "b'{\"result\":\"a\\x01b\",\"error\":null,\"figure\":"
                        "null,\"limit\":null,\"notes\":[]}\\n')\nos._exit(0)")
    assert reply["error"]["kind"] == "crash" and reply["result"] is None


def test_a_flood_of_reports_ends_the_run(target):
    reply = run(target, "import os\nprint('mine')\n"
                        "while True: os.write(3, b'x' * 4096)")
    assert reply["error"]["kind"] == "crash" and reply["seconds"] < 5
    assert "descriptor 3" in json.dumps([reply["error"], reply["notes"]])
    assert reply["output"] == "mine\n"


# The other descriptors

@pytest.mark.parametrize("fd", range(5))
def test_a_closed_descriptor_costs_its_own_use_alone(target, fd):
    reply = run(target, f"import os\nprint('mine', flush=True)\n"
                        f"os.close({fd})\n1 + 1")
    assert reply["output"].startswith("mine\n")
    if fd == 3:
        assert reply["error"]["kind"] == "crash"
        assert "descriptor 3" in reply["error"]["message"]
    else:
        assert reply["error"] is None and reply["result"] == "2"


def test_all_descriptors_closed_is_a_crash(target):
    reply = run(target, "import os\nprint('mine')\nos.closerange(0, 256)")
    assert reply["error"]["kind"] == "crash" and reply["output"] == "mine\n"


def test_standard_input_is_at_its_end(target):
    reply = run(target, "import os, sys\nprint(os.read(0, 9), "
                        "sys.stdin.read().encode(), "
                        "os.readlink('/proc/self/fd/0'))")
    assert reply["output"] == "b'' b'' /dev/null\n"


def test_subprocesses_inherit_no_channel(target):
    reply = run(target, "import subprocess\nprint(subprocess.run(['ls', "
                        "'/proc/self/fd'], close_fds=False, text=True, "
                        "stdout=subprocess.PIPE).stdout.split())")
    assert reply["output"] == "['0', '1', '2', '3']\n"  # 3: the directory


def test_several_processes_fill_the_output(target):
    reply = run(target, "import os\nfor i in range(8):\n"
                        "    if os.fork() == 0:\n"
                        "        for n in range(200):\n"
                        "            os.write(1, b'%d' % i * 4095 + b'\\n')\n"
                        "        os._exit(0)\n"
                        "for i in range(8): os.wait()")
    assert reply["error"] is None
    head, line, tail = re.split(r"\n(\[\.\.\. \d+ bytes .*)\n",
                                reply["output"])
    assert (len(head) + len(tail) + reply["output_dropped"]
            == 8 * 200 * 4096)
    assert str(reply["output_dropped"]) in line


@pytest.mark.parametrize("fd", [1, 2, 3, 4])
def test_several_processes_fill_a_channel_for_ever(target, fd):
    reply = run(target, "import os\nprint('mine', flush=True)\n"
                        "for i in range(3): os.fork()\n"
                        f"while True: os.write({fd}, b'x' * 4096)",
                timeout=0.7)
    assert reply["error"]["kind"] in ("timeout", "crash")
    assert reply["seconds"] < 4 and reply["output"].startswith("mine\n")


def test_descriptors_sent_to_the_service_are_dropped(target):
    reply = run(target, """
import array, os, socket
market = socket.socket(fileno=os.dup(4))
market.setblocking(False)
sent = 0
try:
    while sent < 300:
        market.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                 array.array('i', [0] * 100))])
        sent += 1
except OSError:
    pass
print('sent', sent > 0)
""")
    assert reply["output"] == "sent True\n"
    # All workers have the same few open again.
    wait_for(lambda: len({len(os.listdir(f"/proc/{pid}/fd"))
                          for pid in target.pids("worker")}) == 1)


@pytest.mark.parametrize("old, new", [(1, 3), (3, 1), (3, 2), (4, 1), (0, 3),
                                      (4, 3), (3, 4), (1, 0), (1, 4)])
def test_descriptors_put_over_others_harm_the_own_run_alone(target, old, new):
    reply = run(target, f"import os\nprint('mine', flush=True)\n"
                        f"os.dup2({old}, {new})\nprint('mixed', flush=True)")
    assert reply["output"].startswith("mine\n")
    assert reply["error"] is None or reply["error"]["kind"] in (
        "crash", "exception")
    if new == 3:
        assert reply["error"]["kind"] == "crash"


def test_nothing_writes_after_the_end(target):
    reply = run(target, "import os, time\nif os.fork() == 0:\n"
                        "    while os.getppid() == 1: pass\n"
                        "    while True: os.write(1, b'late')\n"
                        "if os.fork() == 0:\n    os.setsid()\n"
                        "    while True: open('late', 'a').write('x')\n"
                        "print('mine')")
    assert reply["error"] is None and reply["output"] == "mine\n"
    assert set(files_of(reply)) <= {"late"}


def test_a_fork_that_outlives_the_program_never_reports(target):
    reply = run(target, "import os\nif os.fork() == 0:\n    'the fork'\n"
                        "else:\n    os.wait()\n'the program'")
    assert reply["result"] == "'the program'" and reply["error"] is None
    assert reply["figures"] == []


# Files

def test_only_regular_files_come_back(target):
    reply = run(target, """
import os, socket
open('real', 'w').write('data')
os.link('real', 'hard')
for name, to in {'link': 'real', 'out': '/etc/passwd', 'loop': 'loop',
                 'up': '../..', 'proc': '/proc/self/environ',
                 'gone': 'nowhere'}.items():
    os.symlink(to, name)
try:
    os.mkfifo('fifo')
except PermissionError as error:
    print(type(error).__name__)
socket.socket(socket.AF_UNIX).bind('sock')
for kind in (0o020000, 0o060000):
    try:
        os.mknod('device', kind | 0o666, os.makedev(1, 3))
    except OSError as error:
        print(type(error).__name__)
""")
    assert files_of(reply) == {"real": b"data", "hard": b"data"}
    assert reply["output"] == "PermissionError\n" * 3
    notes = "\n".join(reply["notes"])
    for name in ("link", "out", "loop", "up", "proc", "gone"):
        assert f" {name} was left out: it is a symbolic link" in notes
    assert " sock was left out: it is no regular file" in notes


def test_a_directory_that_becomes_a_link_leads_nowhere(target):
    reply = run(target, "import os\nos.mkdir('a')\n"
                        "open('a/b', 'w').write('data')\nos.rename('a', 'c')\n"
                        "os.symlink('/etc', 'a')\nprint('mine')")
    assert files_of(reply) == {"c/b": b"data"}
    assert " a was left out: it is a symbolic link" in reply["notes"][0]


@pytest.mark.parametrize("name", ["work", "figures", "tmp"])
@pytest.mark.parametrize("instead", ["os.symlink('/etc', {0!r})",
                                     "open({0!r}, 'w').close()", "None"])
def test_a_box_that_is_taken_apart_harms_the_own_run_alone(target, name,
                                                           instead):
    path = f"/run/box/{name}"
    reply = run(target, f"import os\nprint('mine')\nplt.plot([1])\n"
                        f"os.rename({path!r}, '/run/box/other')\n"
                        + instead.format(path))
    assert reply["output"].startswith("mine\n")
    assert "root:" not in json.dumps(reply) and len(reply["files"]) < 2
    assert not any("  " in note for note in reply["notes"])


def test_a_sparse_file_costs_no_more_than_the_cap(target):
    reply = run(target, "import os\nprint('mine')\ntry:\n"
                        "    open('a', 'w').truncate(10 * 2 ** 30)\n"
                        "except OSError as error:\n"
                        "    print(error.errno)\nfor name in 'bcd':\n"
                        "    open(name, 'w').truncate(60 * 2 ** 20)")
    assert reply["output"] == "mine\n27\n"
    assert reply["error"]["kind"] == "limit"
    assert "b, c, d" in reply["error"]["message"]
    assert "32 MiB" in reply["error"]["message"]
    assert files_of(reply) == {"a": b""}


def test_deep_directories_have_an_end(target):
    reply = run(target, "import os\nfor i in range(300):\n"
                        "    os.mkdir('d')\n    os.chdir('d')\n"
                        "    if i == 2: open('near', 'w').write('data')\n"
                        "open('far', 'w').write('data')\nprint('mine')")
    assert files_of(reply) == {"d/d/d/near": b"data"}
    assert "too deep" in "".join(reply["notes"])


def test_files_over_the_cap_are_counted(target):
    reply = run(target, "for i in range(3000):\n"
                        "    open(f'{i:04}', 'w').write('x')\nprint('mine')")
    assert sorted(files_of(reply)) == [f"{i:04}" for i in range(100)]
    assert reply["error"]["kind"] == "limit"
    assert "2900" in reply["error"]["message"]
    assert "100 files" in reply["error"]["message"]


def test_more_files_than_there_may_be_is_an_error_of_the_program(target):
    reply = run(target, "for i in range(5000):\n"
                        "    open(f'{i:04}', 'w').write('x')")
    assert reply["error"]["kind"] == "exception"
    assert "No space left" in reply["error"]["message"]
    assert len(reply["files"]) == 100


ODD_NAMES = [b"new\nline", b"\xe2\x80\xaertl", b"\xff", b"\xed\xa0\x80",
             b"back\\slash", b"\x1b[31m", b"\x7f", b"tab\t",
             b"\xe2\x81\xa6isolate", b"\xef\xbb\xbfbom", b"\xc2\x85"]
PLAIN_NAMES = ["-rf", ".hidden", " ", "'\"<b>&", "é", "价格.csv", "😀", "%2e",
               "x" * 255, "~", "$(id)", "a:b", "..."]


def test_odd_names_are_left_out(target):
    reply = run(target, f"for name in {ODD_NAMES!r}:\n"
                        "    open(name, 'w').write('data')\nprint('mine')")
    assert reply["files"] == [] and reply["error"] is None
    assert len(reply["notes"]) == len(ODD_NAMES)
    assert all("odd name" in note for note in reply["notes"])


def test_unusual_names_come_back_as_they_are(target):
    reply = run(target, f"for name in {PLAIN_NAMES!r}:\n"
                        "    open(name, 'w').write('data')\nprint('mine')")
    assert set(files_of(reply)) == set(PLAIN_NAMES)
    names = [file["name"] for file in reply["files"]]
    assert names == sorted(names, key=lambda name: name.encode())
    assert reply["notes"] == []


def test_files_in_an_odd_directory_are_left_out(target):
    reply = run(target, "import os\nos.mkdir('a\\nb')\nos.mkdir('a.txt')\n"
                        "for name in ('a\\nb/c', 'a.txt/c'):\n"
                        "    open(name, 'w').write('data')\nprint('mine')")
    assert files_of(reply) == {"a.txt/c": b"data"}
    assert "odd name" in reply["notes"][0]


def test_what_may_not_be_read_comes_back_all_the_same(target):
    reply = run(target, "import os\nos.mkdir('d')\n"
                        "for name in 'a', 'b', 'd/c':\n"
                        "    open(name, 'w').write('data')\n"
                        "for name in 'a', 'd/c', 'd': os.chmod(name, 0)\n"
                        "print('mine')")
    assert files_of(reply) == dict.fromkeys(("a", "b", "d/c"), b"data")
    assert reply["notes"] == []


def test_so_does_what_is_in_a_work_directory_of_mode_0(target):
    reply = run(target, "import os\nopen('a', 'w').write('data')\n"
                        "os.chmod('/work', 0)\nprint('mine')")
    assert reply["output"] == "mine\n" and files_of(reply) == {"a": b"data"}


INPUT = [{"name": "in.txt", "data": base64.b64encode(b"given").decode()},
         {"name": "d/in.txt", "data": base64.b64encode(b"below").decode()}]


@pytest.mark.parametrize("code, expected", [
    ("open('in.txt').read()", {}),
    ("open('in.txt', 'r+').write('given')", {}),
    ("open('in.txt', 'w').write('taken')", {"in.txt": b"taken"}),
    ("open('in.txt', 'a').write('!')", {"in.txt": b"given!"}),
    ("open('in.txt', 'w').close()", {"in.txt": b""}),
    ("open('d/in.txt', 'a').write('!')", {"d/in.txt": b"below!"}),
    ("os.unlink('in.txt')", {}),
    ("os.rename('in.txt', 'out.txt')", {"out.txt": b"given"}),
])
def test_an_input_file_comes_back_only_when_it_changed(target, code,
                                                       expected):
    reply = run(target, f"import os\n{code}\nprint('mine')", files=INPUT)
    assert files_of(reply) == expected and reply["error"] is None


def test_an_input_file_that_became_a_link_is_left_out(target):
    reply = run(target, "import os\nos.unlink('in.txt')\n"
                        "os.symlink('/etc/passwd', 'in.txt')\nprint('mine')",
                files=INPUT)
    assert reply["files"] == []
    assert "in.txt was left out: it is a symbolic" in reply["notes"][0]


# Figures

def test_rubbish_among_the_figures_is_no_figure(target):
    reply = run(target, r"""
import os, struct
os.chdir('/run/box/figures')
start = b'\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR'
open('010.png', 'wb').write(b'rubbish')
open('011.png', 'wb').write(b'')
open('012.png', 'wb').write(start)
open('013.png', 'wb').write(start + struct.pack('>II', 2**31, 2**31) * 9)
open('014.png', 'wb').write(start + struct.pack('>II', 9000, 9000) * 9)
open('longer.png', 'wb').write(start + struct.pack('>II', 9, 9) * 9)
os.symlink('/work/real.png', '015.png')
import socket; socket.socket(socket.AF_UNIX).bind('016.png')
os.mkdir('017.png')
open('018.png', 'wb').truncate(30 * 2**20)
open('\n19.png', 'wb').write(start + struct.pack('>II', 9, 9) * 9)
os.chdir('/work')
plt.plot([1])
""")
    assert reply["error"] is None or reply["error"]["kind"] == "exception"
    assert len(reply["figures"]) == 1
    assert figures_of(reply)[0].startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("obstacle", ["os.mkdir({!r})", "import socket; socket.socket(1).bind({!r})",
                                      "os.symlink('/etc/passwd', {!r})"])
@pytest.mark.parametrize("name", ["001.png", "001.png.part"])
def test_an_obstacle_costs_a_figure_at_most(target, obstacle, name):
    path = f"/run/box/figures/{name}"
    reply = run(target, f"import os\n{obstacle.format(path)}\nplt.plot([1])\n"
                        "print('mine')", timeout=2)
    assert reply["output"] == "mine\n" and len(reply["figures"]) < 2
    if not reply["figures"]:
        assert reply["error"]["kind"] in ("figure", "timeout")


def test_many_forged_figures_meet_the_cap(target):
    reply = run(target, r"""
import struct
png = (b'\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR' + struct.pack('>II', 9, 9)
       + bytes(2**20))
for i in range(999):
    try:
        open(f'/run/box/figures/{i:03}.png', 'wb').write(png)
    except OSError:
        break
print('mine')
""")
    assert len(reply["figures"]) <= 24 and reply["output"] == "mine\n"


# Any bytes

@settings(max_examples=25, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from([1, 2, 3]),
                          st.binary(min_size=1, max_size=300)), max_size=8))
def test_any_bytes_on_any_descriptor_give_a_whole_reply(target, writes):
    reply = run(target, f"import os\nfor fd, data in {writes!r}:\n"
                        "    os.write(fd, data)")
    printed = b"".join(data for fd, data in writes if fd != 3)
    assert reply["output"] == printed.decode("utf-8", "replace")
    if all(fd != 3 for fd, data in writes):
        assert (reply["error"] is None) == bool(printed)
