# SPDX-License-Identifier: ISC
"""Messages for servers that do not offer 8BITMIME, read again by Python's email package."""

import email
import email.policy
import os
import random
import tempfile
from email.message import EmailMessage

import pytest
from lmtp import Server
from smtp import deliver

SENDER = "anna@a.test"
WORDS = "Grüße aus Köln, 日本語の文章, naïve façade — “quoted” =3D . .. \t end ".split(" ")
SIGNED = (b'Content-Type: multipart/signed; boundary=b; protocol="application/pgp-signature"\r\n'
          b"MIME-Version: 1.0\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n"
          b"Content-Transfer-Encoding: 8bit\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n"
          b"--b\r\nContent-Type: application/pgp-signature\r\n\r\nxxx\r\n--b--\r\n")


class SevenBits(Server):
    """Refuses what has a byte over 127 or a line over 998 bytes."""

    def __init__(self, **behaviour):
        super().__init__(final=self.judge, offers=("SIZE 30000000",), **behaviour)
        self.text = b""

    def _keep(self, recipients, text):
        self.text = text
        return super()._keep(recipients, text)

    def judge(self, address):
        if max(self.text) > 127:
            return "554 5.6.0 8-bit data"
        if max(map(len, self.text.split(b"\r\n"))) > 998:
            return "500 5.5.0 line too long"
        return f"250 2.0.0 <{address}> saved"


@pytest.fixture
def hop():
    made = SevenBits()
    yield made
    made.close()


@pytest.fixture
def mx(node, hop):
    return node(routes=[route_to(hop)])


def route_to(hop):
    return f"d.test:{hop.address.replace(':', ';')}"


def sent(hop):
    """What the hop got last, without trace headers."""
    return hop.text[hop.text.index(b"X-Test:"):]


def leaves(message):
    """(type, file name, content) of each part that has no parts."""
    return [(part.get_content_type(), part.get_filename(), part.get_payload(decode=True))
            for part in message.walk() if not part.is_multipart()]


def parse(text):
    return email.message_from_bytes(text, policy=email.policy.SMTP)


def words(chance, count):
    return " ".join(chance.choice(WORDS) for _ in range(count))


def body(chance):
    return "".join(words(chance, chance.randrange(40)) + "\n" for _ in range(chance.randrange(1, 30)))


def message_of(chance, depth=0):
    """Text and data in many shapes, all with the encoding 8bit."""
    message = EmailMessage(policy=email.policy.SMTP.clone(max_line_length=200))
    message["X-Test"] = "yes"
    message["Subject"] = f"shape {chance.randrange(1000)}"
    message.set_content(body(chance), cte="8bit", charset="utf-8")
    if chance.random() < 0.5:
        message.add_alternative(f"<p>{body(chance)}</p>", subtype="html", cte="8bit")
    if chance.random() < 0.5:
        message.add_attachment(chance.randbytes(chance.randrange(3000)), maintype="application",
                               subtype="octet-stream", filename="data.bin", cte="base64")
    if chance.random() < 0.5 and depth < 3:
        message.add_attachment(message_of(chance, depth + 1), cte="8bit")
    if chance.random() < 0.3:
        message.add_attachment("x" * chance.randrange(900, 3000) + "é\n", cte="8bit")
    return message


@pytest.mark.parametrize("seed", range(12))
def test_messages_mean_the_same(mx, hop, seed):
    original = b"X-Test: yes\r\n" + message_of(random.Random(seed)).as_bytes().replace(
        b"X-Test: yes\r\n", b"", 1)
    assert max(original) > 127
    deliver(mx, ["u@d.test"], original, sender=SENDER)
    mx.log.wait("delivered", to="u@d.test")
    assert leaves(parse(sent(hop))) == leaves(parse(original))
    assert "SIZE=%d" % len(hop.text) in hop.commands[-1].split()
    assert "BODY" not in hop.commands[-1]
    mx.wait_empty()


