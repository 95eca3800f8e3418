"""systemd's own word on the units."""

import configparser
import re
import subprocess

import pytest

from service import NGINX, TOP

UNITS = NGINX / "systemd"
#: 0 is locked up, 10 wide open; what a run needs stands in the unit.
EXPOSURE_MAX = 2.7


def said(*words):
    return subprocess.run(words, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


@pytest.fixture
def root(tmp_path):
    """A file tree in which systemd finds the units, and what they start."""
    for name in ("sandbox-fcgi.service", "sandbox-fcgi.socket"):
        text = (UNITS / name).read_text()
        text = text.replace("/usr/sbin/sandbox-fcgi", "/bin/true")
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_units_are_right(root):
    result = said("systemd-analyze", "verify", "--man=no",
                  root / "sandbox-fcgi.service", root / "sandbox-fcgi.socket")
    ours = [line for line in result.stdout.splitlines()
            if "sandbox-fcgi" in line]
    assert result.returncode == 0 and ours == []


def test_a_wrong_unit_would_be_noticed(root):
    with open(root / "sandbox-fcgi.service", "a") as unit:
        unit.write("[Service]\nProtectHomes=yes\n")
    assert "ProtectHomes" in said("systemd-analyze", "verify", "--man=no",
                                  root / "sandbox-fcgi.service").stdout


def test_the_service_is_locked_up():
    result = said("systemd-analyze", "security", "--offline=true",
                  f"--threshold={int(EXPOSURE_MAX * 10)}",
                  UNITS / "sandbox-fcgi.service")
    level = re.search(r"exposure level for sandbox-fcgi.service: ([\d.]+)",
                      result.stdout)[1]
    assert float(level) <= EXPOSURE_MAX and result.returncode == 0


def test_the_unit_waits_as_long_as_the_program_takes():
    """The socket's queue is the program's own, and systemd is no sooner."""
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str
    parser.read(UNITS / "sandbox-fcgi.socket")
    listen = (TOP / "fcgi" / "listen.c").read_text()
    assert parser["Socket"]["Backlog"] == re.search(
        r"BACKLOG = (\d+)", listen)[1]
