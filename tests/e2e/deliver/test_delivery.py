# SPDX-License-Identifier: ISC
"""What becomes of mail for other hosts."""

import email
import email.policy
import re
import subprocess

import pytest
from dns import NameServer
from exim import Exim
from peers import Lan, Postfix, Sink, smtp_source
from smtp import Client, deliver
from stagepost import as_user, free_port, split_trace, wait_until

TEXT = b"Subject: hello\r\nMessage-ID: <1@client.test>\r\n\r\nA line.\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")


@pytest.fixture(scope="module", params=[Postfix, Exim])
def hop_server(request, ground):
    with request.param(ground.directory("hop"), domain="hop.test") as peer:
        yield peer


@pytest.fixture
def hop(hop_server):
    hop_server.forget()
    yield hop_server
    print(hop_server.log())


def bounce_of(mx, address="anna@a.test"):
    (text,) = mx.maildir(address).wait()
    return email.message_from_bytes(text, policy=email.policy.default)


def parts_of(bounce):
    """Of an RFC 3464 report: its text, the fields for the recipient, the original."""
    assert bounce.get_content_type() == "multipart/report"
    assert bounce.get_param("report-type") == "delivery-status"
    text, status, original = bounce.iter_parts()
    assert status.get_content_type() == "message/delivery-status"
    return text.get_content(), status.get_payload()[1], original


def test_next_hop_takes_it(node, hop):
    mx = node(routes=[f"hop.test:127.0.0.1;{hop.port}"])
    deliver(mx, "bob@hop.test", TEXT)
    split_trace(hop.maildir("bob@hop.test").wait()[0], STORED)
    assert mx.log.wait("delivered", to="bob@hop.test")["by"] == "remote"
    mx.wait_empty()


def test_next_hop_refuses(node, hop):
    mx = node(routes=[f"hop.test:127.0.0.1;{hop.port}"])
    deliver(mx, ["none@hop.test", "bob@hop.test"], TEXT, sender="anna@a.test")
    bounce = bounce_of(mx)
    text, status, original = parts_of(bounce)
    assert bounce["Return-Path"] == "<>" and bounce["To"] == "anna@a.test"
    assert "<MAILER-DAEMON@mx.stagepost.test>" in bounce["From"]
    assert text.startswith("Hi. This is the")  # QSBMF
    assert "\n<none@hop.test>:\n" in text and "bob@hop.test" not in text
    assert status["Final-Recipient"].replace(" ", "") == "rfc822;none@hop.test"
    assert status["Action"] == "failed" and status["Status"] == "5.1.1"
    assert "Subject: hello" in original.as_string()
    hop.maildir("bob@hop.test").wait()
    mx.wait_empty()


def test_next_hop_defers(node, hop):
    mx = node(routes=[f"hop.test:127.0.0.1;{hop.port}"])
    deliver(mx, ["later@hop.test", "bob@hop.test", "full@hop.test"], TEXT)
    assert mx.log.wait("deferred", to="later@hop.test")["status"] == "4.2.0"
    assert mx.log.wait("deferred", to="full@hop.test")["status"] == "4.2.2"
    hop.maildir("bob@hop.test").wait()
    control = wait_until(lambda: next((text for text in mx.control_files().values() if len(
        re.findall(r"^wait: ", text, re.M)) == 2), None), "what was tried is recorded")
    assert re.search(r"^done: \d+ .*2\.0\.0", control, re.M)
    assert not mx.log.find("failed")


