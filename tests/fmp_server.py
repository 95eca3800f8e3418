#!/usr/bin/env python3
"""A stand-in for the Financial Modeling Prep API: its manners, made-up data.

    python3 tests/fmp_server.py [--port 0] [--directory DIR]
                                [--date YYYY-MM-DD] [--plain]

serves https://localhost:PORT/stable on loopback with an authority made for
the occasion, and prints that URL and the authority's file when it listens.
SIGTERM or SIGINT ends it. A test says

    with FmpServer() as fmp:        # fmp.url, fmp.ca, fmp.requests
        ...

A key is a plan's name, or that and "-" and anything: each such key is an
account of its own, with its own count of calls ("free-1", "ultimate-Xy9").
Give one with a tail to whatever hides the key: "free" is in freeCashFlow.

    demo        everything, as often as one likes
    free        250 calls a day; the sample symbols, limit up to 5, no quarters
    starter     300 calls a minute; US symbols, five years
    premium     750 a minute; UK and Canada besides
    ultimate    3,000 a minute; everything
    legacy      ultimate, and an account old enough for two paths of /api/v3
    old, older  as free, but told so in the words of 2024 and of 2021
    exhausted   429, the calls are spent
    bandwidth   429, the bytes are spent
    suspended   403

Symbols are those of fmp/_symbols.tsv and SMP001 .. SMP480. A symbol
FAULT-NAME or FAULT-NAME-n, wherever a parameter's value holds it, asks for
trouble on any path. Where an answer follows, it is that of AAPL:

    SLOW-n      the body takes n seconds (2)
    STALL       no answer, ever
    HALT        half of the body, then nothing, ever
    DROP        half of the body, then the end of the connection
    RESET       the end of the connection, without a byte
    500  502    an HTML page under that status
    MESSAGE     200, and {"Error Message": ...}
    NAME        200, and `Invalid name`, which is no JSON
    TEXT        200, and an HTML page as application/json
    BYTES       200, and bytes that are no UTF-8
    REDIRECT    302 to another host name (this server's, at /stolen)
    ECHO        200, and the request with all headers, in body and headers
    ECHOTYPE    200, with the key in the content type
    HUGE-n      n bytes of JSON (1 GiB), streamed
    LENGTH-n    the same with a Content-Length
    BOMB-n      the same, compressed
    BUSY-n      429, then 200 (n sets tests apart: each n begins anew)
    LATER-n     the same, with `Retry-After: n` (1)
    ONCE-n      500, then 200
    FRACTION    volumes, counts and market caps with fractions
    NULLS       nulls in a quote, as small listings have

What the API does in the ordinary way stands in fmp/stand_in, and in its
rules.py what of it is a guess. Bodies are those of fmp/*.json, told of other
symbols and days.
"""

import argparse
import collections
import contextlib
import dataclasses
import datetime
import functools
import gzip
import http.server
import json
import pathlib
import re
import select
import shutil
import signal
import ssl
import sys
import tempfile
import threading
import time
import urllib.parse

TESTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS / "fmp"))

from stand_in import legacy, plans  # noqa: E402
from stand_in.bodies import (ERRORS, JSON, as_csv, etag,  # noqa: E402
                             pretty)
from stand_in.certificates import make_certificates  # noqa: E402
from stand_in.faults import FAULT, Faults  # noqa: E402
from stand_in.market import Market  # noqa: E402
from stand_in.request import Refused  # noqa: E402
from stand_in.rules import answer  # noqa: E402

ENDPOINTS = TESTS.parent / "child" / "sandbox" / "fmp" / "endpoints.json"
# Paths that have no method of their own: required parameter, sample.
EXTRA = {
    "acquisition-of-beneficial-ownership": ("symbol",),
    "actively-trading-list": (), "available-countries": (),
    "batch-etf-quotes": (), "earning-call-transcript-latest": (),
    "funds/disclosure-holders-latest": ("symbol",),
    "historical-sector-pe": ("sector",),
    "institutional-ownership/latest": (), "shares-float-all": ()}
MISSES = {"financial-reports-json": "financial_report_miss",
          "financial-reports-xlsx": "financial_report_xlsx_miss"}


@functools.cache
def paths():
    """Path to (endpoint, which one of {one|or|another} it is)."""
    found = {}
    for endpoint in json.loads(ENDPOINTS.read_text()):
        head, _, rest = endpoint["stable"].partition("{")
        for segment in rest.rstrip("}").split("|"):
            found[head + segment] = endpoint, segment
    for path, required in EXTRA.items():
        found[path] = {"method": path, "stable": path, "required": required,
                       "optional": (), "tier": "-", "category": "",
                       "sample": re.sub("[-/]", "_", path)}, ""
    return found


