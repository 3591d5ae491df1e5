# SPDX-License-Identifier: ISC
"""Hostile clients of QMTP, QMQP and AUTH: netstrings and exchanges that are wrong, huge, cut, slow,
without an end, or said again. Beside each a good client is served, no process ends and memory
stays small; nothing of what is broken is accepted, and nobody logs in without the password.

Where the other cases are: test_hostile_clients.py has those of SMTP, test_qmtp.py answers that
nobody reads, test_submission_auth.py channel bindings, tests/transcript each state of the engines."""

import base64
import contextlib
import hashlib
import hmac
import itertools
import os
import re
import select
import socket
import struct
import time
import types

import pytest
from listeners import PASSWORD, USER, Listeners, by_scram
from qmtp import Wire, netstring, package, qmqp_package
from smtp import Client, deliver
from stagepost import free_port, wait_until
from test_hostile_clients import MEMORY, PATIENCE, peak_memory, read_to_end
from common.record import record

TEXT = b"Subject: hello\n\nA line.\n"
SENDER, ANNA = "s@from.test", "anna@a.test"
SETTINGS = """log_level = debug
smtp_timeout = {timeout}
smtp_data_timeout = {timeout}
smtp_min_rate = {rate}
maxerrors = 10000
maxcommands = 1000000
maxsize = 1000000
listen qmqp {{ address = "127.0.0.1:{qmqp}" clients = {{ 127.0.0.0/8 }} }}
"""
COUNTS = {"cases": 0, "accepted or answered wrongly": 0, "processes that ended": 0}
BEGIN = time.monotonic()


class Site:
    """A node with each of the listeners."""

    def __init__(self, node, ground, timeout="1s", rate=1000):
        self.listeners = Listeners(ground.directory("listeners"), has_logins=True)
        self.qmqp = free_port("127.0.0.1")
        self.mx = node(domains=["a.test", "from.test"], relay_from=(), settings=self.listeners.settings() +
                       SETTINGS.format(qmqp=self.qmqp, timeout=timeout, rate=rate))
        self.listeners.add_user(self.mx, "from.test")
        self.ports = {"qmtp": self.listeners.ports["qmtp"], "qmqp": self.qmqp}

    def connect(self, protocol):
        return socket.create_connection(("127.0.0.1", self.ports[protocol]), 20)

    def session(self):
        """Of a user's program that has not logged in."""
        return Client(types.SimpleNamespace(address="127.0.0.1",
                                            port=self.listeners.ports["submission"]), timeout=20)

    def check(self, accepted=0):
        """The messages of hostile clients that are there; and good ones come by each listener."""
        mx = self.mx
        found = len(mx.log.find("message_accepted"))
        COUNTS["accepted or answered wrongly"] += found != accepted
        assert found == accepted
        for client in self.listeners.qmtp(), self.listeners.submission():
            assert client.deliver(SENDER, ["good@a.test"], TEXT.replace(b"\n", b"\r\n")
                                  ).startswith("250 ")
            client.quit()
        with Wire(self.qmqp) as wire:
            wire.send(qmqp_package(TEXT, SENDER, ["good@a.test"]))
            assert wire.answer().startswith("K")
        mx.maildir("good@a.test").wait(3)
        mx.wait_empty()
        ended = mx.log.find("process_ended")
        COUNTS["processes that ended"] += len(ended)
        assert not ended
        assert all(peak_memory(pid) < MEMORY for pid in mx.pids())


@pytest.fixture
def site(node, ground):
    return Site(node, ground)


@pytest.fixture
def patient(node, ground):
    """Does not end what is only slow because the machine is."""
    return Site(node, ground, "30s", 0)


WHOLE = {"qmtp": package(TEXT, SENDER, [ANNA]), "qmqp": qmqp_package(TEXT, SENDER, [ANNA])}
PROTOCOLS = pytest.mark.parametrize("protocol", WHOLE)


# --- netstrings ---


