# SPDX-License-Identifier: ISC
"""Sections rate: how much clients may do in a time, in all processes together."""

import base64
import json
import os
import smtplib
import socket
import struct
import subprocess
import time

import pytest
import qmtp
from directory_tls import make_certificates
from smtp import Client
from stagepost import PATIENCE, as_user, free_port, wait_until
from test_submission_auth import ANN, PASSWORD, Site, scram

TEXT = b"Subject: hello\r\n\r\nHello.\r\n"
TO = "bob@a.test"
SEGMENTS_IN = 140  # where struct tcp_info has tcpi_segs_in


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
    with socket.create_connection((mx.address, mx.port), PATIENCE, source_address=("127.0.0.9", 0)) as wire:
        while wire.recv(4096):
            continue
        info = wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SEGMENTS_IN + 4)
        # after that of the connection one more: the reply goes with the end
        assert struct.unpack_from("I", info, SEGMENTS_IN) == (2,)
    Client(mx, source="127.0.0.10").close()
    found = mx.log.wait("rate_exceeded")
    assert (found["counts"], found["limit"]) == ("connections", "5")
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
            time.sleep(0.2)  # smtpd ends sessions with too many commands and no message
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


@pytest.mark.parametrize("answer", ["slow", "defer", "close"])
def test_pipelined_packages(node, answer):
    """Each has its answer, in order, while others are being committed; the connection of close ends as soon
    as what was accepted is answered."""
    port = free_port()
    interval = "2s" if answer == "slow" else "1h"
    mx = node(settings=f"rate r {{ count = messages limit = 3 interval = {interval} answer = {answer} }}\n"
              f'listen qmtp {{ address = "127.0.0.1:{port}" }}\n')
    with qmtp.Wire(port) as client:
        client.send(b"".join(qmtp.package(TEXT, "lisa@b.test", [TO]) for _ in range(6)))
        replies = "".join(reply[:1] for reply in client.answers(6 if answer != "close" else 4))
        assert replies == {"slow": "KKKKKK", "defer": "KKKZZZ", "close": "KKKZ"}[answer]
        if answer != "close":
            assert client.deliver(TEXT, "lisa@b.test", [TO])[0][:1] == replies[-1]
            return
        with pytest.raises((EOFError, ConnectionResetError)):
            while True:
                assert client.answer()[:1] == "Z"
    mx.maildir(TO).wait(3)


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


def test_who_does_not_wait_for_the_end_of_a_login_has_failed(node, ground):
    """A wrong token is answered by a challenge."""
    keys = make_certificates(ground.directory("tokens"), "issuer.test")
    site = Site(node, ground, more="rate l { count = failed_logins limit = 1 interval = 1h }\n"
                f'auth {{ token_keys = {{ "{keys}/issuer.test.pem" }} '
                'token_issuer = "https://issuer.test/" token_audience = "mail" }\n')
    wrong = base64.b64encode(b"user=ann\1auth=Bearer x.y.z\1\1").decode()
    with site.client() as client:
        for _ in range(2):
            assert client.docmd("AUTH", f"XOAUTH2 {wrong}")[0] == 334
            assert client.docmd("*")[0] == 501
        with pytest.raises(smtplib.SMTPAuthenticationError) as failed:
            client.login("ann", PASSWORD)
        assert failed.value.smtp_code == 454


class Amid(smtplib.SMTP):
    """Calls BEFORE_LAST before the last line of a login by SCRAM, which is the second."""

    before_last = None

    def docmd(self, cmd, args=""):
        if cmd != "AUTH" and self.before_last is not None:
            do, self.before_last = self.before_last, None
            do()
        return super().docmd(cmd, args)


def fail_to_log_in(site, times):
    with site.client() as client:
        for _ in range(times):
            assert scram(client, "SCRAM-SHA-256", "ann", "wrong")[0] == 535


def test_a_login_is_judged_when_it_begins(node, ground):
    """Each message of SCRAM is a question; what others do meanwhile does not end the exchange."""
    site = Site(node, ground, more="rate l { count = failed_logins limit = 1 interval = 1h }\n")
    with site.client() as client:
        client.__class__ = Amid
        client.before_last = lambda: fail_to_log_in(site, 2)
        assert scram(client, "SCRAM-SHA-256", "ann", PASSWORD)[0] == 235
    with pytest.raises(smtplib.SMTPConnectError):
        site.client()


