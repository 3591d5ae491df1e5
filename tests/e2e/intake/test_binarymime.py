# SPDX-License-Identifier: ISC
"""Messages whose bodies have any bytes (BINARYMIME, RFC 3030) go byte for byte from host to host, or back."""

import email
import pathlib

import pytest
from smtp import Client
from stagepost import free_port

ANNA, BOB, FAR = "anna@a.test", "bob@a.test", "x@far.test"
HEADER = (b"Subject: any bytes\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n"
          b"Content-Transfer-Encoding: binary\r\n\r\n")
# What would be the end of a message by DATA, and the beginning of another one.
SMUGGLED = b"\r\n.\r\nMAIL FROM:<evil@a.test>\r\nRCPT TO:<bob@a.test>\r\nDATA\r\nSubject: evil\r\n\r\n.\r\n"
SMALL = bytes(range(256)) + SMUGGLED + b"\n.\n\r.\r\n\n\r\0"
LARGE = SMALL * 1000 + b"\n" * 300000
ON = "binarymime = yes\n"


def send(mx, body, to, chunk=1 << 30, header=HEADER):
    """Returns the message's id."""
    mark = mx.log.mark()
    message = header + body
    with Client(mx) as client:
        assert client.has_extn("binarymime")
        assert client.docmd(f"MAIL FROM:<{ANNA}> BODY=BINARYMIME")[0] == 250
        assert client.docmd(f"RCPT TO:<{to}>")[0] == 250
        while message:
            part, message = message[:chunk], message[chunk:]
            client.send(b"BDAT %d%s\r\n" % (len(part), b"" if message else b" LAST") + part)
            assert client.getreply()[0] == 250
    return mx.log.wait("message_accepted", since=mark)["id"]


@pytest.mark.parametrize("body", [SMALL, LARGE, b""], ids=["small", "large", "none"])
def test_it_goes_on_byte_for_byte(node, body):
    last = node(settings=ON, routes=[f"far.test:127.0.0.1;{free_port()}"])
    first = node(settings=ON, routes=[f"far.test:127.0.0.1;{last.port}"])
    send(first, body, FAR, chunk=100001)
    last.log.wait("deferred", to=FAR)
    last.log.wait("message_preprocessed")
    first.wait_empty()
    ((_, data),) = last.queued_messages()
    assert data.endswith(HEADER + body)
    assert len(last.log.find("message_accepted")) == 1
    (control,) = last.control_files().values()
    assert " binarymime" in control


def decoded(mx, address):
    """The body of the one message that is there."""
    (message,) = mx.maildir(address).wait()
    parsed = email.message_from_bytes(message)
    assert parsed["Content-Transfer-Encoding"] == "base64"
    return parsed.get_payload(decode=True)


def test_it_goes_on_to_servers_of_mailboxes(node):
    """Byte for byte; there it is encoded for the mailbox."""
    port = free_port()
    last = node(settings=ON + f'listen lmtp {{ address = "127.0.0.1:{port}" }}\n', domains=["b.test"])
    first = node(settings=ON + f'service mailboxes {{ kind = lmtp  address = "127.0.0.1:{port}" }}\n',
                 domains=['domain "b.test" { service = mailboxes }'])
    send(first, LARGE, "x@b.test")
    assert decoded(last, "x@b.test") == LARGE
    assert int(last.log.find("message_accepted")[0]["size"]) < len(LARGE) + 1000  # less than in base64


SIGNED = b"Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\n"


@pytest.fixture
def program_node(node, ground):
    """Mail for p.test goes to a program, which keeps it in the file."""
    folder = pathlib.Path(ground.directory("program"))
    folder.chmod(0o777)
    kept = folder / "kept"
    return node(settings=ON + 'service run { kind = pipe  command = { "/bin/sh", "-c", '
                f'"cat >{kept}.new && mv {kept}.new {kept}" }} }}\n',
                domains=['domain "p.test" { service = run }', "a.test"]), kept


@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "large"])
def test_mailboxes_and_programs_get_it_encoded(program_node, body):
    mx, kept = program_node
    send(mx, body, BOB, chunk=100001)
    assert decoded(mx, BOB) == body
    mx.log.wait("delivered", id=send(mx, body, "x@p.test", chunk=100001))
    parsed = email.message_from_bytes(kept.read_bytes())
    assert parsed["Content-Transfer-Encoding"] == "base64" and parsed.get_payload(decode=True) == body
    mx.wait_empty()


@pytest.mark.parametrize("to", [BOB, "x@p.test"])
def test_what_they_cannot_get_is_returned(program_node, to):
    """The report has the header only."""
    mx, kept = program_node
    message = send(mx, SMALL, to, header=b"Subject: any bytes\r\n" + SIGNED)
    assert mx.log.wait("failed", id=message)["status"] == "5.6.3"
    (report,) = mx.maildir(ANNA).wait()
    assert b"Subject: any bytes\n" in report and b"evil" not in report and b"\0" not in report
    assert not mx.maildir(BOB).messages() and not kept.exists()
    mx.wait_empty()


@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "large"])
def test_a_host_that_does_not_offer_it_gets_it_encoded(node, body):
    last = node(domains=["far.test"])
    first = node(settings=ON, routes=[f"far.test:127.0.0.1;{last.port}"])
    send(first, body, FAR)
    assert decoded(last, FAR) == body
    assert len(last.log.find("message_accepted")) == 1


def test_so_does_a_server_of_mailboxes(node):
    port = free_port()
    last = node(settings=f'listen lmtp {{ address = "127.0.0.1:{port}" }}\n', domains=["b.test"])
    first = node(settings=ON + f'service mailboxes {{ kind = lmtp  address = "127.0.0.1:{port}" }}\n',
                 domains=['domain "b.test" { service = mailboxes }'])
    send(first, SMALL, "x@b.test")
    assert decoded(last, "x@b.test") == SMALL


@pytest.mark.parametrize("header, settings", [
    (SIGNED, ""),
    (HEADER, "convert_8bit = no\n")], ids=["signed", "not converted"])
def test_what_must_not_be_encoded_is_returned(node, header, settings):
    last = node(domains=["far.test"])
    first = node(settings=ON + settings, routes=[f"far.test:127.0.0.1;{last.port}"])
    event = first.log.wait("failed", id=send(first, SMALL, FAR, header=header))
    assert event["status"] == "5.6.3" and "does not offer BINARYMIME" in event["text"]
    assert not last.log.find("message_accepted")


def test_it_is_not_offered_by_itself(node):
    with Client(node()) as client:
        assert not client.has_extn("binarymime")
        assert client.docmd(f"MAIL FROM:<{ANNA}> BODY=BINARYMIME")[0] == 501
