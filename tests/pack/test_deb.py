"""The Debian package, as far as a machine can tell that installs nothing."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from packaging_tools import build_deb
from service import BUILD, TOP
from test_install import assert_it_runs


@pytest.fixture(scope="module")
def deb():
    return build_deb()


def output(*words):
    return subprocess.run(words, check=True, text=True,
                          capture_output=True).stdout


@pytest.fixture(scope="module")
def unpacked(deb):
    """Its files and, below DEBIAN/, what dpkg knows and does."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="sandbox-fcgi-test."))
    path.chmod(0o755)
    output("dpkg-deb", "-R", deb, path)
    yield path
    shutil.rmtree(path)


def test_lintian_finds_no_error(deb):
    result = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", deb],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode == 0, result.stdout


def test_it_needs_what_it_uses(deb):
    depends = output("dpkg-deb", "-f", deb, "Depends")
    names = set(re.findall(r"[\w.+-]+", re.sub(r"\([^)]*\)", "", depends)))
    makefile = (TOP / "Makefile").read_text().replace("\\\n", " ")
    libraries = re.search(r"^LIBRARIES = (.*)$", makefile, re.MULTILINE)[1]
    assert set(libraries.split()) <= names and "python3-numpy" in names
    # Every shared library of both programs is some package's that it names.
    for program in ("sandbox-fcgi", "sandbox-child"):
        needed = re.findall(r"NEEDED.*\[(.*)\]",
                            output("readelf", "-d", BUILD / program))
        assert needed
        for library in needed:
            owners = output("dpkg", "-S", f"*/{library}")
            assert {line.split(":")[0] for line in owners.splitlines()
                    } & names, (library, names)


def test_it_has_the_version_of_the_program(deb):
    program = output(BUILD / "sandbox-fcgi", "--version").split()[1]
    assert output("dpkg-deb", "-f", deb, "Version").strip() == program


def test_files_of_etc_are_the_administrators(unpacked):
    files = {f"/{path.relative_to(unpacked)}"
             for path in (unpacked / "etc").rglob("*") if path.is_file()}
    conffiles = (unpacked / "DEBIAN" / "conffiles").read_text().split()
    assert files == set(conffiles)
    assert {"/etc/sandbox-fcgi.conf", "/etc/nginx/snippets/sandbox-fcgi.conf",
            "/etc/nginx/sites-available/sandbox-fcgi"} <= files
    assert not (unpacked / "etc/nginx/sites-enabled").exists()


def test_nothing_is_in_it_that_the_machine_makes(unpacked):
    assert list(unpacked.rglob("__pycache__")) == []
    assert list((unpacked / "usr/libexec/sandbox-fcgi/matplotlib"
                 ).iterdir()) == []


def test_what_is_in_it_runs(unpacked):
    """Once its own script has made the list of fonts there."""
    script = unpacked / "DEBIAN" / "postinst"
    lists = re.search(r"^list_fonts\(\) \{.*?^\}", script.read_text(),
                      re.MULTILINE | re.DOTALL)[0]
    place = unpacked / "usr/libexec/sandbox-fcgi/matplotlib"
    lists = lists.replace("/usr/libexec/sandbox-fcgi/matplotlib", str(place))
    (place / "fontlist-v0.json").write_text("an older matplotlib's")
    subprocess.run(["sh", "-euc", f"{lists}\nlist_fonts"], check=True,
                   env={"PATH": os.environ["PATH"]})
    names = [path.name for path in place.iterdir()]
    assert len(names) == 1 and names[0] != "fontlist-v0.json"
    assert_it_runs(unpacked / "usr")


@pytest.mark.parametrize("name", ["postinst", "prerm", "postrm"])
def test_its_scripts_are_shells(unpacked, name):
    subprocess.run(["sh", "-n", unpacked / "DEBIAN" / name], check=True)
