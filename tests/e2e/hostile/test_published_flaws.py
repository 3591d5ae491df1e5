# SPDX-License-Identifier: ISC
"""What broke other mail systems over the network, tried on the real processes of ours. Each
case is named by the flaw's id; doc/published-flaws.md tells what each was, and why others do
not apply. Those of next hops, proxies and contents are in test_published_flaws_peers.py, those
of command lines in test_published_flaws_commands.py."""

import contextlib
import os
import socket

import pytest
from flaws import TEXT, marker, shared, shared_node, unharmed  # noqa: F401
from hostile import GOOD, Server
from smtp import Wire
from stagepost import free_port, split_trace

# pylint: disable=redefined-outer-name,unused-import


# --- chunks ---

def test_cve_2017_16943_a_chunk_behind_much_noise(shared):
    """Header bytes in a chunk, then a command that is none and more than fits a buffer."""
    with Wire(shared) as wire:
        wire.begin(with_data=False)
        assert wire.ask(b"a" * 0x1000 + b"\x7f")[:3] == "500"
        wire.send(b"BDAT 1\r\nS")
        assert wire.reply()[:3] == "250"
        assert wire.ask(b"BDAT \x7f")[:3] == "500"
        assert wire.reply() == ""
    with Wire(shared) as wire:
        wire.begin(with_data=False)
        wire.send(b"BDAT 1\r\nS" + b"BDAT 7000\r\n" + b"u" * 7000 + b"BDAT 0 LAST\r\n")
        assert [wire.reply()[:3] for _ in range(3)] == ["250"] * 3
    shared.maildir("anna@a.test").wait()


@pytest.mark.parametrize("piece", [b".", b".\r\n", b"\r\n.\r\n", b".\r\n.\r\n.\r\n"], ids=repr)
def test_cve_2017_16944_a_dot_ends_no_chunk(shared, piece):
    content = b"Subject: dots\r\n\r\n" + piece + b"\r\n.\r\nMAIL FROM:<x@client.test>\r\n"
    with Wire(shared) as wire:
        wire.begin(with_data=False)
        wire.send(b"BDAT %d\r\n" % len(piece) + piece)
        assert wire.reply()[:3] == "250"
        wire.send(b"BDAT %d LAST\r\n" % len(content) + content)
        assert wire.reply()[:3] == "250"
        assert wire.ask(b"NOOP")[:3] == "250"
    (stored,) = shared.maildir("anna@a.test").wait()
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


def test_cve_2020_28024_the_client_ends_amid_a_chunk(shared):
    for sent in b"BDAT 10\r\n", b"BDAT 10\r\nx", b"BDAT 10 LAST\r\n\r", b"BDAT 1\r\n\nBDAT 5\r\n.":
        with Wire(shared) as wire:
            wire.begin(with_data=False)
            wire.send(sent)
            wire.socket.shutdown(socket.SHUT_WR)
            wire.heard(5)
    assert not shared.maildir("anna@a.test").files()


# --- lines and numbers that are too large ---

@pytest.mark.parametrize("word", [b"EHLO", b"HELO"])
def test_cve_2019_16928_a_long_name_in_ehlo(node, unharmed, word):
    mx = unharmed(node(settings="maxerrors = 10000\nmaxcommands = 10000"))
    with Wire(mx) as wire:
        wire.reply()
        for length in [*range(1, 600), *range(4000, 4200), 8192, 65536, 1 << 20]:
            for byte in b"a", b"\xff", b"%n":
                assert wire.ask(word + b" " + byte * length)[:3] in ("250", "500", "501")


def test_cve_2005_1513_and_1514_and_1515_lines_without_end(shared):
    """A command, an address and a parameter of 64 MiB: nothing of it is kept."""
    for begin in b"", b"MAIL FROM:<", b"MAIL FROM:<a@b> SIZE=", b"RCPT TO:<":
        with Wire(shared, timeout=60) as wire:
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
def test_cve_2020_28022_odd_parameters(shared, tail):
    with Wire(shared) as wire:
        wire.reply()
        wire.ask(b"EHLO client.test")
        assert wire.ask(b"MAIL FROM:<s@client.test>" + tail)[:3] in ("501", "555")
        assert wire.ask(b"MAIL FROM:<s@client.test>")[:3] == "250"
        assert wire.ask(b"RCPT TO:<anna@a.test>" + tail)[:3] in ("501", "555")


@pytest.mark.parametrize("line", [b"", b" ", b"\t", b"M", b"MAIL", b"MAIL ", b"MAIL FROM", b"RCPT",
                                  b"RCPT TO:", b"RCPT TO:<", b"BDAT", b"ORCPT", b"STARTTLS\0",
                                  b"ETRN", b"ETRN #", b"AUTH PLAIN ="], ids=repr)
def test_cve_2020_28023_short_commands(shared, line):
    with Wire(shared) as wire:
        wire.reply()
        wire.ask(b"EHLO client.test")
        assert wire.ask(line)[:2] == "50"


@pytest.mark.parametrize("value", [b"a+0D+0AX-Evil:+20y", b"a+0AX:", b"+00", b"+7F", b"+80", b"+",
                                   b"+4", b"+4z", b"a\tb", b"\x80"], ids=repr)
def test_cve_2020_28021_and_2018_6789_encoded_values(shared, value):
    """What would decode to a line end, or to nothing, is refused."""
    with Wire(shared) as wire:
        wire.reply()
        wire.ask(b"EHLO client.test")
        assert wire.ask(b"MAIL FROM:<anna@a.test> ENVID=" + value)[:2] in ("50", "55")
        assert wire.ask(b"MAIL FROM:<anna@a.test> AUTH=" + value)[:2] in ("50", "55")
        assert wire.ask(b"MAIL FROM:<anna@a.test>")[:3] == "250"
        assert wire.ask(b"RCPT TO:<anna@a.test> ORCPT=rfc822;" + value)[:2] in ("50", "55")


def test_cve_2018_6789_and_2023_42114_and_42115_and_42116_auth(node, unharmed):
    """Lengths that are none of base64, and messages of mechanisms that are not offered, or not
    to this client."""
    mx = node(start=False, listen="auth = offered auth_without_tls = local")
    mx.settings = f'directory {{ path = "{mx.directory}/data/directory.db" }}\n'
    mx.write_configuration()
    mx.start()
    mx = unharmed(mx)
    commands = {b"AUTH PLAIN " + b"A" * length: "501" for length in (1, 5, 1021, 3001)}
    commands |= {b"AUTH NTLM TlRMTVNTUAABAAAAB4IIAAAAAAAAAAAAAAAAAAAAAAA=": "504",
                 b"AUTH EXTERNAL " + b"QQBBAEEA" * 300: "504", b"AUTH EXTERNAL =": "504"}
    for command, code in commands.items():
        with Wire(mx) as wire:
            wire.reply()
            assert "AUTH " in wire.ask(b"EHLO client.test")
            assert wire.ask(command)[:3] == code
            assert wire.ask(b"AUTH LOGIN")[:3] == "334"
            assert wire.ask(b"A" * 11001)[:3] == "501"
            assert wire.ask(b"NOOP")[:3] == "250"


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
