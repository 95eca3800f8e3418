"""The example files for limits, TLS and access, in a real nginx."""

import base64
import concurrent.futures
import contextlib
import http.client
import http.server
import json
import ssl
import subprocess
import threading

import pytest
from front import Front, example
from service import Reply, free_port, wait_for

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,"
                     "*/*;q=0.8"}
OPTIONS = {"workers": 4, "max_runs": 3, "ready": 2}


def problem(answer, status, retry=None):
    """The problem that an answer is, in JSON."""
    assert answer.status == status, answer.body
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Retry-After"] == retry
    told = answer.json
    assert set(told) == {"title", "status", "detail"}
    assert told["status"] == status and told["detail"].endswith(".")
    return told


# nginx's own errors

@pytest.fixture(scope="module")
def down():
    """Without a responder."""
    class Down(Front):
        def start(self):
            self.start_nginx()
            wait_for(lambda: answers(self), what="nginx")
    with Down() as one:
        yield one


def answers(front):
    with contextlib.suppress(OSError):
        return front.get("/").status == 200


def test_a_browser_gets_a_page_and_others_json(down):
    told = problem(down.post({"code": "1"}), 502, "1")
    page = down.post({"code": "1"}, headers=BROWSER)
    assert page.status == 502 and page.headers["Retry-After"] == "1"
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    text = page.body.decode()
    assert text.startswith("<!doctype html>")
    assert f"<h1>{told['title']}</h1>" in text and told["detail"] in text
    assert "Status 502" in text
    for accept in ("application/json, text/html;q=0.5", "*/*", "",
                   "text/event-stream"):
        problem(down.post({"code": "1"}, headers={"Accept": accept}), 502, "1")


def test_a_body_too_large_has_both_forms(down):
    body = bytes((16 << 20) + 1)
    assert "16 MiB" in problem(down.post(body), 413)["detail"]
    page = down.post(body, headers=BROWSER)
    assert page.status == 413 and b"16 MiB" in page.body


def test_nobody_asks_for_a_problem_by_its_address(down):
    for path in ("/problem", "/problem/page", "/problem/502"):
        assert down.get(path).status == 404


# Limits

@pytest.fixture(scope="module")
def limited():
    with Front(example("limits.conf"), **OPTIONS) as front:
        yield front


def test_a_client_who_sends_too_many_runs_is_told_to_wait(limited):
    answers = [limited.post({"code": "1"}) for _ in range(30)]
    statuses = [answer.status for answer in answers]
    assert statuses[:11] == [200] * 11 and statuses.count(429) >= 10
    told = problem(answers[statuses.index(429)], 429, "5")
    assert "slowly" in told["detail"]
    assert limited.post({"code": "1"}, headers=BROWSER).body.startswith(
        b"<!doctype html>")
    # All else is not limited.
    assert {limited.get("/healthz").status for _ in range(30)} == {200}
    assert {limited.get("/").status for _ in range(30)} == {200}


@pytest.mark.parametrize("change", [
    ("limit_conn sandbox_client 4;", "limit_conn sandbox_client 2;"),
    ("limit_conn sandbox_all 400;", "limit_conn sandbox_all 2;")])
def test_more_runs_at_a_time_are_answered_503(change):
    with Front(example("limits.conf", change), **OPTIONS) as front:
        job = {"code": "import time; time.sleep(1)\nprint(1)"}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = sorted(pool.map(front.post, [job] * 4),
                             key=lambda answer: answer.status)
        assert [one.status for one in answers] == [200, 200, 503, 503]
        problem(answers[-1], 503, "5")
        assert front.post({"code": "print(1)"}).status == 200


@pytest.fixture(scope="module")
def proxied():
    """Behind a proxy that says who it was, as one would set it up; one run at
    once and no more."""
    with Front(example("limits.conf", (" burst=10 nodelay", "")),
               "set_real_ip_from 127.0.0.1;\n"
               "real_ip_header X-Forwarded-For;\n", **OPTIONS) as front:
        yield front


@pytest.mark.parametrize("one, other, is_same", [
    ("2001:db8:1:2::1", "2001:db8:1:2:3:4:5:6", True),
    ("2001:db8:2:2::1", "2001:db8:2:3::1", False),
    ("2001:db8:3::1", "2001:db8:3::7:8:9", True),
    ("192.0.2.1", "192.0.2.2", False), ("::1", "192.0.2.3", False),
    ("192.0.2.4", "192.0.2.4", True)])
def test_a_client_is_an_address_or_an_ipv6_network(proxied, one, other,
                                                   is_same):
    statuses = [proxied.post({"code": "print(1)"},
                             headers={"X-Forwarded-For": address}).status
                for address in (one, other)]
    assert statuses == [200, 429 if is_same else 200]


# TLS