def test_mail_waits_for_a_host_that_is_down(node):
    """One message tries it, now and then; the others sleep, also over a restart. When
    it is up they all go at once."""
    port = free_port()
    mx = node(routes=[f"b.test:127.0.0.1;{port}"], settings="probe_delay = 1")
    mark = mx.log.mark()
    deliver(mx, "bob@b.test", TEXT)
    trigger = mx.log.wait("trigger_set")["trigger"]
    for _ in range(50):
        deliver(mx, "bob@b.test", TEXT)
    mx.log.wait("deferred", count=2)  # the first probe failed
    assert "Connection refused" in mx.trigger_files()[trigger]
    mx.restart()
    assert len(mx.control_files()) == 51
    assert len(mx.log.find("deferred", since=mark)) < 25, "all have tried"
    other = node("other", domains=["b.test"], port=port)
    mx.log.wait("trigger_released", trigger=trigger)
    other.maildir("bob@b.test").wait(51)
    mx.wait_empty()
    assert len(other.maildir("bob@b.test").files()) == 51
    assert not mx.trigger_files()


def test_other_mail_passes_by_a_host_that_is_down(node):
    """Also on the same machine, at another port."""
    other = node("other", domains=["c.test"])
    mx = node(routes=[f"b.test:127.0.0.1;{free_port()}", f"c.test:127.0.0.1;{other.port}"])
    deliver(mx, ["anna@a.test", "bob@b.test", "carl@c.test"], TEXT)
    mx.log.wait("trigger_set")
    for _ in range(10):
        deliver(mx, ["anna@a.test", "carl@c.test"], TEXT)
    mx.maildir("anna@a.test").wait(11)
    other.maildir("carl@c.test").wait(11)


def test_mail_is_made_due(node, hop):
    """A refusal for the moment waits for its time, which a restart does not change."""
    mx = node(routes=[f"hop.test:127.0.0.1;{hop.port}"])
    deliver(mx, ["later@hop.test"], TEXT)
    mx.log.wait("message_preprocessed")
    mark = mx.log.mark()
    mx.restart()
    deliver(mx, ["anna@a.test"], TEXT)
    mx.maildir("anna@a.test").wait()
    assert not mx.log.find("deferred", since=mark), "tried before its time"
    mx.stop()
    mx.make_due()
    mx.start()
    assert mx.log.wait("deferred", since=mark)["to"] == "later@hop.test"


def test_mail_is_returned_when_its_time_is_over(node):
    mx = node(routes=[f"b.test:127.0.0.1;{free_port()}"], settings="queuelifetime = 0")
    deliver(mx, "bob@b.test", TEXT, sender="anna@a.test")
    _, status, _ = parts_of(bounce_of(mx))
    assert status["Status"] == "5.4.7"
    mx.wait_empty()


def test_double_bounce(node, hop):
    mx = node(routes=[f":127.0.0.1;{hop.port}"], domains=["a.test", "mx.stagepost.test"])
    deliver(mx, "none@hop.test", TEXT, sender="none-too@hop.test")
    double = bounce_of(mx, "postmaster@mx.stagepost.test")
    assert double["Return-Path"] == "<>"
    mx.wait_empty()


@pytest.mark.parametrize("bound", [0, 900])
def test_a_bounce_is_qsbmf_where_that_is_set(node, bound):
    mx = node(routes=[f"b.test:127.0.0.1;{free_port()}"],
              settings=f"queuelifetime = 0 bounceformat = qsbmf bouncemaxbytes = {bound}")
    deliver(mx, "bob@b.test", TEXT + b"long\r\n" * 1000, sender="anna@a.test")
    bounce = bounce_of(mx)
    assert bounce["Return-Path"] == "<>" and not bounce.is_multipart()
    text, _, original = bounce.get_payload().partition("\n\n---")
    assert text.startswith("Hi. This is the") and "\n\n<bob@b.test>:\n" in text
    assert original.partition("\n\n")[2].startswith("Return-Path: <anna@a.test>\n")
    assert (original.count("\nlong") == 1000) == (bound == 0)
    mx.wait_empty()


