# SPDX-License-Identifier: ISC
"""Messages of users' programs are completed and put right while they come in (RFC 6409 section 8)."""

import email
import email.policy
import os
import smtplib
import subprocess

import pytest
from smtp import Client, deliver
from stagepost import PATIENCE, as_user, free_port, split_trace

ANNA, BOB, HIDDEN = "anna@a.test", "bob@a.test", "hidden@a.test"


class Desk:
    """A node that takes users' messages, and those of others."""

    def __init__(self, node, more=""):
        self.port = free_port()
        self.mx = node(domains=['domain "a.test" { service = maildir '
                                "addresses = { anna, bob, hidden } }"],
                       settings="default_domain = a.test\n"
                                f'listen submission {{ address = "127.0.0.1:{self.port}" {more} }}\n')

    def client(self):
        made = smtplib.SMTP("127.0.0.1", self.port, timeout=PATIENCE)
        made.ehlo("client.test")
        return made

    def send(self, text, to=(BOB,), sender=ANNA):
        """The message as it is stored for the last of TO, parsed, and its bytes. TEXT goes over the
        wire as it is, but for dots."""
        with self.client() as client:
            assert client.docmd(f"MAIL FROM:<{sender}>")[0] == 250
            for address in to:
                assert client.docmd(f"RCPT TO:<{address}>")[0] == 250
            assert client.docmd("DATA")[0] == 354
            client.sock.sendall(text + b"\r\n.\r\n")
            code, said = client.getreply()
            assert code == 250, said
        stored = self.mx.maildir(to[-1]).wait()[-1]
        return email.message_from_bytes(stored, policy=email.policy.default), stored


@pytest.fixture
def desk(node):
    return Desk(node)


def test_what_lacks_is_added(desk):
    mail, _ = desk.send(b"To: Lisa <lisa@b.test>, bob\r\nCc: Doe, Lisa <lisa@b.test>\r\n"
                        b"Subject: x\r\n\r\nbody")
    for name in ("Date", "From", "Message-ID", "Subject"):
        assert len(mail.get_all(name)) == 1
    assert mail["Date"].datetime
    assert mail["From"] == ANNA and mail["To"] == "Lisa <lisa@b.test>, bob@a.test"
    assert mail["Cc"] == "Doe, Lisa <lisa@b.test>"  # part of a name, perhaps
    accepted = desk.mx.log.wait("message_accepted")
    assert mail["Message-ID"] == accepted["message_id"] and len(accepted["message_id"]) > 10


def test_what_is_there_stays(desk):
    text = (b"Date: Fri, 20 Nov 2026 08:33:11 +0000\r\nFrom: \"A\" <anna@a.test>\r\n"
            b"message-id: <1@client.test>\r\nX: 1\r\n\r\nbody\r\n")
    _, stored = desk.send(text[:-2])
    split_trace(stored, text.replace(b"\r\n", b"\n"))


def test_blind_copies_stay_blind(desk):
    for to in ((HIDDEN, BOB), (BOB, HIDDEN)):
        mail, stored = desk.send(b"Bcc: hidden@a.test,\r\n other@a.test\r\nResent-Bcc: x\r\n"
                                 b"Return-Path: <forged@a.test>\r\nSubject: x\r\n\r\nbody", to)
        assert "Bcc" not in mail and "Resent-Bcc" not in mail and b"other@" not in stored
        assert mail.get_all("Return-Path") == [f"<{ANNA}>"]
        assert b"hidden" not in stored.split(b"Subject", 1)[1]


def test_a_message_without_a_header(desk):
    mail, _ = desk.send(b"just text")
    assert mail["From"] == ANNA and mail.get_payload() == "just text\n"


def test_8_bit_text_in_the_header(desk):
    mail, stored = desk.send("From: J\u00f6rg <anna@a.test>\r\nSubject: Gr\u00fc\u00dfe aus K\u00f6ln"
                             "\r\n\r\nsch\u00f6n".encode())
    header = stored.split(b"\n\n", 1)[0]
    assert max(header) < 0x80
    assert mail["Subject"] == "Gr\u00fc\u00dfe aus K\u00f6ln"
    assert mail["From"].addresses[0].display_name == "J\u00f6rg"
    assert "sch\u00f6n".encode() in stored


