"""Each test writes into a directory of its own and starts without notes."""
import os
import sys
import tempfile
from pathlib import Path

import matplotlib
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "child"))
matplotlib.use("Agg")
# Where the tests run from is no place for hypothesis' notes.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY",
                      os.path.join(tempfile.gettempdir(), "hypothesis"))


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    from matplotlib import pyplot
    from sandbox import office
    monkeypatch.chdir(tmp_path)
    office.notes.clear()
    yield tmp_path
    pyplot.close("all")