@dataclasses.dataclass
class Asked:
    """One request as it came in."""
    method: str
    path: str
    params: dict
    headers: dict           # names in lower case
    connection: int         # which connection it came on
    time: float             # monotonic
    status: int = 0         # of the answer, when there was one
    gone: float = 0         # when a stalled client went away, monotonic


class Handler(Faults, http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 75

    def handle(self):
        self.number = self.server.fmp.count("connections")
        try:
            super().handle()
        except OSError:         # the client went, or would not have our TLS
            self.close_connection = True

    def finish(self):
        try:
            super().finish()
        except (OSError, ValueError):
            pass

    def version_string(self):
        return "nginx/1.18.0 (Ubuntu)"

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        params = {}
        for name, value in urllib.parse.parse_qsl(url.query,
                                                  keep_blank_values=True):
            params.setdefault(name, value)
        headers = {name.lower(): value for name, value in
                   self.headers.items()}
        self.asked = Asked(self.command, url.path, params, headers,
                           self.number, time.monotonic())
        fmp = self.server.fmp
        with fmp.at_once(self.asked):
            self.key = params.get("apikey") or headers.get("apikey", "")
            try:
                self.reply(url.path, params)
            except Refused as refused:
                self.refuse(refused)
            self.wfile.flush()

    def reply(self, path, params):
        """Answer: key, account, rate, path, plan, parameters, data."""
        fmp = self.server.fmp
        plan = self.key.partition("-")[0]
        if plan in plans.CLOSED:
            raise Refused(plans.CLOSED[plan])
        if plan not in fmp.plans:
            raise Refused("invalid_key")
        if not fmp.may_call(self.key, *fmp.plans[plan][1:]):
            raise Refused("rate_limit")
        if fault := FAULT.search("\n".join(params.values())):
            if act := getattr(self, f"fault_{fault[1].lower()}", None):
                return act(fault[2] and int(fault[2]), fault[0])
        if re.match("/api/v[34]/", path):
            if plan != "legacy":
                raise Refused("legacy_endpoint")
            return self.send(legacy.answer(fmp.market, path, params))
        self.send(self.rows(plan, path.removeprefix("/stable/"), params))

    def rows(self, plan, path, params):
        """The rows of a path below /stable, or the text of a bulk one."""
        fmp = self.server.fmp
        market, known = fmp.market, paths()
        if path.startswith("technical-indicators/"):
            path = path.lower()
        base = path.removesuffix("-bulk")
        if path in MISSES:
            base = "income-statement"
        if base not in known:
            raise Refused("unknown_path")
        endpoint, segment = known[base]
        plans.gate(plan, path, endpoint, segment, params, market.today)
        if path in MISSES:
            raise Refused(MISSES[path])
        if path == base:
            return answer(market, endpoint, segment, params)
        if not fmp.may_call(f"{self.key} bulk", plans.BULK_CALLS,
                            plans.MINUTE):
            raise Refused("bulk_throttled")
        rows = []
        for symbol in ("AAPL", "MSFT", "KO"):
            rows += answer(market, endpoint, segment,
                           params | {"symbol": symbol, "limit": "1"})
        return as_csv(rows)

    def refuse(self, refused):
        error = ERRORS[refused.error]
        text = error["body"]
        if refused.new:
            text = text.replace(f"- {refused.old}", f"- {refused.new}")
            text = text.replace(f"'{refused.old}'", f"'{refused.new}'")
        self.send(text, error["status"])

    # Sending

    def send(self, body, status=200, kind=JSON, **headers):
        """Send a text as it is, anything else as JSON."""
        if not isinstance(body, (str, bytes)):
            body = pretty(body)
        body = body.encode() if isinstance(body, str) else body
        headers = {"ETag": etag(body)} | headers
        if "gzip" in self.headers.get("Accept-Encoding", "") and body:
            self.start(status, kind, None, Content_Encoding="gzip",
                       **headers)
            self.piece(gzip.compress(body, 5, mtime=0))
            self.piece(b"")
        else:
            self.start(status, kind, len(body), **headers)
            self.wfile.write(body)

    def start(self, status, kind, length, **headers):
        """Send the head; without a length the body comes in pieces."""
        self.asked.status = status
        self.send_response(status)
        fixed = {"Content-Type": kind, "X-Powered-By": "Express",
                 "Access-Control-Allow-Origin": "*",
                 "X-Frame-Options": "SAMEORIGIN", "Vary": "Accept-Encoding"}
        self.chunked = length is None and self.request_version != "HTTP/1.0"
        if length is not None:
            fixed["Content-Length"] = length
        elif self.chunked:
            fixed["Transfer-Encoding"] = "chunked"
        else:
            self.close_connection = True
        for name, value in (fixed | headers).items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def piece(self, data):
        """Send a piece of the body; an empty one ends it."""
        if self.chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self.wfile.write(data)

    def hang_up(self):
        """End the connection as a broken one ends: without goodbye."""
        self.wfile.flush()
        self.connection.shutdown(2)
        self.close_connection = True

    def wait_for_ever(self):
        """Until the client goes or the server ends."""
        self.wfile.flush()
        while not self.server.fmp.ended.is_set():
            if select.select([self.connection], [], [], 0.05)[0]:
                try:
                    if self.connection.recv(1):
                        continue
                except OSError:
                    pass
                self.asked.gone = time.monotonic()
                break
        self.close_connection = True


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port, fmp):
        super().__init__(("127.0.0.1", port), Handler)
        self.fmp = fmp
        self.connections = set()

    def process_request(self, request, client_address):
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class FmpServer:
    """The stand-in, on a port and below a directory of its own.

    date: the day whose close is now (default: today). name: the host that
    the certificate is for. tls=False: plain HTTP. limits: of plans, in place
    of their own, as {"starter": (1, 5, 60)}: tier, calls, seconds.

    `requests` is what was asked, a list of Asked; `peak` how many of them
    were at work at once. Both may be cleared by a test."""

    def __init__(self, port=0, directory=None, date=None, tls=True,
                 name="localhost", limits=None):
        self.port, self.tls, self.name = port, tls, name
        self.scheme = "https" if tls else "http"
        self.date = date and datetime.date.fromisoformat(str(date))
        self.plans = plans.PLANS | (limits or {})
        self.own = directory is None
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(
            prefix="fmp-stand-in."))
        self.requests, self.busy, self.peak = [], 0, 0
        self.counts = collections.Counter()
        self.calls = collections.defaultdict(collections.deque)
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.listener = self.thread = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception):
        self.stop()

    @property
    def url(self):
        return f"{self.scheme}://localhost:{self.port}/stable"

    @property
    def ca(self):
        return str(self.directory / "ca.pem")

    @property
    def market(self):
        return market_of(self.date or datetime.date.today())

    def start(self):
        self.directory.mkdir(exist_ok=True)
        if self.own:
            self.directory.chmod(0o755)     # for those who read ca.pem
        self.listener = Listener(self.port, self)
        self.port = self.listener.server_address[1]
        if self.tls:
            make_certificates(self.directory, self.name)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.directory / "server.pem",
                                    self.directory / "server.key")
            # The handshake is the connection's own thread's.
            self.listener.socket = context.wrap_socket(
                self.listener.socket, server_side=True,
                do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.listener.serve_forever,
                                       args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.ended.set()
        if self.listener:
            if self.thread:
                self.listener.shutdown()
            self.listener.server_close()
            for connection in list(self.listener.connections):
                try:
                    connection.shutdown(2)
                except OSError:
                    pass
        if self.own:
            shutil.rmtree(self.directory, ignore_errors=True)

    # What the handlers share

    @contextlib.contextmanager
    def at_once(self, asked):
        with self.lock:
            self.requests.append(asked)
            self.busy += 1
            self.peak = max(self.peak, self.busy)
        try:
            yield
        finally:
            with self.lock:
                self.busy -= 1

    def count(self, what):
        with self.lock:
            self.counts[what] += 1
            return self.counts[what]

    def may_call(self, key, most, seconds):
        """Count a call of an account; False when it has none left."""
        now = time.monotonic()
        with self.lock:
            times = self.calls[key]
            while times and times[0] <= now - seconds:
                times.popleft()
            if len(times) >= most:
                return False
            times.append(now)
            return True


@functools.lru_cache(4)
def market_of(date):
    return Market(date)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--directory", help="for ca.pem and the key")
    parser.add_argument("--date", help="the day whose close is now")
    parser.add_argument("--plain", action="store_true", help="no TLS")
    options = parser.parse_args()
    # Blocked before any thread is there, so that all of them leave these
    # to sigwait.
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with FmpServer(options.port, options.directory, options.date,
                   not options.plain) as fmp:
        print(fmp.url, *[fmp.ca][:fmp.tls], flush=True)
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
