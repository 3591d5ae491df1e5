# SPDX-License-Identifier: ISC
"""Logins to relays that are bound to the TLS connection: a node logs in to another node, and to a
relay with TLS 1.2; who sits in between, with certificates that are believed, gets neither the login
nor mail, whether he hides the binding or not."""

import base64
import contextlib
import hashlib
import hmac
import os
import re
import select
import socket
import ssl
import threading

import pytest
from dns import NameServer
from smtp import deliver
from stagepost import PATIENCE, give_to_user
from test_login import LoginHop, LoginSession
from test_submission_auth import ANN, BOB, NAME, PASSWORD, Site, b64
from tls_hop import Certificates

TEXT = b"From: ann@a.test\r\nSubject: by the relay\r\n\r\nHello.\r\n"
SALT, ROUNDS = b"salt of the relay", 4096


@pytest.fixture(scope="module")
def names():
    with NameServer({"relay.test": "@ A 127.0.0.1\n"}) as server:
        yield server


@pytest.fixture
def client(node, ground, names):
    """client(port, more) is a node whose mail for a.test goes to relay.test at that port, as ann."""

    def make(port, more=""):
        path = f"{ground.directory('passwords')}/passwords"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"relay.test;{port}|ann|{PASSWORD}\n")
        os.chmod(path, 0o600)
        give_to_user(path)
        return node("client", domains=(), hostname="client.stagepost.test",
                    routes=[f"a.test:relay.test;{port}|ann"],
                    settings=f'dns_server = "{names.dns_server}"\nrelay_passwords = "{path}"\n{more}')

    return make


@pytest.fixture
def site(node, ground):
    return Site(node, ground, "auth_binding = yes")


def receive(source):
    """What it has said, b"" at its end; None: something for TLS only."""
    source.setblocking(False)
    try:
        return source.recv(65536)
    except ssl.SSLWantReadError:
        return None
    finally:
        source.setblocking(True)


class Between(threading.Thread):
    """Has a connection to each side, and hands on what they say, but for the names of mechanisms that
    match HIDDEN: INSTEAD stands in their places."""

    def __init__(self, context, port, other_context, hidden=rb" SCRAM-SHA-\d+-PLUS", instead=b""):
        super().__init__(daemon=True)
        self.context, self.other_context = context, other_context
        self.to, self.hidden, self.instead = port, hidden, instead
        self.heard = b""  # from the client
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    @staticmethod
    def secure(connection, words):
        """What is said before the handshake, and each time a reply, or a command, is heard."""
        for word in words:
            connection.sendall(word)
            heard = b""
            while not re.search(rb"^(\d\d\d .*|[A-Z].*)\r\n\Z", heard, re.M):
                piece = connection.recv(4096)
                if not piece:
                    raise ConnectionError("closed")
                heard += piece

    def serve(self, connection):
        with contextlib.suppress(OSError):
            self.secure(connection, [b"220 between\r\n", b"250-between\r\n250 STARTTLS\r\n"])
            connection.sendall(b"220 go\r\n")
            client = self.context.wrap_socket(connection, server_side=True)
            server = socket.create_connection(("127.0.0.1", self.to), PATIENCE)
            self.secure(server, [b"", b"EHLO between\r\n", b"STARTTLS\r\n"])
            server = self.other_context.wrap_socket(server, server_hostname=NAME)
            with client, server:
                while self.pump(client, server):
                    pass

    def pump(self, client, server):
        """Hands on what there is; whether they go on. By one thread: a session of TLS is for one at a time."""
        ready = [one for one in (client, server) if one.pending()] or select.select([client, server], [], [])[0]
        for source in ready:
            piece = receive(source)
            if source is client:
                self.heard += piece or b""
                server.sendall(piece or b"")
            else:
                client.sendall(re.sub(self.hidden, self.instead, piece or b""))
            if piece == b"":
                return False
        return True

    def first_message(self):
        """The client's, of SCRAM, or b""."""
        found = re.search(rb"AUTH SCRAM-SHA-256(?:-PLUS)? (\S+)", self.heard)
        return base64.b64decode(found.group(1)) if found else b""

    def close(self):
        self.listening.close()


