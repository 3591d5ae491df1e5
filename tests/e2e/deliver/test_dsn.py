# SPDX-License-Identifier: ISC
"""Reports to senders: RFC 3461 and 3464, and SMTPUTF8 on the way."""

import email
import email.policy
import os
import re
import socket
import subprocess

import pytest
from exim import Exim
from peers import Postfix, Sink
from smtp import Client
from stagepost import as_user, free_port, wait_until

TEXT = b"Subject: hello\r\nMessage-ID: <1@client.test>\r\n\r\nA line.\r\n"


def send(mx, recipients, mail="", sender="anna@a.test", text=TEXT):
    """RECIPIENTS: {address: parameters}."""
    with Client(mx) as client:
        for command in ([f"MAIL FROM:<{sender}> BODY=8BITMIME {mail}".rstrip()] +
                        [f"RCPT TO:<{to}> {words}".rstrip() for to, words in recipients.items()]):
            client.send(command.encode() + b"\r\n")
            code, reply = client.getreply()
            assert code == 250, (command, reply)
        assert client.data(text)[0] == 250


class Report:
    """An RFC 3464 report, as another implementation of MIME reads it."""

    def __init__(self, raw):
        # which its fields are read as; Python knows no other
        raw = raw.replace(b"message/global-delivery-status", b"message/delivery-status")
        self.message = email.message_from_bytes(raw, policy=email.policy.default)
        assert not self.message.defects
        assert self.message.get_content_type() == "multipart/report"
        assert self.message["Return-Path"] == "<>"
        text, status, self.copy = self.message.iter_parts()
        self.text = text.get_content()
        self.whole, *fields = status.get_payload()
        self.fields = {one["Final-Recipient"].split(";")[1].strip(): one for one in fields}

    def actions(self):
        return {address: one["Action"] for address, one in self.fields.items()}


def report_of(mx, address="anna@a.test", **patience):
    """The only one that came, or comes."""
    (raw,) = mx.maildir(address).wait(**patience)
    return Report(raw)


@pytest.fixture
def sink(ground):
    with Sink(ground.directory("sink"), "-N") as peer:
        yield peer


@pytest.fixture(params=[Postfix, Exim])
def hop(request, ground):
    """And the port of the node that it sends other mail to."""
    port = free_port()
    with request.param(ground.directory("hop"), domain="hop.test", hostname="mx.hop.test",
                       next_port=port) as peer:
        yield peer, port
        print(peer.log())


def test_success_is_reported(node):
    mx = node()
    send(mx, {"bob@a.test": "NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;b+2Bx@o.test",
              "carl@a.test": "NOTIFY=FAILURE", "dora@a.test": ""}, "RET=FULL ENVID=QQ+3D1")
    report = report_of(mx)
    assert report.actions() == {"bob@a.test": "delivered"}
    assert report.whole["Original-Envelope-Id"] == "QQ=1"
    assert report.fields["bob@a.test"]["Original-Recipient"] == "rfc822;b+x@o.test"
    assert report.fields["bob@a.test"]["Status"].startswith("2.")
    assert report.message["Subject"] == "success notice"
    assert "<bob@a.test>" in report.text and "carl" not in report.text
    assert not report.text.startswith("Hi. This is the"), "no bounce for readers of QSBMF"
    assert report.copy.get_content_type() == "text/rfc822-headers"
    mx.wait_empty()
    assert len(mx.log.find("notified")) == 1 and not mx.log.find("bounced")
    for address in ("bob@a.test", "carl@a.test", "dora@a.test"):
        assert len(mx.maildir(address).files()) == 1


def test_relaying_is_reported(node, sink):
    mx = node(routes=[f"sink.test:127.0.0.1;{sink.port}"])
    send(mx, {"bob@sink.test": "NOTIFY=SUCCESS", "carl@sink.test": ""})
    report = report_of(mx)
    assert report.actions() == {"bob@sink.test": "relayed"}
    assert report.fields["bob@sink.test"]["Status"].startswith("2.")
    mx.wait_empty()


