# SPDX-License-Identifier: ISC
"""What the SMTP server takes, refuses and bears."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import time
from types import SimpleNamespace

import pytest
from smtp import Client, Wire, deliver
from stagepost import free_port, is_root, split_trace

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")
LISTED = 'domain "list.test" { service = maildir addresses = { "info" } }'


def test_message_arrives(node):
    mx = node()
    reply = deliver(mx, "anna@a.test", TEXT)
    (stored,) = mx.maildir("anna@a.test").wait()
    trace = split_trace(stored, STORED)
    number = reply.rpartition(" ")[2]
    assert trace.startswith(b"Return-Path: <sender@client.test>\nDelivered-To: anna@a.test\n")
    assert f"id {number}\n".encode() in trace
    assert mx.log.wait("message_accepted", id=number)["client"] == "127.0.0.1"
    assert mx.log.wait("delivered", id=number, to="anna@a.test")["status"] == "2.0.0"
    mx.wait_empty()


def test_processes_change_their_user(node):
    assert is_root(), "only root has a user to change"
    mx = node(switch_user=True)
    pids = mx.pids()
    programs = sorted(event["program"] for event in mx.log.find("process_started"))
    assert programs == ["local", "names", "queue", "remote", "resolve", "send", "smtpd", "smtpd"]
    assert len(pids) == len(programs)
    for pid in pids:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            ids = [line.split()[1:] for line in status if line.startswith(("Uid:", "Gid:"))]
        assert "0" not in ids[0] + ids[1], ids
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait()


def test_swaks(node):
    mx = node()
    subprocess.run(
        ["swaks", "--server", mx.address, "--port", str(mx.port), "--from", "s@client.test",
         "--to", "anna@a.test", "--header", "Subject: from swaks", "--body", "swaks was here"],
        check=True, capture_output=True, timeout=30)
    (stored,) = mx.maildir("anna@a.test").wait()
    assert b"\nSubject: from swaks\n" in stored and b"\nswaks was here\n" in stored


def test_unknown_recipient(node):
    mx = node(domains=["a.test", LISTED])
    with Client(mx) as client:
        client.docmd("MAIL FROM:<s@client.test>")
        assert client.docmd("RCPT TO:<nobody@list.test>")[0] == 550
        assert client.docmd("RCPT TO:<INFO@list.test>")[0] == 250
        assert client.data(TEXT)[0] == 250
    mx.maildir("info@list.test").wait()
    mx.log.wait("command_refused", command="RCPT TO:<nobody@list.test>", status="5.1.1")


def test_relaying_is_denied(node):
    mx = node(relay_from=["127.0.0.1/32"], routes=["b.test:127.0.0.1;9"])
    with Client(mx, source="127.0.0.2") as client:
        assert client.deliver("s@client.test", "x@b.test", TEXT).startswith("550 5.7.1 ")
        assert client.deliver("s@client.test", "anna@a.test", TEXT).startswith("250 ")
    with Client(mx) as client:
        client.docmd("MAIL FROM:<s@client.test>")
        assert client.docmd("RCPT TO:<x@b.test>")[0] == 250
    mx.maildir("anna@a.test").wait()


@pytest.mark.parametrize("line", [b"bare\nLF", b"bare\rCR", b".\n", b".\r", b"\r\r", b"\n.\r"],
                         ids=repr)
def test_bare_line_end(node, line):
    mx = node(relay_from=[])
    with Wire(mx) as wire:
        wire.begin()
        wire.send(b"Subject: x\r\n\r\n" + line + b"\r\nMAIL FROM:<evil@client.test>\r\n")
        assert wire.ask(b".").startswith("550 5.6.11 ")
        assert wire.ask(b"QUIT").startswith("221 ")
    assert not mx.control_files() and not mx.maildir("anna@a.test").files()


def test_line_ends_of_users_are_put_right(node):
    """curl sends a file with LF lines as it is, dots included."""
    mx = node(relay_from=["127.0.0.1/32"])
    text = b"Subject: x\n\n.profile\n.\nback\rslash\r\n"
    with Wire(mx) as wire:
        wire.begin()
        wire.send(text)
        assert wire.ask(b".").startswith("250 ")
        assert wire.ask(b"QUIT").startswith("221 ")
    (stored,) = mx.maildir("anna@a.test").wait()
    split_trace(stored, b"Subject: x\n\n.profile\n.\nback slash\n")


@pytest.mark.parametrize("removes", [False, True])
def test_nul(node, removes):
    mx = node(settings="nul = remove" if removes else "")
    with Wire(mx) as wire:
        wire.begin()
        wire.send(b"Subject: x\r\n\r\na\0b\r\n")
        assert wire.ask(b".").startswith("250 " if removes else "550 5.6.0 ")
    if removes:
        (stored,) = mx.maildir("anna@a.test").wait()
        split_trace(stored, b"Subject: x\n\nab\n")
    else:
        mx.log.wait("message_refused", status="5.6.0")


def test_commands_before_they_may_come(node):
    mx = node(relay_from=[])
    for early in (b"EHLO x\r\nMAIL FROM:<s@client.test>\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n"):
        with Wire(mx) as wire:
            assert wire.reply().startswith("220 ")
            wire.send(early)
            assert wire.reply().startswith("554 5.5.0 ")
            assert wire.file.read() == b""
    mx.log.wait("command_refused", code=554)


def test_what_clients_get_away_with(node):
    """Named twice, it is delivered once; no password is in the log."""
    mx = node(relay_from=[])
    with Wire(mx) as wire:
        assert wire.reply().startswith("220 ")
        assert wire.ask(b"HELO my host\xfc").startswith("250 ")
        assert wire.ask(b"AUTH PLAIN AGFubmEAc2VjcmV0").startswith("500 ")
        assert wire.ask(b"MAIL FROM:s.@client.test").startswith("250 ")
        for _ in range(2):
            assert wire.ask(b"RCPT TO:anna@a.test").startswith("250 ")
        assert wire.ask(b"DATA").startswith("354 ")
        wire.send(TEXT)
        assert wire.ask(b".").startswith("250 ")
        wire.send(b"NOOP\n")
        assert wire.reply().startswith("250 ")
    mx.wait_empty()
    (stored,) = mx.maildir("anna@a.test").wait()
    assert b"from my?host? (" in split_trace(stored, STORED)
    with open(mx.log.path, "rb") as log:
        assert b"AGFubmEAc2VjcmV0" not in log.read()


def test_names_longer_than_the_letter(node):
    """Newsletters have the address of the recipient in that of the sender; and whoever takes all names
    takes those."""
    name = "bounces+1234567-0a1b-john.doe=a-long-domain-of-a-customer.client.test"
    assert len(name) > 64
    mx = node()
    deliver(mx, "anna@a.test", TEXT, sender=f"{name}@mailer.test")
    (stored,) = mx.maildir("anna@a.test").wait()
    assert stored.startswith(f"Return-Path: <{name}@mailer.test>\n".encode())
    with Wire(mx) as wire:
        wire.begin(with_data=False)
        assert wire.ask(f"RCPT TO:<{name}@a.test>".encode()).startswith("250 ")
        assert wire.ask(f"RCPT TO:<{'n' * 256}@a.test>".encode()).startswith("501 5.1.3 ")


def test_our_address_is_local(node):
    """The one that the client has reached, and those of a setting; no other."""
    mx = node(relay_from=[], settings='own_addresses = "192.0.2.1"')
    with Wire(mx) as wire:
        wire.begin(with_data=False)
        assert wire.ask(b"RCPT TO:<bob@[127.0.0.1]>").startswith("250 ")
        assert wire.ask(b"RCPT TO:<postmaster@[192.0.2.1]>").startswith("250 ")
        assert wire.ask(b"RCPT TO:<bob@[192.0.2.2]>").startswith("550 5.7.1 ")
        assert wire.ask(b"RCPT TO:<bob@[IPv6:::1]>").startswith("550 5.7.1 ")
        assert wire.ask(b"DATA").startswith("354 ")
        wire.send(TEXT)
        assert wire.ask(b".").startswith("250 ")
    for to in ("bob@a.test", "postmaster@a.test"):
        (stored,) = mx.maildir(to).wait()
        split_trace(stored, STORED)


def test_size_is_bound(node):
    mx = node(settings="maxsize = 100000")
    large = b"Subject: large\r\n\r\n" + b"x" * 70 + b"\r\n"
    large += (b"y" * 98 + b"\r\n") * 1000
    with Client(mx) as client:
        assert client.esmtp_features["size"] == "100000"
        assert client.esmtp_features["limits"] == "RCPTMAX=1000"
        assert client.docmd("MAIL FROM:<s@client.test> SIZE=100001")[0] == 552
        client.docmd("MAIL FROM:<s@client.test>")
        client.docmd("RCPT TO:<anna@a.test>")
        code, text = client.data(large)
        assert code == 552 and text.startswith(b"5.3.4")
        fits = large[:99998] + b"\r\n"
        assert client.deliver("s@client.test", "anna@a.test", fits).startswith("250 ")
    (stored,) = mx.maildir("anna@a.test").wait()
    split_trace(stored, fits.replace(b"\r\n", b"\n"))


def test_early_talker(node):
    """Its bytes are there before the banner: the workers are held until they are."""
    mx = node()
    workers = mx.pids("smtpd")
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    with Wire(mx) as wire:
        wire.send(b"EHLO early.test\r\n")
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        assert wire.reply().startswith("554 ")
        assert wire.reply() == ""


def test_whole_session_in_one_packet(node):
    mx = node()
    with Wire(mx) as wire:
        assert wire.reply().startswith("220 ")
        wire.send(b"EHLO client.test\r\nMAIL FROM:<s@client.test>\r\nRCPT TO:<anna@a.test>\r\n"
                  b"DATA\r\nSubject: one\r\n\r\n..\r\n.\r\n"
                  b"MAIL FROM:<s@client.test>\r\nRCPT TO:<anna@a.test>\r\nDATA\r\n.\r\nQUIT\r\n")
        codes = [wire.reply()[:3] for _ in range(9)]
        assert codes == "250 250 250 354 250 250 250 354 250".split()
        assert wire.reply().startswith("221 ") and wire.reply() == ""
    stored = mx.maildir("anna@a.test").wait(2)
    assert sorted(text.endswith(b"\nSubject: one\n\n.\n") for text in stored) == [False, True]


@pytest.mark.parametrize("half", [False, True], ids=["open", "half closed"])
def test_more_replies_than_are_kept(node, half):
    """All recipients in one packet: their replies fill more than our buffer, and the client,
    who perhaps has closed its own side already, gets each."""
    mx = node()
    count = 900
    with Wire(mx, timeout=30) as wire:
        wire.begin(with_data=False)
        wire.send(b"RCPT TO:<anna@a.test>\r\n" * count + b"DATA\r\n")
        if half:
            wire.socket.shutdown(socket.SHUT_WR)
        replies = [wire.reply()[:3] for _ in range(count + 1)]
        assert set(replies[:count]) <= {"250", "452"} and replies[count] == "354"
        if half:
            assert wire.reply() == ""


def test_byte_by_byte(node):
    mx = node()
    with Wire(mx) as wire:
        wire.socket.setsockopt(6, 1, 1)  # TCP_NODELAY
        assert wire.reply().startswith("220 ")
        for byte in (b"EHLO c.test\r\nMAIL FROM:<s@client.test>\r\nRCPT TO:<anna@a.test>\r\n"
                     b"DATA\r\n" + TEXT + b"..dot\r\n.\r\n"):
            wire.send(bytes([byte]))
        codes = [wire.reply()[:3] for _ in range(5)]
        assert codes == "250 250 250 354 250".split()
    split_trace(mx.maildir("anna@a.test").wait()[0], STORED + b".dot\n")


@pytest.mark.parametrize("during", ["commands", "data"])
def test_silent_client_is_left(node, during):
    mx = node(settings="smtp_timeout = 1 smtp_data_timeout = 1")
    with Wire(mx) as wire:
        if during == "data":
            wire.begin()
            wire.send(b"Subject: never ends\r\n")
        else:
            assert wire.reply().startswith("220 ")
        began = time.monotonic()
        assert wire.reply().startswith("421 4.4.2 ")
        assert wire.reply() == ""
        assert time.monotonic() - began < 10
    assert not mx.control_files()


@pytest.mark.parametrize("during", ["commands", "data", "chunks"])
def test_slow_client_is_left(node, during):
    """A byte in time is not enough: the whole has a deadline."""
    mx = node(settings="smtp_timeout = 1 smtp_data_timeout = 1 smtp_min_rate = 1000")
    with Wire(mx) as wire:
        if during == "commands":
            assert wire.reply().startswith("220 ")
        else:
            wire.begin(with_data=during == "data")
        began = time.monotonic()
        heard = b""
        while b"421 " not in heard:
            assert time.monotonic() - began < 10
            wire.send(b"BDAT 1\r\na" if during == "chunks" else b"a")
            heard += wire.heard(0.2)
        assert b"421 4.4.2 " in heard
        assert time.monotonic() - began > 0.9
    assert not mx.control_files()


BINARY = b"\r\n\r\n\0\r\nQUIT\n"
NAMES_192_0_2_7 = BINARY + bytes.fromhex("2111000c c0000207 7f000001 cf78 0019")


def proxied(node, **settings):
    """A node with a second listener, for proxies; and that one for Wire."""
    port = free_port()
    text = "\n".join(f"{name} = {value}" for name, value in settings.items())
    mx = node(settings=f'listen smtp {{ address = "127.0.0.1:{port}" proxy = yes }}\n{text}')
    return mx, SimpleNamespace(address="127.0.0.1", port=port)


@pytest.mark.parametrize("header, client", [
    (b"PROXY TCP4 192.0.2.7 127.0.0.1 53112 25\r\n", "192.0.2.7"),
    (b"PROXY TCP6 2001:db8::7 ::1 53112 25\r\n", "IPv6:2001:db8::7"),
    (NAMES_192_0_2_7, "192.0.2.7"),
    (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
    (BINARY + b"\x20\0\0\0", "127.0.0.1"),
], ids=["text", "ipv6", "binary", "unknown", "local"])
def test_proxy_names_the_client(node, header, client):
    mx, listener = proxied(node)
    with Wire(listener) as wire:
        for byte in header:
            wire.send(bytes([byte]))
        wire.begin()
        wire.send(TEXT + b".\r\n")
        assert wire.reply().startswith("250 ")
    assert f"([{client}])".encode() in mx.maildir("anna@a.test").wait()[0]


@pytest.mark.parametrize("header", [
    NAMES_192_0_2_7, b"PROXY UNKNOWN\r\n", BINARY + b"\x20\0\0\0", BINARY + b"\x21\0\0\0",
    BINARY + b"\x21\x31\0\xd8" + b"/s".ljust(108, b"\0") * 2,
], ids=["named", "unknown", "local", "unspecified", "unix"])
def test_proxied_client_may_not_relay(node, header):
    """What counts is the client's address, not the proxy's, also if the proxy does not name it."""
    _, listener = proxied(node, etrn_from='"127.0.0.0/8"', xclient_from='"127.0.0.0/8"',
                          xforward_from='"127.0.0.0/8"')
    with Wire(listener) as wire:
        wire.send(header)
        assert wire.reply().startswith("220 ")
        wire.ask(b"EHLO client.test")
        wire.ask(b"MAIL FROM:<s@client.test>")
        assert wire.ask(b"RCPT TO:<x@elsewhere.test>").startswith("550 ")
        assert wire.ask(b"RSET").startswith("250 ")
        assert wire.ask(b"ETRN a.test").startswith("459 ")
        assert wire.ask(b"XCLIENT ADDR=127.0.0.1").startswith("500 ")
        assert wire.ask(b"XFORWARD ADDR=127.0.0.1").startswith("500 ")


def test_proxied_client_talks_too_early(node):
    _, listener = proxied(node)
    with Wire(listener) as wire:
        wire.send(NAMES_192_0_2_7 + b"EHLO client.test\r\n")
        assert wire.reply().startswith("554 ")
        assert wire.reply() == ""


@pytest.mark.parametrize("sent, settings, why", [
    (b"EHLO client.test\r\n", {}, "without a right PROXY header"),
    (BINARY + b"\x21\x11\x08\0", {}, "too long: at most 2048 bytes"),
    (b"PROXY TCP4 192.0.2.7", {"proxy_timeout": 1}, "did not come in time"),
    (NAMES_192_0_2_7, {"proxy_from": '"192.0.2.0/24"'}, "not in proxy_from"),
], ids=["without_header", "too_long", "in_time", "address"])
def test_proxy_is_refused(node, sent, settings, why):
    mx, listener = proxied(node, **settings)
    with Wire(listener) as wire:
        wire.send(sent)
        with contextlib.suppress(ConnectionResetError):
            assert wire.reply() == ""
    event = mx.log.wait("session_refused")
    assert event["client"] == "127.0.0.1" and why in event["text"]


def test_too_many_errors(node):
    mx = node(settings="maxerrors = 5")
    with Wire(mx) as wire:
        wire.reply()
        assert [wire.ask(b"NONSENSE")[:3] for _ in range(6)] == ["500"] * 5 + ["421"]
        assert wire.reply() == ""


def test_2000_sessions(node):
    resource.setrlimit(resource.RLIMIT_NOFILE, [resource.getrlimit(resource.RLIMIT_NOFILE)[1]] * 2)
    mx = node(settings="maxsessions = 4200")
    wires = []
    try:
        for _ in range(2000):
            wires.append(Wire(mx, timeout=60))
        for wire in wires:
            assert wire.reply().startswith("220 ")
        deliver(mx, "anna@a.test", TEXT)
        mx.maildir("anna@a.test").wait()
        for wire in wires:
            wire.send(b"EHLO client.test\r\n")
        for wire in wires:
            assert wire.reply().startswith("250")
    finally:
        for wire in wires:
            wire.close()
    deliver(mx, "anna@a.test", TEXT)
    mx.maildir("anna@a.test").wait(2)


def test_sessions_over_the_limit_wait(node):
    mx = node(settings="maxsessions = 2\nsmtpd_workers = 1")
    first, second = Wire(mx), Wire(mx)
    assert first.reply().startswith("220 ") and second.reply().startswith("220 ")
    with Wire(mx, timeout=0.3) as third:
        with pytest.raises(TimeoutError):
            third.socket.recv(1)
        third.socket.settimeout(20)
        first.close()
        assert third.socket.recv(4) == b"220 "
    second.close()
