"""Every key that a run can feel is in force."""

import os
import pathlib
import subprocess
import tempfile

import pytest

from service import BUILD, files_of, figures_of


def kind(reply):
    return reply["error"] and reply["error"]["kind"]


def test_output_is_capped_at_max_output(start_cold):
    reply = start_cold(max_output="8K").run("print('x' * 8192)")
    assert reply["output_dropped"] == 1
    assert "[... 1 bytes left out ...]" in reply["output"]


def test_figures_are_capped_in_number_pixels_and_bytes(start):
    service = start(max_figures=2, max_figure_pixels=500000,
                    max_figure_bytes="64K")
    reply = service.run("for _ in range(3): plt.figure(figsize=(1, 1))")
    assert len(figures_of(reply)) == 2
    assert kind(reply) == "limit" and "first 2" in reply["error"]["message"]

    reply = service.run("plt.figure(figsize=(6, 4)); print(1)")
    assert kind(reply) == "figure"
    assert "500,000" in reply["error"]["message"]

    reply = service.run("plt.figure(figsize=(4, 4))\n"
                        "plt.imshow(np.random.rand(500, 500, 3))")
    assert figures_of(reply) == []
    assert kind(reply) == "limit" and "65,536" in reply["error"]["message"]


def test_files_are_capped_in_number_and_bytes(start_cold):
    service = start_cold(max_files=2, max_file_bytes="1M")
    reply = service.run("for n in 'cab': open(n, 'w').write(n)")
    assert files_of(reply) == {"a": b"a", "b": b"b"}
    assert kind(reply) == "limit" and "(c)" in reply["error"]["message"]

    reply = service.run("open('big', 'wb').truncate(1 << 20 | 1)\n"
                        "open('small', 'w').write('s')")
    assert files_of(reply) == {"small": b"s"}
    assert kind(reply) == "limit" and "big" in reply["error"]["message"]


def test_the_working_directory_is_as_large_as_configured(start_cold):
    service = start_cold(work_size="2M", work_inodes=64)
    reply = service.run("open('f', 'wb').write(bytes(3 << 20))")
    assert kind(reply) == "exception"
    assert reply["error"]["type"] == "OSError"
    reply = service.run("for n in range(100): open(str(n), 'w')")
    assert "No space left" in reply["error"]["message"]


def test_input_files_that_do_not_fit_are_refused(start_cold):
    service = start_cold(work_size="1M")
    answer = service.post({"code": "1", "files": [
        {"name": "f", "data": "AAAA" * (1 << 19)}]})
    assert answer.status == 400 and answer.json["member"] == "files"


@pytest.fixture
def site():
    """A directory that the service's account can read, and not below /tmp."""
    place = "/srv" if os.geteuid() == 0 else BUILD
    with tempfile.TemporaryDirectory(dir=place) as directory:
        os.chmod(directory, 0o755)
        yield pathlib.Path(directory)


def test_a_site_directory_and_a_preload_list_are_there(start, site):
    (site / "house_style.py").write_text("COLOUR = 'teal'\n")
    service = start(python_path=site, preload="house_style, csv")
    reply = service.run("import sys\nprint('house_style' in sys.modules)\n"
                        "import house_style\nhouse_style.COLOUR")
    assert reply["output"] == "True\n" and reply["result"] == "'teal'"


def test_each_run_ends_with_what_a_preloaded_module_asks_for(start, site):
    (site / "house_style.py").write_text(
        "import atexit\natexit.register(print, 'teal')\n")
    service = start(python_path=site, preload="house_style")
    for _ in range(2):
        assert service.run("print(1)")["output"] == "1\nteal\n"


def test_what_a_library_has_wiped_by_a_fork_is_wiped(start, site):
    """As the C library of Debian 13 has its random state: else all runs have
    the same numbers."""
    (site / "secret.py").write_text(
        "import mmap\nMADV_WIPEONFORK = 18\n"
        "state = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE)\n"
        "state.madvise(MADV_WIPEONFORK)\nstate[:4] = b'seed'\n")
    service = start(python_path=site, preload="secret")
    reply = service.run("import secret\nsecret.state[:4]")
    assert reply["result"] == r"b'\x00\x00\x00\x00'"


def test_a_figure_that_a_preloaded_module_leaves_is_in_each_reply(start, site):
    (site / "house_style.py").write_text(
        "from matplotlib import pyplot\npyplot.figure()\n")
    service = start(python_path=site, preload="house_style")
    for _ in range(2):
        assert len(service.run("print(1)")["figures"]) == 1


def test_a_site_directory_that_a_run_would_not_see_is_refused(tmp_path):
    ended = subprocess.run(
        [BUILD / "sandbox-fcgi", "--stdio", "--python-path", "/tmp"],
        input='{"code": "1"}', capture_output=True, text=True)
    assert ended.returncode == 2
    assert "python_path: /tmp would be hidden" in ended.stderr


def test_memory_and_processes_are_bounded_as_configured(start):
    service = start(memory="256M", processes=8)
    reply = service.run("bytearray(300 << 20)")
    assert kind(reply) == "memory" and "256 MiB" in reply["error"]["message"]
    reply = service.run("import os\nfor _ in range(20):\n"
                        "    if os.fork() == 0: import time; time.sleep(60)")
    assert reply["error"]["type"] == "BlockingIOError"


def test_counts_are_chosen_for_the_processors_that_we_may_use():
    text = subprocess.run(["taskset", "-c", "0", BUILD / "sandbox-fcgi",
                           "--check"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    assert "\n# 1 of the processors, and " in text
    assert "\nmax_runs = 4\nready = 2\n" in text and "workers = 12\n" in text


def test_check_prints_what_is_in_force_and_reads_back(tmp_path):
    command = [BUILD / "sandbox-fcgi", "--check"]
    first = subprocess.run([*command, "--timeout", "5s", "--memory=512M"],
                           capture_output=True, text=True, check=True).stdout
    (tmp_path / "f.conf").write_text(first)
    again = subprocess.run([*command, "--config", tmp_path / "f.conf"],
                           capture_output=True, text=True, check=True).stdout
    assert again == first and "timeout = 5s" in first