@PROTOCOLS
@pytest.mark.parametrize("how", ["reset", "closed", "half"])
def test_ends_behind_every_byte(patient, protocol, how):
    """With the last comma the message is the server's, and before it is nobody's."""
    whole = WHOLE[protocol]
    answered = 0
    for count in range(len(whole) + 1):
        with patient.connect(protocol) as connection:
            connection.sendall(whole[:count])
            if how == "half" or count == len(whole):
                connection.shutdown(socket.SHUT_WR)
                answered += b":K" in read_to_end(connection)
            elif how == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack("ii", 1, 0))
        COUNTS["cases"] += 1
    assert answered == 1
    patient.mx.log.wait("session_closed", count=len(whole) + 1)
    patient.check(accepted=1)


@PROTOCOLS
@pytest.mark.parametrize("piece", [b"", b"1"], ids=repr)
def test_slow_behind_every_byte(site, protocol, piece):
    """Silent, or with a byte now and then: it ends when its time is over."""
    whole = WHOLE[protocol]
    connections = []
    for count in range(len(whole)):
        connections.append(site.connect(protocol))
        connections[-1].sendall(whole[:count])
    waiting, deadline = set(connections), time.monotonic() + PATIENCE
    while waiting:
        assert time.monotonic() < deadline, f"{len(waiting)} are still open"
        for connection in list(waiting):
            with contextlib.suppress(OSError):
                connection.sendall(piece)
        for connection in select.select(list(waiting), [], [], 0.2)[0]:
            with contextlib.suppress(ConnectionResetError):
                assert b":K" not in connection.recv(4096)
            waiting.discard(connection)
    COUNTS["cases"] += len(connections)
    for connection in connections:
        connection.close()
    site.check()


# of a length that is none, does not fit, or is not that of what follows
LENGTHS = [b":", b"-1:", b"+1:", b" 1:", b"1 :", b"01:", b"00:", b"0x1:", b"1e3:", b"1.5:", b"a:",
           b"\xb2:", b"\0:", b"1;", b"9" * 9 + b":", b"9" * 19 + b":", b"9" * 40 + b":",
           b"4294967295:", b"4294967296:", b"4294967297:", b"9223372036854775807:",
           b"9223372036854775808:", b"18446744073709551615:", b"18446744073709551616:",
           b"18446744073709551617:", b"1" * 100_000 + b":", b"1" * 100_000]


def broken(protocol, length):
    """Packages with this in place of each of their lengths."""
    whole = WHOLE[protocol]
    for found in re.finditer(rb"\d+:", whole):
        yield whole[:found.start()] + length + whole[found.end():]


@PROTOCOLS
def test_lengths(site, protocol):
    """A package with one that is wrong ends the session, or is waited for in vain, or is refused."""
    for some in LENGTHS[:14], LENGTHS[14:]:  # of the sessions of a client there may be 50
        opened = []
        for said in itertools.chain.from_iterable(broken(protocol, length) for length in some):
            opened.append((said, site.connect(protocol)))
            with contextlib.suppress(OSError):
                opened[-1][1].sendall(said + WHOLE[protocol])
        for said, connection in opened:
            heard = read_to_end(connection)
            connection.close()
            assert b":K" not in heard, (said[:99], heard)
            COUNTS["cases"] += 1
    site.check()


@PROTOCOLS
@pytest.mark.parametrize("change", [-1, 1, 70_000, 2_000_000])
def test_lengths_of_others(site, protocol, change):
    """Longer or shorter than what it is of, each of them."""
    whole = WHOLE[protocol]
    for found in re.finditer(rb"\d+:", whole):
        length = int(found.group()[:-1]) + change
        with site.connect(protocol) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(whole[:found.start()] + b"%d:" % length + whole[found.end():] +
                                   b"x" * max(0, change))
            assert b":K" not in read_to_end(connection), found
        COUNTS["cases"] += 1
    site.check()


