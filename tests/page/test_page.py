"""The page, as an analyst uses it: a headless Chromium, nginx, the service.

After each test: nothing wrong on the console, and no request to another host.
"""

import hashlib
import html
import http.server
import io
import json
import re
import shlex
import subprocess
import threading
import time
import urllib.parse

import openpyxl
import pytest
from browser import Browser
from fmp_server import FmpServer
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from service import Service, wait_for

KEY = "demo-d41d8cd98f00b204"


@pytest.fixture(scope="module")
def service():
    with FmpServer() as fmp, Service(fmp_url=fmp.url, fmp_ca=fmp.ca,
                                     fmp_rate=0, timeout="20s") as service:
        yield service


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture
def bare(service, browser):
    """The browser, wide and light, which a test has to send somewhere."""
    browser.size(1280)
    browser.expected = []   # what the console may say
    browser.messages(), browser.requests()
    yield browser
    wrong = [message for message in browser.messages()
             if not any(word in message for word in browser.expected)]
    assert not wrong
    urls = [request["url"] for request in browser.requests()]
    assert all(url.startswith((service.url + "/", "data:", "blob:"))
               for url in urls), urls
    assert not any("%(" in url or "?" in url for url in urls)
    wait_for(lambda: not service.pids("run"), 15, "the end of all runs")


@pytest.fixture
def page(bare, service):
    bare.get(service.url)
    bare.js("document.querySelector('.CodeMirror').CodeMirror.focus()")
    wait_for(lambda: bare.id("timeout").get_attribute("max"), what="/about")
    return bare


# Running

def test_a_program_is_typed_and_run_by_keyboard_alone(service, bare):
    bare.get(service.url)
    for _ in range(20):
        bare.press(Keys.TAB)
        if "CodeMirror" in bare.js("return document.activeElement.className"):
            break
    bare.press((Keys.CONTROL, "a"), Keys.DELETE,
               "for n in range(3):", Keys.ENTER, "print(n * 7)", Keys.ENTER,
               (Keys.SHIFT, Keys.TAB), "6 * 7", (Keys.CONTROL, Keys.ENTER))
    wait_for(lambda: "Finished" in bare.text("status"), what="the end")
    assert bare.text("output") == "0\n7\n14\n"
    assert bare.text("result") == "42"
    assert bare.text("status") == "Finished: output, a result."


def test_tab_indents_and_leaves_only_after_escape(page):
    def value():
        return page.js("return document.getElementById('code').value")
    page.program("if x:\npass")
    page.press(Keys.ARROW_DOWN, Keys.HOME, Keys.TAB)
    assert value() == "if x:\n    pass"
    page.press((Keys.SHIFT, Keys.TAB))
    assert value() == "if x:\npass"
    page.press(Keys.ESCAPE, Keys.TAB)
    assert page.switch_to.active_element.get_attribute("id") == "run"
    page.press((Keys.SHIFT, Keys.TAB))
    assert "CodeMirror" in page.switch_to.active_element.get_attribute("class")
    page.press(Keys.ESCAPE, (Keys.SHIFT, Keys.TAB))
    assert page.switch_to.active_element.text == "Market data"
    assert value() == "if x:\npass"


def test_output_arrives_before_the_end(page):
    page.start("import time\nprint('first', flush=True)\ntime.sleep(1.5)\n"
               "print('last')")
    wait_for(lambda: page.text("output") == "first\n", 5, "the first line")
    assert page.is_running()
    elapsed = wait_for(lambda: page.text("elapsed"), what="the clock")
    assert re.fullmatch(r"\d+\.\d s of 20 s", elapsed)
    assert 0 < float(page.id("progress").get_attribute("value")) < 0.5
    wait_for(lambda: not page.is_running(), what="the end")
    assert page.text("output") == "first\nlast\n"
    assert not page.id("clock").is_displayed()
    page.id("output-save").click()
    assert page.downloaded("output.txt") == b"first\nlast\n"


