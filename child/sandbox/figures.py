"""Every live matplotlib figure, as PNG at 150 dpi, in order of creation."""

import functools
import gc
import os
import sys
import warnings

from sandbox import png

DPI = 150
#: Agg's own bound on one side, in pixels.
SIDE_MAX = 2 ** 16 - 1
#: Where the responder looks for them.
DIRECTORY = "/run/box/figures"
#: One Noto font covers Chinese, Japanese and Korean.
CJK_FONT = "Noto Sans CJK JP"
#: What programs ask for when they want Chinese, Japanese or Korean text.
CJK_NAMES = (
    "SimHei", "SimSun", "Microsoft YaHei", "PingFang SC", "Heiti SC",
    "STHeiti", "Arial Unicode MS", "WenQuanYi Zen Hei", "Noto Sans CJK SC",
    "Noto Sans CJK TC", "Noto Sans CJK KR", "Noto Sans SC", "Source Han Sans",
    "Source Han Sans SC", "Hiragino Sans", "Hiragino Sans GB", "IPAexGothic",
    "MS Gothic", "Yu Gothic", "Meiryo", "TakaoGothic", "Malgun Gothic",
    "NanumGothic", "AppleGothic",
)


def prepare():
    """Number figures as they are made, let every text fall back to CJK, and
    write PNG ourselves.

    Needs matplotlib loaded; once. Changes the process: how a Figure is made
    and unpickled, how the font manager finds a font, and Agg's print_png.
    """
    global made
    from matplotlib import font_manager
    from matplotlib.figure import Figure

    made = 0
    init, set_state = Figure.__init__, Figure.__setstate__

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        global made
        made += 1
        self._sandbox_number = made
        init(self, *args, **kwargs)

    @functools.wraps(set_state)
    def __setstate__(self, state):
        global made
        made += 1
        set_state(self, state)

    Figure.__init__, Figure.__setstate__ = __init__, __setstate__
    let_show_end_figures()
    add_cjk_fonts(font_manager)
    png.take_over()


#: How many figures this run has made, once prepare() was called; before it,
#: the warm-up's.
made = None
#: Figures that show() was called on: returned even when closed after it.
shown = []
#: A program may show and close without end.
SHOWN_MAX = 200


def is_shown(figure):
    return any(figure is other for other in shown)


def let_show_end_figures():
    """Let plt.show() end a figure, as it does where windows open and in a
    notebook: what pyplot plots next begins one of its own.

    Saving is still of the figure shown: programs do it in that order too.
    """
    from matplotlib import pyplot
    from matplotlib._pylab_helpers import Gcf

    def show(*args, **kwargs):
        for manager in Gcf.figs.values():
            figure = manager.canvas.figure
            if len(shown) < SHOWN_MAX and not is_shown(figure):
                shown.append(figure)

    def begin_anew(function, clears=False):
        @functools.wraps(function)
        def call(*args, **kwargs):
            manager = Gcf.get_active()
            if manager and is_shown(manager.canvas.figure):
                Gcf.figs.pop(manager.num, None)  # not destroyed
                if clears:
                    return None  # the next figure is still to come
            return function(*args, **kwargs)
        return call

    pyplot.show = functools.wraps(pyplot.show)(show)
    for name in ("gca", "axes", "subplot", "subplot2grid"):
        setattr(pyplot, name, begin_anew(getattr(pyplot, name)))
    for name in ("clf", "cla"):
        setattr(pyplot, name, begin_anew(getattr(pyplot, name), True))


def add_cjk_fonts(font_manager):
    """Make the CJK font the last resort of every text.

    rcParams alone would not do: seaborn's themes and many programs set
    their own families. The names of fonts that are not here lead to the
    one that is.
    """
    import dataclasses

    manager = font_manager.fontManager
    found = [font for font in manager.ttflist if font.name == CJK_FONT]
    known = {font.name for font in manager.ttflist}
    manager.ttflist.extend(
        dataclasses.replace(font, name=name)
        for name in CJK_NAMES if name not in known for font in found)
    # Not public, so only where it is as we know it (3.6 to 3.10 have it).
    find = getattr(manager, "_find_fonts_by_props", None)
    if not found or find is None:
        return

    def weight(name):
        return font_manager.weight_dict.get(name, name)

    @functools.wraps(find)
    def find_with_cjk(prop, *args, **kwargs):
        paths = find(prop, *args, **kwargs)
        font = min(found, key=lambda font: abs(
            weight(font.weight) - weight(prop.get_weight())))
        return paths if font.fname in paths else [*paths, font.fname]

    manager._find_fonts_by_props = find_with_cjk
    add_cjk_to_mathtext(found[0].fname)


