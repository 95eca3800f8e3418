"""A headless Chromium on the page, for its tests and its pictures.

Browser is a selenium driver that keeps everything it writes below one
directory, which goes with it, and knows the page's parts."""

import json
import os
import pathlib
import shutil
import tempfile

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from service import wait_for


class Browser(Chrome):
    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="page-test."))
        self.downloads = self.directory / "downloads"
        options = ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("headless=new", "disable-dev-shm-usage",
                         "no-first-run", "disable-background-networking",
                         "disable-component-update", "hide-scrollbars",
                         f"user-data-dir={self.directory / 'profile'}"):
            options.add_argument(f"--{argument}")
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.add_experimental_option(
            "prefs", {"download.default_directory": str(self.downloads)})
        options.set_capability("goog:loggingPrefs",
                               {"browser": "ALL", "performance": "ALL"})
        try:
            super().__init__(options=options,
                             service=Driver("/usr/bin/chromedriver"))
        except BaseException:
            shutil.rmtree(self.directory)
            raise
        self.set_script_timeout(30)

    def __exit__(self, *exception):
        self.quit()
        # Its last processes may still write while they end.
        wait_for(self.removed, 10, "the browser's end")

    def removed(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        return not self.directory.exists()

    # Looking

    def id(self, name):
        return self.find_element(By.ID, name)

    def all(self, selector):
        return self.find_elements(By.CSS_SELECTOR, selector)

    def text(self, name):
        """The text of an element as it is in the document, shown or not, less
        the marks that isolate what is not the page's own."""
        text = self.js(f"return document.getElementById('{name}').textContent")
        return text.replace("\u2068", "").replace("\u2069", "")

    def js(self, script, *arguments):
        return self.execute_script(script, *arguments)

    def messages(self):
        """What was written to the console since the last call."""
        return [entry["message"] for entry in self.get_log("browser")]

    def requests(self):
        """The requests that went out since the last call."""
        messages = [json.loads(entry["message"])["message"]
                    for entry in self.get_log("performance")]
        return [message["params"]["request"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]

    # Doing

    def size(self, width, height=900, dark=False):
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": False})
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{
            "name": "prefers-color-scheme",
            "value": "dark" if dark else "light"}]})

    def scripts(self, enabled):
        self.execute_cdp_cmd("Emulation.setScriptExecutionDisabled",
                             {"value": not enabled})

    def press(self, *keys):
        """Keys for whatever has the focus; a tuple is pressed together."""
        chain = ActionChains(self)
        for key in keys:
            if isinstance(key, tuple):
                *held, last = key
                for one in held:
                    chain.key_down(one)
                chain.send_keys(last)
                for one in held:
                    chain.key_up(one)
            else:
                chain.send_keys(key)
        chain.perform()

    def program(self, text):
        """Put a program into the editor, at once."""
        self.js("document.querySelector('.CodeMirror').CodeMirror"
                ".setValue(arguments[0])", text)

    def fill(self, name, text):
        """Type into a field, in place of what is there; give the field."""
        field = self.id(name)
        field.click()
        self.press((Keys.CONTROL, "a"), Keys.DELETE, text)
        return field

    def put(self, name, text):
        """The same at once, for what no keyboard has."""
        self.js("arguments[0].value = arguments[1]; arguments[0].dispatchEvent("
                "new Event('input', {bubbles: true}))", self.id(name), text)

    def start(self, program=None):
        if program is not None:
            self.program(program)
        self.press((Keys.CONTROL, Keys.ENTER))

    def is_running(self):
        return self.id("stop").is_enabled()

    def run(self, program=None, seconds=30):
        """Run a program to its end; give what the status says."""
        self.start(program)
        wait_for(lambda: not self.is_running(), seconds, "the run's end")
        return self.text("status")

    def downloaded(self, name):
        path = self.downloads / name
        return wait_for(lambda: path.exists() and path.read_bytes(), 10,
                        f"the download of {name}")