def test_a_bar_by_carriage_returns_moves_its_line(page):
    page.start("import sys, time\n"
               "for n in range(101):\n"
               "    sys.stderr.write(f'\\r{n:3d}%|{\"#\" * (n // 10):<10}|')\n"
               "    time.sleep(.005)\n"
               "print('\\nabc\\rX\\r\\nlong\\rs')")
    seen = set()
    while page.is_running():
        seen.add(page.text("output"))
    assert any(re.fullmatch(r" *\d{1,2}%\|#* *\|", text) for text in seen), seen
    assert page.text("output") == "100%|##########|\nXbc\nsong\n"


def test_stop_ends_the_run_and_its_processes(service, page):
    page.start("import subprocess, time\nprint('begun', flush=True)\n"
               "subprocess.Popen(['sleep', '77'])\ntime.sleep(15)")
    wait_for(lambda: page.text("output"), 5, "output")
    wait_for(lambda: service.pids("run") and service.pids("sleep 77"),
             what="its processes")
    page.press(Keys.ESCAPE, Keys.TAB)   # Run cannot be pressed now
    assert page.switch_to.active_element.get_attribute("id") == "stop"
    page.press(Keys.ENTER)
    wait_for(lambda: not page.is_running(), 2, "the stop")
    assert page.text("status").startswith("Stopped after ")
    assert page.text("output") == "begun\n"
    assert page.switch_to.active_element.get_attribute("id") == "run"
    wait_for(lambda: not service.pids("run") and not service.pids("sleep 77"),
             3, "the end of its processes")


def test_a_time_limit_is_kept_and_shown(page):
    page.fill("timeout", "0.5")
    page.start("while True: pass")
    wait_for(lambda: "of 0.5 s" in page.text("elapsed"), what="the limit")
    wait_for(lambda: not page.is_running(), what="the end")
    assert page.text("status").startswith("Ended with TimeoutError")


def test_what_the_browser_refuses_is_said(page):
    page.fill("timeout", "21")
    page.start("print(1)")
    assert page.text("status").startswith("Not run. Time limit: ")
    page.fill("timeout", "")
    page.start("  ")
    assert page.text("status") == "There is no program to run."
    assert page.run("print(1)") == "Finished: output."


def test_what_the_service_refuses_is_said_at_its_field(page):
    page.expected = ["400 (Bad Request)"]
    page.fill("context", '{"a": 1, "a": 2}')    # JSON.parse takes it
    status = page.run("print(1)")
    assert "context" in status and "twice" in status
    assert page.id("status").get_attribute("class") == "wrong"
    assert page.switch_to.active_element.get_attribute("id") == "context"


def test_a_service_that_is_gone_is_said(page):
    page.expected = ["ERR_INTERNET_DISCONNECTED"]
    page.execute_cdp_cmd("Network.enable", {})
    conditions = {"latency": 0, "downloadThroughput": -1,
                  "uploadThroughput": -1}
    page.execute_cdp_cmd("Network.emulateNetworkConditions",
                         {"offline": True, **conditions})
    assert "cannot be reached" in page.run("print(1)")
    page.execute_cdp_cmd("Network.emulateNetworkConditions",
                         {"offline": False, **conditions})
    assert page.run("print(1)") == "Finished: output."


# What comes back

def test_a_figure_enlarges_and_is_saved(page):
    assert page.run("plt.plot([1, 3, 2])\nplt.figure()\nplt.plot([3, 1])\n"
                    "None") == "Finished: 2 figures."
    small = page.all("#figures img")[1]
    assert page.js("return arguments[0].naturalWidth", small) == 960
    page.js("arguments[0].focus()", page.all("#figures button")[1])
    page.press(Keys.ENTER)
    large = page.id("large-image")
    assert page.text("large-title") == "Figure 2"
    assert large.size["width"] > small.size["width"]
    assert page.switch_to.active_element.get_attribute("id") in (
        "large-save", "large-close")
    page.press(Keys.ESCAPE)
    assert not page.id("large").is_displayed()
    assert page.switch_to.active_element == page.all("#figures button")[1]
    page.all("#figures a")[0].click()
    assert page.downloaded("figure-1.png").startswith(b"\x89PNG")


