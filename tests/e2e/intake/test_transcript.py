# SPDX-License-Identifier: ISC
"""stagepost transcript: an operator sees what is said in sessions with a peer or for a domain, while
it is said, and nobody's password or mail."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import threading

import pytest
from inside import NEEDS, inside
from lmtp import Server
from smtp import Client, deliver
from stagepost import USER, as_user, free_port, is_root, wait_until
from taken_words import packet, text, u32, u64

TEXT = b"Subject: confidential\r\n\r\nThe content of it.\r\n"
WATCHERS_MAX = 8
CHILD_SAID = 13  # src/supervisor/child/child.h
CONTROL = 3  # the same
PACKET = 60 * 1024  # src/ipc/channel.h


class Watch:
    """A command that watches, and what it has printed so far."""

    def __init__(self, ground, mx, *words, user=USER, reads=True):
        self.process = subprocess.Popen(
            (as_user(user) if user else []) + [os.path.join(ground.programs, "stagepost"), "transcript", *words],
            env={**os.environ, "STAGEPOST_CONF": mx.conf}, cwd=mx.directory,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.begun = self.process.stderr.readline()
        if reads:
            self.reader = threading.Thread(target=self.read)
            self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def said(self, by=None):
        """What was said, with --json."""
        told = [json.loads(line) for line in self.lines]
        return [one.get("line", one.get("note")) for one in told
                if by is None or one.get("by") == by]

    def wait(self, text):
        wait_until(lambda: any(text in line for line in self.lines), f"{text!r} is seen")

    def end(self):
        """The exit status, and what was said on standard error."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(20)
        if hasattr(self, "reader"):
            self.reader.join(20)
        self.process.stdout.close()
        told = self.process.stderr.read()
        self.process.stderr.close()
        return status, told


@pytest.fixture
def watch(ground):
    watches = []

    def watch(mx, *words, **more):
        watches.append(Watch(ground, mx, *words, **more))
        return watches[-1]

    yield watch
    for one in watches:
        if not one.process.stdout.closed:
            one.end()


def test_a_client(node, watch):
    """Also one that was there before; of the message only its size."""
    mx = node("mx")
    with Client(mx) as client:
        client.ehlo("before.client.test")
        seen = watch(mx, "--peer", "127.0.0.0/8", "--json")
        assert seen.begun == "watching; Ctrl-C ends it\n"
        # the smtpd of this session may hear of it a moment later
        wait_until(lambda: client.docmd("NOOP")[0] == 250 and "NOOP" in seen.said("client"), "it is seen")
        client.docmd("MAIL FROM:<source@client.test>")
        client.docmd("RCPT TO:<anna@a.test>")
        client.docmd("RCPT TO:<nobody@elsewhere.test>")
        client.data(TEXT)
        client.docmd("RSET")
        client.docmd("NOOP " + "x" * 3000)
    seen.wait("(the end)")
    commands = ["MAIL FROM:<source@client.test>", "RCPT TO:<anna@a.test>", "RCPT TO:<nobody@elsewhere.test>", "DATA"]
    assert [line for line in seen.said("client") if line != "NOOP"][:4] == commands
    said = seen.said()
    said = said[said.index(commands[0]):]
    assert f"(a message of {len(TEXT)} bytes)" in said
    assert said[1].startswith("250 2.1.0") and any(line.startswith("354 ") for line in said)
    (long,) = [line for line in said if line.startswith("NOOP x")]
    assert len(long) == 2000 and long.endswith("...")
    assert not any(word in line for line in seen.lines for word in ("confidential", "content of"))
    told = [json.loads(line) for line in seen.lines]
    assert {one["peer"] for one in told} == {"127.0.0.1"}
    assert {one["session"] for one in told} == {1}
    assert all(one["process"].startswith("smtpd[") and one["time"].endswith("Z") for one in told)
    assert seen.end()[0] != 0  # ended by a signal


