"""/about, /tool.json and /openapi.json: what they say is what is."""

import json
import pathlib

import jsonschema
import pytest
from fastcgi import HEALTH, ask
from service import TOP, Service, schema

#: The OpenAPI Initiative's own, of documents of version 3.1 (Apache License
#: 2.0), since Debian 12 has no validator of them.
SCHEMA_31 = json.loads((TOP / "tests/openapi/schema-3.1.json").read_text())


@pytest.fixture(scope="module")
def other():
    """One with limits of its own."""
    with Service(timeout="7s", memory="512M", max_code="3000", max_files=3,
                 max_figures=2, max_output="100K", work_size="64M",
                 isolation="reduced:ipc", workers=2, max_runs=1,
                 ready=1) as service:
        yield service


def get(service, path):
    answer = service.get(path)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json


def described(service, name, value):
    """Is value what /openapi.json says of it?"""
    schema(get(service, "/openapi.json"), name).validate(value)
    return value


# /about

def test_versions_are_those_that_a_program_meets(service):
    about = described(service, "About", get(service, "/about"))
    code = """import json, platform, sys
print(json.dumps([platform.python_version(), {name: getattr(
    sys.modules[getattr(globals()[name], "__name__").partition(".")[0]],
    "__version__") for name in NAMES}]))"""
    names = [one["alias"] for one in about["libraries"]]
    python, versions = json.loads(service.run(
        code.replace("NAMES", repr(names)))["output"])
    assert about["python"] == python
    assert {one["alias"]: one["version"]
            for one in about["libraries"]} == versions
    assert {"np", "pd", "plt", "sm", "PIL"} <= versions.keys()


def test_helpers_are_those_that_a_program_meets(service):
    helpers = {one["name"]: one for one in get(service, "/about")["helpers"]}
    assert helpers.keys() == {"save_excel", "save_word", "fmp", "fmp.get",
                              "fmp.df", "fmp.help"}
    for name, one in helpers.items():
        assert one["summary"].endswith(".") or name == "fmp"
        if one["signature"]:
            told = service.run(f"import inspect\nprint(inspect.signature("
                               f"{name}))")["output"]
            assert one["signature"] == name + told.strip()


def test_limits_are_those_in_force(other, service):
    limits = get(other, "/about")["limits"]
    assert limits["timeout"] == 7 and limits["memory"] == 512 << 20
    assert limits["max_code"] == 3000 and limits["max_files"] == 3
    assert limits["max_figures"] == 2 and limits["max_output"] == 100 << 10
    default = get(service, "/about")["limits"]
    assert default["timeout"] == 90 and default["max_body"] == 16 << 20
    assert default.keys() == limits.keys()


def test_isolation_is_that_in_force(other):
    about = get(other, "/about")
    assert about["isolation"] == get(other, "/status")["isolation"]["layers"]
    assert "ipc" not in about["isolation"] and "pid" in about["isolation"]
    assert about["version"] == get(other, "/status")["version"]


def test_without_a_warm_interpreter_nothing_is_made_up(start):
    with Service(zygote="off") as service:
        about = described(service, "About", get(service, "/about"))
    assert about["python"] is about["libraries"] is about["helpers"] is None


# /tool.json

def test_a_tool_has_a_name_a_description_and_parameters(service):
    tool = described(service, "Tool", get(service, "/tool.json"))
    parameters = tool["parameters"]
    jsonschema.Draft202012Validator.check_schema(parameters)
    assert parameters["required"] == ["code"]
    # The key is the caller's to add; no model has it.
    assert parameters["properties"].keys() == {"code", "context", "files",
                                               "timeout"}
    assert "$ref" not in json.dumps(tool)


