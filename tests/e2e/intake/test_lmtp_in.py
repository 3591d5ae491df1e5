# SPDX-License-Identifier: ISC
"""LMTP as a way in: other mail systems hand mail to our services, and learn of each recipient what
became of it."""

import os
import subprocess

import pytest
from exim import Exim
from peers import Postfix
from smtp import Client, deliver
from stagepost import PATIENCE, free_port, is_root, split_trace

TEXT = b"Subject: hello\r\nMessage-ID: <1@client.test>\r\n\r\nA line.\r\n..dots\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")
ANNA, BOB, NOBODY = "anna@a.test", "bob@a.test", "nobody@a.test"
needs_root = pytest.mark.skipif(not is_root(), reason="Postfix starts only as root")


class Listener:
    """A node with LMTP at a port and at a socket."""

    def __init__(self, node):
        self.port = free_port()
        self.mx = node(domains=['domain "a.test" { service = maildir addresses = { anna, bob } }'],
                       settings=f'listen lmtp {{ address = {{ "127.0.0.1:{self.port}", '
                                f'"unix:/tmp/lmtp-{self.port}" }} }}\n')
        self.path = f"/tmp/lmtp-{self.port}"

    def session(self):
        client = Client(self.mx, path=self.path)
        assert client.docmd("LHLO client.test")[0] == 250
        return client


@pytest.fixture
def listener(node):
    made = Listener(node)
    yield made
    if os.path.exists(made.path):
        os.unlink(made.path)


def replies(client, count):
    return [client.getreply() for _ in range(count)]


def test_a_reply_for_each_recipient(listener):
    with listener.session() as client:
        assert client.docmd(f"MAIL FROM:<{ANNA}>")[0] == 250
        codes = [client.docmd(f"RCPT TO:<{to}>")[0] for to in (ANNA, NOBODY, BOB, ANNA)]
        assert codes == [250, 550, 250, 250]
        assert client.docmd("DATA")[0] == 354
        client.sock.sendall(TEXT.replace(b"\r\n.", b"\r\n..") + b".\r\n")
        said = replies(client, 3)
        assert {code for code, _ in said} == {250} and len({text for _, text in said}) == 1
        assert client.docmd("NOOP")[0] == 250  # no reply is left
        assert client.docmd("DATA")[0] == 503
        assert client.docmd("EHLO client.test")[0] == 500
    for address in (ANNA, BOB):
        (stored,) = listener.mx.maildir(address).wait()
        trace = split_trace(stored, STORED)
        assert b" with LMTP id " in trace
    listener.mx.wait_empty()


def test_nothing_is_accepted_of_a_refused_message(node):
    port = free_port()
    mx = node(settings=f'maxhops = 3\nlisten lmtp {{ address = "127.0.0.1:{port}" }}\n')
    with Client(mx, path=None) as client:
        client.close()
        client.connect("127.0.0.1", port)
        assert client.docmd("LHLO client.test")[0] == 250
        for command in (f"MAIL FROM:<{ANNA}>", f"RCPT TO:<{ANNA}>", f"RCPT TO:<{BOB}>"):
            assert client.docmd(command)[0] == 250
        assert client.docmd("DATA")[0] == 354
        client.sock.sendall(b"Received: x\r\n" * 4 + TEXT.replace(b"\r\n.", b"\r\n..") + b".\r\n")
        assert [code for code, _ in replies(client, 2)] == [554, 554]
    assert mx.data_files() == [] or not mx.log.find("message_accepted")


def check_handed_over(listener, peer):
    """Good and bad recipients of one message, and many messages."""
    deliver(peer, [ANNA, NOBODY, BOB], TEXT, sender="")  # so that nobody gets a bounce
    for address in (ANNA, BOB):
        (stored,) = listener.mx.maildir(address).wait()
        assert b" with LMTP id " in stored or b" with UTF8LMTP id " in stored
        assert stored.endswith(STORED.split(b"\n\n", 1)[1])
    assert b"Return-Path: <>\n" in listener.mx.maildir(ANNA).messages()[0]
    (refused,) = listener.mx.log.find("command_refused", code="550", status="5.1.1")
    assert refused["command"].startswith(f"RCPT TO:<{NOBODY}>")
    for number in range(20):
        deliver(peer, [ANNA, BOB], TEXT, sender=f"lisa{number}@client.test")
    for address in (ANNA, BOB):
        assert len(listener.mx.maildir(address).wait(21)) == 21
    listener.mx.wait_empty()


@needs_root
@pytest.mark.parametrize("where", ["inet", "unix"])
def test_postfix_hands_over(listener, ground, where):
    to = f"unix:{listener.path}" if where == "unix" else f"inet:127.0.0.1:{listener.port}"
    with Postfix(ground.directory("postfix"),
                 more=f"default_transport = lmtp:{to}\nlmtp_destination_recipient_limit = 50\n") as peer:
        check_handed_over(listener, peer)


def test_exim_hands_over(listener, ground):
    with Exim(ground.directory("exim"), next_port=listener.port,
              client_tls="hosts_avoid_tls = *\n  protocol = lmtp") as peer:
        check_handed_over(listener, peer)


@pytest.mark.parametrize("where", ["inet", "unix"])
def test_swaks(listener, where):
    server = ["--socket", listener.path] if where == "unix" else ["--server", f"127.0.0.1:{listener.port}"]
    sent = subprocess.run(["swaks", "--protocol", "LMTP", *server, "--from", "lisa@client.test",
                           "--to", f"{ANNA},{BOB}", "--header", "Subject: swaks"],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert sent.returncode == 0, sent.stdout + sent.stderr
    for address in (ANNA, BOB):
        assert b"Subject: swaks\n" in listener.mx.maildir(address).wait()[0]
