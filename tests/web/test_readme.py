"""What the README says is so."""

import re
import subprocess

from service import BUILD, TOP

README = (TOP / "README.md").read_text()


def test_every_test_it_names_exists():
    named = set(re.findall(r"`(tests/[\w./]+)`", README))
    assert named
    assert [name for name in named if not (TOP / name).exists()] == []


def test_its_table_of_keys_has_the_programs_defaults():
    table = dict(re.findall(r"^\| `(\w+)` \| `?([^`|]*?)`? \|", README,
                            re.MULTILINE))
    usage = subprocess.run([BUILD / "sandbox-fcgi", "--help"],
                           capture_output=True, text=True, check=True).stdout
    for line in usage.splitlines():
        option = re.match(r"      --([a-z-]+)", line)
        if option and option[1] not in ("check", "stdio"):
            default = line[26:].partition("  ")[0].strip()
            key = option[1].replace("-", "_")
            assert table[key] == default, key


def test_its_list_of_make_targets_is_real():
    help_text = subprocess.run(["make", "help"], cwd=TOP, text=True,
                               capture_output=True, check=True).stdout
    for target in set(re.findall(r"`make ([a-z]+)`", README)):
        assert f"make {target}" in help_text or target == "help"
