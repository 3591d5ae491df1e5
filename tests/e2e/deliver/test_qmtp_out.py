# SPDX-License-Identifier: ISC
"""Mail that is sent by QMTP: to ourselves, and to servers with faults."""

import ssl

import pytest
from qmtp import Server, Wire, qmqp_package
from smtp import deliver
from stagepost import free_port, split_trace
from tls_in import HOST, Certificates

TEXT = b"Subject: hello\r\n\r\nA line.\r\n.dots\r\n..\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")


@pytest.fixture(scope="module")
def certificates(ground):
    return Certificates(ground.directory("certificates"), f"loopback-{HOST}", "wrong.test")


@pytest.fixture
def server():
    servers = []

    def make(**behaviour):
        servers.append(Server(**behaviour))
        return servers[-1]

    yield make
    for made in servers:
        made.close()


@pytest.fixture
def sender(node):
    """sender(port, more, routes): a node that sends mail for away.test by QMTP to PORT."""
    def make(port, more="", routes=()):
        return node("sender", routes=list(routes), domains=["a.test"],
                    settings=f'qmtproutes = {{ "away.test:[127.0.0.1];{port}" }}\n{more}')
    return make


def test_ourselves_in_both_roles(node, sender):
    port = free_port("127.0.0.1")
    receiver = node("receiver", hostname="mx.away.test", domains=["away.test"],
                    settings=f'listen qmtp {{ address = "127.0.0.1:{port}" }}\n')
    mx = sender(port)
    for i in range(20):
        deliver(mx, ["anna@away.test", "bob@away.test"], TEXT)
    for name in ("anna", "bob"):
        stored = receiver.maildir(f"{name}@away.test").wait(20)
        assert b"with QMTP id" in split_trace(stored[0], STORED)
    mx.log.wait("delivered", count=40)
    assert all("said: Kok, queued as " in event["text"] for event in mx.log.find("delivered"))
    mx.wait_empty()


def test_large_message(node, sender):
    port = free_port("127.0.0.1")
    receiver = node("receiver", hostname="mx.away.test", domains=["away.test"],
                    settings=f'listen qmtp {{ address = "127.0.0.1:{port}" }}\n')
    mx = sender(port)
    large = b"Subject: large\r\n\r\n" + b"0123456789abcdef\r\n" * 200000
    deliver(mx, "anna@away.test", large)
    (stored,) = receiver.maildir("anna@away.test").wait()
    split_trace(stored, large.replace(b"\r\n", b"\n"))


def test_package(server, sender):
    """What the server sees."""
    peer = server()
    mx = sender(peer.port)
    deliver(mx, ["anna@away.test", "bob@away.test"], TEXT, sender="lisa@client.test")
    mx.log.wait("delivered", count=2)
    ((message, who, recipients),) = peer.packages
    assert message.startswith(b"\rReceived: from ") and message.endswith(b"\r\n" + TEXT)
    assert who == "lisa@client.test"
    assert sorted(recipients) == ["anna@away.test", "bob@away.test"]


def test_each_recipient_has_its_outcome(server, sender):
    answers = {"anna": b"Kok 1795163591 qp 4711", "bob": b"Dno mailbox here by that name (#5.1.1)",
               "carl": b"Znot now (#4.3.0)", "dora": b"Dno", "emil": b"Z"}
    peer = server(answer=lambda recipient: answers[recipient.partition("@")[0]])
    mx = sender(peer.port)
    deliver(mx, [f"{name}@away.test" for name in answers], TEXT)
    mx.log.wait("deferred", count=2)
    mx.log.wait("failed", count=2)
    mx.log.wait("delivered")
    found = {to.partition("@")[0]: (event, status) for to, (event, status, _) in outcomes_of(mx).items()}
    assert found == {"anna": ("delivered", "2.0.0"), "bob": ("failed", "5.1.1"),
                     "carl": ("deferred", "4.3.0"), "dora": ("failed", "5.0.0"),
                     "emil": ("deferred", "4.0.0")}


def outcomes_of(mx):
    found = {}
    for name in ("delivered", "deferred", "failed"):
        for event in mx.log.find(name):
            if event["to"].endswith("@away.test"):
                found.setdefault(event["to"], (name, event["status"], event.get("text", "")))
    return found


def test_server_closes_instead_of_an_answer(server, sender):
    """Whether it took the message nobody knows: it is sent again."""
    answers = iter([None])
    peer = server(answer=lambda recipient: next(answers, b"Kok"))
    mx = sender(peer.port)
    deliver(mx, "anna@away.test", TEXT)
    deferred = mx.log.wait("deferred")
    assert deferred["status"] == "4.4.2" and "waiting for the answer" in deferred["text"]
    mx.stop()
    mx.make_due()
    mx.start()
    mx.log.wait("delivered")
    assert len(peer.packages) == 2


