"""make install and make uninstall: what is there runs, and all of it goes."""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile

import pytest

from packaging_tools import files_below, make
from service import BUILD, NGINX, TOP, Service


@pytest.fixture
def place():
    """An empty directory that the service's account may pass through."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="sandbox-fcgi-test."))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


class Installed(Service):
    """The service as it was installed, finding all by itself."""

    def __init__(self, usr, **options):
        super().__init__(**options)
        self.program = usr / "sbin" / "sandbox-fcgi"

    def start_responder(self, environment=None):
        with open(self.log, "ab") as log:
            self.responder = subprocess.Popen(
                [self.program, "--listen", self.socket, "--max-runs=2",
                 "--ready=1", "--workers=4", *(f"--{key}={value}" for
                 key, value in self.options.items())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment)


def assert_it_runs(usr):
    with Installed(usr) as service:
        reply = service.run("plt.plot([1, 2])\nprint(6 * 7)")
        assert reply["output"] == "42\n" and len(reply["figures"]) == 1
        # Beside nothing, it has found the child where it was installed.
        zygote, = service.pids("zygote")
        assert os.readlink(f"/proc/{zygote}/exe") == str(
            usr / "libexec/sandbox-fcgi/sandbox-child")


@pytest.mark.parametrize("prefix", ["/usr/local", "/opt/box"])
def test_what_is_installed_runs(place, prefix):
    old = os.umask(0o077)  # modes do not depend on the administrator's
    try:
        make("install", f"DESTDIR={place}", f"PREFIX={prefix}")
    finally:
        os.umask(old)
    usr = place / prefix.lstrip("/")
    for path in usr.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode in ((0o755,) if path.is_dir() else (0o644, 0o755)), path
    assert_it_runs(usr)
    unit = (usr / "lib/systemd/system/sandbox-fcgi.service").read_text()
    assert f"\nExecStart={prefix}/sbin/sandbox-fcgi\n" in unit


def test_files_of_the_administrator_stay(place):
    make("install", f"DESTDIR={place}")
    before = files_below(place)
    changed = place / "etc" / "sandbox-fcgi.conf"
    changed.write_text("[sandbox-fcgi]\nmax_runs = 2\n")
    make("install", f"DESTDIR={place}")
    assert "max_runs = 2" in changed.read_text()
    assert files_below(place) == before
    make("uninstall", f"DESTDIR={place}")
    assert [path for path in place.rglob("*") if not path.is_dir()] == [changed]
    changed.unlink()
    make("install", f"DESTDIR={place}")
    make("uninstall", f"DESTDIR={place}")
    assert [path for path in place.rglob("*") if not path.is_dir()] == []


def test_the_example_holds_every_key_at_its_default(place):
    """The program takes the file, and nothing in it is in force."""
    make("install", f"DESTDIR={place}")
    text = (place / "etc" / "sandbox-fcgi.conf").read_text()
    usage = subprocess.run([BUILD / "sandbox-fcgi", "--help"], text=True,
                           capture_output=True, check=True).stdout
    names = re.findall(r"^ {6}--([a-z-]+) +.*$", usage, re.MULTILINE)
    keys = [name.replace("-", "_") for name in names
            if name not in ("check", "stdio")]
    assert re.findall(r"^#(\w+) =", text, re.MULTILINE) == keys


def test_nginx_takes_the_server_that_is_installed(place):
    make("install", f"DESTDIR={place}")
    server = (place / "etc/nginx/sites-available/sandbox-fcgi").read_text()
    include = (place / "etc/nginx/snippets/sandbox-fcgi.conf").read_text()
    assert include == (NGINX / "sandbox-fcgi.conf").read_text()
    assert "root /usr/local/share/sandbox-fcgi/html;" in server
    whole = place / "nginx.conf"
    whole.write_text(
        f"pid {place}/pid; error_log stderr; events {{ }} http {{\n"
        "access_log off;\n"
        + "".join(f"{kind}_temp_path {kind};\n" for kind in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        + server.replace("snippets/", f"{place}/etc/nginx/snippets/")
        .replace("127.0.0.1:8080", f"unix:{place}/nginx.sock") + "}\n")
    subprocess.run(["nginx", "-t", "-q", "-p", place, "-e", "stderr", "-c",
                    whole], check=True)
    # The socket of the unit is the one that the include names.
    unit = (TOP / "nginx/systemd/sandbox-fcgi.socket").read_text()
    path = re.search(r"^ListenStream=(.*)$", unit, re.MULTILINE)[1]
    assert set(re.findall(r"fastcgi_pass unix:(.*);", include)) == {path}