def test_a_workbook_is_saved(page):
    assert page.run("save_excel(pd.DataFrame({'a': [1, 2], 'b': [3, 4]}),"
                    " 'book.xlsx')\nNone") == "Finished: 1 file."
    page.all("#saved a")[0].click()
    book = openpyxl.load_workbook(io.BytesIO(page.downloaded("book.xlsx")))
    assert list(book.active.values)[0] == ("a", "b")


def test_large_files_come_whole(page):
    page.run("import os\nopen('big.bin', 'wb').write(os.urandom(12_000_000))\n"
             "import hashlib\n"
             "print(hashlib.md5(open('big.bin', 'rb').read()).hexdigest())")
    page.all("#saved a")[0].click()
    data = page.downloaded("big.bin")
    assert hashlib.md5(data).hexdigest() == page.text("output").strip()


def test_a_traceback_leads_to_the_line(page):
    status = page.run("def share(a, b):\n    return a / b\n\n\nprint('x')\n"
                      + "\n" * 60 + "share(1, 0)")
    assert status == "Ended with ZeroDivisionError in line 2: output."
    assert page.text("output") == "x\n"
    links = page.all("#traceback button")
    assert [link.text for link in links] == ["line 66", "line 2"]
    at_fault = "return [...document.querySelectorAll('.at-fault')].map(" \
        "(line) => line.textContent)"
    assert page.js(at_fault) == ["2    return a / b"]
    links[0].click()
    assert page.js("return document.querySelector('.CodeMirror').CodeMirror"
                   ".getCursor().line") == 65
    assert page.js(at_fault) == ["66share(1, 0)"]
    assert "CodeMirror" in page.switch_to.active_element.get_attribute("class")
    assert page.run("print(1)") == "Finished: output."
    assert page.js(at_fault) == []
    assert not page.id("error-part").is_displayed()


def test_an_error_that_is_none_of_pythons_is_shown(page):
    assert page.run("pass").startswith("Finished, but see the error")
    assert "print" in page.text("error-message")


# What goes in

def test_files_are_chosen_dropped_and_removed(page, tmp_path):
    for name in ("one.csv", "two words.csv", "it's \"3\".csv"):
        (tmp_path / name).write_text(f"a,b\n1,{len(name)}\n")
    page.id("files").send_keys(str(tmp_path / "one.csv"))
    place = page.id("drop").rect
    for type in ("dragEnter", "dragOver", "drop"):
        page.execute_cdp_cmd("Input.dispatchDragEvent", {
            "type": type, "x": place["x"] + 50, "y": place["y"] + 30,
            "data": {"items": [], "dragOperationsMask": 1,
                     "files": [str(tmp_path / "two words.csv"),
                               str(tmp_path / "it's \"3\".csv")]}})
    assert len(page.all("#chosen li")) == 3
    page.all("#chosen button")[0].click()
    assert page.run("import os\nprint(*sorted(os.listdir()), sep='\\n')\n"
                    "pd.read_csv('two words.csv').b[0]"
                    ) == "Finished: output, a result."
    assert page.text("output") == "it's \"3\".csv\ntwo words.csv\n"
    assert page.text("result") in ("13", "np.int64(13)")


@pytest.mark.parametrize("text, error", [
    ("{", "Not JSON yet: "), ("[1]", "An object is needed"),
    ("null", "An object is needed"), ('{"__name__": 1}', "two underscores"),
    ('{"a": NaN}', "Not JSON yet: "), ('{"a": 1}', ""), ("", "")])
def test_a_wrong_context_is_said_while_typing(page, text, error):
    field = page.fill("context", text + " ")
    assert error in page.text("context-error")
    assert bool(error) == bool(page.text("context-error"))
    assert field.get_attribute("aria-invalid") == str(bool(error)).lower()
    page.start("print(1)")
    assert ("Not run. Context: " in page.text("status")) == bool(error)
    wait_for(lambda: not page.is_running(), what="the end")


