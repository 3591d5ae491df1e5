#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Reads bounces with another implementation of MIME: check_bounce.py BOUNCE_SAMPLE."""

import email
import email.policy
import re
import subprocess
import sys

ORIGINAL = (b"From: Lisa <lisa@example.com>\r\nSubject: caf\xc3\xa9\r\nMessage-ID: <1@example.com>\r\n"
            b"\r\nHello\r\n--=_457\r\n.\r\n\r\nlast\xe9\r\n")
FAILURES = [
    ("gone@example.net", "rfc822;sales+2Bx@example.org", "5.1.1",
     "mx.example.net: 550-5.1.1 no such user, " + "and many more words " * 18),
    ("full@example.org", "", "5.2.2", "The mailbox is over its quota"),
    ("odd@example.org", "rfc822;a+0D+0ABcc: eve@example.com", "", "\u00fcber\r\n\r\n<x@y>:\r\nz"),
]


def written(form, ret, max_bytes, original):
    arguments = [form, ret, str(max_bytes), "lisa@example.com",
                 *(word for one in FAILURES for word in one)]
    raw = subprocess.run([sys.argv[1], *arguments], input=original, stdout=subprocess.PIPE,
                         check=True).stdout
    assert raw.count(b"\n") == raw.count(b"\r\n") == raw.count(b"\r"), "a bare CR or LF"
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    return raw


def bounce(ret="full", max_bytes=0, original=ORIGINAL):
    raw = written("report", ret, max_bytes, original)
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert not message.defects, message.defects
    return message


def check_header(message):
    assert message.get_content_type() == "multipart/report"
    assert message.get_param("report-type") == "delivery-status"
    assert message["To"].addresses[0].addr_spec == "lisa@example.com"
    assert message["From"].addresses[0].addr_spec == "MAILER-DAEMON@mx1.example.org"
    assert message["Auto-Submitted"] == "auto-replied"
    assert message["Date"].datetime.isoformat() == "2025-11-20T08:33:15+00:00"
    assert re.fullmatch(r"<[^<>@\s]+@mx1.example.org>", message["Message-ID"])
    assert len(message.keys()) == len(set(message.keys()))


def check_qsbmf(part):
    """The paragraphs of QSBMF: what begins it, one for each recipient, the break."""
    assert part.get_content_type() == "text/plain"
    text = part.get_content().replace("\r\n", "\n")
    paragraphs = text.rstrip("\n").split("\n\n")
    assert paragraphs[0].startswith("Hi. This is the"), text
    recipients = [p.split("\n")[0] for p in paragraphs if p.startswith("<")]
    assert recipients == ["<%s>:" % address for address, *_ in FAILURES], recipients
    assert paragraphs[-1].startswith("-")
    assert not any(p.startswith("-") for p in paragraphs[:-1])
    return text


def check_status(part):
    assert part.get_content_type() == "message/delivery-status"
    whole, *fields = part.get_payload()
    assert whole["Reporting-MTA"] == "dns; mx1.example.org"
    assert whole["Original-Envelope-Id"] == "QQ=314159"
    assert whole["Arrival-Date"] == "Thu, 20 Nov 2025 08:33:10 +0000"
    assert len(fields) == len(FAILURES)
    for field, (address, original, status, text) in zip(fields, FAILURES):
        assert field["Final-Recipient"] == "rfc822; " + address
        assert field["Action"] == "failed"
        assert field["Status"] == (status or "5.0.0")
        assert ("Original-Recipient" in field) == (original != "")
        assert set(field.keys()) <= {"Original-Recipient", "Final-Recipient", "Action", "Status",
                                     "Remote-MTA", "Diagnostic-Code"}
        assert field["Diagnostic-Code"].split() [0] in ("smtp;", "X-Stagepost;")
    assert fields[0]["Original-Recipient"] == "rfc822;sales+x@example.org"
    assert fields[0]["Remote-MTA"] == "dns; mx.example.net"
    unfolded = fields[0]["Diagnostic-Code"].replace("\r\n", "").replace("\n", "")
    assert unfolded == "smtp; " + FAILURES[0][3].split(": ", 1)[1].rstrip()