def test_what_needs_nothing_stays(mx, hop):
    original = (b"X-Test: yes\r\nContent-Type: text/plain; charset=utf-8\r\n"
                b"Content-Transfer-Encoding: 8bit\r\n\r\nplain =  \r\n.dot\r\n")
    deliver(mx, ["u@d.test"], original, sender=SENDER)
    mx.log.wait("delivered", to="u@d.test")
    assert sent(hop) == original
    assert "SIZE=%d" % len(hop.text) in hop.commands[-1].split()


def test_long_lines_are_broken_and_kept(node, hop):
    """The hop gets short lines, the mailbox the message as it is."""
    mx = node(routes=[route_to(hop)])
    original = b"X-Test: " + b"y" * 3000 + b"\r\n\r\n" + b"x" * 998 + b"\r\n" + b"z" * 999 + b"\r\n"
    deliver(mx, ["u@d.test", "u@a.test"], original, sender=SENDER)
    mx.log.wait("delivered", to="u@d.test")
    broken = sent(hop)
    assert broken.replace(b"\r\n ", b"") == original
    assert [len(line) for line in broken.split(b"\r\n")] == [998, 998, 998, 17, 0, 998, 998, 2, 0]
    assert "SIZE=%d" % len(hop.text) in hop.commands[-1].split()
    (stored,) = mx.maildir("u@a.test").wait()
    assert stored.endswith(original.replace(b"\r\n", b"\n"))


@pytest.mark.parametrize("text, why", [
    (b"X-Test: yes\r\n" + SIGNED, "signed"),
    (b"X-Test: yes\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed\r\n\r\n\xc3\xbc\r\n",
     "parts"),
], ids=["signed", "unparsed"])
def test_what_cannot_be_converted_bounces(mx, hop, text, why):
    deliver(mx, ["u@d.test"], text, sender=SENDER)
    failed = mx.log.wait("failed", to="u@d.test")
    assert failed["status"] == "5.6.3" and why in failed["text"] and "8BITMIME" in failed["text"]
    (bounce,) = mx.maildir(SENDER).wait()
    assert b"5.6.3" in bounce and b"Action: failed" in bounce
    assert not hop.commands and not hop.messages
    mx.wait_empty()


def test_a_setting_sends_it_as_it_is(node):
    hop = Server(offers=())
    try:
        mx = node(settings="convert_8bit = no\n",
                  routes=[route_to(hop)])
        deliver(mx, ["u@d.test"], SIGNED, sender=SENDER)
        mx.log.wait("delivered", to="u@d.test")
        assert hop.messages[0][1].endswith(SIGNED)
    finally:
        hop.close()


def test_an_lmtp_server_gets_7_bits_and_long_lines(node):
    with tempfile.TemporaryDirectory(prefix="lmtp-") as directory:
        os.chmod(directory, 0o755)
        server = Server(os.path.join(directory, "socket"), offers=())
        try:
            mx = node(domains=['domain "box.test" { service = box }'],
                      settings=f'service box {{ kind = lmtp address = "{server.address}" }}\n')
            long_line = b"X-Long: " + b"x" * 2000 + b"\r\n"
            deliver(mx, ["u@box.test"], long_line + b"\r\n\xc3\xbc\r\n", sender=SENDER)
            mx.log.wait("delivered", to="u@box.test")
            ((_, text),) = server.messages
            assert long_line in text and text.endswith(b"\r\n\r\n=C3=BC\r\n")
        finally:
            server.close()


def test_a_large_message(mx, hop):
    """More than is looked at in one go."""
    line = "é" * 20 + "x" * 30 + "\r\n"
    text = (line * (6 * 2**20 // len(line.encode()))).encode()
    original = (b"X-Test: yes\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
                b"Content-Transfer-Encoding: 8bit\r\n\r\n" + text)
    deliver(mx, ["u@d.test"], original, sender=SENDER)
    mx.log.wait("delivered", to="u@d.test", timeout=60)
    assert parse(sent(hop)).get_payload(decode=True) == text
    assert "SIZE=%d" % len(hop.text) in hop.commands[-1].split()