def test_a_login_that_waits_when_the_service_stops(node, ground):
    site = Site(node, ground, more="rate l { count = failed_logins limit = 1 interval = 1h answer = slow }\n")
    with site.client() as client:
        fail_to_log_in(site, 2)
        client.sock.sendall(b"AUTH SCRAM-SHA-256 biws\r\n")
        wait_until(lambda: len(site.mx.log.find("rate_exceeded")) == 2, "it waits", PATIENCE)
        site.mx.stop()
        assert client.getreply()[0] == 454
        assert client.getreply()[0] == 421
    assert not site.mx.log.find("process_ended")


@pytest.mark.parametrize("answer", ["slow", "close"])
def test_a_client_that_waits_for_a_handshake_is_told_nothing_in_plain_text(node, ground, answer):
    """Nor when the service stops while its connection is held back."""
    site = Site(node, ground,
                more=f"rate c {{ count = connections limit = 1 interval = 1h answer = {answer} }}\n")
    socket.create_connection(("127.0.0.1", site.implicit_port), PATIENCE).close()
    with socket.create_connection(("127.0.0.1", site.implicit_port), PATIENCE) as client:
        client.settimeout(PATIENCE)
        site.mx.log.wait("rate_exceeded")
        site.mx.stop()
        assert client.recv(1000) == b""
    assert not site.mx.log.find("process_ended")


def test_a_reload_names_each_rate_once_more(node):
    """A line for each section and session: of the sections that are in force."""
    first = "rate a { count = recipients limit = 1 interval = 1h }\n"
    mx = node(settings=first)
    with Client(mx) as client:
        client.mail("lisa@b.test")
        assert [client.rcpt(TO)[0] for _ in range(3)] == [250, 450, 450]
        mx.settings = "rate b { count = recipients limit = 1 interval = 1h }\n" + first
        mx.write_configuration()
        mx.reload()
        wait_until(lambda: client.rcpt(TO)[0] == 250 or len(mx.log.find("rate_exceeded")) > 1,
                   "the new section holds", PATIENCE)
        for _ in range(3):
            client.rcpt(TO)
        wait_until(lambda: len(mx.log.find("rate_exceeded")) >= 2, "it is in the log", PATIENCE)


# --- stagepost limits ---

def tell(mx, *options):
    return subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), "limits", *options, "-c", mx.conf],
                          check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.splitlines()


def test_what_limits_tells(node):
    """Of all processes together, also after one was killed, and of a section that a reload keeps."""
    rates = ("rate far { count = messages per = sender_domain limit = 100G interval = 31d }\n"
             "rate near { count = recipients limit = 2 interval = 1h }\n")
    mx = node(settings=rates)
    for number in range(4):
        with Client(mx, source=f"127.0.0.{number + 1}") as client:
            for name in ("bob", "ann", "lea"):
                client.mail(f"lisa@d{number}.test")
                client.rcpt(f"{name}@a.test")
            assert client.rset()[0] == 250
    head = {"rate": "near", "count": "recipients", "per": "address", "limit": 2, "interval": 3600}

    def near():
        *_, line = map(json.loads, tell(mx, "--json"))
        keys = line.pop("keys")
        exceeded = line.pop("exceeded")
        assert line == head and 1 <= keys <= 4
        return exceeded

    assert near() == 4
    mx.kill_and_wait("smtpd")
    assert near() == 4
    mx.settings = "rate new { count = messages limit = 1 interval = 1h }\n" + rates
    mx.write_configuration()
    mx.reload()
    wait_until(lambda: len(tell(mx, "--json")) == 3, "the new section is in force", PATIENCE)
    assert near() == 4
    none, _, names, new, far, _ = tell(mx)
    assert none == "there are no classes: sessions are not limited"
    assert names.split() == ["rate", "count", "per", "limit", "interval", "keys", "exceeded"]
    assert new.split()[:5] == ["new", "messages", "address", "1", "3600"]
    assert far.split()[:5] == ["far", "messages", "sender_domain", str(100 << 30), str(31 * 86400)]
