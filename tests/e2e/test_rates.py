# SPDX-License-Identifier: ISC
"""Sections rate: how much clients may do in a time, in all processes together."""

import smtplib
import socket
import time

import pytest
import qmtp
from smtp import Client
from stagepost import PATIENCE, free_port, wait_until
from test_submission_auth import ANN, PASSWORD, Site

TEXT = b"Subject: hello\r\n\r\nHello.\r\n"
TO = "bob@a.test"


def deliver(client, sender="lisa@b.test", to=TO):
    reply = client.deliver(sender, [to], TEXT)
    if not reply.startswith("250 "):
        client.rset()
    return reply


def test_connections_of_an_address(node):
    """Both workers count together; another address, and who has waited, may connect."""
    mx = node(settings="rate r { count = connections limit = 5 interval = 1h answer = close }\n"
              "smtpd_workers = 3\n")
    for _ in range(5):
        Client(mx, source="127.0.0.9").close()
    with pytest.raises(smtplib.SMTPConnectError) as refused:
        Client(mx, source="127.0.0.9")
    assert refused.value.smtp_code == 421
    assert refused.value.smtp_error == b"mx.stagepost.test You connect too often, try again later"
    Client(mx, source="127.0.0.10").close()
    found = mx.log.wait("rate_exceeded")
    assert found["rate"] == "r" and found["client"] == "127.0.0.9" and found["answer"] == "close"
    assert 0 < int(found["wait"]) <= 2 * 3600


def test_the_window_slides(node):
    mx = node(settings="rate r { count = messages limit = 3 interval = 2s }\n")
    with Client(mx) as client:
        begin = time.monotonic()
        sent = 0
        while sent < 12:
            reply = deliver(client)
            assert reply.startswith("250 ") or \
                reply == "450 4.7.1 You send too many messages, try again later", reply
            sent += reply.startswith("250 ")
            time.sleep(0.02)
        # 3 each two seconds, and 3 at once at the most
        assert time.monotonic() - begin >= (12 - 3 - 3) / 3 * 2
    mx.maildir(TO).wait(12)


def test_recipients_are_deferred_one_by_one(node):
    """The session goes on, and what was accepted is delivered."""
    mx = node(settings="rate r { count = recipients limit = 3 interval = 1h }\n")
    with Client(mx) as client:
        client.mail("lisa@b.test")
        replies = [client.rcpt(f"u{number}@a.test") for number in range(5)]
        assert [code for code, _ in replies] == [250, 250, 250, 450, 450]
        assert replies[3][1] == b"4.7.1 You send to too many recipients, try again later"
        assert client.data(TEXT)[0] == 250
        assert client.noop()[0] == 250
    for number in range(3):
        mx.maildir(f"u{number}@a.test").wait()
    assert len(mx.log.find("rate_exceeded")) == 1


def test_close_ends_the_session(node):
    """Also amid pipelined commands: the one that is too many is the last."""
    mx = node(settings="rate r { count = recipients limit = 2 interval = 1h answer = close }\n")
    with socket.create_connection((mx.address, mx.port), PATIENCE) as client:
        client.settimeout(PATIENCE)
        stream = client.makefile("rb")
        assert stream.readline().startswith(b"220 ")
        client.sendall(b"EHLO me\r\n")
        while not stream.readline().startswith(b"250 "):
            pass
        client.sendall(b"MAIL FROM:<lisa@b.test>\r\n" +
                       b"".join(b"RCPT TO:<u%d@a.test>\r\n" % number for number in range(4)))
        replies = stream.read().splitlines()
    assert [reply[:3] for reply in replies] == [b"250", b"250", b"250", b"450", b"421"]


def test_slow_replies_wait(node):
    """For as long as it takes, while other clients are served."""
    mx = node(settings="rate r { count = messages limit = 2 interval = 1s answer = slow }\n")
    with Client(mx) as client, Client(mx, source="127.0.0.2") as other:
        begin = time.monotonic()
        for _ in range(8):
            assert deliver(client).startswith("250 ")
        taken = time.monotonic() - begin
        begin = time.monotonic()
        assert deliver(other).startswith("250 ")
        assert time.monotonic() - begin < taken
    assert taken >= (8 - 2 - 2) / 2
    assert mx.log.wait("rate_exceeded")["answer"] == "slow"
    mx.maildir(TO).wait(9)


def test_a_client_that_leaves_while_its_reply_waits(node):
    mx = node(settings="rate r { count = messages limit = 1 interval = 1h answer = slow }\n")
    client = Client(mx)
    assert deliver(client).startswith("250 ")
    client.mail("lisa@b.test")
    client.rcpt(TO)
    client.sock.sendall(b"DATA\r\n")
    mx.log.wait("rate_exceeded")
    client.close()
    mx.stop()
    assert not mx.log.find("process_ended")