def test_next_hop_reports(node, hop):
    peer, port = hop
    mx = node(port=port, routes=[f"hop.test:127.0.0.1;{peer.port}"])
    send(mx, {"bob@hop.test": "NOTIFY=SUCCESS ORCPT=rfc822;b+2Bx@o.test"}, "ENVID=QQ+3D1")
    report = report_of(mx)
    assert report.whole["Reporting-MTA"].endswith("mx.hop.test")
    assert report.whole["Original-Envelope-Id"] == peer.as_reported("QQ+3D1")
    assert report.actions() == {"bob@hop.test": "delivered"}
    assert report.fields["bob@hop.test"]["Original-Recipient"] == \
        peer.as_reported("rfc822;b+2Bx@o.test")
    mx.wait_empty()
    assert not mx.log.find("notified"), "it was reported twice"


def test_next_hop_is_told_never(node, hop):
    """Also one that refuses: then we do not report either."""
    peer, port = hop
    mx = node(port=port, routes=[f"hop.test:127.0.0.1;{peer.port}"])
    send(mx, {"bob@hop.test": "NOTIFY=NEVER", "none@hop.test": "NOTIFY=NEVER",
              "gone@hop.test": "NOTIFY=SUCCESS"})
    peer.maildir("bob@hop.test").wait()
    assert len(mx.log.wait("failed", count=2)) == 2
    mx.wait_empty()
    assert not mx.log.find("bounced") and not mx.log.find("notified")
    assert not mx.maildir("anna@a.test").files()


def test_failure_names_what_the_sender_said(node, hop):
    peer, port = hop
    mx = node(port=port, routes=[f"hop.test:127.0.0.1;{peer.port}"])
    send(mx, {"none@hop.test": "NOTIFY=FAILURE ORCPT=rfc822;n+2Bx@o.test"},
         "RET=HDRS ENVID=QQ+3D1")
    report = report_of(mx)
    assert report.whole["Original-Envelope-Id"] == "QQ=1"
    assert report.actions() == {"none@hop.test": "failed"}
    assert report.fields["none@hop.test"]["Original-Recipient"] == "rfc822;n+x@o.test"
    assert report.fields["none@hop.test"]["Remote-MTA"] == "dns; 127.0.0.1"
    assert report.fields["none@hop.test"]["Diagnostic-Code"].startswith("smtp; 550 5.1.1 ")
    assert report.copy.get_content_type() == "text/rfc822-headers"
    assert report.text.startswith("Hi. This is the")
    assert mx.log.find("bounced") and not mx.log.find("notified")


def test_success_and_failure_in_one_report(node, sink, ground):
    with Sink(ground.directory("refusing"), "-f", "RCPT") as refusing:
        mx = node(routes=[f"sink.test:127.0.0.1;{sink.port}",
                          f"no.test:127.0.0.1;{refusing.port}"])
        send(mx, {"bob@a.test": "NOTIFY=SUCCESS", "carl@sink.test": "NOTIFY=SUCCESS",
                  "dora@no.test": "NOTIFY=SUCCESS,FAILURE", "emil@no.test": "NOTIFY=SUCCESS"})
        report = report_of(mx)
        mx.wait_empty()
    assert report.actions() == {
        "bob@a.test": "delivered", "carl@sink.test": "relayed", "dora@no.test": "failed"}
    assert report.text.startswith("Hi. This is the")
    assert [line for line in report.text.splitlines() if line.startswith("<")] == [
        "<dora@no.test>:"]
    assert len(mx.maildir("anna@a.test").files()) == 1


def test_null_sender_is_told_nothing(node):
    mx = node(settings="delaynotice = 1", routes=[f"b.test:127.0.0.1;{free_port()}"])
    send(mx, {"bob@a.test": "NOTIFY=SUCCESS"}, sender="")
    mx.log.wait("message_done")
    mx.wait_empty()
    send(mx, {"bob@b.test": "NOTIFY=DELAY"}, sender="")
    mx.log.wait("deferred")
    send(mx, {"bob@b.test": "NOTIFY=DELAY"})
    mx.log.wait("notified")
    assert len(mx.log.find("notified")) == 1
    assert len(mx.maildir("anna@a.test").wait()) == 1


