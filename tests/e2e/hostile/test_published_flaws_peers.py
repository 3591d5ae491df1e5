# SPDX-License-Identifier: ISC
"""What broke other mail systems by replies, proxies, addresses of clients and contents, tried
on ours; see test_published_flaws.py."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time

import pytest
from flaws import TEXT, marker, shared, shared_node, unharmed  # noqa: F401
from hostile import Server
from smtp import Wire, deliver
from stagepost import ROOT, free_port, is_root

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from common.record import record  # noqa: E402

# pylint: disable=redefined-outer-name,unused-import
BEGIN = time.monotonic()
FILES = [f"test_published_flaws{name}.py" for name in ("", "_commands", "_peers")]


# --- replies ---

@pytest.mark.parametrize("reply, status", [
    (b"550 5.7.2\r\n", "5.7.2"), (b"550 5.7.2 \r\n", "5.7.2"),
    (b"550-5.7.2\r\n550 5.7.2\r\n", "5.7.2"),
    (b"550 5.7.\r\n", "5.1.1"), (b"550 5.\r\n", "5.1.1"), (b"550 5\r\n", "5.1.1"),
    (b"550 \r\n", "5.1.1"), (b"550\r\n", "5.1.1"), (b"550 5.999.999\r\n", "5.999.999")], ids=repr)
def test_cve_2026_43964_a_status_without_text(shared, reply, status):
    shared.server.replies["RCPT"] = reply
    deliver(shared, "x@b.test", TEXT, sender="anna@a.test")
    assert shared.log.wait("failed", shared.since, to="x@b.test")["status"] == status
    shared.maildir("anna@a.test").wait()


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
def test_cve_2023_42117_wrong_proxy_headers(shared, header):
    """It ends the connection, or names no client (a family that is not known)."""
    with socket.create_connection(("127.0.0.1", shared.proxy_port), 10) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(header)
        heard = b""
        with contextlib.suppress(ConnectionResetError):
            heard = connection.recv(1000)
        assert heard[:4] in (b"", b"220 ", b"554 "), heard
    if heard == b"":
        shared.log.wait("session_refused", shared.since, client="127.0.0.1")


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
            for said, end in ((b"EHLO x\r\n", b"\n250 "),
                              (b"MAIL FROM:<>\r\nRCPT TO:<anna@a.test>\r\nDATA\r\n", b"\n354 "),
                              (b"\r\n.\r\nQUIT\r\n", b"\n221 ")):
                client.sendall(said)
                while end not in heard:
                    piece = client.recv(1000)
                    assert piece, heard
                    heard += piece
        assert b"\n250 2.0.0 queued" in heard
        assert b"IPv6:fe80::7" in mx.maildir("anna@a.test").wait()[0]
    finally:
        subprocess.run(["ip", "link", "del", "scoped0"], check=False)


# --- headers and characters ---

def test_cve_2026_34752_odd_names_of_headers(shared):
    text = b"".join(name + b": x\r\n" for name in (
        b"__proto__", b"constructor", b"toString", b"", b" ", b"Received ", b"Return-Path", b":",
        b"%n", b"\xff", b"X" * 70_000)) + b"no colon\r\n\r\nA line.\r\n"
    deliver(shared, "anna@a.test", text)
    (stored,) = shared.maildir("anna@a.test").wait()
    assert stored.endswith(text.replace(b"Return-Path: x\r\n", b"").replace(b"\r\n", b"\n"))


BROKEN = [b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80",
          b"\xff" * 50, b"a\xf0\x9f\x98", b"\x80"]


@pytest.mark.parametrize("broken", BROKEN, ids=repr)
def test_cve_2026_40686_broken_utf8(shared, broken):
    """In addresses, parameters, headers that are reported, and replies."""
    shared.server.replies["RCPT"] = b"550 5.1.1 " + broken + b"\r\n"
    with Wire(shared) as wire:
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
    (bounce,) = shared.maildir("anna@a.test").wait()
    assert b"Final-Recipient: " in bounce
    shared.wait_empty()


# --- the end of the data ---

@pytest.mark.parametrize("end", [b"\n.\n", b"\n.\r\n", b"\r\n.\n", b"\r.\r", b"\r.\r\n", b"\r\n.\r",
                                 b"\r\n.\r\r\n", b"\r\r\n.\r\r\n", b"\r\n\0.\r\n", b"\n.\n\r\n"],
                         ids=repr)
def test_cve_2023_51764_and_51765_and_51766_and_52354_ends_that_are_none(shared, end):
    """All short strings of this kind are tried in test_smuggling.py."""
    with Wire(shared) as wire:
        wire.begin()
        wire.send(TEXT + b"x" + end + b"MAIL FROM:<evil@client.test>\r\nRCPT TO:<anna@a.test>\r\n"
                  b"DATA\r\nSubject: smuggled\r\n\r\nevil\r\n.\r\n")
        assert wire.reply()[:3] == "550"
        assert wire.ask(b"QUIT")[:3] == "221"
    shared.wait_empty()
    assert not shared.maildir("anna@a.test").files()
    accepted = shared.log.find("message_accepted")
    assert "evil@client.test" not in {event["from"] for event in accepted}


def ids_of(name):
    """Of test_cve_2019_10149_and_13917_and_2020_7247_...: 2019-10149, 2019-13917, 2020-7247."""
    year = ""
    for word in re.match(r"test_cve_((?:\d+_(?:and_)?)+)", name).group(1).split("_"):
        if re.fullmatch(r"20\d\d", word):
            year = word
        elif word.isdigit():
            yield f"{year}-{word}"


def test_the_page_tells_of_every_case():
    with open(os.path.join(ROOT, "doc", "published-flaws.md"), encoding="utf-8") as page:
        told = {f"{year}-{number}" for year, numbers
                in re.findall(r"CVE-(\d+)-(\d+(?:, -\d+)*)", page.read())
                for number in re.findall(r"\d+", numbers)}
    tried = set()
    for name in FILES:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
            for case in re.findall(r"^def (test_cve_\w+)", file.read(), re.M):
                tried |= set(ids_of(case))
    assert len(tried) > 30 and tried <= told


def test_record(request):
    """Behind the others."""
    cases = [item for item in request.session.items if item.originalname.startswith("test_cve_")]
    print(record(
        "published-flaws", title="Published flaws of other mail systems",
        what="Flaws published for the parsers of other mail systems, tried on ours; "
             "doc/published-flaws.md.",
        command="tests/e2e/run " + " ".join("tests/e2e/" + name for name in FILES),
        counts={"flaws": len({one for case in cases for one in ids_of(case.originalname)}),
                "cases": len(cases),
                "failed": sum(not getattr(case, "was_successful", True) for case in cases)},
        zero=("failed",), seconds=time.monotonic() - BEGIN))