def test_bytes_that_were_queued(node):
    mx = node(settings="rate r { count = bytes limit = 100K interval = 1h }\n")
    with Client(mx) as client:
        text = TEXT + b"0123456789012345678901234567890123456789012345678901234567890\r\n" * 1000
        assert client.deliver("lisa@b.test", [TO], text).startswith("250 ")
        assert client.deliver("lisa@b.test", [TO], text).startswith("250 ")
        assert deliver(client) == "450 4.7.1 You send too much, try again later"


def test_refused_commands(node):
    mx = node(settings="rate r { count = refusals limit = 3 interval = 1h answer = close }\n"
              "maxerrors = 100\n")
    client = Client(mx, source="127.0.0.3")
    codes = [client.docmd("NONSENSE")[0] for _ in range(4)]
    assert codes == [500] * 4
    assert client.getreply()[0] == 421
    with pytest.raises(smtplib.SMTPConnectError):
        Client(mx, source="127.0.0.3")
    with Client(mx, source="127.0.0.4") as other:
        assert deliver(other).startswith("250 ")


def test_domains_of_senders(node):
    """From any address, in any case; the empty sender has none."""
    mx = node(settings="rate r { count = messages per = sender_domain limit = 2 interval = 1h }\n")
    with Client(mx) as one, Client(mx, source="127.0.0.2") as two:
        assert deliver(one, "a@b.test").startswith("250 ")
        assert deliver(two, "b@B.Test").startswith("250 ")
        assert deliver(one, "c@b.test").startswith("450 4.7.1 ")
        assert deliver(two, "a@c.test").startswith("250 ")
        for _ in range(3):
            assert deliver(one, "").startswith("250 ")


def test_all_together(node):
    mx = node(settings="rate r { count = messages per = all limit = 3 interval = 1h }\n")
    codes = []
    for number in range(5):
        with Client(mx, source=f"127.0.0.{number + 1}") as client:
            codes.append(deliver(client, f"a@d{number}.test")[:3])
    assert codes == ["250"] * 3 + ["450"] * 2


def test_qmtp_counts_with_smtp(node):
    port = free_port()
    mx = node(settings="rate r { count = messages limit = 3 interval = 1h }\n"
              f'listen qmtp {{ address = "127.0.0.1:{port}" }}\n')
    with Client(mx) as client:
        assert deliver(client).startswith("250 ")
    with qmtp.Wire(port) as client:
        replies = [client.deliver(TEXT, "lisa@b.test", [TO]) for _ in range(3)]
    assert [[reply[:1] for reply in each] for each in replies] == [["K"], ["K"], ["Z"]]


def test_a_killed_worker_forgets_nothing(node):
    mx = node(settings="rate r { count = messages limit = 4 interval = 1h }\nsmtpd_workers = 1\n")
    with Client(mx) as client:
        for _ in range(4):
            assert deliver(client).startswith("250 ")
    mx.kill_and_wait("smtpd")

    def is_back():
        try:
            Client(mx).close()
            return True
        except (OSError, smtplib.SMTPException):
            return False

    wait_until(is_back, "smtpd is back", PATIENCE)
    with Client(mx) as client:
        assert deliver(client).startswith("450 4.7.1 ")


def test_a_reload_changes_the_limit(node):
    """Of the same name and interval: what came before counts."""
    mx = node(settings="rate r { count = messages limit = 2 interval = 1h }\n")
    with Client(mx) as client:
        assert deliver(client).startswith("250 ")
        assert deliver(client).startswith("250 ")
        assert deliver(client).startswith("450 4.7.1 ")
        mx.settings = "rate r { count = messages limit = 3 interval = 1h }\n"
        mx.write_configuration()
        mx.reload()
        wait_until(lambda: deliver(client).startswith("250 "), "the new limit holds", PATIENCE)
        assert deliver(client).startswith("450 4.7.1 ")
        mx.settings = ""
        mx.write_configuration()
        mx.reload()
        wait_until(lambda: deliver(client).startswith("250 "), "nothing is limited", PATIENCE)


def test_users_and_their_logins(node, ground):
    site = Site(node, ground, more="rate u { count = messages per = user limit = 2 interval = 1h }\n"
                "rate l { count = failed_logins limit = 1 interval = 1h }\n")
    with site.client() as client:
        client.login("ann", PASSWORD)
        for _ in range(2):
            client.sendmail(ANN, [TO], f"From: {ANN}\r\n\r\nhello\r\n")
        with pytest.raises(smtplib.SMTPDataError) as refused:
            client.sendmail(ANN, [TO], f"From: {ANN}\r\n\r\nhello\r\n")
        assert refused.value.smtp_code == 450
    with site.client() as client:
        with pytest.raises(smtplib.SMTPAuthenticationError) as failed:
            client.login("ann", "wrong")  # by two mechanisms
        assert failed.value.smtp_code == 535
        with pytest.raises(smtplib.SMTPAuthenticationError) as failed:
            client.login("ann", PASSWORD)
        assert failed.value.smtp_code == 454