@pytest.mark.parametrize("answer", [b"", b"Xwhat", b"k", b"K" + b"x" * 5000])
def test_malformed_answers(server, sender, answer):
    peer = server(answer=lambda recipient: answer)
    mx = sender(peer.port)
    deliver(mx, "anna@away.test", TEXT)
    deferred = mx.log.wait("deferred")
    assert deferred["status"] == "4.5.0" and "a malformed answer" in deferred["text"]


def test_server_is_away(sender):
    mx = sender(free_port("127.0.0.1"))
    deliver(mx, "anna@away.test", TEXT)
    assert mx.log.wait("deferred")["status"] == "4.4.1"


def test_server_that_says_nothing(server, sender):
    peer = server(reads=False)
    mx = sender(peer.port, more="remote_timeout = 1s\n")
    deliver(mx, "anna@away.test", TEXT)
    deferred = mx.log.wait("deferred")
    assert deferred["status"] == "4.4.2" and "took too long: the answer" in deferred["text"]


def test_connection_is_used_again(server, sender):
    peer = server()
    mx = sender(peer.port)
    for i in range(5):
        deliver(mx, "anna@away.test", TEXT)
        mx.log.wait("delivered", count=i + 1)
    assert peer.connections == 1 and len(peer.packages) == 5


def test_idle_connection_that_ended(server, sender):
    """A server may close after a package: the next one gets a connection of its own."""
    peer = server()
    mx = sender(peer.port)
    for i in range(3):
        deliver(mx, "anna@away.test", TEXT)
        mx.log.wait("delivered", count=i + 1)
        for connection in peer.held:
            connection.close()
        peer.held.clear()
    assert not mx.log.find("deferred")


def server_context(certificates, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.path(f"{name}.pem"), certificates.path(f"{name}.key"))
    return context


@pytest.mark.parametrize("level", ["encrypt", "verify"])
def test_tls_where_it_is_demanded(server, sender, certificates, level):
    """QMTPS: the handshake is the first that is said."""
    peer = server(tls=server_context(certificates, f"loopback-{HOST}"))
    mx = sender(peer.port, more=f'tls_authorities = "{certificates.authority}"\n'
                                f'tls "[127.0.0.1]" {{ level = {level} }}\n')
    deliver(mx, "anna@away.test", TEXT)
    assert mx.log.wait("delivered")["tls"].startswith("TLSv1.")
    assert len(peer.packages) == 1


def test_wrong_certificate(server, sender, certificates):
    peer = server(tls=server_context(certificates, "wrong.test"))
    mx = sender(peer.port, more=f'tls_authorities = "{certificates.authority}"\n'
                                'tls "[127.0.0.1]" { level = verify }\n')
    deliver(mx, "anna@away.test", TEXT)
    assert mx.log.wait("deferred")["status"].startswith("4.7.")
    assert not peer.packages


def test_no_tls_where_it_is_demanded(server, sender):
    """A server of plain text gets nothing."""
    peer = server()
    mx = sender(peer.port, more='tls "[127.0.0.1]" { level = encrypt }\n')
    deliver(mx, "anna@away.test", TEXT)
    mx.log.wait("deferred")
    assert not peer.packages


def test_plain_where_tls_is_only_allowed(server, sender):
    peer = server()
    mx = sender(peer.port, more="remote_tls = may\n")
    deliver(mx, "anna@away.test", TEXT)
    assert "tls" not in mx.log.wait("delivered")
    assert len(peer.packages) == 1


def test_qmqp_client_of_many_recipients(node, server):
    """From a QMQP client to a QMTP server: 250 recipients are three transactions."""
    peer = server()
    port = free_port("127.0.0.1")
    mx = node("between", settings=f'listen qmqp {{ address = "127.0.0.1:{port}" clients = 127.0.0.0/8 }}\n'
                                  f'qmtproutes = {{ "away.test:[127.0.0.1];{peer.port}" }}\n')
    with Wire(port) as wire:
        wire.send(qmqp_package(STORED, "lisa@client.test", [f"r{i}@away.test" for i in range(250)]))
        assert wire.answer().startswith("Kok")
    mx.log.wait("delivered", count=250)
    assert all(len(recipients) <= 100 for _, _, recipients in peer.packages)
    assert sum(len(recipients) for _, _, recipients in peer.packages) == 250