def test_lines_that_are_too_long(desk):
    words = b"word " * 300
    letters = b"x" * 2500
    _, stored = desk.send(b"Subject: " + words + b"\r\n\r\n" + words + b"\r\n" + letters)
    assert max(map(len, stored.split(b"\n"))) <= 998
    body = stored.split(b"\n\n", 1)[1]
    assert body.replace(b"\n", b"").startswith(words)
    assert body.replace(b"\n", b"").replace(b" ", b"").endswith(letters)


def test_a_signature_that_is_broken_is_logged(desk):
    """By breaking a line, and not otherwise."""
    signed = b"DKIM-Signature: v=1\r\nSubject: x\r\n\r\n"
    desk.send(signed + b"x" * 998)
    assert not desk.mx.log.find("signature_broken")
    desk.send(signed + b"x" * 2000)
    desk.mx.log.wait("signature_broken")


def test_line_ends_of_all_kinds(desk):
    _, stored = desk.send(b"Subject: x\nX-A: 1\r\n\nbody\rone\r\r\ntwo\nthree")
    assert stored.endswith(b"\n\nbody one\ntwo\nthree\n") and b"X-A: 1\n" in stored


def test_all_of_it_can_be_left_alone(node):
    desk = Desk(node, "submission = no repair = no bare_newline = reject")
    text = b"Bcc: hidden@a.test\r\nSubject: \xc3\xa9\r\nX: " + b"y" * 1500 + b"\r\n\r\nbody\r\n"
    _, stored = desk.send(text[:-2])
    split_trace(stored, text.replace(b"\r\n", b"\n"))


def test_others_are_left_alone_but_for_return_path(desk):
    text = b"Bcc: hidden@a.test\r\nSubject: \xc3\xa9\r\nX: " + b"y" * 1500 + b"\r\n\r\nbody\r\n"
    reply = deliver(desk.mx, BOB, b"Return-Path: <forged@a.test>\r\n" + text)
    (stored,) = desk.mx.maildir(BOB).wait()
    split_trace(stored, text.replace(b"\r\n", b"\n"))
    assert b"forged" not in stored and (reply is None or "250" in str(reply))


def test_a_large_message_by_bdat(desk):
    """Its header is as long as a client likes, and the rest goes to a file."""
    header = b"".join(b"X-%d: %s\r\n" % (n, b"h" * 300) for n in range(1000))
    body = (b"z" * 76 + b"\r\n") * 20_000
    text = header + b"Bcc: hidden@a.test\r\n\r\n" + body
    with desk.client() as client:
        assert client.docmd(f"MAIL FROM:<{ANNA}>")[0] == 250
        assert client.docmd(f"RCPT TO:<{BOB}>")[0] == 250
        half = len(text) // 2
        for part, last in ((text[:half], ""), (text[half:], " LAST")):
            client.sock.sendall(b"BDAT %d%s\r\n" % (len(part), last.encode()) + part)
            assert client.getreply()[0] == 250
    (stored,) = desk.mx.maildir(BOB).wait()
    assert header.replace(b"\r\n", b"\n") in stored and b"hidden" not in stored
    assert stored.endswith(body.replace(b"\r\n", b"\n")) and b"\nMessage-ID: " in stored


def test_unknown_recipients_are_refused_at_once(desk):
    with desk.client() as client:
        assert client.docmd(f"MAIL FROM:<{ANNA}>")[0] == 250
        code, said = client.docmd("RCPT TO:<nobody@a.test>")
        assert code == 550 and said.startswith(b"5.1.1")


def test_curl(desk):
    path = os.path.join(desk.mx.directory, "mail.txt")
    with open(path, "wb") as file:
        file.write(b"To: bob\nBcc: hidden@a.test\nSubject: curl\n\nbody\n")
    os.chmod(path, 0o644)
    subprocess.run([*as_user(), "curl", "--silent", "--show-error", "--url",
                    f"smtp://127.0.0.1:{desk.port}/client.test", "--mail-from", ANNA,
                    "--mail-rcpt", BOB, "--upload-file", path], check=True, timeout=PATIENCE)
    (stored,) = desk.mx.maildir(BOB).wait()
    mail = email.message_from_bytes(stored, policy=email.policy.default)
    assert mail["To"] == BOB and mail["From"] == ANNA and "Bcc" not in mail


def test_smtp_from_others_may_be_completed_too(node):
    """By the setting, for a listener of any protocol."""
    mx = node(listen="submission = yes repair = no")
    with Client(mx) as client:
        assert client.deliver(ANNA, BOB, b"Subject: x\r\n\r\nbody\r\n").startswith("250 ")
    (stored,) = mx.maildir(BOB).wait()
    assert b"\nFrom: anna@a.test\n" in stored