def test_a_context_keeps_every_digit(page):
    page.fill("context", '{"big": 123456789012345678901234567890,'
                         ' "text": "a\\nb"}')
    page.run("print(big, repr(text))")
    assert page.text("output") == "123456789012345678901234567890 'a\\nb'\n"


def test_each_example_runs(page):
    names = [button.text for button in page.all(".examples button")]
    assert len(names) == 5
    page.fill("key", KEY)
    got = {}
    for name, button in zip(names, page.all(".examples button")):
        button.click()
        got[name] = page.run()
        assert re.match("Finished: (output|a result)", got[name]), page.text(
            "error-message")
    assert "1 figure" in got["Figure"] and "2 files" in got["Excel and Word"]
    assert "1 figure, 1 file" in got["Market data"]


def test_the_key_goes_into_the_run_and_nowhere_else(service):
    with Browser() as browser:
        browser.get(service.url)
        browser.id("key").send_keys(KEY)
        assert browser.run("print(fmp.quote('AAPL')['symbol'])"
                           ) == "Finished: output."
        sent = [request for request in browser.requests()
                if KEY in json.dumps(request)]
        assert [request["url"] for request in sent] == [service.url + "/run"]
        browser.all("#curl summary")[0].click()
        assert KEY not in browser.page_source
        assert browser.execute_async_script(
            "const done = arguments[0];"
            "Promise.all([indexedDB.databases(), caches.keys()]).then((kept) =>"
            " done([...kept.flat(), ...Object.keys(localStorage),"
            " ...Object.keys(sessionStorage), document.cookie, location.hash,"
            " location.search].filter(Boolean)))") == []
        for leave in (browser.refresh, lambda: browser.get("about:blank"),
                      browser.back):
            leave()
        assert browser.id("key").get_property("value") == ""
        browser.quit()
        kept = b"".join(path.read_bytes()
                        for path in browser.directory.rglob("*")
                        if path.is_file())
        assert service.url.encode() in kept     # so this is the place
        assert KEY.encode() not in kept
        assert KEY.encode("utf-16-le") not in kept


# The same job as a command

def test_the_command_does_the_same(page, tmp_path):
    code = "# it's \"$HOME\" `id` \\ !x\nprint(open('in.txt').read(), n)"
    (tmp_path / "in.txt").write_text("read\n")
    page.program(code)
    page.fill("context", '{"n": "it\'s"}')
    page.id("files").send_keys(str(tmp_path / "in.txt"))
    page.fill("timeout", "5")
    page.fill("key", KEY)
    page.all("#curl summary")[0].click()
    command = wait_for(lambda: page.text("command"), what="the command")
    assert KEY not in command and "YOUR-KEY" in command
    assert f"code={code}" in shlex.split(command)
    answer = subprocess.run(["sh", "-c", command], cwd=tmp_path, timeout=30,
                            stdout=subprocess.PIPE, check=True).stdout
    assert json.loads(answer)["output"] == "read\n it's\n"
    page.program("print('changed')")
    assert "changed" in page.text("command")
    page.id("copy").click()
    assert page.text("copied") == "Copied."
    copied = page.text("command")
    page.fill("context", "")
    page.press((Keys.CONTROL, "v"))
    assert page.id("context").get_attribute("value") == copied


def test_the_command_takes_a_long_program_from_a_file(page):
    page.program("x = 1\n" * 30_000)
    page.all("#curl summary")[0].click()
    wait_for(lambda: page.text("command"), what="the command")
    assert "'code=<code.txt'" in page.text("command")
    assert len(page.text("command")) < 1000
    assert "code.txt" in page.text("curl-hint")


# What is available

def test_what_is_available_is_told(service, page):
    about = service.get("/about").json
    page.all("#about summary")[0].click()
    page.all("#about-text summary")[0].click()
    told = page.id("about-text").text
    for library in about["libraries"]:
        assert library["name"] in told and library["version"] in told
    for helper in about["helpers"]:
        assert (helper["signature"] or helper["name"]) in told
    assert "Time\n20 s" in told and "Memory\n1 GiB" in told


# Hostile text: shown, never run