def test_success_is_remembered(node, hop):
    """Over a crash, and also that somebody else reports it."""
    peer, port = hop
    other_port = free_port()
    mx = node(port=port, routes=[f"hop.test:127.0.0.1;{peer.port}",
                                 f"b.test:127.0.0.1;{other_port}"], settings="probe_delay = 1")
    send(mx, {"carl@a.test": "NOTIFY=SUCCESS", "bob@hop.test": "NOTIFY=SUCCESS",
              "dora@b.test": "NOTIFY=NEVER"})
    assert report_of(mx).whole["Reporting-MTA"].endswith("mx.hop.test")
    mx.log.wait("deferred", to="dora@b.test")
    is_recorded = lambda: [len(re.findall("^done: ", text, re.M))
                           for text in mx.control_files().values()] == [2]
    wait_until(is_recorded, "both are recorded, and the report is gone")
    mx.kill_supervisor()
    mx.make_due()
    other = node("other", domains=["b.test"], port=other_port)
    mx.start()
    other.maildir("dora@b.test").wait()
    reports = [Report(raw) for raw in mx.maildir("anna@a.test").wait(2)]
    assert {"carl@a.test": "delivered"} in [one.actions() for one in reports]
    mx.wait_empty()
    assert len(mx.maildir("anna@a.test").files()) == 2


def test_delay_is_reported_once(node):
    port = free_port()
    mx = node(routes=[f"b.test:127.0.0.1;{port}"], settings="delaynotice = 2\nprobe_delay = 1")
    send(mx, {"bob@b.test": "", "carl@b.test": "NOTIFY=FAILURE", "dora@b.test": "NOTIFY=DELAY",
              "emil@b.test": "NOTIFY=NEVER", "anna@a.test": "NOTIFY=NEVER"})
    messages = mx.maildir("anna@a.test").wait(2)
    (raw,) = [one for one in messages if b"multipart/report" in one]
    report = Report(raw)
    assert report.actions() == {"bob@b.test": "delayed", "dora@b.test": "delayed"}
    for one in report.fields.values():
        assert one["Status"].startswith("4.4.")
        assert email.utils.parsedate_to_datetime(one["Will-Retry-Until"]) > \
            email.utils.parsedate_to_datetime(report.whole["Arrival-Date"])
    assert report.message["Subject"] == "delay notice"
    assert not report.text.startswith("Hi. This is the")
    (control,) = wait_until(
        lambda: [text for text in mx.control_files().values() if "\ndelayed: " in text],
        "the delay is recorded")
    assert len(re.findall("^delayed: ", control, re.M)) == 2
    for restart in (mx.restart, lambda: (mx.kill_supervisor(), mx.start())):
        mark = mx.log.mark()
        restart()
        mx.log.wait("deferred", since=mark)
    other = node("other", domains=["b.test"], port=port)
    other.maildir("emil@b.test").wait()
    mx.wait_empty()
    assert len(mx.log.find("notified")) == 1
    assert len(mx.maildir("anna@a.test").files()) == 2


def test_delay_of_what_was_never_tried(node):
    """What waits for a host that another message found down is still at S4."""
    mx = node(routes=[f"b.test:127.0.0.1;{free_port()}"],
              settings="delaynotice = 2\nprobe_delay = 1h")
    send(mx, {"bob@b.test": ""}, "ENVID=first")
    mx.log.wait("trigger_set")
    send(mx, {"carl@b.test": ""}, "ENVID=second")
    reports = [Report(raw) for raw in mx.maildir("anna@a.test").wait(2)]
    assert {one.whole["Original-Envelope-Id"] for one in reports} == {"first", "second"}
    assert {"carl@b.test": "delayed"} in [one.actions() for one in reports]
    is_recorded = lambda: [text.count("\ndelayed: 1 ")
                           for text in mx.control_files().values()] == [1, 1]
    wait_until(is_recorded, "both are recorded, and the reports are gone")
    mx.restart()
    send(mx, {"anna@a.test": ""})
    mx.maildir("anna@a.test").wait(3)
    assert len(mx.log.find("notified")) == 2


def test_no_kill_loses_a_report(node):
    mx = node()
    wanted = {f"n{number}" for number in range(60)}
    for number, envid in enumerate(sorted(wanted)):
        send(mx, {"bob@a.test": "NOTIFY=SUCCESS"}, f"ENVID={envid}")
        if number % 15 == 14:
            mx.kill_and_wait("send")
    mx.maildir("anna@a.test").wait(len(wanted))
    mx.wait_empty()
    reports = [Report(raw) for raw in mx.maildir("anna@a.test").messages()]
    assert {one.whole["Original-Envelope-Id"] for one in reports} == wanted


def test_long_recipients(node, sink):
    """More bytes than fit into one job."""
    mx = node(routes=[f"{'d' * 60}.test:127.0.0.1;{sink.port}"])
    send(mx, {f"{number:064}@{'d' * 60}.test": f"ORCPT=rfc822;{'o' * 493}"
              for number in range(200)})
    mx.log.wait("delivered", count=200)
    mx.wait_empty()
    assert not mx.log.find("deferred") and not mx.log.find("ipc_refused")
    assert 3 <= len(sink.messages()) <= 6


