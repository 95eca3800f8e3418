"""A FastCGI client that can do everything wrong, for the tests.

It speaks to the responder directly, without nginx: the path of a Unix socket
or a (host, port). A request is a list of records, so a test can leave some
out, change one, or cut their bytes where it likes:

    with Connection(socket) as peer:
        peer.send(*request(b"{}", {"CONTENT_LENGTH": "3"}))
        answer = peer.reply()
"""

import fcntl
import http.client
import io
import json
import socket
import struct
import termios

from service import Reply, wait_for

BEGIN, ABORT, END, PARAMS, STDIN, STDOUT, STDERR = range(1, 8)
GET_VALUES, RESPONDER, KEEP = 9, 1, 1
POST = {"REQUEST_METHOD": "POST", "SCRIPT_NAME": "/run",
        "CONTENT_TYPE": "application/json"}
HEALTH = {"REQUEST_METHOD": "GET", "SCRIPT_NAME": "/healthz"}


def record(kind, content=b"", padding=0, number=1, version=1):
    """One record, of request `number`."""
    return struct.pack(">BBHHBx", version, kind, number, len(content),
                       padding) + content + bytes(padding)


def stream(kind, content, size=65535, padding=0):
    """A stream as records of at most `size` bytes, without its end."""
    return [record(kind, content[at:at + size], padding)
            for at in range(0, len(content), size)]


def begin(role=RESPONDER, flags=0):
    return record(BEGIN, struct.pack(">HB5x", role, flags))


def pairs(params):
    """Names and values; a length above 127 takes four bytes."""
    def length(text):
        return struct.pack(*(("B", len(text)) if len(text) < 128 else
                             (">I", len(text) | 1 << 31)))
    coded = [(name.encode(), str(value).encode())
             for name, value in params.items()]
    return b"".join(length(name) + length(value) + name + value
                    for name, value in coded)


def request(body=b"", params=POST, flags=0, **shape):
    """The records of a request: each stream, and behind it its end."""
    return [begin(flags=flags),
            *stream(PARAMS, pairs(params), **shape), record(PARAMS),
            *stream(STDIN, body, **shape), record(STDIN)]


def job(code, **params):
    """A program's request, whose CONTENT_LENGTH is right unless given."""
    body = json.dumps({"code": code}).encode()
    return body, {**POST, "CONTENT_LENGTH": len(body), **params}


class Connection:
    def __init__(self, address, timeout=20):
        is_path = not isinstance(address, tuple)
        host = address if is_path else address[0]
        family = (socket.AF_UNIX if is_path else
                  socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(str(address) if is_path else address)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.socket.close()

    def send(self, *pieces):
        """Send each piece in a write of its own."""
        for piece in pieces:
            self.socket.sendall(piece)

    def send_apart(self, *pieces):
        """The same, each piece only when the one before has been read."""
        for piece in pieces:
            self.socket.sendall(piece)
            wait_for(self.has_been_read, what="the reading of a piece")

    def has_been_read(self):
        unread = fcntl.ioctl(self.socket, termios.TIOCOUTQ, bytes(4))
        return unread == bytes(4)

    def rest(self):
        """All that comes until the other side closes."""
        received = b""
        while more := self.socket.recv(65536):
            received += more
        return received

    def records(self):
        """The same as (kind, content); half a record is an error."""
        received = io.BytesIO(self.rest())
        while header := received.read(8):
            _, kind, _, length, padding = struct.unpack(">BBHHBx", header)
            yield kind, received.read(length + padding)[:length]

    def reply(self):
        """The one whole reply, behind which the connection is closed."""
        records = list(self.records())
        assert records and records[-1] == (END, bytes(8)), records
        text = io.BytesIO(b"".join(content for kind, content in records
                                   if kind == STDOUT))
        headers = http.client.parse_headers(text)
        return Reply(int(headers["Status"].split()[0]), headers, text.read())


def ask(address, body=b"", params=POST, **shape):
    """A whole request and its reply."""
    with Connection(address) as peer:
        peer.send(*request(body, params, **shape))
        return peer.reply()
