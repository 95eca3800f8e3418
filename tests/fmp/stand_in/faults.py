"""Trouble on request: a symbol FAULT-NAME or FAULT-NAME-n asks for it."""

import json
import re
import urllib.parse
import zlib

from .bodies import ERRORS, HTML, JSON, PAGE, pretty
from .request import Refused

FAULT = re.compile(r"FAULT-([A-Z]+|500|502)(?:-(\d+))?")
NULLS = ("changePercentage", "change", "yearHigh", "yearLow", "priceAvg50",
         "priceAvg200", "open", "previousClose")


class Faults:
    """What the handler of requests does for each of the names: it is given
    the symbol's number, or None, and the whole symbol."""

    def usual(self, symbol):
        """The body that AAPL has, told of the symbol."""
        params = {name: value.replace(symbol, "AAPL")
                  for name, value in self.asked.params.items()}
        rows = self.rows(self.key.partition("-")[0],
                         self.asked.path.removeprefix("/stable/"), params)
        return json.loads(json.dumps(rows).replace('"AAPL"', f'"{symbol}"'))

    def half(self, symbol):
        body = pretty(self.usual(symbol)).encode()
        self.start(200, JSON, len(body))
        self.wfile.write(body[:len(body) // 2])

    def fault_slow(self, seconds, symbol):
        body = pretty(self.usual(symbol)).encode()
        self.start(200, JSON, len(body))
        size = len(body) // 20 + 1
        for n in range(0, len(body), size):
            self.wfile.write(body[n:n + size])
            self.wfile.flush()
            if self.server.fmp.ended.wait((seconds or 2) / 20):
                break

    def fault_stall(self, _, symbol):
        self.wait_for_ever()

    def fault_halt(self, _, symbol):
        self.half(symbol)
        self.wait_for_ever()

    def fault_drop(self, _, symbol):
        self.half(symbol)
        self.hang_up()

    def fault_reset(self, _, symbol):
        self.hang_up()

    def fault_500(self, _, symbol):
        self.send(PAGE.format("500 Internal Server Error"), 500, HTML)

    def fault_502(self, _, symbol):
        self.send(PAGE.format("502 Bad Gateway"), 502, HTML)

    def fault_message(self, _, symbol):
        self.send(ERRORS["financial_report_miss"]["body"])

    def fault_name(self, _, symbol):
        self.send(ERRORS["bad_indicator_name"]["body"])

    def fault_text(self, _, symbol):
        self.send(PAGE.format("200 OK"))

    def fault_bytes(self, _, symbol):
        self.send(b'[{"symbol": "\xff\xfe\x00\xc3("}]')

    def fault_redirect(self, _, symbol):
        fmp = self.server.fmp
        self.send("", 302, HTML, Location=f"{fmp.scheme}://127.0.0.1:"
                  f"{fmp.port}/stolen?{urllib.parse.urlsplit(self.path)[3]}")

    def fault_echo(self, _, symbol):
        quoted = urllib.parse.quote(self.key, safe="")
        self.send([{"symbol": symbol, "request": self.requestline,
                    "headers": dict(self.headers), "apikey": self.key,
                    "quoted": quoted, "lower": quoted.replace(
                        "%2F", "%2f").replace("%2B", "%2b")}],
                  X_Echo=f"{self.requestline} {self.key} {quoted}",
                  Set_Cookie=f"apikey={quoted}")

    def fault_echotype(self, _, symbol):
        self.send(self.usual(symbol), kind=f"{JSON}; apikey={self.key}")

    def stream(self, size, length=None, **headers):
        """size bytes of JSON: one long string in an array."""
        self.start(200, JSON, length, **headers)
        yield b'["'
        block, left = b"a" * 65536, max(size - 4, 0)
        while left > 0 and not self.server.fmp.ended.is_set():
            yield block[:left]
            left -= len(block)
        yield b'"]'

    def fault_huge(self, size, symbol):
        for data in self.stream(size or 2 ** 30):
            self.piece(data)
        self.piece(b"")

    def fault_length(self, size, symbol):
        for data in self.stream(size or 2 ** 30, size or 2 ** 30):
            self.wfile.write(data)

    def fault_bomb(self, size, symbol):
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        for data in self.stream(size or 2 ** 30, Content_Encoding="gzip"):
            if data := packer.compress(data):
                self.piece(data)
        self.piece(packer.flush())
        self.piece(b"")

    def odd(self, symbol):
        """True for the first, third ... request of this symbol."""
        return self.server.fmp.count(f"{self.asked.path} {symbol}") % 2

    def fault_busy(self, _, symbol):
        if self.odd(symbol):
            raise Refused("rate_limit")
        self.send(self.usual(symbol))

    def fault_later(self, seconds, symbol):
        if self.odd(symbol):
            return self.send(ERRORS["rate_limit"]["body"], 429,
                             Retry_After=1 if seconds is None else seconds)
        self.send(self.usual(symbol))

    def fault_once(self, _, symbol):
        if self.odd(symbol):
            return self.fault_500(None, symbol)
        self.send(self.usual(symbol))

    def fault_fraction(self, _, symbol):
        self.send([{name: value + 0.9995 if isinstance(value, int) and
                    re.search("(?i)volume|marketCap|shares|count", name)
                    else value for name, value in row.items()}
                   for row in self.usual(symbol)])

    def fault_nulls(self, _, symbol):
        self.send([{name: None if name in NULLS else value
                    for name, value in row.items()}
                   for row in self.usual(symbol)])