def test_smtp_source_to_smtp_sink(node, ground):
    with Sink(ground.directory("sink")) as sink:
        mx = node(routes=[f"sink.test:127.0.0.1;{sink.port}"])
        smtp_source(mx, "-m", "300", "-s", "10", "-l", "4000", "-r", "2", "-N",
                    recipient="x@sink.test")
        mx.log.wait("delivered", count=600, timeout=60)
        mx.wait_empty()
        messages = sink.messages()
    assert sum(text.count(b"XXXX") > 40 for text in messages) == len(messages) >= 300
    assert len({text.partition(b"\n\n")[2] for text in messages}) == 1


def test_smtp_source_to_maildir(node):
    mx = node()
    smtp_source(mx, "-m", "300", "-s", "20", "-l", "10000", "-d")
    mx.maildir("anna@a.test").wait(300, timeout=60)
    mx.wait_empty()
    assert len(mx.maildir("anna@a.test").files()) == 300


def test_spellings_of_one_address_have_one_copy(node):
    """Case, quotes, both forms of its domain; as a mailbox has one copy, whoever is reported gets it."""
    mx = node(domains=["xn--bcher-kva.test", "a.test"])
    spellings = ["anna@a.test", "ANNA@a.test", '"anna"@A.test', "an\\na@a.test", '"an\\na"@a.test']
    labels = ["ann@bücher.test", "ANN@xn--bcher-kva.test", '"ann"@XN--BCHER-KVA.test']
    with Client(mx) as client:
        client.command_encoding = "utf-8"
        for recipients in (spellings, labels):
            client.docmd("MAIL FROM:<sender@client.test> SMTPUTF8")
            accepted = [client.docmd(f"RCPT TO:<{recipient}>")[0] for recipient in recipients]
            assert accepted.count(250) >= 3, accepted
            assert client.data(TEXT)[0] == 250
    mx.log.wait("message_done", count=2)
    assert len(mx.log.find("delivered")) >= 6 and not mx.log.find("failed")
    assert len(mx.maildir("anna@a.test").files()) == 1
    assert len(mx.maildir("ann@xn--bcher-kva.test").files()) == 1


def test_enqueue_while_no_daemon_runs(node):
    mx = node(start=False)
    for number in range(3):
        queue(mx, b"Fs@client.test\0Tanna@a.test\0\0")
    mx.start()
    mx.maildir("anna@a.test").wait(3)
    queue(mx, b"Fs@client.test\0Tanna@a.test\0\0")
    for text in mx.maildir("anna@a.test").wait(4):
        split_trace(text, STORED)
    mx.wait_empty()


def queue(mx, envelope):
    """stagepost enqueue: the message on standard input, the envelope on descriptor 1."""
    command = ["sh", "-c", 'exec "$@" 0<message 1<envelope', "sh", *as_user(),
               f"{mx.programs}/stagepost", "enqueue", "-c", mx.conf]
    for name, text in ("message", TEXT), ("envelope", envelope):
        with open(f"{mx.directory}/{name}", "wb") as file:
            file.write(text)
    subprocess.run(command, check=True, timeout=60, cwd=mx.directory)


# --- names ---

ZONES = {
    "good.test": "@ MX 10 mx1\nmx1 A 198.18.0.10\n",
    "implicit.test": "@ A 198.18.0.10\n",
    "null.test": "@ MX 0 .\n",
    "even.test": "@ MX 10 dead\n@ MX 10 alive\ndead A 198.18.0.12\nalive A 198.18.0.10\n",
    "next.test": "@ MX 10 dead\n@ MX 20 alive\ndead A 198.18.0.12\nalive A 198.18.0.11\n",
    "self.test": "@ MX 10 mx.stagepost.test.\n@ MX 20 other\nother A 198.18.0.10\n",
    "backup.test": "@ MX 10 dead\n@ MX 20 mx.stagepost.test.\n@ MX 30 loop\n"
                   "dead A 198.18.0.12\nloop A 198.18.0.10\n",
    "loopback.test": "@ MX 10 here\nhere A 127.0.0.1\n",
    "stagepost.test": "mx A 198.18.0.1\n",
    "empty.test": "",
}