@pytest.mark.parametrize("job, is_valid", [
    ({"code": "1"}, True), ({"code": "1", "context": {"a": [1]}}, True),
    ({"code": "1", "context": None, "files": None, "timeout": None}, True),
    ({"code": "1", "files": [{"name": "a", "data": "eA=="}]}, True),
    ({"code": "1", "timeout": 7}, True), ({"code": "1", "timeout": 8}, False),
    ({"code": "1", "timeout": 0}, False), ({}, False), ({"code": 1}, False),
    ({"code": "1", "x": 1}, False), ({"code": "#" * 3001}, False),
    ({"code": "1", "context": {"__a": 1}}, False),
    ({"code": "1", "files": [{"name": "a"}]}, False),
    ({"code": "1", "files": [{"name": str(i), "data": ""}
                             for i in range(4)]}, False),
])
def test_the_parameters_allow_what_the_service_takes(other, job, is_valid):
    parameters = get(other, "/tool.json")["parameters"]
    assert jsonschema.Draft202012Validator(parameters).is_valid(
        job) == is_valid
    assert other.post(job).status == (200 if is_valid else 400)


def test_a_model_is_told_of_every_name_and_limit(other):
    about, text = get(other, "/about"), get(other, "/tool.json")["description"]
    for one in about["libraries"] + about["helpers"]:
        name = one.get("alias", one["name"])
        assert name == "fmp.df" or name in text, name
    for words in ("7 seconds", "512 MiB of memory", "2 figures", "3 files",
                  "100 KiB of output", "oldest row to the newest", "main()",
                  "print()"):
        assert words in text, words
    assert "@" not in text


# /openapi.json

def references(value):
    if isinstance(value, dict):
        yield from [value["$ref"]] if "$ref" in value else []
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from references(one)


def test_the_description_is_openapi_3_1(service):
    told = get(service, "/openapi.json")
    jsonschema.Draft202012Validator(SCHEMA_31).validate(told)
    for one in told["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(one)
    for reference in references(told):
        found = told
        for name in reference.removeprefix("#/").split("/"):
            found = found[name]


def test_a_wrong_description_would_be_noticed(service):
    told = get(service, "/openapi.json")
    told["paths"]["/run"]["post"]["responses"]["200"].pop("description")
    assert not jsonschema.Draft202012Validator(SCHEMA_31).is_valid(told)


def test_every_path_is_described_and_is_there(service):
    paths = get(service, "/openapi.json")["paths"]
    for path, methods in paths.items():
        for method, operation in methods.items():
            if method != "get":
                continue
            one = operation["responses"]["200"]["content"]
            if "application/json" not in one:
                kind = service.get(path).headers["Content-Type"]
                assert kind.partition(";")[0] in one
                continue
            told = get(service, path)
            reference = one["application/json"]["schema"].get("$ref")
            if reference:
                described(service, reference.rpartition("/")[2], told)
    nothing = ask(service.socket, b"", {**HEALTH, "SCRIPT_NAME": "/x"}).json
    named = {word.strip(",;.") for word in nothing["detail"].split()
             if word.startswith("/")}
    assert {word if word != "/tool" else word for word in named} == (
        paths.keys() - {"/run"})


def test_problems_and_every_status_are_described(service):
    told = get(service, "/openapi.json")
    responses = told["paths"]["/run"]["post"]["responses"]
    for body, headers in ((b"{}", {}), (b"", {"Content-Type": "x/y"}),
                          (b"{}", {"Accept": "image/png"}),
                          (b"#" * (16 << 20) + b"#", {})):
        answer = service.post(body, headers=headers)
        assert str(answer.status) in responses
        described(service, "Problem", answer.json)


def test_limits_in_the_description_are_those_in_force(other):
    schemas = get(other, "/openapi.json")["components"]["schemas"]
    job = schemas["Job"]["properties"]
    assert job["timeout"]["maximum"] == 7 and job["code"]["maxLength"] == 3000
    assert "7 seconds" in job["timeout"]["description"]
    assert schemas["Reply"]["properties"]["figures"]["maxItems"] == 2
    assert "@" not in json.dumps(schemas)
    source = json.loads((pathlib.Path(TOP) / "fcgi/openapi.json").read_text())
    assert source["components"]["schemas"].keys() == schemas.keys()


def test_a_reply_that_is_not_as_described_is_noticed(service):
    reply = service.run("1")
    schemas = get(service, "/openapi.json")
    for name in reply:
        without = {key: value for key, value in reply.items() if key != name}
        assert not schema(schemas, "Reply").is_valid(without), name
    assert not schema(schemas, "Reply").is_valid({**reply, "more": 1})
    assert schema(schemas, "Reply").is_valid(reply)
