"""screenshots.py DIRECTORY: pictures of the page, with a reply on it.

Whole pages, narrow and wide, light and dark, in few colours to be small."""

import io
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from browser import Browser  # noqa: E402
from PIL import Image  # noqa: E402
from service import Service  # noqa: E402

PICTURES = {"wide": (1280, False), "wide-dark": (1280, True),
            "narrow": (360, False)}
COLOURS = 128


def picture(browser, path, width, dark):
    browser.size(width, dark=dark)
    height = browser.js("return document.documentElement.scrollHeight")
    browser.size(width, height, dark)
    image = Image.open(io.BytesIO(browser.get_screenshot_as_png()))
    image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        path, optimize=True)
    print(path, path.stat().st_size)


def main(directory):
    with Service() as service, Browser() as browser:
        browser.size(1280)
        browser.get(service.url)
        example, = [button for button in browser.all(".examples button")
                    if button.text == "Excel and Word"]
        example.click()
        print(browser.run())
        for name, (width, dark) in PICTURES.items():
            picture(browser, directory / f"{name}.png", width, dark)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