def test_delay_is_not_reported_unasked(node):
    """Nor is it when mail is returned before."""
    mx = node(routes=[f"b.test:127.0.0.1;{free_port()}"], settings="probe_delay = 1")
    send(mx, {"bob@b.test": "", "dora@b.test": "NOTIFY=DELAY"})
    mx.log.wait("deferred", count=4)
    mx.stop()
    mx.settings = "probe_delay = 1\ndelaynotice = 2\nqueuelifetime = 1"
    mx.write_configuration()
    mx.start()
    assert set(report_of(mx).actions().values()) == {"failed"}
    assert not mx.log.find("notified")


def test_utf8_is_for_those_who_take_it(node, sink, hop):
    """The others get the header encoded, unless an address in it needs UTF-8."""
    peer, port = hop
    mx = node(port=port, routes=[f"hop.test:127.0.0.1;{peer.port}",
                                 f"sink.test:127.0.0.1;{sink.port}"])
    text = (TEXT.replace(b"hello", "h\u00e9llo".encode()).replace(b"\r\n\r\n", (
        "\r\nCc: \u00c4nn <ann@b\u00fccher.test>\r\nMIME-Version: 1.0\r\n"
        "Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\n"
        "Content-Type: text/plain; charset=utf-8; name=\u00e4.txt\r\n"
        "Content-Transfer-Encoding: 8bit\r\n\r\nk\u00f6rper\r\n--m--\r\n").encode(), 1))
    send(mx, {"bob@hop.test": "", "bob@sink.test": ""}, "SMTPUTF8", text=text)
    (got,) = peer.maildir("bob@hop.test").wait()
    assert "Subject: h\u00e9llo\n".encode() in got
    mx.log.wait("delivered", to="bob@sink.test")
    (got,) = sink.messages()
    for part in (b"Subject: =?UTF-8?Q?h=C3=A9llo?=\n",
                 b"Cc: =?UTF-8?Q?=C3=84nn?= <ann@xn--bcher-kva.test>\n",
                 b"; name*=UTF-8''%C3%A4.txt\n", "\nk\u00f6rper\n".encode()):
        assert part in got, got
    send(mx, {"carl@sink.test": ""}, "SMTPUTF8", text=text.replace(b"<ann@", "<\u00e4nn@".encode()))
    report = report_of(mx)
    assert report.actions() == {"carl@sink.test": "failed"}
    assert report.fields["carl@sink.test"]["Status"] == "5.6.7"
    send(mx, {"carl@sink.test": ""}, "SMTPUTF8")
    mx.log.wait("delivered", to="carl@sink.test")
    assert len(sink.messages()) == 2


def test_what_we_add_does_not_need_utf8(node, sink):
    """The field Received says for whom a message is, if it is for one."""
    mx = node(routes=[f"xn--bcher-kva.test:127.0.0.1;{sink.port}"])
    send(mx, {"r@b\u00fccher.test": ""}, "SMTPUTF8")
    mx.log.wait("delivered", by="remote")
    ((recipients, _),) = sink.transactions()
    assert recipients == ["r@xn--bcher-kva.test"]
    (got,) = sink.messages()
    assert b" for <" not in got and all(byte < 0x80 for byte in got)


def test_a_domain_is_one_in_either_of_its_forms(node, sink):
    """In the configuration, in routes, in paths of mailboxes, and on the wire to who takes ASCII."""
    mx = node(settings='domain "b\u00fccher.test" { service = maildir addresses = { "\u00c4\u00f6" } }',
              routes=[f"stra\u00dfe.test:127.0.0.1;{sink.port}",
                      f".xn--mnchen-3ya.test:127.0.0.1;{sink.port}"])
    for to in ("\u00e4\u00f6@b\u00fccher.test", "\u00c4\u00d6@B\u00dcCHER.test",
               "A\u0308\u00f6@xn--bcher-kva.test"):
        send(mx, {to: ""}, "SMTPUTF8")
    send(mx, {"ann@stra\u00dfe.test": "", "ann@mx.m\u00fcnchen.test": ""}, "SMTPUTF8")
    mx.log.wait("delivered", by="remote", count=2)
    assert len(mx.maildir("\u00e4\u00f6@xn--bcher-kva.test").wait(3)) == 3
    assert sorted(to for recipients, _ in sink.transactions() for to in recipients) == [
        "ann@mx.xn--mnchen-3ya.test", "ann@xn--strae-oqa.test"]
    mx.wait_empty()


