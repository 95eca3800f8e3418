"""A run's reply as a page: what Accept chooses, and that nothing that a
program or a client wrote is read as markup."""

import base64
import hashlib
import html.parser
import json

import pytest
from fastcgi import POST, ask
from service import figures_of, files_of

PAGE = {"Accept": "text/html"}
#: How browsers ask when a form is sent.
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
#: All that a page is made of.
TAGS = {"html", "head", "meta", "title", "style", "body", "header", "h1",
        "nav", "a", "main", "section", "h2", "h3", "p", "strong", "bdi",
        "pre", "mark", "ul", "li", "img", "footer"}
ATTRIBUTES = {"lang", "charset", "name", "content", "href", "download",
              "aria-labelledby", "id", "class", "tabindex", "alt", "src"}
VOID = {"meta", "img"}
MIB = 1 << 20


class Page(html.parser.HTMLParser):
    """What a browser makes of it: elements with attributes and text."""

    def __init__(self, answer):
        super().__init__()
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        self.elements, self.open = [], []
        self.answer = answer
        self.feed(answer.body.decode())
        self.close()
        assert self.open == []
        used = {(name, key) for name, attributes, _ in self.elements
                for key in attributes}
        assert {name for name, _, _ in self.elements} <= TAGS
        assert {key for _, key in used} <= ATTRIBUTES

    def handle_starttag(self, tag, attributes):
        element = (tag, dict(attributes), [])
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for _, _, text in self.open:
            text.append(data)

    def all(self, tag):
        return [(attributes, "".join(text))
                for name, attributes, text in self.elements if name == tag]

    def section(self, title):
        """The text of the part with that heading."""
        found = [text.partition("\n")[2].removeprefix(title + "\n")
                 for _, text in self.all("section")
                 if text.startswith(f"\n{title}\n")]
        assert len(found) == 1, (title, self.all("h2"))
        return found[0]

    def pre(self, title):
        """Its preformatted text, less the newline that HTML drops."""
        return self.section(title).strip("\n").removeprefix("\n")


def page(service, code, accept="text/html", **members):
    answer = service.post({"code": code, **members},
                          headers={"Accept": accept})
    assert answer.status == 200, answer.body[-500:]
    return Page(answer)


# The choice

@pytest.mark.parametrize("accept, kind", [
    (None, "application/json"), ("*/*", "application/json"),
    (BROWSER, "text/html"), ("text/html", "text/html"),
    ("text/*", "text/html"), ("TEXT/HTML;q=0.1", "text/html"),
    ("text/html, application/json", "application/json"),
    ("text/html;q=0.9, application/json;q=0.8", "text/html"),
    ("text/html;q=0.8, application/json;q=0.9", "application/json"),
    ("text/html, */*", "text/html"), ("text/html;q=0, */*", "application/json"),
    ("application/json, text/event-stream", "application/json"),
    ("text/event-stream", "text/event-stream"),
    ("text/event-stream, text/html;q=0.9", "text/event-stream"),
    ("text/event-stream, */*;q=0.1", "text/event-stream"),
    ("application/json;q=0, text/html;q=0.2, text/event-stream;q=0.3",
     "text/event-stream"),
])
def test_accept_chooses_the_form(service, accept, kind):
    headers = {} if accept is None else {"Accept": accept}
    answer = service.post({"code": "print(1)"}, headers=headers)
    assert answer.status == 200
    assert answer.headers.get_content_type() == kind


@pytest.mark.parametrize("accept", ["image/png", "text/plain", "text/html;q=0"
                                    ", application/json;q=0"])
def test_no_form_that_there_is_gives_406(service, accept):
    answer = service.post({"code": "print(1)"}, headers={"Accept": accept})
    assert answer.status == answer.json["status"] == 406
    assert "text/event-stream" in answer.json["detail"]


# The page

RICH = """import logging
print("some text")
plt.plot([1, 2]); plt.figure(); plt.plot([2, 1])
save_excel(pd.DataFrame({"a": [1, 2]}), "a" * 40 + "/table.xlsx")
open("note.txt", "w").write("words")
6 * 7"""


def test_a_page_has_all_that_the_json_reply_has(service):
    told, reply = page(service, RICH), service.run(RICH)
    assert told.all("h1") == [({}, "The program ended well")]
    assert told.pre("Output") == "some text" and told.pre("Result") == "42"
    images = told.all("img")
    assert [image["alt"] for image, _ in images] == ["Figure 1 of 2",
                                                     "Figure 2 of 2"]
    assert [image["src"].partition("base64,")[2] for image, _ in images] == (
        reply["figures"]) and figures_of(reply)
    saved = {link["download"]: base64.b64decode(
        link["href"].partition("base64,")[2], validate=True)
        for link, _ in told.all("a") if "download" in link}
    assert saved["note.txt"] == b"words"
    assert saved.keys() == files_of(reply).keys()
    footer = told.all("footer")[0][1]
    assert "exit code 0" in footer and " s, of which " in footer
    assert told.answer.headers["X-Run-Id"] in footer


def test_a_page_leads_back_to_the_form_and_can_be_read_on_a_phone(service):
    told = page(service, "print(1)")
    assert ({"href": "./"}, "Run another") in told.all("a")
    assert told.all("html")[0][0] == {"lang": "en"}
    assert ({"name": "viewport", "content": "width=device-width, "
             "initial-scale=1"}, "") in told.all("meta")
    assert "prefers-color-scheme: dark" in told.all("style")[0][1]
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(told.all(landmark)) == 1