def check_full():
    message = bounce()
    check_header(message)
    text, status, copy = message.iter_parts()
    check_qsbmf(text)
    check_status(status)
    assert copy.get_content_type() == "message/rfc822"
    assert bytes(copy.get_payload(0)).replace(b"\r\n", b"\n") == ORIGINAL.replace(b"\r\n", b"\n")


def check_headers():
    text, status, copy = bounce(ret="hdrs").iter_parts()
    assert "copy of the message's header" in check_qsbmf(text)
    check_status(status)
    assert copy.get_content_type() == "text/rfc822-headers"
    assert copy["Content-Transfer-Encoding"] == "quoted-printable"
    header = ORIGINAL.split(b"\r\n\r\n")[0] + b"\r\n"
    assert copy.get_payload(decode=True) == header, copy.get_payload(decode=True)


def check_cut():
    whole = len(written("report", "full", 0, ORIGINAL))
    for bound in range(whole - 60, whole + 1):
        size = len(written("report", "full", bound, ORIGINAL))
        text, _, copy = bounce(max_bytes=bound).iter_parts()
        is_cut = "cut after" in check_qsbmf(text)
        assert is_cut == (bound < whole), bound
        if copy.get_content_type() == "message/rfc822":
            found = bytes(copy.get_payload(0))
        else:
            found = copy.get_payload(decode=True)
        found = found.replace(b"\r\n", b"\n")
        assert ORIGINAL.replace(b"\r\n", b"\n").startswith(found)
        assert size <= bound


def check_nested():
    """A bounce of a bounce of a bounce: boundaries stay apart."""
    inner = ORIGINAL
    for _ in range(3):
        message = bounce(original=inner)
        _, _, copy = message.iter_parts()
        inner_again = bytes(copy.get_payload(0))
        assert inner_again.replace(b"\r\n", b"\n") == inner.replace(b"\r\n", b"\n")
        inner = bytes(message).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def read_qsbmf(body):
    """A reader of https://cr.yp.to/proto/qsbmf.txt that forgives nothing: the recipients, each
    with its lines, and the original."""
    assert body.startswith(b"Hi. This is the")
    paragraphs = []
    while not paragraphs or not paragraphs[-1][0].startswith(b"-"):
        lines = []
        while True:
            line, _, body = body.partition(b"\r\n")
            if not line:
                break
            assert line.strip(), "a line of nothing but white space"
            lines.append(line)
        assert lines, "a paragraph without a line"
        paragraphs.append(lines)
    recipients = {}
    for first, *lines in paragraphs[1:-1]:
        assert first.startswith(b"<") and first.endswith(b">:"), first
        assert lines, "no reason"
        recipients[first[1:-2].decode()] = lines
    return recipients, body


def check_strict():
    raw = written("qsbmf", "full", 0, ORIGINAL)
    head, _, body = raw.partition(b"\r\n\r\n")
    header = email.message_from_bytes(head, policy=email.policy.default)
    assert header["To"].addresses[0].addr_spec == "lisa@example.com"
    assert header["Subject"] == "failure notice" and not header.is_multipart()
    recipients, original = read_qsbmf(body)
    assert list(recipients) == [address for address, *_ in FAILURES]
    assert recipients["gone@example.net"][-1].endswith(b"(#5.1.1)")
    assert original == b"Return-Path: <lisa@example.com>\r\n" + ORIGINAL
    for bound in range(len(raw) - 60, len(raw)):
        cut = written("qsbmf", "full", bound, ORIGINAL)
        recipients, original = read_qsbmf(cut.partition(b"\r\n\r\n")[2])
        path, _, original = original.partition(b"\r\n")
        assert len(recipients) == len(FAILURES) and path == b"Return-Path: <lisa@example.com>"
        assert ORIGINAL.startswith(original) and original != ORIGINAL
        assert len(cut) <= bound
    nested = read_qsbmf(written("qsbmf", "full", 0, raw).partition(b"\r\n\r\n")[2])[1]
    assert nested.partition(b"\r\n")[2] == raw


check_full()
check_strict()
check_headers()
check_cut()
check_nested()
