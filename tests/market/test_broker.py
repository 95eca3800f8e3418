"""The broker: what a program can get through descriptor 4, and what not.

Through a real nginx and responder to the stand-in server. The programs speak
the packets of child/handover.h themselves, so that they can also break them.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import threading
import time

import pytest
from fmp_server import FmpServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service import BUILD, Service, wait_for

#: What programs begin with.
CLIENT = '''
import itertools, json, socket
market = socket.socket(fileno=4)
numbers = itertools.count(1)
def send(path, refresh=False, call=None, **parameters):
    call = next(numbers) if call is None else call
    market.send(json.dumps({"call": call, "path": path, "parameters":
                            parameters, "refresh": refresh}).encode())
    return call
heads, bodies = {}, {}
def receive():
    """Read on until an answer is whole; return its number."""
    while True:
        packet = market.recv(1 << 17)
        if packet[:1] == b"{":
            head = json.loads(packet)
            call = head["call"]
            heads[call], bodies[call] = head, b""
        else:
            call = int.from_bytes(packet[1:5], "little")
            assert packet[:1] == b"D" and 1 <= len(packet) - 5 <= 65536
            bodies[call] += packet[5:]
        if len(bodies[call]) == heads[call]["size"]:
            return call
def ask(path, **parameters):
    call = send(path, **parameters)
    while receive() != call:
        pass
    return heads[call]
def show(head):
    """The head and the body, as the program's output."""
    print(json.dumps([head, bodies[head["call"]].decode("latin-1")]))
