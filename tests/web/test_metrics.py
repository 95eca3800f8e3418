"""/metrics and the page of /status: what the service says of itself to
Prometheus, and to whoever looks."""

import concurrent.futures
import json
import math
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from fastcgi import ask, job
from prometheus_client.parser import text_string_to_metric_families
from service import Service, schema, wait_for

HISTOGRAMS = {"run_seconds", "queue_seconds", "run_cpu_seconds",
              "run_peak_memory_bytes", "reply_bytes"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def service():
    with Service(workers=4, max_runs=2, ready=2) as service:
        yield service


def scrape(service):
    """The metrics, name and labels to value; strictly read."""
    answer = service.get("/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == (
        "text/plain; version=0.0.4; charset=utf-8")
    return read(answer.body.decode("ascii"))


def read(text):
    assert text.endswith("\n") and "\n\n" not in text
    values, types = {}, {}
    for family in text_string_to_metric_families(text):
        assert family.name not in types and family.documentation
        types[family.name] = family.type
        check_name(family)
        for sample in family.samples:
            key = (sample.name.removeprefix("sandbox_fcgi_"),
                   *sorted(sample.labels.items()))
            assert key not in values, f"{key} is there twice"
            values[key] = sample.value
        if family.type == "histogram":
            check_histogram(family)
    # Nothing is without its TYPE, nor is there a TYPE without its HELP.
    assert "unknown" not in types.values()
    assert text.count("# TYPE ") == text.count("# HELP ") == len(types)
    return values


def check_name(family):
    """As Prometheus's conventions have it."""
    assert family.name.startswith("sandbox_fcgi_") or (
        family.name == "process_start_time_seconds")
    for sample in family.samples:
        if family.type == "counter":
            assert sample.name.endswith("_total")
        assert not math.isnan(sample.value) and sample.value >= 0


def check_histogram(family):
    buckets = [(float(one.labels["le"]), one.value) for one in family.samples
               if one.name.endswith("_bucket")]
    other = {one.name.rpartition("_")[2]: one.value for one in family.samples
             if not one.name.endswith("_bucket")}
    bounds, counts = zip(*buckets)
    assert list(bounds) == sorted(set(bounds)) and bounds[-1] == math.inf
    assert list(counts) == sorted(counts)
    assert other.keys() == {"sum", "count"} and counts[-1] == other["count"]
    least = sum((counts[i] - counts[i - 1]) * bounds[i - 1]
                for i in range(1, len(counts)))
    # Of queue_seconds, each is cut to whole microseconds.
    assert other["sum"] >= least * 0.999
    if counts[-1] == counts[-2]:
        most = counts[0] * bounds[0] + sum(
            (counts[i] - counts[i - 1]) * bounds[i]
            for i in range(1, len(counts) - 1))
        assert other["sum"] <= most


def test_a_quiet_service(service):
    wait_for(lambda: scrape(service)[("ready_children",)] == 2)
    told = scrape(service)
    assert told[("up",)] == 1 and told[("max_runs",)] == 2
    assert abs(told[("process_start_time_seconds",)] - time.time()) < 600
    seats = {key[1][1]: value for key, value in told.items()
             if key[0] == "workers"}
    assert seats.keys() == {"idle", "busy", "waiting", "running"}
    assert sum(seats.values()) == 4 and seats["busy"] >= 1
    layers = {key[1][1] for key in told if key[0] == "isolation_layer"}
    status = service.get("/status").json
    assert layers == set(status["isolation"]["layers"]) >= {"user", "seccomp"}
    about = service.get("/about").json
    assert told[("build_info", ("python", about["python"]),
                 ("version", about["version"]))] == 1
    assert {(one["alias"], one["version"]) for one in about["libraries"]} == {
        (key[1][1], key[2][1]) for key in told if key[0] == "library_info"}


def rises(before, after):
    return {key: after[key] - before[key] for key in after
            if after[key] != before.get(key)
            and key[0].endswith(("_total", "_count"))}


def test_counters_count(service):
    before = scrape(service)
    service.run("print(1)")
    service.run("1 / 0")
    service.post(b"{}")
    service.post(b"{}", headers={"Accept": "image/png"})
    assert rises(before, scrape(service)) == {
        ("runs_total", ("kind", "ok")): 1,
        ("runs_total", ("kind", "exception")): 1,
        ("requests_failed_total", ("reason", "refused")): 2,
        **{(f"{name}_count",): 2 for name in HISTOGRAMS}}


def test_histograms_hold_what_the_replies_told(service):
    before = scrape(service)
    bodies = [service.post({"code": code}).body for code in (
        "sum(range(10 ** 7))", "import time\ntime.sleep(.3)\nprint('x' * 9999)",
        "len(bytearray(50 << 20))")]
    after = scrape(service)
    replies = [json.loads(body) for body in bodies]

    def rise(name):
        return after[(name,)] - before[(name,)]
    assert rise("run_seconds_sum") == pytest.approx(
        sum(reply["seconds"] for reply in replies), abs=2e-3)  # they have whole ms
    assert rise("run_cpu_seconds_sum") == pytest.approx(
        sum(reply["cpu_seconds"] for reply in replies), abs=2e-3)  # they have whole ms
    assert rise("run_peak_memory_bytes_sum") == sum(
        reply["peak_memory"] for reply in replies)
    assert rise("reply_bytes_sum") == sum(map(len, bodies))


def test_the_queue_is_measured_from_when_a_request_came(service):
    def rise(**params):
        before = scrape(service)[("queue_seconds_sum",)]
        reply = ask(service.socket, *job("print(1)", **params))
        assert reply.status == 200
        return scrape(service)[("queue_seconds_sum",)] - before
    assert rise() < 1
    assert 3 <= rise(REQUEST_MSEC=f"{time.time() - 3:.3f}") < 4
    # A clock that is ahead of ours, and what is no time at all.
    for odd in (f"{time.time() + 50:.3f}", "nan", "-inf", "x" * 9):
        assert rise(REQUEST_MSEC=odd) >= 0


def test_a_run_that_waits_for_another(service):
    before = scrape(service)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(service.run, "import time; time.sleep(1); 1")
                for _ in range(3)]
        def workers(state):
            return scrape(service)[("workers", ("state", state))]
        wait_for(lambda: workers("waiting") == 1 and workers("running") == 2)
        assert all(run.result() for run in runs)
    rise = (scrape(service)[("queue_seconds_sum",)] -
            before[("queue_seconds_sum",)])
    assert 0.5 < rise < 3