@PROTOCOLS
def test_no_end_of_recipients(site, protocol):
    """A megabyte of them at a time, each as long as may be, or empty: as many as there may be are
    kept, and the connection ends."""
    for recipient in b"x" * 900 + b"@a.test", b"x@a.test", b"":
        listed = netstring(recipient) * (1_000_000 // len(netstring(recipient)))
        if protocol == "qmtp":
            begin = netstring(b"\n" + TEXT) + netstring(SENDER.encode()) + b"900000000:"
        else:
            begin = b"900000000:" + netstring(TEXT) + netstring(SENDER.encode())
        with site.connect(protocol) as connection:
            connection.settimeout(1)
            with contextlib.suppress(OSError):
                connection.sendall(begin)
                for _ in range(50):
                    connection.sendall(listed)
            connection.settimeout(20)
            assert b":K" not in read_to_end(connection)
        COUNTS["cases"] += 1
    site.check()


@PROTOCOLS
def test_noise(site, protocol):
    source = [os.urandom(100_000) for _ in range(10)]
    source += [b"%d:" % len(noise) + noise for noise in source]  # at first it is a netstring
    for noise in source:
        with site.connect(protocol) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(noise)
                connection.shutdown(socket.SHUT_WR)
            assert b":K" not in read_to_end(connection)
        COUNTS["cases"] += 1
    site.check()


# --- exchanges ---


def b64(data):
    return base64.b64encode(data)


FIRST = f"n,,n={USER},r=abcdefghij".encode()
PLAIN = f"\0{USER}\0{PASSWORD}".encode()


def challenged(client, *lines):
    """After these lines of an exchange, of which each is followed by a challenge: the last."""
    for line in lines:
        client.send(line + b"\r\n")
        code, text = client.getreply()
        assert code == 334, (line, code, text)
    return base64.b64decode(text)


STATES = {
    "plain": [b"AUTH PLAIN"],
    "user": [b"AUTH LOGIN"],
    "password": [b"AUTH LOGIN", b64(USER.encode())],
    "scram": [b"AUTH SCRAM-SHA-256"],
    "proof": [b"AUTH SCRAM-SHA-256 " + b64(FIRST)],
}
in_each_state = pytest.mark.parametrize("state", STATES)


GARBAGE = [b"*", b"", b"=", b"!!!!", b"YQ", b"YQ=", b"YQ===", b"YR==", b"Y Q=", b"\xff\xfe", b"\0",
           b"MAIL FROM:<s@from.test>", *(b64(some) for some in (
               b"\0" * 30, b"," * 50, b"\xff" * 99, b"x" * 9000, b"x" * 12288, b"x" * 12289,
               b"x" * 1_000_000)), b"A" * 50_000_000]


@in_each_state
def test_garbage(patient, state):
    """It ends the exchange, not the session, and the right password is still right."""
    for line in GARBAGE:
        with patient.session() as client:
            challenged(client, *STATES[state])
            client.send(line + b"\r\n")
            code, text = client.getreply()
            if code == 334 and state == "user":  # it may be anybody's name
                assert base64.b64decode(text) == b"Password:"
                code, _ = client.docmd("*")
            assert code in (500, 501, 535), (line[:99], code, text)
            assert client.docmd("MAIL", "FROM:<s@from.test>")[0] == 530
            assert by_scram(client, PASSWORD)[0] == 235
            assert client.docmd("AUTH", "PLAIN")[0] == 503
        COUNTS["cases"] += 1
    patient.check()


@in_each_state
def test_slow(site, state):
    """Silent, or with a byte now and then: it ends when its time is over."""
    for piece in b"", b"A":
        with site.session() as client:
            challenged(client, *STATES[state])
            deadline = time.monotonic() + PATIENCE
            while not select.select([client.sock], [], [], 0.2)[0]:
                assert time.monotonic() < deadline, "it is still open"
                client.sock.sendall(piece)
            said = client.sock.recv(1000)
            assert said == b"" or said.startswith(b"421 4.4.2"), said
            client.close()
        COUNTS["cases"] += 1
    site.check()


@in_each_state
@pytest.mark.parametrize("how", ["reset", "closed", "half"])
def test_gone(patient, state, how):
    """While it is the client's turn, and while it is the server's."""
    for line in b"", b64(b"x"), b64(b"x") + b"\r\n":
        client = patient.session()
        challenged(client, *STATES[state])
        client.sock.sendall(line)
        if how == "half":
            client.sock.shutdown(socket.SHUT_WR)
            read_to_end(client.sock)
        if how == "reset":
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        COUNTS["cases"] += 1
    patient.mx.log.wait("session_closed", count=3)
    patient.check()


def test_ends_behind_every_byte_of_an_exchange(patient):
    said = b"EHLO x\r\nAUTH LOGIN\r\n" + b64(USER.encode()) + b"\r\n" + b64(PASSWORD.encode()) + b"\r\n"
    for count in range(len(said)):
        with socket.create_connection(("127.0.0.1", patient.listeners.ports["submission"]), 20) as one:
            one.recv(100)
            one.sendall(said[:count])
        COUNTS["cases"] += 1
    patient.mx.log.wait("session_closed", count=len(said))
    assert not patient.mx.log.find("auth_accepted")
    patient.check()


def test_pipelined(patient):
    """AUTH is the last of what is sent together (RFC 4954 section 4): what somebody put behind it is
    neither a response nor run as the user."""
    mail = b"MAIL FROM:<s@from.test>\r\nRCPT TO:<anna@a.test>\r\nDATA\r\n"
    for said in (b"AUTH PLAIN\r\n" + b64(PLAIN) + b"\r\n" + mail, b"AUTH PLAIN\r\n" + mail,
                 b"AUTH PLAIN " + b64(PLAIN) + b"\r\n" + mail, b"AUTH PLAIN\r\n*\r\nNOOP\r\n",
                 b"NOOP\r\nAUTH PLAIN " + b64(PLAIN) + b"\r\n\r\n"):
        with patient.session() as client:
            client.sock.sendall(said)
            codes = re.findall(rb"^\d+", read_to_end(client.sock), re.M)
            assert codes[-1] == b"554" and not {b"235", b"334", b"354"} & set(codes), (said, codes)
            client.close()
        COUNTS["cases"] += 1
    assert not patient.mx.log.find("auth_accepted")
    with patient.session() as client:
        client.sock.sendall(b"MAIL FROM:<s@from.test>\r\nAUTH PLAIN " + b64(PLAIN) + b"\r\n")
        assert [client.getreply()[0] for _ in range(2)] == [530, 235]
    patient.check()


def scram_final(first, password, nonce=None, binding=b"n,,"):
    """The client's last message, with a proof for exactly what it says."""
    fields = dict(part.split(b"=", 1) for part in first.split(b","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(fields[b"s"]),
                                 int(fields[b"i"]))
    final = b"c=" + b64(binding) + b",r=" + (fields[b"r"] if nonce is None else nonce)
    key = hmac.digest(salted, b"Client Key", "sha256")
    signature = hmac.digest(hashlib.sha256(key).digest(), FIRST[3:] + b"," + first + b"," + final,
                            "sha256")
    return final + b",p=" + b64(bytes(a ^ b for a, b in zip(key, signature)))


def test_nonces_and_replays(patient):
    """A proof is of one exchange: with another nonce, another binding, twice, or from another session
    it proves nothing."""
    begin = STATES["proof"]
    with patient.session() as client:
        first = challenged(client, *begin)
        recorded = scram_final(first, PASSWORD)
        client.send(b64(recorded) + b"\r\n")
        assert client.getreply()[0] == 334  # the server's proof
        assert client.docmd("")[0] == 235
    wrong = [
        lambda first: recorded,
        lambda first: scram_final(first, PASSWORD, nonce=b"abcdefghij"),
        lambda first: scram_final(first, PASSWORD, nonce=b"abcdefghijk"),
        lambda first: scram_final(first, PASSWORD, nonce=b""),
        lambda first: scram_final(first, PASSWORD, binding=b"y,,"),
        lambda first: scram_final(first, PASSWORD, binding=b""),
        lambda first: scram_final(first, PASSWORD) + b"A",
        lambda first: scram_final(first, PASSWORD).replace(b",p=", b",m=x,p="),
        lambda first: scram_final(first, PASSWORD).partition(b",p=")[0],
        lambda first: scram_final(first, PASSWORD).partition(b",p=")[0] + b",p=",
        lambda first: scram_final(first, "tr0ub4dos"),
    ]
    flags = b"p=tls-unique,,", b"p=tls-exporter,,", b"x,,", b",,", b"n,a=other,", b"n" * 9000
    with contextlib.ExitStack() as stack:  # all at once: failures are answered late
        asked = []
        for make in wrong:
            client = stack.enter_context(patient.session())
            client.send(b64(make(challenged(client, *begin))) + b"\r\n")
            asked.append(client)
        for flag in flags:
            client = stack.enter_context(patient.session())
            client.send(b"AUTH SCRAM-SHA-256 " + b64(flag + FIRST[3:]) + b"\r\n")
            asked.append(client)
        for number, client in enumerate(asked):
            code, text = client.getreply()
            assert code in (500, 501, 535), (number, code, text)
            COUNTS["cases"] += 1
    assert len(patient.mx.log.find("auth_accepted")) == 1
    patient.check()


def test_the_last_challenge_is_not_skipped(patient):
    """After the proof the client has to answer the server's: with nothing."""
    for line in b"*", b"YQ==", b"MAIL FROM:<s@from.test>":
        with patient.session() as client:
            first = challenged(client, *STATES["proof"])
            challenged(client, b64(scram_final(first, PASSWORD)))
            client.send(line + b"\r\n")
            assert client.getreply()[0] == 501
            assert client.docmd("MAIL", "FROM:<s@from.test>")[0] == 530
            client.close()
        COUNTS["cases"] += 1
    patient.check()


def test_floods_of_exchanges(patient):
    """Thousands that are given up, in one session and in many, and good logins beside them."""
    with patient.session() as client:
        for line in itertools.islice(itertools.cycle(STATES.values()), 500):
            challenged(client, *line)
            assert client.docmd("*")[0] == 501
            COUNTS["cases"] += 1
    sessions = [patient.session() for _ in range(30)]  # of one client 32 may be open
    for number, client in enumerate(sessions):
        challenged(client, *list(STATES.values())[number % len(STATES)])
    begin = time.monotonic()
    patient.listeners.submission().quit()
    assert time.monotonic() - begin < PATIENCE
    for client in sessions:
        client.close()
    COUNTS["cases"] += len(sessions)
    wait_until(lambda: len(patient.mx.log.find("session_closed")) >= len(sessions), "they are gone")
    patient.check()


def test_nobody_reads_challenges(patient):
    """The server reads no more than it can answer."""
    with patient.session() as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sock.settimeout(1)
        block, sent = b"AUTH LOGIN\r\n*\r\n" * 5000, 0
        with contextlib.suppress(OSError):
            while sent < 100_000_000:
                sent += client.sock.send(block)
        assert sent < 50_000_000
        client.close()
    COUNTS["cases"] += 1
    patient.check()


def test_secrets_are_not_logged(patient):
    """Whatever comes of them."""
    deliver(patient.mx, ANNA, TEXT.replace(b"\n", b"\r\n"))
    for said in (b"AUTH PLAIN " + b64(PLAIN), b"AUTH PLAIN" + b64(PLAIN), b"AUTH PLAIN  " + b64(PLAIN) + b" x",
                 b"AUTH PLAIN=" + b64(PLAIN), b"auth login " + b64(PASSWORD.encode())):
        with patient.session() as client:
            client.send(said + b"\r\n")
            client.getreply()
            client.close()
        COUNTS["cases"] += 1
    patient.mx.log.wait("session_closed", count=6)
    with open(patient.mx.log.path, "rb") as log:
        text = log.read()
    for secret in PASSWORD.encode(), b64(PLAIN), b64(PASSWORD.encode()):
        assert secret not in text


def test_record():
    """Behind the others."""
    print(record(
        "hostile-listeners", title="Hostile clients of QMTP, QMQP and AUTH",
        what="Clients that send wrong, huge and overflowing lengths, end or wait after each byte, send "
             "noise, never read, give up exchanges of SASL in each state, or say again what proved who they "
             "were. A good client is served at the same time.",
        command="tests/e2e/run tests/e2e/hostile/test_hostile_listeners.py", counts=COUNTS,
        zero=("accepted or answered wrongly", "processes that ended"),
        seconds=time.monotonic() - BEGIN))
    assert COUNTS["cases"] > 0