@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A server's and a client's, of two authorities; a stranger's besides."""
    place = tmp_path_factory.mktemp("certificates")
    place.chmod(0o755)

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=place, check=True,
                       capture_output=True)

    for authority, names in (("server-ca", ["server"]),
                             ("clients", ["client"]),
                             ("others", ["stranger"])):
        new = ("req", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:P-256", "-nodes")
        openssl(*new, "-x509", "-subj", f"/CN={authority}",
                "-addext", "keyUsage=critical,keyCertSign",
                "-keyout", f"{authority}.key", "-out", f"{authority}.pem")
        for name in names:
            openssl(*new, "-subj", f"/CN={name}", "-keyout", f"{name}.key",
                    "-out", f"{name}.csr")
            (place / "san").write_text("subjectAltName=IP:127.0.0.1\n")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA",
                    f"{authority}.pem", "-CAkey", f"{authority}.key",
                    "-CAcreateserial", "-extfile", "san", "-out",
                    f"{name}.pem")
    return place


def tls(certificates, port, *more):
    """tls.conf for a test, and what stands behind it."""
    text = example("tls.conf", ("listen 443 ssl;",
                                f"listen 127.0.0.1:{port} ssl;"),
                   ("listen [::]:443 ssl;\n", ""))
    return (text + "".join(more)).replace("/etc/ssl/sandbox-fcgi",
                                          str(certificates))


def ask(port, certificates, client=None, headers=None, method="POST",
        path="/run", **limits):
    context = ssl.create_default_context(cafile=certificates / "server-ca.pem")
    for name, value in limits.items():
        setattr(context, name, value)
    if client:
        context.load_cert_chain(certificates / f"{client}.pem",
                                certificates / f"{client}.key")
    connection = http.client.HTTPSConnection("127.0.0.1", port,
                                             context=context, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path, json.dumps({"code": "print(1)"}),
                           {"Content-Type": "application/json",
                            **(headers or {})})
        answer = connection.getresponse()
        return Reply(answer.status, answer.headers, answer.read())


def test_tls(certificates):
    port = free_port()
    with Front(server=tls(certificates, port), **OPTIONS):
        assert ask(port, certificates).json["output"] == "1\n"
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            assert ask(port, certificates, minimum_version=version,
                       maximum_version=version).status == 200


def test_mutual_tls(certificates):
    port = free_port()
    with Front(server=tls(certificates, port, example("auth-mtls.conf")),
               **OPTIONS):
        assert ask(port, certificates, "client").json["output"] == "1\n"
        for client in (None, "stranger"):
            answer = ask(port, certificates, client)
            assert "certificate" in problem(answer, 400)["detail"]


# Access

def basic(name, password):
    text = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"Authorization": f"Basic {text}"}


def test_names_and_passwords(tmp_path):
    users = tmp_path / "users"
    coded = subprocess.run(["openssl", "passwd", "-6", "secret"], check=True,
                           capture_output=True, text=True).stdout
    users.write_text(f"ann:{coded}")
    for one in (users, *list(users.parents)[:4]):  # up to /tmp
        with contextlib.suppress(PermissionError):
            one.chmod(one.stat().st_mode | 0o055)
    server = example("auth-basic.conf", (
        "/etc/nginx/sandbox-fcgi.htpasswd", str(users)))

    class Private(Front):
        def wait_until_warm(self):
            wait_for(lambda: self.get_as("ann", "secret") == 200, 60,
                     "a warm child")

        def get_as(self, *who):
            with contextlib.suppress(OSError):
                return self.get("/healthz", headers=basic(*who)).status

    with Private(server=server, **OPTIONS) as front:
        assert front.post({"code": "print(1)"},
                          headers=basic("ann", "secret")).status == 200
        for headers in ({}, basic("ann", "wrong"), basic("bob", "secret")):
            answer = front.post({"code": "print(1)"}, headers=headers)
            problem(answer, 401)
            assert answer.headers["WWW-Authenticate"].startswith("Basic ")
        assert front.get("/").status == 401


class Accounts(http.server.BaseHTTPRequestHandler):
    """Somebody's own service: it knows one token, and one who may not."""

    def do_GET(self):
        token = self.headers["Authorization"]
        self.server.asked.append((self.headers["X-Original-Method"],
                                  self.headers["X-Original-URI"],
                                  self.headers["Content-Length"]))
        self.send_response({"Bearer good": 204, "Bearer poor": 403}.get(
            token, 401))
        self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_):
        pass


def test_a_service_of_your_own_decides():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Accounts) as other:
        other.asked = []
        threading.Thread(target=other.serve_forever, daemon=True).start()
        server = example("auth-request.conf", (
            "http://127.0.0.1:9001", f"http://127.0.0.1:{other.server_port}"))

        class Asking(Front):
            def get(self, path, **more):
                return super().get(path, headers={
                    "Authorization": "Bearer good"}, **more)

        with Asking(server=server, **OPTIONS) as front:
            def post(token):
                return front.post({"code": "print(1)"}, headers={
                    "Authorization": f"Bearer {token}"})
            assert post("good").json["output"] == "1\n"
            assert other.asked[-1][1:] == ("/run", None)
            problem(post("poor"), 403)
            answer = problem(post("bad"), 401) and post("bad")
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            before = len(other.asked)
            assert front.get("/sandbox-fcgi-auth").status == 404
            other.shutdown()
            other.server_close()
            assert len(other.asked) <= before + 1
            assert post("good").status == 500  # nobody passes unasked