def test_one_who_leaves_and_one_who_finds_no_place(start):
    service = start(workers=4, max_runs=1, ready=1, queue_wait="200ms")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(service.run, "import time; time.sleep(2); 1")
        wait_for(lambda: scrape(service)[("workers", ("state", "running"))])
        assert service.post({"code": "1"}).status == 503
        run.result()
    with pytest.raises(OSError):
        service.post({"code": "import time; time.sleep(9)"}, timeout=0.5)

    def failed(reason):
        return scrape(service)[("requests_failed_total", ("reason", reason))]
    wait_for(lambda: failed("abandoned") == 1)
    assert failed("unavailable") == 1 and failed("refused") == 0


@pytest.mark.parametrize("name", ["worker", "zygote"])
def test_restarts_are_counted(service, name):
    key = ("restarts_total", ("process", name))
    assert scrape(service)[key] == 0
    os.kill(service.pids(name)[0], signal.SIGKILL)
    wait_for(lambda: scrape(service)[key] == 1)
    wait_for(lambda: scrape(service)[("up",)] == 1, 30, "a warm child")


def test_many_runs_at_once_lose_no_count(start):
    service = start(workers=12, max_runs=4, ready=4)
    before = scrape(service)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for reply in pool.map(service.run, ["print(1)"] * 200):
            assert reply["output"] == "1\n"
    assert rises(before, scrape(service)) == {
        ("runs_total", ("kind", "ok")): 200,
        **{(f"{name}_count",): 200 for name in HISTOGRAMS}}


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool here")
def test_promtool_has_nothing_to_say(service):
    told = subprocess.run(["promtool", "check", "metrics"],
                          input=service.get("/metrics").body,
                          capture_output=True)
    assert (told.returncode, told.stdout, told.stderr) == (0, b"", b"")


# /status as JSON and as a page

def test_status_agrees_with_metrics_and_its_description(service):
    status, told = service.get("/status").json, scrape(service)
    schema(service.get("/openapi.json").json, "Status").validate(status)
    assert status["histograms"].keys() == HISTOGRAMS
    for name, one in status["histograms"].items():
        assert sum(one["up_to"].values()) == one["count"] == told[
            (f"{name}_count",)]
        assert one["sum"] == pytest.approx(told[(f"{name}_sum",)])


def test_a_browser_has_a_page(service):
    answer = service.get("/status", headers=BROWSER)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Refresh"] == "5"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    page, status = answer.body.decode(), service.get("/status").json
    rows = re.findall(r'<th scope="row">([^<]*)</th><td>([^<]*)</td>', page)
    assert ("max", "2") in rows and ("reason", "none") in rows
    assert ("ok", str(status["totals"]["ok"])) in rows
    assert ("layers", ", ".join(status["isolation"]["layers"])) in rows
    tables = re.findall("<caption>(.*)</caption>", page)
    assert set(tables) == HISTOGRAMS | {
        "service", "workers", "runs", "totals", "restarts", "market_calls",
        "isolation"}


@pytest.mark.parametrize("accept", [
    "*/*", "application/json", "text/html;q=0.5,application/json", "image/png"])
def test_others_have_json(service, accept):
    assert service.get("/status", headers={"Accept": accept}).json["version"]


def test_a_reason_is_escaped_in_the_page():
    service = Service(workers=2, max_runs=1)
    child = service.directory / "child"
    child.write_text("#!/bin/sh\necho 'no <b>child</b> & \"none\"' >&2\nexit 1")
    child.chmod(0o755)
    service.options["child"] = child
    try:
        service.start_responder()
        service.start_nginx()

        def page():
            try:
                return service.get("/status", headers=BROWSER).body.decode()
            except OSError:
                return ""
        wait_for(lambda: "no &lt;b&gt;child&lt;/b&gt; &amp; &quot;none&quot;"
                 in page(), 20)
        assert scrape(service)[("up",)] == 0
    finally:
        service.end()


# Who may see it

def test_nginx_keeps_it_to_its_own_machine(start_cold):
    """With another machine as its own: then we are strangers."""
    service = start_cold(workers=2, max_runs=1)
    conf = service.directory / "sandbox-fcgi.conf"
    text = conf.read_text()
    assert text.count("allow 127.0.0.1;") == 1
    conf.write_text(text.replace("127.0.0.1", "192.0.2.1"))
    service.nginx.send_signal(signal.SIGHUP)
    for path in "/status", "/metrics":  # old workers of nginx go on a little
        wait_for(lambda: service.get(path).status == 403)
    assert service.get("/healthz").status == 200
