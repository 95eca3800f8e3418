"""The manual's pages: without a warning, and with all that the program has."""

import os
import re
import shutil
import subprocess

import pytest

from service import BUILD, NGINX, TOP

PAGES = ("sandbox-fcgi.conf.5", "sandbox-fcgi.8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Where the pages are; that of the file is made from the file."""
    place = tmp_path_factory.mktemp("man")
    shutil.copy(NGINX / "man" / "sandbox-fcgi.8", place)
    with open(place / "sandbox-fcgi.conf.5", "wb") as page:
        subprocess.run(["awk", "-f", NGINX / "man" / "conf.awk",
                        TOP / "fcgi" / "sandbox-fcgi.conf"], stdout=page,
                       check=True)
    return place


@pytest.fixture(scope="module")
def options():
    """The names of all options, in the program's own order."""
    usage = subprocess.run([BUILD / "sandbox-fcgi", "--help"], text=True,
                           capture_output=True, check=True).stdout
    return re.findall(r"^  (?:-\w,|   ) --([a-z-]+)", usage, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_man_has_no_warning(pages, page):
    result = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z",
         pages / page], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80",
                        "MANROFFSEQ": ""})
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES)
def test_mandoc_finds_nothing(pages, page):
    found = subprocess.run(["mandoc", "-Tlint", pages / page], text=True,
                           capture_output=True).stdout.splitlines()
    # Whether others' pages are on this machine is not the page's affair.
    assert [line for line in found if "referenced manual not found" not in line
            and "mandoc.db" not in line] == []


def test_every_key_has_its_entry(pages, options):
    keys = [name.replace("-", "_")
            for name in options[:options.index("config")]]
    page = (pages / "sandbox-fcgi.conf.5").read_text()
    entries = re.findall(r"^\.It Cm (\w+) =", page, re.MULTILINE)
    assert len(keys) > 30 and entries == keys


def test_every_other_option_has_its_entry(pages, options):
    entries = re.findall(r"^\.It Fl (?:\w , )?\\-(\w+)",
                         (pages / "sandbox-fcgi.8").read_text(), re.MULTILINE)
    assert entries == options[options.index("config"):]