MARKUP = "<script>hostile()</script><img src=x onerror='hostile()'>\"'><b>"
HOSTILE = MARKUP + "\0\x1b[31m\u202e\u2066\u200f\u05d0"


def test_hostile_text_is_shown_and_never_run(page, tmp_path):
    page.js("window.hostile = () => document.body.dataset.hostile = 1")
    page.put("context", json.dumps({"text": HOSTILE}))
    page.run("print(text)\n"
             "open(text.split('\\0')[0].replace('/', '|') + text[-1], 'w')\n"
             "class Angry(Exception): pass\n"
             "Angry.__name__ = text.replace('\\0', '')\nraise Angry(text)")
    assert "\u2069 in line" in page.id("status").get_property("textContent")
    pictures = HOSTILE.replace("\0", "␀").replace("\x1b", "␛")
    assert page.text("output") == pictures + "\n"
    assert MARKUP in page.text("error-message")
    assert "<img src=x onerror='hostile()'>" in page.text("saved")
    assert page.js("return getComputedStyle(document.querySelector("
                   "'#saved bdi')).unicodeBidi") == "isolate"
    name = MARKUP.replace("/", "|") + "\u202etxt.exe"
    (tmp_path / name).write_text("")
    page.id("files").send_keys(str(tmp_path / name))
    assert name in page.text("chosen")
    page.put("context", MARKUP)
    assert page.text("context-error")
    page.program(HOSTILE + "\n")
    time.sleep(.1)
    assert not page.js("return document.body.dataset.hostile")
    assert not page.all("#reply script, #reply b, form img, .CodeMirror img")
    assert page.js("return document.querySelectorAll('img').length") == 1


RESPONSIVE = """
window.longest = 0;
let last = performance.now();
setInterval(() => {
  window.longest = Math.max(window.longest, performance.now() - last);
  last = performance.now();
}, 10);
"""


@pytest.mark.parametrize("program", [
    "for n in range(100_000): print(n, 'abc')",
    "print('x' * 1_000_000)",
    "print(('x' * 200 + '\\r') * 5_000)",
    "print('x' * 500_000, end='')\nprint('\\ry' * 200_000)",
    "print('\\n' * 1_000_000)",
    "print('<b>\\u202e\\0' * 100_000)", "print('a\\u05d0' * 300_000)",
], ids=["lines", "one_line", "returns", "long_line_returns", "newlines",
        "marks", "directions"])
def test_much_output_keeps_the_page_responsive(page, program):
    page.js(RESPONSIVE)
    status = page.run(program)
    assert status.startswith("Finished: output"), status
    assert len(page.text("output")) > 100
    assert page.js("return window.longest") < 2500
    assert page.js("return document.documentElement.scrollWidth") <= 1280


# For everybody

