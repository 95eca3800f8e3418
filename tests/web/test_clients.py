"""Other people's ways in: the README's own examples, run against the service.

A block of code is taken as it stands there; only the address is replaced.
"""

import json
import re
import subprocess
import sys

import jsonschema
import openpyxl
import pytest
from PIL import Image
from service import TOP, figures_of

README = (TOP / "README.md").read_text()
ADDRESS = "http://127.0.0.1:8080"
#: How a block of each language is run, from a file.
RUN = {"sh": ["sh", "-eu"], "python": [sys.executable],
       "js": ["node", "--no-warnings"], "php": ["php"]}
SUFFIX = {"js": ".mjs"}
ORDERS = "product,amount\nnut,3\nbolt,4\nnut,5\n"
LANGUAGES = list(RUN)


def blocks(language):
    """The README's fenced blocks of a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README,
                      re.DOTALL | re.MULTILINE)


def example(service, language, index, directory, change=lambda text: text):
    """Run the index-th block in a directory; give what it printed."""
    text = blocks(language)[index]
    assert ADDRESS in text
    path = directory / f"example{SUFFIX.get(language, '')}"
    path.write_text(change(text.replace(ADDRESS, service.url)))
    (directory / "orders.csv").write_text(ORDERS)
    ended = subprocess.run([*RUN[language], path], cwd=directory, text=True,
                           capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, ""), ended
    return ended.stdout


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_run_with_data_leaves_its_output_figures_and_files(
        service, tmp_path, language):
    printed = example(service, language, 0, tmp_path)
    assert "Widgets: 101.50 on average\n" in printed
    with Image.open(tmp_path / "figure-1.png") as figure:
        assert figure.format == "PNG" and figure.width > 100
    book = openpyxl.load_workbook(tmp_path / "prices.xlsx")
    assert 103.2 in [cell.value for row in book.active for cell in row]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_error_is_shown_for_mending(service, tmp_path, language):
    def spoil(text):  # the shell's example alone has no error of its own
        return text.replace("mean", "maen") if language == "sh" else text
    printed = example(service, language, 0, tmp_path, spoil)
    assert "'Series' object has no attribute 'maen'" in printed
    assert 'File "main.py", line 2' in printed
    assert "{prices.maen():.2f}" in printed


@pytest.mark.parametrize("language, printed", [
    ("sh", "bolt    4\nnut     8\n"), ("python", "24"), ("js", "24"),
    ("php", "24")])
def test_a_file_goes_along_by_form(service, tmp_path, language, printed):
    assert printed in example(service, language, 1, tmp_path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_output_is_read_line_by_line_before_the_end(service, tmp_path,
                                                    language):
    """The program goes on only when its first line has arrived here."""
    text = blocks(language)[2].replace(ADDRESS, service.url)
    assert service.url in text and "time.sleep(0.5)" in text
    path = tmp_path / f"example{SUFFIX.get(language, '')}"
    path.write_text(text.replace("time.sleep(0.5)", "time.sleep(1)"))
    with subprocess.Popen([*RUN[language], path], stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "step 0\n"
        assert service.pids("run")  # it still sleeps
        rest = process.stdout.read()
    assert process.returncode == 0
    assert [line for line in rest.splitlines() if line.startswith("step")] == [
        "step 1", "step 2"]


# A tool for language models

@pytest.fixture
def tool(service):
    """The names that the example defines."""
    text, = [one for one in blocks("python") if "/tool.json" in one]
    names = {}
    exec(text.replace(ADDRESS, service.url), names)
    return names


def test_both_forms_of_the_tool_hold_a_schema_of_jobs(service, tool):
    function = tool["tools"][0]["function"]
    assert function == service.get("/tool.json").json
    assert tool["tools_by_schema"][0]["input_schema"] == function["parameters"]
    schema = function["parameters"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"code": "1", "timeout": 5}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"program": "1"}, schema)


def test_what_a_model_answers_is_run_and_told(tool):
    told, reply = tool["call"](
        {"code": "plt.plot(prices)\nopen('a.txt', 'w').write('x')\nprint(1)\n"
                 "sum(prices)"}, {"prices": [1, 2]})
    assert told == {"output": "1\n", "result": "3", "error": None, "notes": [],
                    "figures": 1, "files": ["a.txt"]}
    assert figures_of(reply)[0].startswith(b"\x89PNG")
    json.dumps(told)


def test_a_model_is_told_what_to_mend(tool):
    told, _ = tool["call"]({"code": "pd.DataFrame({'close': [1]})['clsoe']"})
    assert told["error"]["line"] == 1 and "close" in told["error"]["message"]
    told, reply = tool["call"]({"program": "1"})
    assert "program" in told["error"] and reply is None