'''


def run(service, code, **members):
    """Run a program, which must end well; give its reply."""
    reply = service.run(CLIENT + code, **{"key": "demo-1", **members})
    assert reply["error"] is None, reply["error"]
    return reply


def ask(service, path, key="demo-1", timeout=30, **parameters):
    """Make one call in a run of its own; give its head and its body."""
    reply = run(service, f"show(ask({path!r}, **{parameters!r}))", key=key,
                timeout=timeout)
    head, body = json.loads(reply["output"])
    return head, body


@pytest.fixture(scope="module")
def fmp():
    with FmpServer() as server:
        yield server


@pytest.fixture(scope="module")
def shared(fmp):
    with Service(fmp_url=fmp.url, fmp_ca=fmp.ca, fmp_rate=0, fmp_calls=40,
                 grace="500ms", fmp_note="Made-up data.") as service:
        yield service


@pytest.fixture
def market(shared):
    """A service that stays as good as new, and forgets no key's answers."""
    workers = sorted(shared.pids("worker"))
    yield shared
    wait_for(lambda: not shared.pids("run"), 15, "the end of all runs")
    assert sorted(shared.pids("worker")) == workers
    assert shared.run("print(1)")["output"] == "1\n"


def asked_since(fmp, count):
    return fmp.requests[count:]


#: A key of its own for each test: nothing is in the cache for it.
@pytest.fixture
def key(request):
    return "demo-" + re.sub("[^a-z0-9]", "", request.node.name.lower())


# The way there and back

def test_a_call_is_answered_as_the_server_did(market, fmp, key):
    head, body = ask(market, "quote", symbol="AAPL", key=key)
    assert json.loads(body)[0]["symbol"] == "AAPL"
    assert body.startswith('[\n  {\n    "symbol"')
    assert head.pop("ms") >= 0
    assert head == {"call": 1, "status": 200, "size": len(body),
                    "type": "application/json; charset=utf-8",
                    "cached": False, "stale": False, "retry_after": None,
                    "failure": None, "message": None}


def test_the_key_goes_in_a_header_and_never_in_the_url(market, fmp, key):
    ask(market, "quote", symbol="AAPL", key=key)
    asked = fmp.requests[-1]
    assert asked.headers["apikey"] == key and asked.method == "GET"
    assert asked.path == "/stable/quote" and asked.params == {"symbol": "AAPL"}
    assert not any(key in name for asked in fmp.requests
                   for name in (asked.path, *asked.params.values()))


def test_the_request_tells_nothing_else(market, fmp, key):
    ask(market, "quote", symbol="AAPL", key=key)
    assert set(fmp.requests[-1].headers) == {
        "host", "user-agent", "accept", "accept-encoding", "apikey"}


def test_without_a_key_all_but_market_data_works(market, fmp):
    before = len(fmp.requests)
    reply = run(market, "print(ask('quote', symbol='AAPL'))", key=None)
    head = eval(reply["output"])
    assert head["failure"] == "no_key" and head["status"] == 0
    assert head["size"] == 0 and "No key" in head["message"]
    assert len(fmp.requests) == before
    assert [call["status"] for call in reply["market"]] == [0]


@pytest.mark.parametrize("key, status, words", [
    ("nobody", 401, "Invalid API KEY"), ("suspended-1", 403, "suspended"),
    ("free-1", 402, "Special Endpoint")])
def test_refusals_of_the_server_are_passed_on(market, fmp, key, status,
                                              words):
    before = len(fmp.requests)
    head, body = ask(market, "quote", symbol="SMP001", key=key)
    assert head["status"] == status and head["failure"] is None
    assert words in body
    assert len(fmp.requests) == before + 1


def test_an_unknown_path_is_a_404_as_it_came(market, key):
    head, body = ask(market, "no/such-path", key=key)
    assert head["status"] == 404 and body == "[]"


@pytest.mark.parametrize("name", ["TEXT", "BYTES", "NAME", "MESSAGE"])
def test_an_odd_body_is_passed_on_and_not_kept(market, fmp, key, name):
    before = len(fmp.requests)
    first = ask(market, "quote", symbol=f"FAULT-{name}", key=key)
    again = ask(market, "quote", symbol=f"FAULT-{name}", key=key)
    assert first[0]["status"] == 200 and first[1] == again[1]
    assert not again[0]["cached"] and len(fmp.requests) == before + 2


def test_eight_calls_are_under_way_at_a_time(market, fmp, key):
    fmp.peak = 0
    reply = run(market, "for i in range(20):\n"
                        "    send('quote', symbol=f'FAULT-SLOW-1', n=str(i))\n"
                        "for i in range(20): receive()\n"
                        "print(sorted(heads), {h['status'] for h in "
                        "heads.values()})", key=key, timeout=20)
    assert reply["output"] == f"{list(range(1, 21))} {{200}}\n"
    assert fmp.peak == 8 and 2 <= reply["seconds"] < 15


def test_the_same_asked_at_once_is_asked_once(market, fmp, key):
    before = len(fmp.requests)
    reply = run(market, "for i in range(8):\n"
                        "    send('quote', symbol='FAULT-SLOW-1')\n"
                        "for i in range(8): receive()\n"
                        "print({h['status'] for h in heads.values()}, "
                        "len(set(bodies.values())))", key=key)
    assert reply["output"] == "{200} 1\n"
    assert len(fmp.requests) == before + 1
    assert len(reply["market"]) == 8


def test_large_answers_come_whole_whatever_the_order(market, key):
    """Some megabytes, in packets among each other's."""
    reply = run(market, """
paths = ['historical-price-eod/full', 'historical-price-eod/light',
         'stock-list', 'historical-price-eod/dividend-adjusted']
asked = {send(path, symbol='AAPL', **{'from': '1990-01-01'}): path
         for path in paths}
asked[send('quote', symbol='FAULT-HUGE-9000000')] = ''
for _ in asked: receive()
for call in asked:
    rows = json.loads(bodies[call])
    print(heads[call]['status'], len(bodies[call]) == heads[call]['size'],
          len(rows) > 0)
""", key=key)
    assert reply["output"] == "200 True True\n" * 5


def test_connections_are_kept_across_runs(start_cold, fmp):
    service = start_cold(fmp_url=fmp.url, fmp_ca=fmp.ca, workers=2, max_runs=1)
    before = len(fmp.requests)
    for n in range(8):
        ask(service, "quote", symbol="AAPL", n=str(n))
    asked = asked_since(fmp, before)
    assert len(asked) == 8 and len({one.connection for one in asked}) <= 2


# What is refused

ALLOWED = re.compile(r"[A-Za-z0-9-]+(/[A-Za-z0-9-]+)*")
KEYS = {"apikey", "api_key", "api-key", "key", "token", "access_token"}


def is_good(path, parameters):
    """The grammar, once more."""
    return (ALLOWED.fullmatch(path) and len(path) <= 128 and
            len(parameters) <= 32 and all(
                re.fullmatch("[A-Za-z0-9_-]{1,64}", name) and
                name.lower() not in KEYS and len(value.encode()) <= 2048 and
                not re.search("[\0-\x1f\x7f-\x9f]", value)
                for name, value in parameters.items()))


def texts(alphabet, size):
    return st.text(st.sampled_from(alphabet), max_size=size)


PATHS = st.one_of(
    st.from_regex(ALLOWED, fullmatch=True).filter(lambda p: len(p) < 140),
    texts("ab09-/", 20), texts("aZ-/._%?#\\:@& \n\0é", 12),
    st.sampled_from(["a" * 128, "a" * 129, "..", "a/../b", "%2e%2e/a",
                     "http://localhost/", "a/", "/a"]))
NAMES = st.one_of(texts("abcXYZ019_-", 8), texts("a-%&=?.é\0 ", 5),
                  st.sampled_from([*KEYS, "APIKEY", "Api_Key", "KEY", "keys",
                                   "n" * 64, "n" * 65]))
VALUES = st.one_of(
    st.text(st.characters(blacklist_categories=("Cs",)), max_size=12),
    texts("a1 &=?#%+/\\\"';,^", 20),
    st.sampled_from(["", "v" * 2048, "v" * 2049, "é" * 1024, "é" * 1025]))
CALLS = st.tuples(PATHS, st.dictionaries(NAMES, VALUES, max_size=4))


@pytest.fixture(scope="module")
def open_service(fmp):
    with Service(fmp_url=fmp.url, fmp_ca=fmp.ca, fmp_rate=0, fmp_cache=0,
                 fmp_calls=10000) as service:
        yield service


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(calls=st.lists(CALLS, min_size=1, max_size=30))
def test_paths_and_parameters_keep_to_the_grammar(open_service, fmp, calls):
    calls = [(path, parameters) for path, parameters in calls
             if len(json.dumps({"path": path, "parameters": parameters},
                               ensure_ascii=False).encode()) < 8000]
    before = len(fmp.requests)
    reply = run(open_service, """
print(json.dumps([[head['status'], head['failure'], head['message']]
                  for path, parameters in calls
                  for head in [raw(path, parameters)]]))
""".replace("print", """
def raw(path, parameters):
    market.send(json.dumps({"call": 5, "path": path, "parameters": parameters,
                            "refresh": False}, ensure_ascii=False).encode())
    return heads[receive()]
print""", 1), context={"calls": calls})
    heads = json.loads(reply["output"])
    asked = asked_since(fmp, before)
    assert len(heads) == len(calls)
    for (path, parameters), (status, failure, message) in zip(calls, heads):
        if is_good(path, parameters):
            assert failure is None and status, (path, parameters, message)
            one = asked.pop(0)
            assert one.path == f"/stable/{path}"
            assert one.params == parameters
        else:
            assert failure == "refused" and status == 0, (path, parameters)
            assert message
    assert not asked


PACKETS = st.one_of(
    st.binary(max_size=60),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(),
                 lambda inner: st.lists(inner) | st.dictionaries(
                     st.sampled_from(["call", "path", "parameters", "refresh",
                                      "url"]), inner),
                 max_leaves=6).map(lambda thing: json.dumps(thing).encode()))


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(packets=st.lists(PACKETS, min_size=1, max_size=40))
def test_whatever_is_no_call_is_refused(open_service, fmp, packets):
    before = len(fmp.requests)
    reply = run(open_service, """
for packet in packets:
    market.send(packet.encode('latin-1'))
    call = receive()
    print(heads[call]['failure'], heads[call]['size'])
""", context={"packets": [packet.decode("latin-1") for packet in packets]})
    assert reply["output"] == "refused 0\n" * len(packets)
    assert len(fmp.requests) == before and reply["market"] == []


@pytest.mark.parametrize("packet, call, words", [
    (b'{"call": 7, "path": "..", "parameters": {}, "refresh": false}', 7,
     '"path" must be'),
    (b'{"call": 7, "path": "a", "parameters": {"apikey": "x"}, '
     b'"refresh": false}', 7, "the key is the service's own"),
    (b'{"call": -7, "path": "a", "parameters": {}, "refresh": false}', 0,
     '"call" must be'),
    (b'{"call": 7, "path": "a", "parameters": {}}', 7, '"refresh" is missing'),
    (b"[]", 0, "one JSON object"), (b"x" * 8193, 0, "at most 8192 bytes"),
    (b"", 0, "one JSON object")])
def test_a_refusal_says_what_was_expected(market, packet, call, words):
    reply = run(market, f"market.send({packet!r})\nprint(heads[receive()])")
    head = eval(reply["output"])
    assert head["call"] == call and head["failure"] == "refused"
    assert words in head["message"]


def test_a_packet_of_the_greatest_size_is_read(market, key):
    reply = run(market, """
packet = json.dumps({"call": 1, "path": "quote", "refresh": False,
                     "parameters": {"symbol": "AAPL"}}).encode()
market.send(packet + b' ' * (8192 - len(packet)))
print(heads[receive()]['status'])
market.send(packet + b' ' * (8193 - len(packet)))
print(heads[receive()]['failure'])
""", key=key)
    assert reply["output"] == "200\nrefused\n"


def test_a_number_that_is_under_way_is_refused(market, key):
    reply = run(market, "send('quote', symbol='FAULT-SLOW-1', call=3)\n"
                        "send('quote', symbol='AAPL', call=3)\n"
                        "print(heads[receive()]['message'])", key=key)
    assert "under way" in reply["output"]


# Bounds

def test_a_run_has_a_budget_of_calls(start_cold, fmp):
    service = start_cold(fmp_url=fmp.url, fmp_ca=fmp.ca, fmp_calls=3)
    reply = run(service, "for i in range(4):\n"
                         "    head = ask('quote', symbol='AAPL')\n"
                         "    print(head['status'], head['cached'], "
                         "head['failure'], head['message'])")
    assert reply["output"] == (
        "200 False None None\n200 True None None\n200 True None None\n"
        "0 False calls This run has made the 3 calls for market data that a "
        "run may make (fmp_calls).\n")
    # The next run has its own.
    assert ask(service, "quote", symbol="AAPL")[0]["status"] == 200


def test_market_data_can_be_switched_off(start_cold, fmp):
    service = start_cold(fmp_url=fmp.url, fmp_ca=fmp.ca, fmp_calls=0)
    head, _ = ask(service, "quote", symbol="AAPL")
    assert head["failure"] == "calls" and "switched off" in head["message"]


@pytest.mark.parametrize("packet", [b"x", b"", b"x" * 4096])
def test_a_flood_of_packets_ends_the_runs_market(market, fmp, packet):
    before = len(fmp.requests)
    reply = run(market, f"""
import threading
def read():
    try:
        while market.recv(1 << 17): pass
        seen.append('end')
    except ConnectionError as error:
        seen.append(str(error))
seen = []
reader = threading.Thread(target=read)
reader.start()
sent = 0
try:
    while sent < 10000:
        market.send({packet!r})
        sent += 1
except BrokenPipeError:
    seen.append('closed')
reader.join()
print(sorted(seen), 120 <= sent < 1000)
""")
    assert reply["output"] == "['closed', 'end'] True\n"
    assert len(fmp.requests) == before


def test_a_program_that_reads_no_answer_harms_itself_alone(market, key):
    reply = run(market, """
import time
for i in range(40):
    send('quote', symbol='FAULT-HUGE-30000000', n=str(i))
    if i == 11: break
time.sleep(3)
print('done')
""", key=key, timeout=20)
    assert reply["output"] == "done\n"
    for pid in market.pids("worker"):
        assert peak_of(pid) < 200 << 20


def peak_of(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10


@pytest.mark.parametrize("name", ["HUGE", "LENGTH", "BOMB"])
def test_a_body_has_an_end(market, key, name):
    began = time.monotonic()
    head, body = ask(market, "quote", symbol=f"FAULT-{name}", key=key)
    assert head["failure"] == "size" and "32 MiB" in head["message"]
    assert head["status"] == 0 and body == "" and time.monotonic() - began < 20
    for pid in market.pids("worker"):
        assert peak_of(pid) < 200 << 20


def test_a_body_just_within_its_end_comes_whole(market, key):
    size = 32 << 20
    reply = run(market, f"h = ask('quote', symbol='FAULT-HUGE-{size}')\n"
                        "print(h['status'], len(bodies[h['call']]))\n"
                        f"h = ask('quote', symbol='FAULT-HUGE-{size + 1}')\n"
                        "print(h['failure'])", key=key)
    assert reply["output"] == f"200 {size}\nsize\n"


def test_answers_together_have_an_end(market, key):
    reply = run(market, """
for i in range(8):
    send('quote', symbol='FAULT-HUGE-16000000', n=str(i))
import time; time.sleep(2)
for i in range(8): receive()
print({h['failure'] for h in heads.values()},
      [h['message'] for h in heads.values() if h['failure']][0])
ask('quote', symbol='FAULT-HUGE-31000000')
print(heads[9]['status'])
""", key=key)
    assert "'size'" in reply["output"] and "64 MiB" in reply["output"]
    assert reply["output"].endswith("\n200\n")


def test_the_rate_is_that_of_all_runs_together(start_cold, fmp):
    service = start_cold(fmp_url=fmp.url, fmp_ca=fmp.ca, fmp_rate=3)
    for symbol in ("AAPL", "MSFT", "KO"):
        assert ask(service, "quote", symbol=symbol)[0]["status"] == 200
    # The cache is no call to the server.
    assert ask(service, "quote", symbol="KO")[0]["cached"]
    before = len(fmp.requests)
    head, _ = ask(service, "quote", symbol="IBM", timeout=5)
    assert head["failure"] == "timeout" and "fmp_rate" in head["message"]
    assert len(fmp.requests) == before


# The server's faults

def test_a_redirect_is_not_followed(market, fmp, key):
    before = len(fmp.requests)
    head, body = ask(market, "quote", symbol="FAULT-REDIRECT", key=key)
    assert head["failure"] == "redirect" and head["status"] == 0
    assert "302" in head["message"] and "stolen" not in head["message"]
    assert [asked.path for asked in asked_since(fmp, before)] == [
        "/stable/quote"]


@pytest.mark.parametrize("fault", ["ECHO", "ECHOTYPE"])
def test_no_trace_of_the_key_comes_back(market, fmp, fault):
    key = "demo-Zq/9+%b"
    reply = run(market, f"show(ask('quote', symbol='FAULT-{fault}'))",
                key=key)
    head, body = json.loads(reply["output"])
    assert fmp.requests[-1].headers["apikey"] == key
    assert head["status"] == 200 and "***" in body + head["type"]
    text = json.dumps(reply) + market.log.read_text()
    for trace in ("Zq/9", "Zq%2F9", "Zq%2f9", "9+%b", "Zq\\/9"):
        assert trace not in text, trace


def test_a_path_that_is_the_key_is_told_to_nobody(market):
    """It is the caller who put it there; it stays out of reply and log."""
    key = "demo-4711aPathOfItsOwn"
    reply = run(market, "ask('a/' + key)", key=key, context={"key": key})
    assert reply["market"][0]["path"] == "a/***"
    assert "aPathOfItsOwn" not in market.log.read_text()


@pytest.mark.parametrize("fault", ["DROP", "RESET"])
def test_a_broken_connection_is_tried_three_times(market, fmp, key, fault):
    before = len(fmp.requests)
    head, _ = ask(market, "quote", symbol=f"FAULT-{fault}", key=key)
    assert head["failure"] == "network"
    # Which of the two curl tells apart is its version's affair.
    assert ("connection to the market-data server broke" in head["message"]
            or "closed the connection without an answer" in head["message"])
    assert 2200 <= head["ms"] < 6000
    asked = asked_since(fmp, before)
    # A kept connection may have ended of itself: that is no try.
    assert len(asked) == 3 or fault == "RESET" and len(asked) == 4
    assert asked[-1].time - asked[-2].time > 1.4


@pytest.mark.parametrize("fault, least_ms", [
    ("ONCE", 700), ("BUSY", 700), ("LATER-2", 2000), ("LATER-0", 0)])
def test_what_passes_is_tried_again(market, fmp, key, fault, least_ms):
    before = len(fmp.requests)
    head, body = ask(market, "quote", symbol=f"FAULT-{fault}", key=key)
    assert head["status"] == 200 and json.loads(body)
    assert len(fmp.requests) == before + 2
    assert least_ms <= head["ms"] < least_ms + 4000


@pytest.mark.parametrize("key, symbol, status, tries", [
    ("exhausted-1", "AAPL", 429, 3), ("bandwidth-1", "AAPL", 429, 1),
    ("demo-500", "FAULT-500", 500, 3), ("demo-502", "FAULT-502", 502, 3)])
def test_what_does_not_pass_is_told_as_it_is(market, fmp, key, symbol,
                                             status, tries):
    before = len(fmp.requests)
    head, _ = ask(market, "quote", symbol=symbol, key=key)
    assert head["status"] == status and head["failure"] is None
    assert len(fmp.requests) == before + tries


def test_it_is_not_tried_again_after_the_runs_end(market, fmp, key):
    before = len(fmp.requests)
    head, _ = ask(market, "quote", symbol="FAULT-LATER-50", key=key,
                  timeout=5)
    assert head["status"] == 429 and head["retry_after"] == 50
    assert len(fmp.requests) == before + 1 and head["ms"] < 4000


def test_a_certificate_for_another_name_is_refused(start_cold):
    with FmpServer(name="other.example") as other:
        service = start_cold(fmp_url=other.url, fmp_ca=other.ca)
        head, _ = ask(service, "quote", symbol="AAPL")
        assert head["failure"] == "network"
        assert "certificate" in head["message"]
        assert other.requests == []


def test_an_unknown_authority_is_refused(start_cold, fmp):
    with FmpServer() as other:
        for ca in ("", other.ca):
            service = start_cold(fmp_url=fmp.url, fmp_ca=ca)
            before = len(fmp.requests)
            head, _ = ask(service, "quote", symbol="AAPL")
            assert head["failure"] == "network"
            assert "certificate" in head["message"]
            assert len(fmp.requests) == before
            assert "market quote: network (" in service.log.read_text()


def test_a_server_that_is_not_there_is_said_so(start_cold, fmp):
    service = start_cold(fmp_url="https://localhost:1/stable", fmp_ca=fmp.ca)
    head, _ = ask(service, "quote", symbol="AAPL")
    assert head["failure"] == "network"
    assert "cannot be reached" in head["message"]


def test_plain_http_serves_on_loopback(start_cold):
    with FmpServer(tls=False) as plain:
        service = start_cold(fmp_url=plain.url)
        head, body = ask(service, "quote", symbol="AAPL")
        assert head["status"] == 200 and json.loads(body)
        assert plain.requests[0].headers["apikey"] == "demo-1"


def test_a_proxy_in_the_environment_is_not_used(fmp):
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTPS_PROXY",
                             "ALL_PROXY"), "http://127.0.0.1:1")
    service = Service(fmp_url=fmp.url, fmp_ca=fmp.ca, zygote="off")
    try:
        service.start_responder({**os.environ, **proxies})
        service.start_nginx()
        service.wait_until_warm()
        assert ask(service, "quote", symbol="AAPL")[0]["status"] == 200
    finally:
        service.end()


# The run's end

def gone(fmp, before):
    """Wait until the one request since then was given up; say when."""
    asked, = asked_since(fmp, before)
    return wait_for(lambda: asked.gone, 2, "the end of the connection")


def test_no_call_lasts_longer_than_the_runs_time(market, fmp, key):
    before = len(fmp.requests)
    reply = market.run(CLIENT + "send('quote', symbol='FAULT-STALL')\n"
                                "receive()", key=key, timeout=1.5)
    assert reply["error"]["kind"] == "timeout" and reply["seconds"] < 2.5
    assert 1300 <= reply["market"][0]["ms"] < 2000
    assert gone(fmp, before)


def test_a_run_that_is_killed_lets_go_of_its_calls(market, fmp, key):
    before = len(fmp.requests)
    reply = market.run(CLIENT + """
import signal
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
send('quote', symbol='FAULT-HALT')
while True: pass
""", key=key, timeout=1)
    ended = time.monotonic()
    assert reply["error"]["kind"] == "timeout" and reply["seconds"] < 2.5
    assert gone(fmp, before) < ended + 1
    began = time.monotonic()
    assert market.run("print(2)")["output"] == "2\n"
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(1, 9)", "1/0",
                                 "ctypes.string_at(0)", "os.close(4)"])
def test_a_program_that_ends_lets_go_of_its_calls(market, fmp, key, end):
    before = len(fmp.requests)
    reply = market.run(CLIENT + f"""
import ctypes, os, time
send('quote', symbol='FAULT-STALL')
time.sleep(0.5)
{end}
""", key=key, timeout=20)
    assert gone(fmp, before) and reply["seconds"] < 3
    assert reply["market"] == [
        {"path": "quote", "status": 0, "cached": False,
         "ms": reply["market"][0]["ms"]}]
    assert re.search(r"market quote: ended, \d+ ms\n",
                     market.log.read_text())


def test_a_client_that_leaves_takes_its_calls_along(market, fmp, key):
    before = len(fmp.requests)
    with pytest.raises(OSError):
        market.post({"code": CLIENT + "send('quote', symbol='FAULT-STALL')\n"
                     "receive()", "key": key}, timeout=1.5)
    assert gone(fmp, before)


def test_other_uses_of_the_descriptor_harm_nobody(market):
    for code in ("market.shutdown(socket.SHUT_WR)\ntime.sleep(.3)",
                 "market.shutdown(socket.SHUT_RD)\ntry:\n"
                 "    ask('quote', symbol='AAPL')\nexcept Exception: pass",
                 "market.shutdown(socket.SHUT_RDWR)\ntime.sleep(.3)",
                 "market.close()\ntime.sleep(.3)",
                 "send('quote', symbol='AAPL')\n"
                 "market.shutdown(socket.SHUT_WR)\n"
                 "head = heads[receive()]\nassert head['status'] == 200, head"):
        reply = run(market, f"import time\n{code}\nprint('done')")
        assert reply["output"] == "done\n" and reply["cpu_seconds"] < 0.5


# What is kept

def pids_of(service, run_id):
    return re.findall(rf"\[(\d+)\]: run {run_id}: market",
                      service.log.read_text())


def test_answers_are_kept_for_all_workers(market, fmp, key):
    before = len(fmp.requests)
    pids, cached = set(), []
    code = "show(ask('income-statement', symbol='AAPL', limit='3'))"
    for _ in range(3):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for reply in pool.map(lambda _: run(market, code, key=key),
                                  range(len(cached) and 3 or 1)):
                pids.update(pids_of(market, reply["id"]))
                cached.append(reply["market"][0]["cached"])
                assert json.loads(json.loads(reply["output"])[1])
    assert cached == [False] + [True] * 6 and len(pids) > 1
    assert len(fmp.requests) == before + 1


def test_answers_outlive_a_worker_that_is_killed(start_cold, fmp):
    service = start_cold(fmp_url=fmp.url, fmp_ca=fmp.ca)
    before = len(fmp.requests)
    reply = run(service, "ask('ratios', symbol='AAPL')")
    killed, = pids_of(service, reply["id"])
    os.kill(int(killed), 9)
    wait_for(lambda: int(killed) not in service.pids("worker"))
    head, body = ask(service, "ratios", symbol="AAPL")
    assert head["cached"] and head["status"] == 200 and json.loads(body)
    assert len(fmp.requests) == before + 1


def test_the_order_of_parameters_makes_no_difference(market, fmp, key):
    before = len(fmp.requests)
    reply = run(market, "ask('ratios', symbol='AAPL', limit='2')\n"
                        "print(ask('ratios', limit='2', symbol='AAPL')"
                        "['cached'],"
                        "ask('ratios', limit='3', symbol='AAPL')['cached'])",
                key=key)
    assert reply["output"] == "True False\n"
    assert len(fmp.requests) == before + 2


def test_refresh_asks_again_and_keeps_what_came(market, fmp, key):
    before = len(fmp.requests)
    reply = run(market, "for refresh in (False, True, False):\n"
                        "    print(ask('ratios', symbol='AAPL', "
                        "refresh=refresh)['cached'])", key=key)
    assert reply["output"] == "False\nFalse\nTrue\n"
    assert len(fmp.requests) == before + 2


def test_one_keys_answers_are_not_anothers(market, fmp):
    before = len(fmp.requests)
    statuses = []
    for key in ("free-keys", "demo-keys", "free-keys", "demo-keys",
                "nobody-keys", "nobody-keys"):
        head, _ = ask(market, "quote", symbol="SMP002", key=key)
        statuses.append((head["status"], head["cached"]))
    assert statuses == [(402, False), (200, False), (402, True), (200, True),
                        (401, False), (401, False)]
    assert len(fmp.requests) == before + 4


def test_without_a_cache_all_is_asked_again(start_cold, fmp):
    service = start_cold(fmp_url=fmp.url, fmp_ca=fmp.ca, fmp_cache=0)
    for _ in range(2):
        assert not ask(service, "ratios", symbol="AAPL")[0]["cached"]


def test_what_takes_half_a_minute(market, fmp):
    """A server that is silent; and an answer past its time, rather than
    none, where the server wants no more calls."""
    def stalled():
        return ask(market, "quote", symbol="FAULT-STALL", key="demo-stall",
                   timeout=60)[0]

    def stale():
        """Every other request is answered 429, wait for 77 s."""
        heads = []
        for wait in (0, 0, 31):
            time.sleep(wait)
            heads.append(ask(market, "quote", symbol="FAULT-LATER-77",
                             key="demo-stale"))
        return heads

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        one, other = pool.submit(stalled), pool.submit(stale)
        head, (busy, first, second) = one.result(), other.result()
    assert head["failure"] == "timeout" and 29000 <= head["ms"] < 34000
    assert "30 s" in head["message"]
    assert [answer[0]["status"] for answer in (busy, first, second)] == [
        429, 200, 200]
    assert not first[0]["cached"] and first[1] == second[1]
    assert second[0]["cached"] and second[0]["stale"]


# The server's own key

SECRET = "demo-7hQ2servers0wn"


@pytest.fixture
def key_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("key") / "key"
    path.write_text(SECRET + "\n")
    path.chmod(0o600)
    return path


def test_it_is_used_when_a_run_brings_none(start_cold, fmp, key_file):
    service = start_cold(fmp_url=fmp.url, fmp_ca=fmp.ca, fmp_key_file=key_file)
    assert ask(service, "quote", symbol="AAPL", key=None)[0]["status"] == 200
    assert fmp.requests[-1].headers["apikey"] == SECRET
    assert ask(service, "quote", symbol="AAPL")[0]["status"] == 200
    assert fmp.requests[-1].headers["apikey"] == "demo-1"
    head, body = ask(service, "quote", symbol="FAULT-ECHO", key=None)
    assert head["status"] == 200 and "***" in body and SECRET not in body
    assert SECRET not in service.log.read_text()


def refuse(**options):
    """What the responder says before it ends at once."""
    command = [BUILD / "sandbox-fcgi", "--listen", "127.0.0.1:1"]
    command += [f"--{name}={value}" for name, value in options.items()]
    ended = subprocess.run(command, capture_output=True, text=True,
                           timeout=10)
    assert ended.returncode == 100
    return ended.stderr


def test_a_key_file_that_others_may_read_is_refused(key_file):
    key_file.chmod(0o640)
    said = refuse(fmp_key_file=key_file)
    assert "can be read by others" in said and "chmod 600" in said
    assert SECRET not in said


def test_what_is_no_key_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    assert "not a regular file" in refuse(fmp_key_file=tmp_path / "fifo")
    assert "No such file" in refuse(fmp_key_file=tmp_path / "nothing")
    assert "fmp_ca" in refuse(fmp_ca=tmp_path / "nothing")


def test_a_key_file_without_a_key_is_none_and_logged(start_cold, fmp, key_file):
    key_file.write_text("two words\n")
    service = start_cold(fmp_url=fmp.url, fmp_ca=fmp.ca, fmp_key_file=key_file,
                    workers=3, max_runs=1)
    head, _ = ask(service, "quote", symbol="AAPL", key=None)
    assert head["failure"] == "no_key"
    assert "does not hold one key" in service.log.read_text()
    assert ask(service, "quote", symbol="AAPL")[0]["status"] == 200


def memory_holds(pid, needle):
    """Is it anywhere in what the process can read of its own memory?"""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    scanned = 0
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            place, mode, *_ = line.split()
            low, high = (int(end, 16) for end in place.split("-"))
            if "r" not in mode or "[v" in line:
                continue
            try:
                memory.seek(low)
                while low < high:
                    data = memory.read(min(high - low, 16 << 20))
                    if not data or needle in data:
                        break
                    low += len(data)
                    scanned += len(data)
            except OSError:  # a mapping that is there and cannot be read
                continue
            if low < high and data:
                return True
    assert scanned > 1 << 20
    return False


@pytest.mark.unsanitized("reads ASan's shadows, which are terabytes")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to read the "
                    "memory of the service's processes")
def test_it_is_in_no_memory_but_the_workers(start, fmp, key_file):
    service = start(fmp_url=fmp.url, fmp_ca=fmp.ca, fmp_key_file=key_file,
                    workers=3, max_runs=1)
    needle = SECRET.encode()
    thread = threading.Thread(target=lambda: service.run(
        CLIENT + "ask('quote', symbol='AAPL')\n"
                 "ask('quote', symbol='FAULT-STALL')", timeout=8))
    thread.start()
    try:
        child, = wait_for(lambda: service.pids("run"), what="the run")
        wait_for(lambda: fmp.requests and fmp.requests[-1].params.get(
            "symbol") == "FAULT-STALL", what="the call")
        assert fmp.requests[-1].headers["apikey"] == SECRET
        others = [child, *service.pids("zygote"), *service.pids("ready"),
                  *service.pids("keeper"), service.responder.pid]
        assert [pid for pid in others if memory_holds(pid, needle)] == []
        # Where it is, it is found: the search is one that can find it.
        assert any(memory_holds(pid, needle)
                   for pid in service.pids("worker"))
        for pid in [*others, *service.pids("worker")]:
            for name in ("environ", "cmdline"):
                assert needle not in pathlib.Path(
                    f"/proc/{pid}/{name}").read_bytes()
    finally:
        thread.join()


# What is told of it

def test_reply_and_log_tell_of_each_call(market, key):
    reply = run(market, "ask('quote', symbol='AAPL')\n"
                        "ask('quote', symbol='AAPL')\n"
                        "ask('no/such-path')\nask('..')\n"
                        "ask('quote', symbol='FAULT-REDIRECT')", key=key)
    assert [{**call, "ms": None} for call in reply["market"]] == [
        {"path": path, "status": status, "ms": None, "cached": cached}
        for path, status, cached in [
            ("quote", 200, False), ("quote", 200, True),
            ("no/such-path", 404, False), ("quote", 0, False)]]
    assert all(type(call["ms"]) is int for call in reply["market"])
    assert "Made-up data." in reply["notes"]
    told = re.findall(rf"run {reply['id']}: market (.*), \d+ ms(.*)",
                      market.log.read_text())
    assert told == [("quote: 200", ""), ("quote: 200", ", cached"),
                    ("no/such-path: 404", ""), ("quote: redirect", "")]


def test_a_run_without_calls_says_nothing_of_it(market):
    reply = run(market, "print(1)")
    assert reply["market"] == [] and "Made-up data." not in reply["notes"]


# Without zygote, without nginx

def test_a_cold_start_has_market_data_too(start, fmp):
    service = start(fmp_url=fmp.url, fmp_ca=fmp.ca, zygote="off")
    for cached in (False, True):
        head, body = ask(service, "quote", symbol="AAPL", timeout=60)
        assert head["status"] == 200 and head["cached"] is cached


def test_so_has_a_job_on_standard_input(fmp, key_file):
    with Service(zygote="off") as service:  # for its directory
        ended = subprocess.run(
            [BUILD / "sandbox-fcgi", "--stdio", "--child", service.stage(),
             "--fmp-url", fmp.url, "--fmp-ca", fmp.ca,
             "--fmp-key-file", key_file],
            input=json.dumps({"code": CLIENT + "ask('quote', symbol='AAPL')"
                              "['status']"}),
            capture_output=True, text=True, timeout=60)
    reply = json.loads(ended.stdout)
    assert reply["result"] == "200" and reply["market"][0]["path"] == "quote"
    assert fmp.requests[-1].headers["apikey"] == SECRET