def names_of(page):
    return [(node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in page.execute_cdp_cmd(
                "Accessibility.getFullAXTree", {})["nodes"]
            if not node["ignored"]]


FULL = "print('some output')\nplt.plot([1, 2])\n" \
    "save_excel(pd.DataFrame({'a': [1]}), 'a.xlsx')\n1 / 0"


@pytest.fixture
def full(page, tmp_path):
    """The page with everything on it."""
    (tmp_path / "input.csv").write_text("a\n1\n")
    page.id("files").send_keys(str(tmp_path / "input.csv"))
    page.run(FULL)
    page.js("for (const d of document.querySelectorAll('details'))"
            " d.open = true")
    page.put("context", "{")
    return page


def test_controls_and_landmarks_have_names(full):
    nodes = names_of(full)
    roles = {role for role, _ in nodes}
    assert {"banner", "main", "form", "region", "status"} <= roles
    for role in ("button", "textbox", "spinbutton", "link", "image", "form",
                 "region", "DisclosureTriangle"):
        named = [name for found, name in nodes if found == role]
        assert all(named), (role, named)
    assert ("textbox", "Program") in nodes
    assert ("textbox", "Context") in nodes
    assert ("group", "Start from") in nodes
    assert ("group", "Input all optional") in nodes


def test_headings_are_in_order(full):
    levels = full.js("return [...document.querySelectorAll('h1,h2,h3,h4')]"
                     ".filter((h) => h.checkVisibility())"
                     ".map((h) => Number(h.tagName[1]))")
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels
    assert full.js("return document.documentElement.lang") == "en"
    ids = full.js("return [...document.querySelectorAll('[id]')].map("
                  "(e) => e.id)")
    assert len(ids) == len(set(ids))


CONTRASTS = """
const parse = (colour) => {
  const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
  return [r, g, b, a];
};
const over = (top, below) => [0, 1, 2].map(
  (i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const luminance = (colour) => {
  const [r, g, b] = colour.map((c) => c / 255).map(
    (c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const ground = (element) => {
  if (!element) return [255, 255, 255, 1];
  const own = parse(getComputedStyle(element).backgroundColor);
  return own[3] === 1 ? own : over(own, ground(element.parentElement));
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.data.trim();
  const element = walker.currentNode.parentElement;
  if (!text || !element.checkVisibility() || element.closest(":disabled"))
    continue;
  const below = ground(element);
  const ink = over(parse(getComputedStyle(element).color), below);
  const [a, b] = [luminance(ink), luminance(below)].sort((x, y) => y - x);
  found.push([(a + .05) / (b + .05), text.slice(0, 30)]);
}
for (const field of document.querySelectorAll("input, textarea")) {
  if (!field.checkVisibility()) continue;
  const below = ground(field);
  for (const [pseudo, what] of [[null, "value"], ["::placeholder", "place"]]) {
    const ink = over(parse(getComputedStyle(field, pseudo).color), below);
    const [a, b] = [luminance(ink), luminance(below)].sort((x, y) => y - x);
    found.push([(a + .05) / (b + .05), `${field.id} ${what}`]);
  }
}
return found;
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast_is_enough(full, dark):
    full.size(1280, dark=dark)
    found = full.js(CONTRASTS)
    assert len(found) > 60
    assert not [pair for pair in found if pair[0] < 4.5]


def test_focus_is_seen_and_reaches_everything(full):
    full.js("document.body.tabIndex = -1; document.body.focus();"
            "document.body.removeAttribute('tabindex')")
    seen = []
    for _ in range(60):
        full.press(Keys.ESCAPE, Keys.TAB)
        got = full.js("""
            const e = document.activeElement;
            const shown = e.closest(".CodeMirror-focused") ?? e;
            const style = getComputedStyle(shown);
            return e === document.body ? null : [e.id || e.textContent.trim()
              || e.className, style.outlineStyle, style.outlineWidth];""")
        if got is None:
            break
        seen.append(got)
    assert all(style != "none" and width != "0px"
               for _, style, width in seen), seen
    reached = [name for name, *_ in seen]
    for name in ("run", "context", "files", "key", "timeout", "output",
                 "traceback", "line 4", "Save PNG", "output-save", "a.xlsx",
                 "copy", "command", "Remove", "Table", "Market data"):
        assert name in reached, (name, reached)


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_scrolls_sideways_and_targets_are_large(full, width):
    full.size(width)
    assert full.js("return document.documentElement.scrollWidth") <= width
    small = full.js("""
        return [...document.querySelectorAll(
          "button, a, input, select, summary, textarea")]
          .filter((e) => e.checkVisibility())
          .map((e) => [e.id || e.textContent, e.getBoundingClientRect()])
          .filter(([, r]) => r.height < 24 || r.width < 24)
          .map(([name, r]) => [name, r.width, r.height])""")
    assert not small
    outside = full.js("""
        return [...document.querySelectorAll("main *")]
          .filter((e) => e.checkVisibility() && !e.closest("pre, .CodeMirror"))
          .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
          .map((e) => e.outerHTML.slice(0, 80))""")
    assert not outside


# Without scripts

def test_the_plain_form_works_without_scripts(service, bare, tmp_path):
    (tmp_path / "in.txt").write_text("from a file")
    bare.scripts(False)
    try:
        bare.get(service.url)
        assert not [e for e in bare.all("[data-scripted]") if e.is_displayed()]
        bare.id("code").send_keys("print(open('in.txt').read(), rate)\n"
                                  "plt.plot([1, 2])\n6 * 7")
        bare.id("context").send_keys('{"rate": "<b>0.5</b>"}')
        bare.id("files").send_keys(str(tmp_path / "in.txt"))
        bare.id("run").click()
        wait_for(lambda: bare.current_url.endswith("/run"), what="the reply")
        text = bare.find_element(By.TAG_NAME, "body").text
        assert "from a file <b>0.5</b>" in text and "42" in text
        assert len(bare.all("img")) == 1
    finally:
        bare.scripts(True)


def test_the_plain_form_is_what_a_browser_sends(service):
    """Every field, empty ones as well, and no file."""
    page = service.get("/").body.decode()
    names = re.findall(r'<(?:input|textarea)[^>]* name="(\w+)"', page)
    assert sorted(names) == ["code", "context", "files", "key", "timeout"]
    values = {"code": "print('<i>')\r\n6 * 7"}
    body = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"'
        + ('; filename=""\r\nContent-Type: application/octet-stream'
           if name == "files" else "")
        + f"\r\n\r\n{values.get(name, '')}\r\n" for name in names) + "--x--\r\n"
    answer = service.request("POST", "/run", body.encode(), {
        "Content-Type": "multipart/form-data; boundary=x",
        "Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert answer.status == 200
    assert answer.headers.get_content_type() == "text/html"
    text = answer.body.decode()
    assert html.escape("<i>") in text and "<i>" not in text and "42" in text


def test_without_the_editor_the_textarea_serves(service, bare):
    bare.execute_cdp_cmd("Network.enable", {})
    bare.execute_cdp_cmd("Network.setBlockedURLs",
                         {"urls": ["*/codemirror/*"]})
    bare.expected = ["ERR_BLOCKED_BY_CLIENT", "codemirror/", "CodeMirror"]
    try:
        bare.get(service.url)
        code = bare.id("code")
        code.clear()
        code.send_keys("x = 1\nx / 0")
        assert bare.run() == "Ended with ZeroDivisionError in line 2."
        bare.all("#traceback button")[0].click()
        assert bare.switch_to.active_element == code
        assert code.get_property("selectionStart") == 6
    finally:
        bare.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})


# Other hosts

def test_the_policy_is_strict(service):
    headers = service.get("/").headers
    policy = dict(part.strip().split(" ", 1) for part in
                  headers["Content-Security-Policy"].split(";"))
    assert policy == {
        "default-src": "'none'", "script-src": "'self'",
        "style-src": "'self'", "img-src": "'self' data: blob:",
        "connect-src": "'self'", "form-action": "'self'",
        "frame-ancestors": "'none'", "base-uri": "'none'"}
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert not re.search(r"<script>|<style| style=| on\w+=",
                         service.get("/").body.decode())
    for path in ("/codemirror/lib/codemirror.js", "/page.js", "/page.css"):
        answer = service.get(path)
        assert answer.status == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_another_site_can_neither_frame_nor_read_it(service, browser):
    site = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Site", (http.server.BaseHTTPRequestHandler,), {
            "log_message": lambda *arguments: None,
            "do_GET": lambda self: (
                self.send_response(200), self.end_headers(),
                self.wfile.write(f'<iframe src="{service.url}">'.encode()))}))
    threading.Thread(target=site.serve_forever, daemon=True).start()
    try:
        browser.get(f"http://127.0.0.1:{site.server_port}/")
        wait_for(lambda: [message for message in browser.messages()
                          if "frame-ancestors" in message], what="the refusal")
        assert browser.execute_async_script(
            "fetch(arguments[0], {method: 'POST', headers: {'Content-Type':"
            " 'application/json'}, body: '{}'}).then("
            "() => arguments[1]('read'), () => arguments[1]('refused'))",
            urllib.parse.urljoin(service.url, "/run")) == "refused"
    finally:
        site.shutdown()
        site.server_close()
