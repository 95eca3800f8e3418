"""What the tests of the package share."""

import functools
import os
import pathlib
import subprocess

from service import BUILD, TOP


def make(*words):
    """Run make, of a tree that is already built; what it says on failure."""
    result = subprocess.run(
        ["make", "--no-print-directory", "-C", TOP, *map(str, words)],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "MAKEFLAGS": ""})
    assert result.returncode == 0, result.stdout[-3000:]


def files_below(top):
    """Path to mode of all that is below a directory, relative to it."""
    return {str(path.relative_to(top)): path.lstat().st_mode
            for path in pathlib.Path(top).rglob("*")}


@functools.cache
def build_deb():
    """The Debian package of this tree, built once; or where it was built
    before, since a machine to be thrown away may have no compiler."""
    if "SANDBOX_FCGI_DEB" in os.environ:
        return pathlib.Path(os.environ["SANDBOX_FCGI_DEB"]).resolve()
    make("deb")
    package, = (BUILD / "deb").glob("sandbox-fcgi_*.deb")
    return package
