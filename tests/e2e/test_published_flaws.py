# SPDX-License-Identifier: ISC
"""What broke other mail systems over the network, tried on the real processes of ours. Each
case is named by the flaw's id; doc/published-flaws.md tells what each was, and why others do
not apply. Those of command lines are in test_published_flaws_commands.py."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time

import pytest
from hostile import GOOD, Server
from smtp import Client, Wire, deliver
from stagepost import free_port, is_root, split_trace, wait_until
from test_hostile_clients import peak_memory

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from common.record import record  # noqa: E402

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
MEMORY = 32 << 10  # KiB, of any process
BEGIN = time.monotonic()


@pytest.fixture
def marker():
    """A file that must not come to be. Its path fits into an address."""
    with tempfile.TemporaryDirectory(prefix="f", dir="/tmp") as directory:
        os.chmod(directory, 0o777)
        yield os.path.join(directory, "m")
        assert not os.listdir(directory)


@pytest.fixture
def unharmed():
    """unharmed(mx) is the node, which works as before when the test is over."""
    nodes = {}
    yield lambda mx: nodes.update({mx: mx.pids()}) or mx
    for mx, pids in nodes.items():
        deliver(mx, "good@a.test", TEXT)
        split_trace(mx.maildir("good@a.test").wait()[0], TEXT.replace(b"\r\n", b"\n"))
        assert mx.pids() == pids
        assert all(peak_memory(pid) < MEMORY for pid in pids)


# --- chunks ---

def test_cve_2017_16943_a_chunk_behind_much_noise(node, unharmed):
    """Header bytes in a chunk, then a command that is none and more than fits a buffer."""
    mx = unharmed(node())
    with Wire(mx) as wire:
        wire.begin(with_data=False)
        assert wire.ask(b"a" * 0x1000 + b"\x7f")[:3] == "500"
        wire.send(b"BDAT 1\r\nS")
        assert wire.reply()[:3] == "250"
        assert wire.ask(b"BDAT \x7f")[:3] == "500"
        assert wire.reply() == ""
    with Wire(mx) as wire:
        wire.begin(with_data=False)
        wire.send(b"BDAT 1\r\nS" + b"BDAT 7000\r\n" + b"u" * 7000 + b"BDAT 0 LAST\r\n")
        assert [wire.reply()[:3] for _ in range(3)] == ["250"] * 3
    mx.maildir("anna@a.test").wait()


@pytest.mark.parametrize("piece", [b".", b".\r\n", b"\r\n.\r\n", b".\r\n.\r\n.\r\n"], ids=repr)
def test_cve_2017_16944_a_dot_ends_no_chunk(node, unharmed, piece):
    mx = unharmed(node())
    content = b"Subject: dots\r\n\r\n" + piece + b"\r\n.\r\nMAIL FROM:<x@client.test>\r\n"
    with Wire(mx) as wire:
        wire.begin(with_data=False)
        wire.send(b"BDAT %d\r\n" % len(piece) + piece)
        assert wire.reply()[:3] == "250"
        wire.send(b"BDAT %d LAST\r\n" % len(content) + content)
        assert wire.reply()[:3] == "250"
        assert wire.ask(b"NOOP")[:3] == "250"
    (stored,) = mx.maildir("anna@a.test").wait()
    assert stored.endswith((piece + content).replace(b"\r\n", b"\n"))


def test_cve_2020_28019_data_behind_a_refused_chunk(node, unharmed):
    """The state of BDAT does not outlive its failure."""
    mx = unharmed(node(settings="maxsize = 1024"))
    with Wire(mx) as wire:
        wire.begin(with_data=False)
        wire.send(b"BDAT 2000\r\n" + b"x" * 2000)
        assert wire.reply()[:3] == "552"
        assert wire.ask(b"DATA")[:3] == "503"
        assert wire.ask(b"RSET")[:3] == "250"
        for command in b"MAIL FROM:<s@client.test>", b"RCPT TO:<anna@a.test>":
            assert wire.ask(command)[:3] == "250"
        assert wire.ask(b"DATA")[:3] == "354"
        wire.send(TEXT + b".\r\n")
        assert wire.reply()[:3] == "250"
    split_trace(mx.maildir("anna@a.test").wait()[0], TEXT.replace(b"\r\n", b"\n"))


def test_cve_2020_28024_the_client_ends_amid_a_chunk(node, unharmed):
    mx = unharmed(node())
    for sent in b"BDAT 10\r\n", b"BDAT 10\r\nx", b"BDAT 10 LAST\r\n\r", b"BDAT 1\r\n\nBDAT 5\r\n.":
        with Wire(mx) as wire:
            wire.begin(with_data=False)
            wire.send(sent)
            wire.socket.shutdown(socket.SHUT_WR)
            wire.heard(5)
    assert not mx.maildir("anna@a.test").files()


# --- lines and numbers that are too large ---

@pytest.mark.parametrize("word", [b"EHLO", b"HELO"])
def test_cve_2019_16928_a_long_name_in_ehlo(node, unharmed, word):
    mx = unharmed(node(settings="maxerrors = 10000\nmaxcommands = 10000"))
    with Wire(mx) as wire:
        wire.reply()
        for length in [*range(1, 600), *range(4000, 4200), 8192, 65536, 1 << 20]:
            for byte in b"a", b"\xff", b"%n":
                assert wire.ask(word + b" " + byte * length)[:3] in ("250", "500", "501")


def test_cve_2005_1513_and_1514_and_1515_lines_without_end(node, unharmed):
    """A command, an address and a parameter of 64 MiB: nothing of it is kept."""
    mx = unharmed(node())
    for begin in b"", b"MAIL FROM:<", b"MAIL FROM:<a@b> SIZE=", b"RCPT TO:<":
        with Wire(mx, timeout=60) as wire:
            wire.reply()
            wire.ask(b"EHLO client.test")
            wire.send(begin)
            for _ in range(64):
                wire.send(b"a" * (1 << 20))
            assert wire.ask(b"")[:3] == "500"


def test_cve_2020_28017_recipients_without_end(node, unharmed):
    mx = unharmed(node(settings="maxrecipients = 1000"))
    with Wire(mx) as wire:
        wire.begin(with_data=False)
        codes = []
        for _ in range(200):
            wire.send(b"RCPT TO:<anna@a.test>\r\n" * 500)
            codes += [wire.reply()[:3] for _ in range(500)]
        assert codes == ["250"] * 999 + ["452"] * (len(codes) - 999)


def test_cve_2020_28020_a_header_without_end(node, unharmed):
    mx = unharmed(node(settings="maxsize = 100000"))
    for line in b"X: y\r\n", b"X: " + b"y" * 900 + b"\r\n", b" folded\r\n", b"Received: x\r\n":
        with Wire(mx) as wire:
            wire.begin()
            wire.send(b"Subject: x\r\n" + line * (20_000_000 // len(line)) + b".\r\n")
            assert wire.reply()[:3] in ("552", "554")


# --- parameters ---

@pytest.mark.parametrize("tail", [
    b" =", b' ="', b' "', b" SIZE", b" SIZE=", b" =5", b' SIZE="5', b" ===", b" " * 2000 + b"=",
    b" AUTH=<>", b" AUTH=", b' X"=', b" SMTPUTF8=", b" BODY=", b" RET", b" ENVID", b" =\"\"",
    b" SIZE=5 SIZE=5"], ids=repr)
def test_cve_2020_28022_odd_parameters(node, unharmed, tail):
    mx = unharmed(node())
    with Wire(mx) as wire:
        wire.reply()
        wire.ask(b"EHLO client.test")
        assert wire.ask(b"MAIL FROM:<s@client.test>" + tail)[:3] in ("501", "555")
        assert wire.ask(b"MAIL FROM:<s@client.test>")[:3] == "250"
        assert wire.ask(b"RCPT TO:<anna@a.test>" + tail)[:3] in ("501", "555")


@pytest.mark.parametrize("line", [b"", b" ", b"\t", b"M", b"MAIL", b"MAIL ", b"MAIL FROM", b"RCPT",
                                  b"RCPT TO:", b"RCPT TO:<", b"BDAT", b"ORCPT", b"STARTTLS\0",
                                  b"ETRN", b"ETRN #", b"AUTH PLAIN ="], ids=repr)
def test_cve_2020_28023_short_commands(node, unharmed, line):
    mx = unharmed(node())
    with Wire(mx) as wire:
        wire.reply()
        wire.ask(b"EHLO client.test")
        assert wire.ask(line)[:2] == "50"


@pytest.mark.parametrize("value", [b"a+0D+0AX-Evil:+20y", b"a+0AX:", b"+00", b"+7F", b"+80", b"+",
                                   b"+4", b"+4z", b"a\tb", b"\x80"], ids=repr)
def test_cve_2020_28021_and_2018_6789_encoded_values(node, unharmed, value):
    """What would decode to a line end, or to nothing, is refused."""
    mx = unharmed(node())
    with Wire(mx) as wire:
        wire.reply()
        wire.ask(b"EHLO client.test")
        assert wire.ask(b"MAIL FROM:<anna@a.test> ENVID=" + value)[:2] == "50"
        assert wire.ask(b"MAIL FROM:<anna@a.test> AUTH=" + value)[:2] in ("50", "55")
        assert wire.ask(b"MAIL FROM:<anna@a.test>")[:3] == "250"
        assert wire.ask(b"RCPT TO:<anna@a.test> ORCPT=rfc822;" + value)[:2] == "50"


@pytest.mark.parametrize("envid, orcpt", [
    (b"a+20X-Evil:+20y", b"rfc822;a+20+3Cx+3E+20to:+201"), (b"x" * 100, b"rfc822;" + b"y" * 490)],
    ids=["spaces", "long"])
def test_cve_2020_28026_long_values_stay_whole(node, unharmed, envid, orcpt):
    """And one line, in the control file, when it is read again, and in the report."""
    port = free_port()
    settings = {"routes": [f"b.test:127.0.0.1;{port}"]}
    mx = unharmed(node(**settings))
    with Wire(mx) as wire:
        wire.reply()
        wire.ask(b"EHLO client.test")
        assert wire.ask(b"MAIL FROM:<anna@a.test> RET=HDRS ENVID=" + envid)[:3] == "250"
        assert wire.ask(b"RCPT TO:<x@b.test> NOTIFY=FAILURE ORCPT=" + orcpt)[:3] == "250"
        wire.ask(b"DATA")
        wire.send(TEXT + b".\r\n")
        assert wire.reply()[:3] == "250"
    mx.log.wait("deferred")
    mx.stop()
    mx.make_due()
    (control,) = mx.control_files().values()
    assert envid in control.encode() and orcpt in control.encode() and "\nX-Evil" not in control
    with contextlib.closing(Server(replies={"RCPT": b"550 5.1.1 no\r\n"})) as server:
        mx.routes = [f"b.test:127.0.0.1;{server.port}"]
        mx.write_configuration()
        mx.start()
        (bounce,) = mx.maildir("anna@a.test").wait()
    assert b"\nX-Evil" not in bounce and b"\nFinal-Recipient: rfc822" in bounce
    assert not set(bounce) & (set(range(32)) - set(b"\n\t"))
    unharmed(mx)


# --- addresses that mean something to somebody ---

def addresses(marker):
    """As a shell, an expansion language or a path would like them."""
    for command in (f"touch${{IFS}}{marker}", f"touch\\x20{marker}", f"touch\\t{marker}"):
        yield from (f"${{run{{{command}}}}}@a.test", f";{command};@a.test", f"`{command}`@a.test",
                    f"$({command})@a.test", f"|{command}@a.test", f"\"|{command}\"@a.test",
                    f"\";{command};\"@a.test", f"-X{marker}@a.test", f"\"$({command})\"@a.test")
    yield from ("../../../../tmp/x@a.test", "\"../../x\"@a.test", ".@a.test", "..@a.test",
                "/etc/passwd@a.test", "\"/\"@a.test", "x@../a.test", "%s%n%p@a.test", "x@[;id]",
                "${sort{a:b}{<}{$item}}@a.test", ";for i in 0 1;do read r;done;sh;exit 0;")


@pytest.mark.parametrize("where", ["sender", "recipient"])
def test_cve_2019_10149_and_13917_and_2020_7247_addresses_are_text(node, unharmed, marker, where):
    """In both places, to a mailbox, to a program, to the next host, in a report and in a path."""
    server = Server(replies={"RCPT": lambda peer: peer.say(
        b"550 5.1.1 no\r\n" if b"touch" in peer.recipient else GOOD["RCPT"])})
    mx = unharmed(node(
        domains=["a.test", 'domain "p.test" { service = tool }'],
        routes=[f"b.test:127.0.0.1;{server.port}"],
        settings='service tool { kind = pipe command = { "/bin/sh", "-c", "cat >/dev/null", '
                 '"%s", "%u", "%d", "%x" } }\nmaxerrors = 1000'))
    taken = 0
    for address in addresses(marker):
        for domain in "a.test", "p.test", "b.test":
            text = address.replace("@a.test", "@" + domain)
            sender, recipient = (text, f"x@{domain}") if where == "sender" else ("y@a.test", text)
            with Wire(mx) as wire:
                wire.reply()
                wire.ask(b"EHLO client.test")
                codes = [wire.ask(f"MAIL FROM:<{sender}>".encode())[:3],
                         wire.ask(f"RCPT TO:<{recipient}>".encode())[:3]]
                if codes != ["250", "250"]:
                    continue
                wire.ask(b"DATA")
                wire.send(TEXT + b".\r\n")
                taken += wire.reply()[:3] == "250"
    assert taken > 10
    mx.wait_empty()
    server.close()
    stored = {os.path.relpath(folder, mx.mail).count("/") for folder, _, names
              in os.walk(mx.mail) if names}
    assert stored <= {2}  # DOMAIN/USER/new: no other place


# --- replies ---

@pytest.mark.parametrize("reply, status", [
    (b"550 5.7.2\r\n", "5.7.2"), (b"550 5.7.2 \r\n", "5.7.2"),
    (b"550-5.7.2\r\n550 5.7.2\r\n", "5.7.2"),
    (b"550 5.7.\r\n", "5.1.1"), (b"550 5.\r\n", "5.1.1"), (b"550 5\r\n", "5.1.1"),
    (b"550 \r\n", "5.1.1"), (b"550\r\n", "5.1.1"), (b"550 5.999.999\r\n", "5.999.999")], ids=repr)
def test_cve_2026_43964_a_status_without_text(node, unharmed, reply, status):
    with contextlib.closing(Server(replies={"RCPT": reply})) as server:
        mx = unharmed(node(routes=[f"b.test:127.0.0.1;{server.port}"]))
        deliver(mx, "x@b.test", TEXT, sender="anna@a.test")
        assert mx.log.wait("failed", to="x@b.test")["status"] == status
        mx.maildir("anna@a.test").wait()


@pytest.mark.parametrize("state", ["greeting", "EHLO", "MAIL", "RCPT", "DATA", "END"])
def test_cve_2020_8794_lines_of_a_reply_are_no_lines_of_ours(node, unharmed, marker, state):
    """A reply of many lines, the last without text, which look like what we write."""
    lines = ["553-", "553-\r" + "553-x", "553-delivered: 1 2026-01-01T00:00:00Z 2.0.0 ok",
             "553-type: mda", f"553-mda-exec: touch {marker}", "553-to: 1 <root@a.test>",
             "553-end:", "553-\x00\x0b\x0c\x85\x1b]0;x\x07", "553"]
    bad = "\r\n".join(lines).encode("latin-1") + b"\r\n"
    with contextlib.closing(Server(replies={state: bad.replace(b"\r553", b"553")})) as server:
        mx = unharmed(node(routes=[f"b.test:127.0.0.1;{server.port}"]))
        deliver(mx, ["x@b.test", "y@b.test"], TEXT, sender="anna@a.test")
        outcome = mx.log.wait("deferred" if state == "greeting" else "failed", count=2)
        assert {event["to"] for event in outcome} == {"x@b.test", "y@b.test"}
        if state == "greeting":
            (control,) = mx.control_files().values()
            assert "\nmda-exec" not in control and control.count("\nto: ") == 2
            assert control.count("\ndelivered") == 0 and control.count("\nend:") == 1
        else:
            (bounce,) = mx.maildir("anna@a.test").wait()
            assert b"\nmda-exec" not in bounce and b"\ntype: " not in bounce
            mx.wait_empty()


# --- the proxy's header, the client's address ---

BINARY = b"\r\n\r\n\0\r\nQUIT\n"


@pytest.mark.parametrize("header", [
    BINARY + b"\x21\x11\x00\x00", BINARY + b"\x21\x11\x00\x0b" + bytes(11),
    BINARY + b"\x21\x11\xff\xff" + bytes(2000), BINARY + b"\x21\x21\x00\x0c" + bytes(12),
    BINARY + b"\x21\x31\x00\xd8" + b"\xff" * 216, BINARY + b"\x11\x11\x00\x0c" + bytes(12),
    BINARY + b"\x2f\x11\x00\x0c" + bytes(12), BINARY + b"\x21\xff\x00\x0c" + bytes(12),
    b"PROXY " + b"a" * 2000, b"PROXY TCP4 1.2.3.4\r\n", b"PROXY TCP4 1.2.3.4 1.2.3.4 99999 25\r\n",
    b"PROXY TCP4 1.2.3.4 1.2.3.4 -1 25\r\n", b"PROXY TCP4 ::1 ::1 1 25\r\n",
    b"PROXY TCP6 " + b"f" * 90 + b" ::1 1 25\r\n", b"PROXY TCP4 1.2.3.4%n 1.2.3.4 1 25\r\n",
    b"PROXY TCP4 1.2.3.4 1.2.3.4 1 25\n", b"PROXY\r\n", b"PROXY TCP4\0 1.2.3.4 1.2.3.4 1 25\r\n"],
    ids=range(18))
def test_cve_2023_42117_wrong_proxy_headers(node, unharmed, header):
    """It ends the connection, or names no client (a family that is not known)."""
    port = free_port()
    mx = unharmed(node(settings=f'listen smtp {{ address = "127.0.0.1:{port}" proxy = yes }}\n'
                                "proxy_timeout = 1"))
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(header)
        heard = b""
        with contextlib.suppress(ConnectionResetError):
            heard = connection.recv(1000)
        assert heard[:4] in (b"", b"220 ", b"554 "), heard
    if heard == b"":
        mx.log.wait("session_refused", client="127.0.0.1")


def test_cve_2023_29323_a_link_local_client(node, unharmed):
    """Its address has a scope. In a network namespace of the tests."""
    assert is_root(), "only root makes interfaces"
    subprocess.run(["ip", "link", "add", "scoped0", "type", "veth", "peer", "name",
                    "scoped1"], check=True)
    try:
        subprocess.run(["ip", "addr", "add", "fe80::7/64", "dev", "scoped0", "nodad"], check=True)
        subprocess.run(["ip", "link", "set", "scoped0", "up"], check=True)
        subprocess.run(["ip", "link", "set", "scoped1", "up"], check=True)
        port = free_port()
        mx = unharmed(node(settings=f'listen smtp {{ address = "[::]:{port}" }}'))
        scope = socket.if_nametoindex("scoped0")
        with socket.socket(socket.AF_INET6) as client:
            client.settimeout(10)
            client.connect(("fe80::7", port, 0, scope))
            heard = client.recv(1000)
            client.sendall(b"EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<anna@a.test>\r\nDATA\r\n"
                           b"\r\n.\r\nQUIT\r\n")
            while piece := client.recv(1000):
                heard += piece
        assert b"\n250 2.0.0 queued" in heard
        assert b"IPv6:fe80::7" in mx.maildir("anna@a.test").wait()[0]
    finally:
        subprocess.run(["ip", "link", "del", "scoped0"], check=False)


# --- headers and characters ---

def test_cve_2026_34752_odd_names_of_headers(node, unharmed):
    mx = unharmed(node())
    text = b"".join(name + b": x\r\n" for name in (
        b"__proto__", b"constructor", b"toString", b"", b" ", b"Received ", b"Return-Path", b":",
        b"%n", b"\xff", b"X" * 70_000)) + b"no colon\r\n\r\nA line.\r\n"
    deliver(mx, "anna@a.test", text)
    (stored,) = mx.maildir("anna@a.test").wait()
    assert stored.endswith(text.replace(b"\r\n", b"\n"))


BROKEN = [b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80",
          b"\xff" * 50, b"a\xf0\x9f\x98", b"\x80"]


@pytest.mark.parametrize("broken", BROKEN, ids=repr)
def test_cve_2026_40686_broken_utf8(node, unharmed, broken):
    """In addresses, parameters, headers that are reported, and replies."""
    with contextlib.closing(Server(replies={"RCPT": b"550 5.1.1 " + broken + b"\r\n"})) as server:
        mx = unharmed(node(routes=[f"b.test:127.0.0.1;{server.port}"]))
        with Wire(mx) as wire:
            wire.reply()
            wire.ask(b"EHLO client.test")
            for line in (b"MAIL FROM:<%s@a.test> SMTPUTF8", b"MAIL FROM:<x@%s> SMTPUTF8",
                         b"MAIL FROM:<a@a.test> SMTPUTF8 ENVID=%s"):
                assert wire.ask(line % broken)[:2] in ("50", "55")
            assert wire.ask(b"MAIL FROM:<anna@a.test> SMTPUTF8")[:3] == "250"
            assert wire.ask(b"RCPT TO:<%s@a.test>" % broken)[:3] == "501"
            assert wire.ask(b"RCPT TO:<x@a.test> ORCPT=utf-8;%s" % broken)[:3] == "501"
            assert wire.ask(b"RCPT TO:<x@b.test>")[:3] == "250"
            wire.ask(b"DATA")
            wire.send(b"Subject: %s\r\nX: %s\r\n\r\n%s\r\n.\r\n" % (broken, broken, broken))
            assert wire.reply()[:3] == "250"
        (bounce,) = mx.maildir("anna@a.test").wait()
        assert b"Final-Recipient: " in bounce
        mx.wait_empty()


# --- the end of the data ---

@pytest.mark.parametrize("end", [b"\n.\n", b"\n.\r\n", b"\r\n.\n", b"\r.\r", b"\r.\r\n", b"\r\n.\r",
                                 b"\r\n.\r\r\n", b"\r\r\n.\r\r\n", b"\r\n\0.\r\n", b"\n.\n\r\n"],
                         ids=repr)
def test_cve_2023_51764_and_51765_and_51766_and_52354_ends_that_are_none(node, unharmed, end):
    """All short strings of this kind are tried in test_smuggling.py."""
    mx = unharmed(node())
    with Wire(mx) as wire:
        wire.begin()
        wire.send(TEXT + b"x" + end + b"MAIL FROM:<evil@client.test>\r\nRCPT TO:<anna@a.test>\r\n"
                  b"DATA\r\nSubject: smuggled\r\n\r\nevil\r\n.\r\n")
        code = wire.reply()[:3]
        assert code == ("250" if end == b"\r\n\0.\r\n" else "550")
        assert wire.ask(b"QUIT")[:3] == "221"
    mx.wait_empty()
    assert len(mx.maildir("anna@a.test").files()) == (code == "250")
    assert "evil@client.test" not in {event["from"] for event in mx.log.find("message_accepted")}


def test_record(request):
    """Behind the others."""
    names = {item.originalname for item in request.session.items
             if item.originalname.startswith("test_cve_")}
    print(record(
        "published-flaws", title="Published flaws of other mail systems",
        what="What broke other mail systems' parsers, tried on ours; doc/published-flaws.md.",
        command="tests/e2e/run tests/e2e/test_published_flaws.py "
                "tests/e2e/test_published_flaws_commands.py",
        counts={"kinds of attack": len(names), "cases": len(request.session.items) - 1,
                "failed": request.session.testsfailed}, zero=("failed",),
        seconds=time.monotonic() - BEGIN))
    assert names
