"""An nginx with the example files of nginx/, adapted as their comments say."""

import re
import shutil
import subprocess

import service as service_module
from service import NGINX, Service


def example(name, *changes):
    """The text of an example, each (old, new) replaced; old must be there."""
    text = (NGINX / name).read_text()
    for old, new in changes:
        assert old in text, (name, old)
        text = text.replace(old, new)
    return text


def hosts(*addresses, **changes):
    """upstream.conf with other hosts, and parameters as they stand there."""
    text = example("upstream.conf")
    first, parameters = re.search(r"^    server \S+:\d+( [^;]+);",
                                  text, re.MULTILINE).group(0, 1)
    for name, value in changes.items():
        parameters = re.sub(rf"{name}=\S+", f"{name}={value}", parameters)
    text = re.sub(r"^    server .*\n", "", text, flags=re.MULTILINE)
    return text.replace("    least_conn;\n", "    least_conn;\n" + "".join(
        f"    server {address}{parameters};\n" for address in addresses))


class Front(Service):
    """nginx with more in its http and server blocks.

    hosts: whether sandbox-fcgi.conf is changed for many, by the very command
    that upstream.conf names; there is no responder of its own then.
    changes: of sandbox-fcgi.conf, as (old, new).
    """

    def __init__(self, http="", server="", hosts=False, changes=(), **options):
        super().__init__(**options)
        self.http, self.locations, self.hosts = http, server, hosts
        self.changes = changes

    def start(self):
        if not self.hosts:
            self.start_responder()
        self.start_nginx()
        if not self.hosts:
            self.wait_until_warm()

    def start_nginx(self):
        copy = shutil.copytree(NGINX, self.directory / "nginx")
        (copy / "sandbox-fcgi.conf").write_text(
            example("sandbox-fcgi.conf", *self.changes))
        main = copy / "nginx.conf"
        main.write_text(main.read_text().replace(
            "    server {\n", f"{self.http}\n    server {{\n", 1))
        if self.hosts:
            command = re.search(r"^# +(sed -i .*)$", example("upstream.conf"),
                                re.MULTILINE)[1]
            subprocess.run(command, shell=True, cwd=copy, check=True)
            text = (copy / "sandbox-fcgi.conf").read_text()
            assert "unix:" not in text and "REQUEST_MSEC   $" not in text
        service_module.NGINX = copy
        try:
            super().start_nginx()
        finally:
            service_module.NGINX = NGINX