def test_credentials_are_not_seen(node, watch):
    mx = node("mx")
    seen = watch(mx, "--peer", "127.0.0.1", "--json")
    with Client(mx) as client:
        client.docmd("AUTH PLAIN", "AGFubmEAc2VjcmV0")
        client.docmd("auth login c2VjcmV0")
        client.docmd("c2VjcmV0")
        client.docmd("NOOP")
    seen.wait("(the end)")
    assert not any("2VjcmV0" in line for line in seen.lines)
    assert seen.said("client").count("(not shown)") == 3 and "NOOP" in seen.said("client")


def test_a_destination(node, watch):
    """By its domain, by what is above it, by its address; in the order of the dialogue."""
    hop = node("hop", domains=["b.test", "c.test"])
    mx = node("mx", routes=[f":127.0.0.1;{hop.port}"])
    by_domain = watch(mx, "--domain", "B.test", "--json")
    by_parent = watch(mx, "--domain", "test", "--json")
    by_both = watch(mx, "--domain", "b.test", "--peer", "127.0.0.1", "--json")
    other = watch(mx, "--domain", "elsewhere.test", "--json")
    wrong = watch(mx, "--domain", "b.test", "--peer", "192.0.2.0/24", "--json")
    deliver(mx, "anna@c.test", TEXT)
    hop.maildir("anna@c.test").wait(1)
    deliver(mx, "bob@b.test", TEXT)
    hop.maildir("bob@b.test").wait(1)
    for one in by_domain, by_both:
        one.wait("RCPT TO:<bob@b.test>")
        one.wait("250 2.0.0")
        remote = [line for line in map(json.loads, one.lines) if "remote[" in line["process"]]
        assert not any("c.test" in line.get("line", "") for line in remote)
        said = [line.get("line", line.get("note")) for line in remote]
        first = [line.split(" ")[0] for line in said]
        assert first.index("MAIL") < first.index("RCPT") < first.index("BDAT")
        assert f"127.0.0.1:{hop.port}" == remote[0]["peer"]
    by_parent.wait("RCPT TO:<anna@c.test>")
    assert not other.lines and not wrong.lines


def test_lmtp(node, watch):
    with tempfile.TemporaryDirectory(prefix="lmtp-") as directory:
        os.chmod(directory, 0o755)
        server = Server(os.path.join(directory, "socket"))
        mx = node("mx", domains=['domain "l.test" { service = box }'],
                  settings=f'service box {{ kind = lmtp  address = "unix:{directory}/socket" }}\n')
        by_domain = watch(mx, "--domain", "l.test", "--json")
        by_peer = watch(mx, "--peer", "0.0.0.0/0", "--domain", "l.test", "--json")
        deliver(mx, "anna@l.test", TEXT)
        by_domain.wait("LHLO")
        by_domain.wait("RCPT TO:<anna@l.test>")
        mx.wait_empty()
        mx.stop()
        server.close()
    assert not [line for line in map(json.loads, by_peer.lines) if "lmtp[" in line["process"]]


def test_qmtp(node, watch):
    """Both sides: the envelope, the answers, of the message its size alone."""
    port = free_port("127.0.0.1")
    hop = node("hop", domains=["b.test"], settings=f'listen qmtp {{ address = "127.0.0.1:{port}" }}\n')
    mx = node("mx", settings=f'qmtproutes = {{ "b.test:[127.0.0.1];{port}" }}\n')
    taken, sent = watch(hop, "--peer", "127.0.0.1", "--json"), watch(mx, "--domain", "b.test", "--json")
    deliver(mx, "anna@b.test", TEXT)
    hop.maildir("anna@b.test").wait()
    for one, process in (taken, "qmtpd["), (sent, "remote["):
        one.wait(":Kok, queued as" if one is taken else "Kok, queued as")
        said = [line.get("line", line.get("note")) for line in map(json.loads, one.lines)
                if process in line["process"]]
        assert "(from) sender@client.test" in said and "(to) anna@b.test" in said
        assert not any("confidential" in line or "content" in line for line in said)


