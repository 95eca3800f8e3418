"""Each test writes into a directory of its own and starts without notes."""
import sys
from pathlib import Path

import matplotlib
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "child"))
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    from matplotlib import pyplot
    from sandbox import office
    monkeypatch.chdir(tmp_path)
    office.notes.clear()
    yield tmp_path
    pyplot.close("all")