def add_cjk_to_mathtext(path):
    """The same for a text that has a formula in it: mathtext draws all of
    it, and knows no fallback but its own."""
    from matplotlib import _mathtext, font_manager
    # Not public either, and the same from 3.6 to 3.10.
    original = getattr(_mathtext.UnicodeFonts, "_get_glyph", None)
    if original is None:
        return

    @functools.wraps(original)
    def _get_glyph(self, fontname, font_class, sym):
        if len(sym) == 1 and ord(sym) >= 0x1100:
            font = font_manager.get_font(path)
            own = self._get_font(fontname)
            if font.get_char_index(ord(sym)) and not (
                    own and own.get_char_index(ord(sym))):
                return font, ord(sym), False
        return original(self, fontname, font_class, sym)

    _mathtext.UnicodeFonts._get_glyph = _get_glyph


def live():
    """The figures there are, in order of creation.

    pyplot's, those shown, and those made without pyplot that something
    still refers to. A figure that was closed and not shown before is not
    live, even when a variable holds it.
    """
    if not made:
        return []  # spares looking through all objects
    from matplotlib._pylab_helpers import Gcf
    from matplotlib.figure import Figure

    managed = [manager.canvas.figure for manager in Gcf.figs.values()]
    gc.collect()
    others = [thing for thing in gc.get_objects()
              if isinstance(thing, Figure)
              and getattr(thing.canvas, "manager", None) is None]
    found = {id(it): it for it in managed + shown + others}
    # One that was unpickled has no number of its own.
    return sorted(found.values(), key=lambda figure: getattr(
        figure, "_sandbox_number", sys.maxsize))


class TooLarge(ValueError):
    """A figure with more pixels than allowed; not drawn."""


def draw(figure, path, pixels_max):
    """Write one figure to path: PNG, 150 dpi, whatever rcParams say."""
    import matplotlib

    width, height = (int(inches * DPI) for inches in figure.get_size_inches())
    if width * height > pixels_max or max(width, height) > SIDE_MAX:
        raise TooLarge(
            f"it is too large: {width:,} x {height:,} pixels at {DPI} dpi, "
            f"allowed are {pixels_max:,} in all and {SIDE_MAX:,} a side; "
            "give it a smaller figsize (in inches)")
    file = png.Compact()
    with matplotlib.rc_context({"savefig.bbox": None}):
        figure.savefig(file, format="png", dpi=DPI)
    # Under another name until it is whole: a kill may come at any time.
    with open(path + ".part", "wb") as part:
        part.write(file.getbuffer())
    os.rename(path + ".part", path)


def failure(number, error):
    what = str(error) if isinstance(error, TooLarge) else (
        f"{type(error).__name__}: {error}")
    return f"Figure {number} could not be drawn: {what}."


def sweep(limits):
    """Draw all live figures into DIRECTORY.

    limits: ``figures``, ``figure_pixels``, ``figure_bytes``. Returns
    ``(failed, left_out, notes)``: None or ``(type, message)`` of those that
    could not be drawn; None or a sentence about those over a cap; what
    matplotlib warned of.
    """
    figures = live()
    total, failed, left_out, notes = 0, [], None, []
    for number, figure in enumerate(figures, 1):
        if number > limits["figures"]:
            left_out = (f"{len(figures)} figures, but only the first "
                        f"{limits['figures']} are returned; close those that "
                        "are not needed with plt.close().")
            break
        path = f"{DIRECTORY}/{number:03}.png"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                draw(figure, path, limits["figure_pixels"])
            except Exception as error:
                failed.append((type(error).__name__, failure(number, error)))
                continue
        notes += [f"Figure {number}: {warning.message}" for warning in caught
                  if issubclass(warning.category, UserWarning)][:3]
        total += os.stat(path).st_size
        if total > limits["figure_bytes"]:
            os.unlink(path)
            left_out = (f"The figures from number {number} on are left out: "
                        "all PNG files together may have "
                        f"{limits['figure_bytes']:,} bytes; draw fewer or "
                        "smaller ones.")
            break
    if failed:
        names = {name.replace("TooLarge", "ValueError") for name, _ in failed}
        failed = (names.pop(), " ".join(text for _, text in failed))
    return failed or None, left_out, notes
