"""The encoder on pictures that no figure is like; Pillow reads them back."""

import importlib.util
import io
import pathlib

import numpy
import pytest
from hypothesis import given, strategies
from PIL import Image

PATH = pathlib.Path(__file__).parents[2] / "build" / "test" / "_sandbox.so"

spec = importlib.util.spec_from_file_location("_sandbox", PATH)
sandbox = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sandbox)


def encode(picture, dpi=150, texts=None, keep_rgba=False):
    return sandbox.png(picture, dpi, texts or {}, keep_rgba)


def decode(png):
    image = Image.open(io.BytesIO(png))
    image.load()
    return image


@strategies.composite
def pictures(draw):
    """Of any size up to a few bands of rows, with any number of colours,
    opaque or not, of noise, of flat areas or of rows that repeat."""
    height = draw(strategies.integers(1, 150))
    width = draw(strategies.integers(1, 70))
    random = numpy.random.default_rng(draw(strategies.integers(0, 2 ** 32)))
    count = draw(strategies.sampled_from(
        [1, 2, 3, 4, 5, 15, 16, 17, 255, 256, 257, 5000]))
    colours = random.integers(0, 256, (count, 4), dtype=numpy.uint8)
    if draw(strategies.booleans()):
        colours[:, 3] = 255
    indices = random.integers(0, count, (height, width))
    if draw(strategies.booleans()):
        indices.sort(axis=draw(strategies.integers(0, 1)))
    if draw(strategies.booleans()):
        indices[:] = indices[0]
    return numpy.ascontiguousarray(colours[indices])


@given(pictures(), strategies.booleans())
def test_every_pixel_comes_back(picture, keep_rgba):
    image = decode(encode(picture, keep_rgba=keep_rgba))
    assert numpy.array_equal(numpy.asarray(image.convert("RGBA")), picture)
    assert image.mode == "RGBA" or not keep_rgba


@pytest.mark.parametrize("count, mode, depth", [
    (2, "P", 1), (3, "P", 2), (4, "P", 2), (5, "P", 4), (16, "P", 4),
    (17, "P", 8), (256, "P", 8), (257, "RGB", 8)])
def test_the_form_fits_the_colours(count, mode, depth):
    picture = numpy.full((100, 300, 4), 255, numpy.uint8)
    steps = numpy.arange(30000).reshape(100, 300) % count
    picture[..., 0], picture[..., 1] = steps % 256, steps // 256
    png = encode(picture)
    assert decode(png).mode == mode and png[24] == depth


def test_few_pixels_have_no_palette():
    assert decode(encode(numpy.zeros((1, 1, 4), numpy.uint8))).mode == "RGBA"


def test_resolution_and_texts_are_there():
    picture = numpy.zeros((5, 5, 4), numpy.uint8)
    info = decode(encode(picture, 150, {b"Software": b"ours", b"\xe4": b""})
                  ).info
    assert info["Software"] == "ours" and info["\xe4"] == ""
    assert round(info["dpi"][0]) == 150
    assert "dpi" not in decode(encode(picture, 0)).info


@pytest.mark.parametrize("picture, error", [
    (b"abcd", ValueError), (memoryview(b""), ValueError), (None, TypeError),
    (numpy.zeros((5, 5, 3), "uint8"), ValueError),
    (numpy.zeros((0, 5, 4), "uint8"), ValueError),
    (numpy.zeros((5, 0, 4), "uint8"), ValueError),
    (numpy.zeros((5, 5, 4), "uint16"), ValueError),
    (numpy.zeros((5, 20), "uint8"), ValueError),
    (numpy.zeros((5, 9, 4), "uint8")[:, ::2], ValueError),
    (numpy.broadcast_to(numpy.uint8(0), (1 << 14, (1 << 14) + 1, 4)),
     ValueError),
])
def test_what_is_no_picture_is_refused(picture, error):
    with pytest.raises((error, BufferError)):
        encode(picture)


@pytest.mark.parametrize("dpi", [-1, float("nan"), float("inf"), 1e7])
def test_a_resolution_out_of_range_is_refused(dpi):
    with pytest.raises(ValueError):
        encode(numpy.zeros((1, 1, 4), "uint8"), dpi)


@pytest.mark.parametrize("texts, error", [
    ({b"": b"x"}, ValueError), ({b"k" * 80: b"x"}, ValueError),
    ({b"k": b"a\0b"}, ValueError), ({b"k\0": b"x"}, ValueError),
    ({"k": b"x"}, TypeError), ({b"k": "x"}, TypeError),
    ({b"%d" % i: b"" for i in range(33)}, ValueError)])
def test_texts_that_cannot_be_written_are_refused(texts, error):
    with pytest.raises(error):
        encode(numpy.zeros((1, 1, 4), "uint8"), texts=texts)


def test_texts_at_their_limits_are_written():
    texts = {b"k" * 79: b"x" * 100000, **{b"%d" % i: b"" for i in range(31)}}
    assert len(decode(encode(numpy.zeros((1, 1, 4), "uint8"), texts=texts)
                      ).text) == 32