def test_it_ends(node, watch):
    """By itself, and with the mail system; then nobody speaks of sessions any more."""
    mx = node("mx")
    short = watch(mx, "--peer", "127.0.0.1", "--for", "1s")
    assert short.process.wait(20) == 0
    assert short.end() == (0, "")
    long = watch(mx, "--peer", "127.0.0.1", "--for", "24h")
    deliver(mx, "anna@a.test", TEXT)
    long.wait("> RCPT TO:<anna@a.test>")
    long.wait("< 220 ")
    assert not short.lines
    mx.stop()
    assert long.process.wait(20) == 1
    assert long.end() == (1, "stagepost transcript: the mail system has ended\n")


def test_who_is_started_anew_is_told(node, watch):
    mx = node("mx", settings="smtpd_workers = 1\n")
    seen = watch(mx, "--peer", "127.0.0.1")
    mx.kill_and_wait("smtpd")
    deliver(mx, "anna@a.test", TEXT)
    seen.wait("> RCPT TO:<anna@a.test>")


def test_so_many(node, watch):
    mx = node("mx")
    for _ in range(WATCHERS_MAX):
        assert watch(mx, "--peer", "127.0.0.1").begun.startswith("watching")
    refused = watch(mx, "--peer", "127.0.0.1")
    assert refused.begun == "stagepost transcript: too many watch already\n"
    assert refused.process.wait(20) == 1


@pytest.mark.parametrize("words, status, said", [
    ([], 2, "give --peer, or --domain, or both"),
    (["--peer", "mx.example.org"], 2, "not an IP network"),
    (["--peer", "192.0.2.1/24"], 2, "bits are set after the prefix"),
    (["--domain", ""], 2, "--domain needs a domain"),
    (["--peer", "::1", "--for", "25h"], 2, "--for needs a time"),
    (["--peer", "::1", "--for", "0"], 2, "--for needs a time"),
    (["--peer", "::1"], 1, "no mail system runs with it")])
def test_what_cannot_be(node, watch, words, status, said):
    mx = node("mx", start=False)
    ended = watch(mx, *words)
    assert said in ended.begun and ended.process.wait(20) == status


@pytest.mark.skipif(not is_root(), reason="becomes another user")
def test_others_may_not(node, watch):
    mx = node("mx")
    refused = watch(mx, "--peer", "127.0.0.1", user="nobody" if USER != "nobody" else "daemon")
    assert refused.process.wait(20) == 1
    assert "ermission denied" in refused.begun or "only root" in refused.begun
    assert watch(mx, "--peer", "127.0.0.1", user=None).begun.startswith("watching")


def flood(mx, count):
    """Commands that are answered: so many lines of each side."""
    with socket.create_connection((mx.address, mx.port)) as client:
        file = client.makefile("rb")
        file.readline()
        client.sendall(b"EHLO flood.test\r\n")
        while not file.readline().startswith(b"250 "):
            pass
        for _ in range(count // 100):
            client.sendall(b"NOOP\r\n" * 100)
            for _ in range(100):
                assert file.readline().startswith(b"250")


def test_who_does_not_read_loses_lines(node, watch):
    """And nobody else anything: what was left out is counted."""
    mx = node("mx", settings="maxcommands = 1000000\n")
    slow = watch(mx, "--peer", "127.0.0.1", reads=False)
    quick = watch(mx, "--peer", "127.0.0.1")
    flood(mx, 20000)
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait(1)
    quick.wait("too many lines in a second")
    deliver(mx, "anna@a.test", TEXT)
    assert len(quick.lines) < 40000
    assert slow.process.poll() is None


def needs_root(test):
    for mark in NEEDS:
        test = mark(test)
    return test


@needs_root
def test_a_line_as_long_as_a_packet(node, watch):
    """A process that somebody has taken over says it: with the process's name it is longer still,
    which must not end the supervisor."""
    mx = node("mx")
    watcher = watch(mx, "--peer", "127.0.0.1")
    head, line = u32(0xff) + u64(1) + u64(0) + u32(0), text(b"x")
    said = packet(CHILD_SAID, head + text(b"p" * (PACKET - len(head + line) - 4)) + line)
    assert inside(mx.pids("smtpd")[0], "sendto", CONTROL, f"~{said.hex()}", len(said), 0, 0, 0) == \
        str(len(said))
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait(1)
    watcher.wait("anna@a.test")