def test_a_report_on_utf8_is_global(node, hop):
    """RFC 6533; and it goes to its reader with SMTPUTF8."""
    peer, port = hop
    mx = node(port=port, routes=[f"hop.test:127.0.0.1;{peer.port}"])
    send(mx, {"n\u00f6ne@hop.test": ""}, "SMTPUTF8", sender="\u00e4nna@a.test")
    (raw,) = mx.maildir("\u00e4nna@a.test").wait()
    assert "\nTo: <\u00e4nna@a.test>\n".encode() in raw
    assert b"\nContent-Type: message/global-delivery-status\n" in raw
    assert "\nFinal-Recipient: utf-8; n\u00f6ne@hop.test\n".encode() in raw
    assert b"\nContent-Type: message/global\n" in raw
    assert b"(in reply to RCPT)" in b" ".join(raw.split()) and b"\nRemote-MTA: " in raw


# --- what was asked for, and what operators do meanwhile ---

@pytest.fixture
def stagepost(ground):
    """stagepost(mx, word...): a command of it, for the node."""
    def stagepost(mx, *words, status=0):
        ended = subprocess.run(
            as_user() + [os.path.join(ground.programs, "stagepost"), *words, "-c", mx.conf],
            capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == status, ended
        return ended.stdout + ended.stderr

    return stagepost


def waiting(node, **more):
    """A node that reaches nobody at b.test."""
    return node(routes=[f"b.test:127.0.0.1;{free_port()}"], **more)


def test_adopted_mail_keeps_what_was_asked_for(node, stagepost):
    dead = waiting(node, name="dead")
    send(dead, {"x@b.test": "NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;o@o.test",
                "plain@b.test": "", "never@b.test": "NOTIFY=NEVER",
                "silent@b.test": "NOTIFY=SUCCESS", "told@b.test": "NOTIFY=FAILURE"},
         "RET=FULL ENVID=QQ+3D1")
    dead.log.wait("deferred", count=5)
    dead.stop()
    heir = node("heir", domains=["a.test", 'domain "b.test" { service = maildir '
                                 'addresses = { x, plain } }'])
    assert "1 adopted" in stagepost(heir, "queue", "adopt", dead.queue)
    heir.wait_empty()
    report = report_of(heir)
    assert report.actions() == {"x@b.test": "delivered", "told@b.test": "failed"}
    assert report.whole["Original-Envelope-Id"] == "QQ=1"
    assert report.fields["x@b.test"]["Original-Recipient"] == "rfc822;o@o.test"
    assert report.copy.get_content_type() == "message/rfc822"


def test_adopted_mail_keeps_that_headers_are_enough(node, stagepost):
    dead = waiting(node, name="dead")
    send(dead, {"told@b.test": ""}, "RET=HDRS")
    dead.log.wait("deferred")
    dead.stop()
    heir = node("heir", domains=["a.test", 'domain "b.test" { service = maildir '
                                 'addresses = { x } }'])
    stagepost(heir, "queue", "adopt", dead.queue)
    report = report_of(heir)
    assert report.actions() == {"told@b.test": "failed"}
    assert report.copy.get_content_type() == "text/rfc822-headers"


def test_adoption_reports_what_was_done(node, stagepost):
    dead = waiting(node, name="dead")
    send(dead, {"bob@a.test": "NOTIFY=SUCCESS ORCPT=rfc822;o@o.test",
                "carl@a.test": "NOTIFY=FAILURE", "x@b.test": "NOTIFY=NEVER"}, "ENVID=e3")
    dead.log.wait("deferred", to="x@b.test")
    dead.log.wait("delivered", count=2)
    dead.stop()
    heir = waiting(node, name="heir")
    assert "1 adopted" in stagepost(heir, "queue", "adopt", dead.queue)
    report = report_of(heir)
    assert report.actions() == {"bob@a.test": "delivered"}
    assert report.whole["Original-Envelope-Id"] == "e3"
    assert report.fields["bob@a.test"]["Original-Recipient"] == "rfc822;o@o.test"
    assert report.copy.get_content_type() == "text/rfc822-headers"
    assert report.copy.get_payload().startswith("Received: ")
    assert "0 adopted" in stagepost(heir, "queue", "adopt", dead.queue)
    event = heir.log.wait("deferred", to="x@b.test")
    stagepost(heir, "queue", "remove", "--yes", event["id"])
    heir.wait_empty()
    assert len(heir.maildir("anna@a.test").files()) == 1
    assert not heir.maildir("bob@a.test").files()


def test_adoption_does_not_report_a_delay_again(node, stagepost):
    settings = "delaynotice = 2\nprobe_delay = 1"
    dead = waiting(node, name="dead", settings=settings)
    send(dead, {"bob@b.test": "", "dora@b.test": "NOTIFY=DELAY"}, "ENVID=first")
    wait_until(lambda: [text.count("\ndelayed: ") for text in dead.control_files().values()] == [2],
               "the delay is recorded, and the report is gone")
    dead.stop()
    heir = waiting(node, name="heir", settings=settings)
    stagepost(heir, "queue", "adopt", dead.queue)
    heir.log.wait("deferred", count=2)
    send(heir, {"emil@b.test": ""}, "ENVID=second")
    report = report_of(heir)  # that of the first, long due, would have come before it
    assert report.whole["Original-Envelope-Id"] == "second"
    assert len(heir.maildir("anna@a.test").files()) == 1


def test_what_is_removed_is_not_reported_but_what_was_done_is(node, stagepost):
    mx = waiting(node)
    send(mx, {"bob@a.test": "NOTIFY=SUCCESS", "carl@a.test": "NOTIFY=FAILURE",
              "x@b.test": "NOTIFY=SUCCESS,FAILURE,DELAY"})
    event = mx.log.wait("deferred", to="x@b.test")
    mx.log.wait("delivered", count=2)
    stagepost(mx, "queue", "remove", "--yes", event["id"])
    mx.wait_empty()
    assert report_of(mx).actions() == {"bob@a.test": "delivered"}


def test_what_is_bounced_by_order_is_reported_as_asked(node, stagepost):
    mx = waiting(node)
    send(mx, {"x@b.test": "NOTIFY=FAILURE", "y@b.test": "NOTIFY=NEVER",
              "z@b.test": "NOTIFY=SUCCESS"}, "ENVID=e2")
    event = mx.log.wait("deferred", count=3)[0]
    stagepost(mx, "queue", "bounce", "--yes", event["id"])
    mx.wait_empty()
    report = report_of(mx)
    assert report.actions() == {"x@b.test": "failed"}
    assert report.whole["Original-Envelope-Id"] == "e2"


@pytest.mark.parametrize("order", ["remove --yes", "bounce --yes", "hold", "retry"])
def test_an_order_for_another_birth_is_for_another_message(node, stagepost, order):
    """The number is used again when a message is done; its birth is not."""
    mx = waiting(node)
    send(mx, {"x@b.test": ""})
    event = mx.log.wait("deferred", to="x@b.test")
    number, born = event["id"].split("-")
    mark = mx.log.mark()
    stagepost(mx, "queue", *order.split(), f"{number}-{int(born, 16) + 1:x}", status=1)
    assert not mx.log.find("operator", since=mark) and not mx.log.find("failed", since=mark)
    assert event["id"] in stagepost(mx, "queue", "list")
    assert not any("hold" in name for name in mx.trigger_files())


def tell(mx, words):
    """What "send" answers to an order that no command has looked at before."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as talk:
        talk.bind("")
        talk.settimeout(10)
        talk.connect(os.path.join(mx.run, "notify"))
        talk.send(words.encode())
        return talk.recv(256).decode()


@pytest.mark.parametrize("word", ["remove", "bounce", "hold", "retry"])
def test_the_manager_knows_births_too(node, word):
    """Between the command's look and its order the number may have become another message's."""
    mx = waiting(node)
    send(mx, {"x@b.test": ""})
    event = mx.log.wait("deferred", to="x@b.test")
    number, born = event["id"].split("-")
    wait_until(lambda: [name for name in os.listdir(mx.queue + "/info") if
                        os.listdir(f"{mx.queue}/info/{name}")], "it is at S5")
    mark = mx.log.mark()
    assert tell(mx, f"{word} {number}-{int(born, 16) + 1:x}") == "err no such message"
    assert not mx.log.find("operator", since=mark) and not mx.log.find("failed", since=mark)
    assert not any("hold" in name for name in mx.trigger_files())
    assert tell(mx, f"{word} {event['id']}") == "ok"
