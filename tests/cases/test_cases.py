"""Every input behind a public bug report, judged by the checker.

cases.jsonl and check.py stand alone: check.py URL cases.jsonl judges any
running service. Those that need more than a POST are tests of their own, in
tests/web, and BY_HAND says where.
"""

import json
import pathlib

import check
import pytest

HERE = pathlib.Path(__file__).parent
CASES = [json.loads(line) for line in
         (HERE / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
BY_HAND = {
    "out-12": "web/test_start.py",
    "lim-10": "web/test_faults.py",
    "lim-11": "web/test_faults.py",
    "json-09": "web/test_http.py",
    "fig-06": "web/test_start.py",
    "http-06": "web/test_http.py",
    "http-08": "web/test_faults.py",
    "http-11": "web/test_http.py",
}


@pytest.mark.parametrize("case", [case for case in CASES
                                  if case["id"] not in BY_HAND],
                         ids=lambda case: case["id"])
def test_case(service, case):
    wrong = check.run(service.url + "/run", case)
    assert wrong is None, f"{case['kind']} ({case['source']}): {wrong}"


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_case_by_hand_has_a_test(name):
    text = (HERE.parent / BY_HAND[name]).read_text()
    assert name in text, f"{BY_HAND[name]} does not mention {name}"