@pytest.fixture
def internet(node, ground):
    """A node among hosts .10 and .11, which take mail, and .12, which is down."""
    with Lan() as lan, NameServer(ZONES) as names, \
            lan.sink(ground.directory("sink10"), 10) as ten, \
            lan.sink(ground.directory("sink11"), 11) as eleven:
        mx = node(settings=f'dns_server = "{names.dns_server}"\ndane = no\nremote_connect_timeout = 5')
        yield mx, ten, eleven, names


def test_mail_exchangers(internet):
    mx, ten, eleven, _ = internet
    with Client(mx) as client:
        for domain in ("good", "implicit", "even", "even", "even", "even", "even", "even", "next"):
            reply = client.deliver("anna@a.test", f"bob@{domain}.test", TEXT)
            assert reply.startswith("250 "), reply
    mx.log.wait("delivered", by="remote", count=9)
    mx.wait_empty()
    assert len(ten.messages()) == 8 and len(eleven.messages()) == 1
    assert not mx.log.find("deferred") and not mx.log.find("failed")


@pytest.mark.parametrize("command", ["CONNECT", "EHLO", "MAIL", "RCPT", "DATA", "."])
def test_a_deferral_leads_to_the_next_exchanger(node, ground, command):
    """RFC 5321 section 5.1: in the same attempt, and the message comes once."""
    zones = {"two.test": "@ MX 10 busy\n@ MX 20 idle\nbusy A 198.18.0.10\nidle A 198.18.0.11\n"}
    with Lan() as lan, NameServer(zones) as names, \
            lan.sink(ground.directory(f"busy{command}"), 10, "-Q" if command == "EHLO" else "-r",
                     command), \
            lan.sink(ground.directory(f"idle{command}"), 11) as idle:
        mx = node(settings=f'dns_server = "{names.dns_server}"\ndane = no')
        deliver(mx, ["bob@two.test", "eve@two.test"], TEXT)
        for to in ("bob", "eve"):
            assert "idle.two.test" in mx.log.wait("delivered", to=f"{to}@two.test")["text"]
        mx.wait_empty()
        assert len(idle.messages()) == 1
        assert not mx.log.find("deferred")


@pytest.mark.parametrize("domain, status", [
    ("null.test", "5.1.10"), ("missing.good.test", "5.1.2"), ("empty.test", "5.4.4"),
    ("self.test", "5.4.6"), ("loopback.test", "5.4.6")])
def test_domains_that_take_no_mail(internet, domain, status):
    mx = internet[0]
    deliver(mx, f"bob@{domain}", TEXT, sender="anna@a.test")
    _, fields, _ = parts_of(bounce_of(mx))
    assert fields["Status"] == status
    mx.wait_empty()
    assert not internet[1].files()


def test_backup_exchanger_waits(internet):
    """We are a backup: only what stands before us may be tried."""
    mx, ten, _, _ = internet
    deliver(mx, "bob@backup.test", TEXT)
    assert mx.log.wait("deferred", to="bob@backup.test")["status"].startswith("4.4.")
    assert not ten.files()


def test_name_server_fails(internet):
    mx, ten, _, names = internet
    deliver(mx, "bob@nowhere.example", TEXT)  # refused by NSD: SERVFAIL for us
    refused = mx.log.wait("deferred", to="bob@nowhere.example")
    assert refused["status"] == "4.4.3"
    assert refused["text"].endswith("the name servers answer SERVFAIL")
    names.halt()
    deliver(mx, "bob@good.test", TEXT)
    unheard = mx.log.wait("deferred", to="bob@good.test", timeout=60)
    assert unheard["status"] == "4.4.3"
    assert unheard["text"].endswith("no name server answers")
    names.start()
    mx.stop()
    mx.make_due()
    mx.start()
    mx.log.wait("delivered", to="bob@good.test")
    assert len(ten.files()) == 1
