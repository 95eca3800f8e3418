"""Our PNG of a figure has the pixels of matplotlib's own, in fewer bytes."""

import io

import numpy
import pytest
from gallery import GALLERY, LINES
from PIL import Image
from service import figures_of, files_of

#: matplotlib's own writer, at the level that it has by default: what our
#: encoder does not cover is left to it.
OWN = "pil_kwargs={'compress_level': 6}"
#: A palette in a file that is hardly larger than it.
SLACK_BYTES = 192


def pixels(png):
    return numpy.asarray(Image.open(io.BytesIO(png)).convert("RGBA"))


@pytest.mark.parametrize("name", GALLERY)
def test_a_figure_is_as_matplotlib_would_have_written_it(service, name):
    reply = service.run(f"{GALLERY[name]}\n"
                        f"fig.savefig('own.png', dpi=150, {OWN})\n"
                        "fig.savefig('saved.png', dpi=150)")
    assert reply["error"] is None
    files, (swept,) = files_of(reply), figures_of(reply)
    own = files["own.png"]
    assert numpy.array_equal(pixels(swept), pixels(own))
    assert len(swept) <= len(own) + SLACK_BYTES
    assert numpy.array_equal(pixels(files["saved.png"]), pixels(own))
    # Whoever saves it may read it back, and counts on four channels.
    assert Image.open(io.BytesIO(files["saved.png"])).mode == "RGBA"
    assert len(files["saved.png"]) <= len(own) * 1.03 + SLACK_BYTES


@pytest.mark.parametrize("options", [
    "bbox_inches='tight'", "transparent=True", "facecolor='red'",
    "metadata={'Title': 'a title', 'Software': None}",
    "metadata={'Title': '\\u4ef7'}", "format='png'",
])
def test_a_saved_file_is_what_matplotlib_would_have_saved(service, options):
    reply = service.run(f"{LINES}\n"
                        f"fig.savefig('own.png', {OWN}, {options})\n"
                        f"fig.savefig('saved.png', {options})")
    files = files_of(reply)
    own, saved = (Image.open(io.BytesIO(files[name]))
                  for name in ("own.png", "saved.png"))
    assert own.mode == saved.mode == "RGBA"
    assert own.info == saved.info
    assert numpy.array_equal(numpy.asarray(own), numpy.asarray(saved))


@pytest.mark.parametrize("target", [
    "io.BytesIO()", "open('f', 'wb')", "pathlib.Path('f')", "b'f'",
    "type('Sink', (), {'write': lambda self, data: None})()",
])
def test_a_figure_can_be_saved_to(service, target):
    reply = service.run("import io, pathlib\n"
                        f"{LINES}\nfig.savefig({target}, format='png')")
    assert reply["error"] is None, reply["error"]


@pytest.mark.parametrize("meddling", [
    "from matplotlib.backends.backend_agg import FigureCanvasAgg as Agg\n"
    "import functools\n"
    "original = Agg.print_png\n"
    "@functools.wraps(original)\n"
    "def print_png(self, *a, **k): return original(self, *a, **k)\n"
    "Agg.print_png = print_png",
    "import _sandbox; _sandbox.png = None",
    "import matplotlib.image; matplotlib.image.imsave = None",
    "import PIL.Image; PIL.Image.Image.save = None",
    "matplotlib.__version__ = 3",
])
def test_the_sweep_stands_what_a_program_has_replaced(service, meddling):
    reply = service.run(f"{LINES}\n{meddling}")
    assert reply["error"] is None and len(figures_of(reply)) == 1


def test_a_figure_that_was_unpickled_is_in_the_reply(service):
    """One of another run, which this one has not made."""
    dumped = service.run("import base64, pickle\nfigure = plt.figure()\n"
                         "plt.plot([1, 2])\n"
                         "dumped = pickle.dumps(figure)\n"
                         "print(base64.b64encode(dumped).decode())")
    reply = service.run("import base64, pickle\n"
                        "figure = pickle.loads(base64.b64decode(dumped))",
                        context={"dumped": dumped["output"]})
    assert reply["error"] is None
    assert figures_of(reply) == figures_of(dumped) != []