def test_an_error_shows_where_it_is(service):
    told = page(service, "x = 1\n\n\n\ndef f():\n    return x / 0\n\nf()\n#\n#")
    assert told.all("h1")[0][1] == "An exception ended the program"
    assert told.all("p")[0][1] == "ZeroDivisionError division by zero"
    assert [text for _, text in told.all("mark")] == [">   6      return x / 0"]
    error = told.section("Error")
    assert "    3  \n" in error and "    9  #" in error
    assert "    2  " not in error and "   10  " not in error
    assert 'File "main.py", line 6, in f' in error


@pytest.mark.parametrize("code, title", [
    ("import sys; sys.exit('no')", "The program gave up"),
    ("while True: pass", "The time was up"), ("x = 1", "Nothing came of the "
                                              "program"),
    ("x = bytearray(1 << 40)", "The memory was used up"),
    ("import os; os.abort()", "The program crashed"),
    ("for i in range(51): plt.figure()", "Something was left out"),
])
def test_each_kind_of_end_has_its_title(service, code, title):
    told = page(service, code, timeout=1 if "while" in code else 30)
    assert told.all("h1")[0][1] == title
    assert len(told.section("Error")) > 20


def test_notes_are_told(service):
    told = page(service, "import os\nprint(1)\nos.symlink('/', 'link')")
    assert "link" in told.section("Notes")


# What others wrote

EVIL = """</pre></style></title><script>alert(1)</script>\
"'><img src=x onerror=alert(1)>&lt;&#60;<!-- \u202e\u2066 ]]>"""


def test_hostile_text_is_shown_as_it_is(service):
    # A file with direction marks in its name is left out.
    name = "".join(c for c in EVIL if c.isascii() and c != "/")
    told = page(service, f"""print({EVIL!r})
open({name!r}, "w").write("x")
class Evil(Exception): pass
Evil.__name__ = {EVIL!r}
result = {EVIL!r}
raise Evil({EVIL!r})  # {EVIL}""")
    assert told.pre("Output") == EVIL
    assert [link["download"] for link, _ in told.all("a")
            if "download" in link] == [name]
    assert EVIL in told.all("p")[0][1] and EVIL in told.all("mark")[0][1]
    assert told.section("Error").count(EVIL) >= 4


def test_hostile_text_in_what_is_refused_is_shown_as_it_is(service):
    told = Page(service.post({"code": "1", EVIL[:40]: 1}, headers=PAGE))
    assert "<script>" in told.all("p")[0][1]


def test_controls_are_made_visible(service):
    told = page(service, r"""import sys
sys.stdout.buffer.write(b"\0\x1b[31m\x7f\xff\xc2\x80\t|\n\xf0\x9f\x98\x80")""")
    assert told.pre("Output") == "␀␛[31m␡\ufffd\ufffd\t|\n😀"
    assert b"\0" not in told.answer.body


def test_output_that_begins_with_newlines_keeps_them(service):
    told = page(service, "print('\\n\\nx')")
    assert b'<pre tabindex="0">\n\n\nx\n</pre>' in told.answer.body


def test_a_line_of_a_mebibyte_is_shown(service):
    told = page(service, f"print('<' * {MIB - 1})")
    assert told.pre("Output") == "<" * (MIB - 1)


def test_a_page_may_load_nothing_but_what_is_in_it(service):
    told = page(service, RICH)
    policies = told.answer.headers.get_all("Content-Security-Policy")
    assert len(policies) == 1
    style = told.all("style")[0][1].encode()
    digest = base64.b64encode(hashlib.sha256(style).digest()).decode()
    assert dict(part.strip().split(" ", 1)
                for part in policies[0].split(";")) == {
        "default-src": "'none'", "img-src": "data:",
        "style-src": f"'sha256-{digest}'", "base-uri": "'none'",
        "form-action": "'none'", "frame-ancestors": "'none'"}
    assert told.answer.headers.get_all("X-Content-Type-Options") == ["nosniff"]


# Without a run

@pytest.mark.parametrize("method, path, body, status", [
    ("POST", "/run", b"{}", 400), ("GET", "/run", None, 404),
    ("DELETE", "/run", None, 405), ("POST", "/healthz", b"{}", 405),
])
def test_a_problem_has_its_status_on_a_page_too(service, method, path, body,
                                                status):
    headers = {"Content-Type": "application/json", "Accept": BROWSER}
    answer = service.request(method, path, body, headers)
    told = service.request(method, path, body,
                           {"Content-Type": "application/json"})
    assert answer.status == told.status == status
    assert answer.headers["Allow"] == told.headers["Allow"]
    shown = Page(answer)
    assert shown.all("h1")[0][1] == told.json["title"]
    assert shown.all("p")[0][1] == told.json["detail"]
    assert f"Status {status}" in shown.all("footer")[0][1]
    assert "Content-Security-Policy" in answer.headers


def test_a_body_that_is_too_large_is_a_page_from_the_responder(service):
    answer = ask(service.socket, b"", {**POST, "CONTENT_LENGTH": 16 * MIB + 1,
                                       "HTTP_ACCEPT": BROWSER})
    assert answer.status == 413 and str(16 * MIB) in Page(answer).all("p")[0][1]


def test_an_event_stream_that_cannot_begin_is_a_problem_in_json(service):
    answer = service.post(b"{}", headers={"Accept": "text/event-stream"})
    assert answer.status == json.loads(answer.body)["status"] == 400
    assert answer.headers.get_content_type() == "application/problem+json"