@pytest.fixture
def between(site, ground):
    """between(...) sits before the site, with a certificate of his own."""
    made = []
    context = Certificates(ground.directory("between"), "relay.test").context("relay.test")

    def make(**options):
        made.append(Between(context, site.port, site.context(), **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_bound_to_the_connection(site, client):
    """Both sides find the same bytes."""
    mx = client(site.port)
    deliver(mx, BOB, TEXT, sender=ANN)
    assert mx.log.wait("delivered", to=BOB)["tls"] == "TLSv1.3"
    event = site.mx.log.wait("auth_accepted", user="ann")
    assert event["mechanism"] == "SCRAM-SHA-256-PLUS"
    site.mx.maildir(BOB).wait()


def test_not_bound_where_the_setting_says_so(site, client):
    mx = client(site.port, "login_binding = no\n")
    deliver(mx, BOB, TEXT, sender=ANN)
    mx.log.wait("delivered", to=BOB)
    assert site.mx.log.wait("auth_accepted", user="ann")["mechanism"] == "SCRAM-SHA-256"


@pytest.mark.parametrize("hidden, instead, flag, reason", [
    (rb" SCRAM-SHA-\d+-PLUS", b"", b"y,,", "somebody has taken mechanisms out of the offer"),
    (rb" SCRAM-SHA-\d+-PLUS", b" SCRAM-SHA-512-PLUS", b"y,,",
     "somebody has taken mechanisms out of the offer"),
    (rb" nothing", b"", b"p=tls-exporter,,", "bound to another connection")])
def test_who_sits_in_between_is_noticed(site, client, between, hidden, instead, flag, reason):
    there = between(hidden=hidden, instead=instead)
    mx = client(there.port)
    deliver(mx, BOB, TEXT, sender=ANN)
    assert mx.log.wait("deferred", to=BOB)["status"] == "4.7.8"
    assert there.first_message().startswith(flag)
    assert site.mx.log.wait("auth_failed", user="ann" if flag != b"y,," else "")["reason"] == reason
    assert not site.mx.log.find("auth_accepted") and not site.mx.log.find("message_accepted")
    assert TEXT not in there.heard


def test_unbound_logins_can_be_taken_over(site, client, between):
    """So the case before is of worth: all that he does works."""
    there = between()
    mx = client(there.port, "login_binding = no\n")
    deliver(mx, BOB, TEXT, sender=ANN)
    mx.log.wait("delivered", to=BOB)
    assert there.first_message().startswith(b"n,,")
    assert TEXT in there.heard


class ScramSession(LoginSession):
    """Of a relay with SCRAM-SHA-256, alone or with -PLUS; what its clients bound to is noted."""

    def more_offers(self):
        return [f"AUTH {self.hop.mechanisms}"]

    def ask(self, text):
        self.say("334 " + b64(text))
        return base64.b64decode(self.rfile.readline().strip()).decode()

    def log_in(self, line):
        first = base64.b64decode(line.split()[2]).decode()
        header, _, bare = first.partition(",,")
        nonce = dict(part.split("=", 1) for part in bare.split(","))["r"] + "ours"
        challenge = f"r={nonce},s={b64(SALT)},i={ROUNDS}"
        final = self.ask(challenge)
        said, _, proof = final.partition(",p=")
        signed = f"{bare},{challenge},{said}".encode()
        self.hop.bound.append((line.split()[1], header, base64.b64decode(
            said.partition(",")[0][2:])[len(header) + 2:]))
        salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), SALT, ROUNDS)
        key = hmac.digest(salted, b"Client Key", "sha256")
        mask = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        assert base64.b64decode(proof) == bytes(a ^ b for a, b in zip(key, mask))
        server = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), signed, "sha256")
        assert self.ask("v=" + b64(server)) == ""
        self.user = "ann"
        self.say("235 2.7.0 ok")


class ScramHop(LoginHop):
    session_class = ScramSession

    def __init__(self, context, mechanisms):
        self.mechanisms = mechanisms
        self.bound = []  # (mechanism, flag, bytes)
        super().__init__(context)


@pytest.mark.parametrize("version, mechanisms, bound", [
    ("TLSv1_2", "SCRAM-SHA-256-PLUS SCRAM-SHA-256", "p=tls-server-end-point"),
    ("TLSv1_2", "SCRAM-SHA-256 PLAIN", "y"), ("TLSv1_3", "SCRAM-SHA-256", "y"),
    ("TLSv1_3", "SCRAM-SHA-512-PLUS SCRAM-SHA-256", "y"),
    ("TLSv1_3", "SCRAM-SHA-256-PLUS PLAIN", "p=tls-exporter")])
def test_another_relay(client, ground, version, mechanisms, bound):
    certificates = Certificates(ground.directory("certificates"), "relay.test")
    context = certificates.context("relay.test")
    context.maximum_version = ssl.TLSVersion[version]
    with ScramHop(context, mechanisms) as hop:
        mx = client(hop.port)
        deliver(mx, BOB, TEXT, sender=ANN)
        mx.log.wait("delivered", to=BOB)
        ((mechanism, flag, data),) = hop.bound
    assert (mechanism.endswith("-PLUS"), flag) == (bound[0] == "p", bound)
    if "end-point" in bound:
        with open(certificates.path("relay.test"), encoding="ascii") as file:
            pem = re.search(r"-----BEGIN.*?END CERTIFICATE-----\n", file.read(), re.S).group()
        assert data == hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).digest()
    else:
        assert len(data) == (32 if bound[0] == "p" else 0)
