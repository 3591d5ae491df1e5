# SPDX-License-Identifier: ISC
"""What mail does with the directory: addresses that come and go while it flows, and mail
that waits, never fails, while the directory is away."""

import itertools
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest
from records import Records, Refused, netstring
from smtp import Client, deliver
from stagepost import as_user, split_trace, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")
SECOND = 1.0


@pytest.fixture
def mx(node):
    """A node whose domain a.test is of the configuration and d.test of the directory."""

    def mx(settings="", **more):
        made = node("mx", start=False, domains=[], **more)
        made.settings = (f'directory {{ path = "{made.directory}/directory.db" }}\n'
                         f'service program {{ kind = pipe command = {{ "/bin/sh", "-c", '
                         f'"cat >> {made.directory}/program" }} }}\n' + settings)
        made.write_configuration()
        made.start()
        with Records(made) as records:
            records.put("domain", "d.test", "kind local", "service maildir")
            for name in "ann", "bob", "carl", "owner":
                records.put("address", f"{name}@d.test", "kind mailbox")
        return made

    return mx


@pytest.fixture
def records(mx):
    opened = []

    def records(made):
        opened.append(Records(made))
        return opened[-1]

    yield records
    for one in opened:
        one.__exit__(None, None, None)


def reply(node, recipient, sender="sender@client.test"):
    """To RCPT."""
    with Client(node) as client:
        client.docmd(f"MAIL FROM:<{sender}>")
        code, text = client.docmd(f"RCPT TO:<{recipient}>")
        return f"{code} {text.decode()}"


def wait_for_reply(node, recipient, start, limit=SECOND):
    begin = time.monotonic()
    while not reply(node, recipient).startswith(start):
        assert time.monotonic() - begin < limit, reply(node, recipient)
    return time.monotonic() - begin


# --- addresses ---


def test_addresses_come_and_go(mx, records):
    one = mx()
    for number in range(3):
        assert reply(one, "dora@d.test").startswith("550 5.1.1")
        records(one).put("address", "dora@d.test", "kind mailbox")
        wait_for_reply(one, "dora@d.test", "250")
        deliver(one, "dora@d.test", TEXT)
        one.maildir("dora@d.test").wait(number + 1)  # what becomes of it is asked only then
        records(one).remove("address", "dora@d.test")
        wait_for_reply(one, "dora@d.test", "550 5.1.1")
    assert len(one.maildir("dora@d.test").files()) == 3


KINDS = {
    "forward": (["kind forward", "target ann@d.test", "target bob@d.test"],
                "x@d.test", {"ann@d.test": 1, "bob@d.test": 1}),
    "forward with its own mailbox": (["kind forward", "target x@d.test", "target bob@d.test"],
                                     "x@d.test", {"x@d.test": 1, "bob@d.test": 1}),
    "alias": (["kind alias", "target ann@d.test"], "x@d.test", {"ann@d.test": 1}),
    "extension": (["kind mailbox"], "x+tag@d.test", {"x@d.test": 1}),
    "mailbox of another name": (["kind mailbox", "mailbox ann@d.test"], "x@d.test",
                                {"ann@d.test": 1}),
    "case": (["kind mailbox"], "X@D.Test", {"x@d.test": 1}),
}


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_delivered(mx, records, name):
    fields, recipient, mailboxes = KINDS[name]
    one = mx()
    records(one).put("address", "x@d.test", *fields)
    deliver(one, recipient, TEXT)
    for mailbox, count in mailboxes.items():
        (stored,) = one.maildir(mailbox).wait(count)
        split_trace(stored, STORED)
    one.wait_empty()


def test_catch_all_takes_the_rest(mx, records):
    one = mx()
    assert reply(one, "whoever@d.test").startswith("550 5.1.1")
    records(one).put("address", "@d.test", "kind forward", "target ann@d.test")
    wait_for_reply(one, "whoever@d.test", "250")
    deliver(one, ["whoever@d.test", "bob@d.test"], TEXT)
    one.maildir("ann@d.test").wait(1)
    one.maildir("bob@d.test").wait(1)


def test_program_is_run(mx, records):
    one = mx()
    records(one).put("address", "x@d.test", "kind program", "service program")
    deliver(one, "x@d.test", TEXT)
    one.log.wait("delivered", to="x@d.test", by="program")
    with open(f"{one.directory}/program", "rb") as file:
        assert file.read().endswith(STORED)


def test_refused_is_told_at_once(mx, records):
    one = mx()
    records(one).put("address", "x@d.test", "kind refused", "text Left the company", "status 5.2.1")
    records(one).put("address", "y@d.test", "kind refused", "text Moves house", "status 4.2.1")
    assert reply(one, "x@d.test") == "550 5.2.1 Left the company"
    assert reply(one, "y@d.test") == "450 4.2.1 Moves house"


def test_addresses_and_users_that_are_off(mx, records):
    """Both are told at RCPT, the catch-all has none of it, and who is on again has the mail."""
    one = mx()
    opened = records(one)
    opened.put("address", "@d.test", "kind mailbox", "mailbox carl@d.test")
    opened.put("user", "dora", "state deferred")
    opened.put("address", "dora@d.test", "kind mailbox", "user dora")
    opened.put("address", "ann@d.test", "kind mailbox", "state disabled")
    for address in "ann@d.test", "Ann+x@D.test":
        assert reply(one, address) == "550 5.2.1 This address is disabled"
    assert reply(one, "dora@d.test") == "450 4.2.1 This address takes no mail for now"
    opened.list("list@d.test", ["ann@d.test", "bob@d.test"], "owner@d.test")
    deliver(one, "list@d.test", TEXT)
    assert one.log.wait("failed", to="ann@d.test")["status"] == "5.2.1"
    one.maildir("bob@d.test").wait(1)
    opened.put("user", "dora", "state active")
    wait_for_reply(one, "dora@d.test", "250", limit=30)
    deliver(one, "dora@d.test", TEXT)
    one.maildir("dora@d.test").wait(1)
    assert not one.maildir("ann@d.test").files() and not one.maildir("carl@d.test").files()


def test_forward_to_many(mx, records):
    """More than one packet of addresses to "send"."""
    one = mx()
    targets = [f"a-mailbox-with-a-rather-long-name-{i}@d.test" for i in range(999)]
    records(one).put("address", "@d.test", "kind mailbox")
    records(one).put("address", "x@d.test", "kind forward",
                     *(f"target {target}" for target in targets))
    deliver(one, ["x@d.test", "ann@d.test"], TEXT)
    one.log.wait("delivered", count=1000)
    one.wait_empty()
    assert {event["to"] for event in one.log.find("delivered")} == {*targets, "ann@d.test"}
    assert not one.log.find("ipc_refused") and not one.log.find("failed")
    (stored,) = one.maildir(targets[998]).messages()
    split_trace(stored, STORED)


# What one address leads to, of which one place has the mail, one refuses it, and one takes it later.
MIXTURES = {
    "forward": [("address", "x@d.test", "kind forward", "target ann@d.test", "target gone@d.test", "target later@d.test")],
    "alias of a forward": [
        ("address", "x@d.test", "kind alias", "target y@d.test"),
        ("address", "y@d.test", "kind forward", "target ann@d.test", "target gone@d.test", "target later@d.test")],
    "forward with its own mailbox": [
        ("address", "x@d.test", "kind forward", "target x@d.test", "target gone@d.test", "target later@d.test")],
    "catch-all": [("address", "@d.test", "kind forward", "target ann@d.test", "target gone@d.test", "target later@d.test")],
    "list": None,
    "several recipients": None,
}


@pytest.mark.parametrize("name", MIXTURES)
def test_what_was_done_is_done_whatever_happens_to_others(mx, records, ground, name):
    """Who has the mail gets no second copy when another place is tried again, and nobody hears that it failed;
    who refuses it is reported once, the others are not."""
    switch = f"{ground.directory('switch')}/on"
    one = mx('service gone { kind = pipe command = { "/bin/sh", "-c", "exit 100" } }\n'
             f'service later {{ kind = pipe command = {{ "/bin/sh", "-c", "test -e {switch} || exit 75" }} }}\n')
    opened = records(one)
    opened.put("address", "gone@d.test", "kind program", "service gone")
    opened.put("address", "later@d.test", "kind program", "service later")
    for record in MIXTURES[name] or ():
        opened.put(*record)
    if name == "list":
        opened.list("x@d.test", ["ann@d.test", "gone@d.test", "later@d.test"], "owner@d.test")
    filed = "x@d.test" if name.endswith("own mailbox") else "ann@d.test"
    told = "owner@d.test" if name == "list" else "bob@d.test"
    written = ["ann@d.test", "gone@d.test", "later@d.test"] if name == "several recipients" else ["x@d.test"]
    deliver(one, written, TEXT, sender="bob@d.test")
    one.maildir(filed).wait(1)
    one.log.wait("failed", to="gone@d.test")
    one.log.wait("deferred", to="later@d.test")
    one.restart()
    open(switch, "wb").close()
    subprocess.run([*as_user(), os.path.join(one.programs, "stagepost"), "queue", "retry", "--all", "--yes", "-c", one.conf],
                   check=True, stdout=subprocess.DEVNULL)
    one.log.wait("delivered", to="later@d.test")
    one.wait_empty()
    assert len(one.maildir(filed).files()) == 1 and len(one.log.find("delivered", to=filed)) == 1
    assert len(one.log.find("failed", to="gone@d.test")) == 1
    (report,) = one.maildir(told).wait(1)
    assert report.count(b"\nAction: failed\n") == 1 and b"ann@d.test" not in report and b"later@d.test" not in report


def test_fields_of_a_record_have_a_bound(mx, records):
    """1000 of them: 998 targets beside kind and source."""
    data = records(mx())
    most = ["kind forward", "source s", *(f"target t{i}@d.test" for i in range(998))]
    data.put("address", "x@d.test", *most)
    with pytest.raises(Refused, match="^bad A record has at most 1000 fields$"):
        data.put("address", "x@d.test", *most, "target more@d.test")


def test_bytes_of_a_record_have_a_bound(mx, records):
    """64 KiB with all that is said of it: more, and the client is cut off."""
    data = records(mx())
    words = [b"put", b"1", b"address", b"y@d.test", b"kind forward"]
    words += [b"target %s%03d@%s.test" % (b"t" * 40, i, b"d" * 55) for i in range(560)]
    spoken = b"".join(netstring(word) for word in words)
    left = 65536 - len(spoken)
    assert 110 < left < 1000  # the last word has three digits
    spoken += netstring(b"text ".ljust(left - len("123:,"), b"x"))
    assert len(spoken) == 65536
    data.socket.sendall(netstring(spoken))
    assert data.hear()[:3] == [b"err", b"1", b"bad"]  # a forward has no text: it was read whole
    data.socket.sendall(netstring(spoken + b"0:,"))
    assert data.hear() == [b"err", b"0", b"bad", b"The frame is too long"]
    assert data.file.read() == b""


def test_loop_is_named(mx, records):
    one = mx()
    records(one).put("address", "x@d.test", "kind forward", "target y@d.test")
    records(one).put("address", "y@d.test", "kind forward", "target x@d.test")
    answer = reply(one, "x@d.test")
    assert answer.startswith("451 4.4.6"), answer
    assert "y@d.test" not in answer  # what leads where is the operator's
    wait_until(lambda: any("x@d.test > y@d.test > x@d.test" in str(event)
                           for event in one.log.read()), "the log names the loop")
    queue_mail(one, "x@d.test")
    one.log.wait("message_found")
    records(one).put("address", "y@d.test", "kind mailbox")

    def is_delivered():
        command(one, "queue", "retry", "--all", "--yes")  # again: the first may come before the loop was seen
        return one.log.find("delivered", to="y@d.test")

    wait_until(is_delivered, "the loop is mended")
    assert not one.log.find("failed")


def test_service_that_is_not_here(mx, records):
    """Another node may have it: mail waits, and goes on when this one has it, too."""
    one = mx()
    records(one).put("address", "x@d.test", "kind mailbox", "service elsewhere")
    assert reply(one, "x@d.test").startswith("451 4.3.5")
    queue_mail(one, "x@d.test")
    one.log.wait("directory_service", address="x@d.test")
    one.settings += f'service elsewhere {{ kind = maildir path = "{one.mail}/%d/%u" }}\n'
    one.write_configuration()
    one.reload()
    wait_for_reply(one, "x@d.test", "250")
    one.maildir("x@d.test").wait(1, timeout=90)


# --- the directory is away ---


def stop_directory(one):
    """SIGSTOP: it is silent; the pid."""
    (pid,) = one.pids("directory")
    os.kill(pid, signal.SIGSTOP)
    return pid


def command(one, *words, **more):
    """What "stagepost WORDS" prints."""
    return subprocess.run(
        as_user() + [os.path.join(one.programs, "stagepost"), *words], timeout=60,
        stdout=subprocess.PIPE, env={**os.environ, "STAGEPOST_CONF": one.conf}, cwd=one.directory,
        **{"check": True, **more}).stdout


def queue_mail(one, recipient, count=1):
    """Without asking anybody."""
    for _ in range(count):
        command(one, "sendmail", "-f", "sender@client.test", recipient, input=STORED)


def test_mail_waits_for_the_directory(mx):
    """451, never 550; what is in the queue waits behind the trigger, and is delivered within
    a second of the directory's return."""
    one = mx()
    pid = stop_directory(one)
    try:
        assert reply(one, "bob@d.test").startswith("451 4.4.3")
        assert reply(one, "nobody@d.test").startswith("451 4.4.3")
        queue_mail(one, "ann@d.test", 30)
        wait_until(lambda: "directory" in one.trigger_files(), "the trigger is set")
        assert not one.maildir("ann@d.test").files()
    finally:
        os.kill(pid, signal.SIGCONT)
    begin = time.monotonic()
    one.maildir("ann@d.test").wait(30)
    assert time.monotonic() - begin < 1.5 * SECOND
    assert not one.trigger_files()
    assert reply(one, "bob@d.test").startswith("250")
    assert reply(one, "nobody@d.test").startswith("550 5.1.1")
    assert not one.log.find("failed")


def test_killed_directory_is_back_at_once(mx):
    one = mx()
    for round_ in range(1, 4):
        one.kill_and_wait("directory")
        queue_mail(one, "ann@d.test", 5)
        one.maildir("ann@d.test").wait(5 * round_, timeout=10)
    wait_until(lambda: not one.trigger_files(), "no trigger is left")
    assert not one.log.find("failed")


def test_operator_sees_what_mail_waits_for(mx):
    one = mx()
    pid = stop_directory(one)
    try:
        queue_mail(one, "ann@d.test", 3)
        wait_until(lambda: "directory" in one.trigger_files(), "the trigger is set")
        (line,) = command(one, "trigger", "list", "--json").splitlines()
        assert json.loads(line)["name"] == "directory"
        assert b"directory" in command(one, "trigger", "list")
        mark = one.log.mark()
        command(one, "trigger", "release", "directory")
        one.log.wait("trigger_released", since=mark, trigger="directory")
        one.log.wait("trigger_set", since=mark, trigger="directory")  # it is still away
    finally:
        os.kill(pid, signal.SIGCONT)
    one.maildir("ann@d.test").wait(3)


@pytest.mark.parametrize("order", ["remove", "bounce"])
def test_operator_gives_up_what_waits(mx, order):
    """Nobody has to know for that where it would have gone."""
    one = mx()
    pid = stop_directory(one)
    try:
        queue_mail(one, "ann@d.test", 2)
        wait_until(lambda: "directory" in one.trigger_files(), "the trigger is set")

        def is_ordered():
            """Of a message that is not asleep yet it is refused."""
            command(one, "queue", order, "--all", "--yes", check=False)
            return len(one.log.find("operator")) == 2

        wait_until(is_ordered, "both are given up", 40)
        if order == "remove":
            one.wait_empty()
        else:
            one.log.wait("bounced", count=2)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert not one.maildir("ann@d.test").files()


def test_restart_while_mail_waits(mx):
    """The trigger's file outlives "send"; nobody releases it but who asks anew."""
    one = mx()
    pid = stop_directory(one)
    try:
        queue_mail(one, "ann@d.test", 3)
        wait_until(lambda: "directory" in one.trigger_files(), "the trigger is set")
        one.kill_and_wait("send")
        one.kill_and_wait("resolve")
        time.sleep(1)
        assert not one.maildir("ann@d.test").files()
    finally:
        os.kill(pid, signal.SIGCONT)
    one.maildir("ann@d.test").wait(3)


def test_mail_does_not_wait_for_ever(mx):
    """As long as for anything else: then its sender is told."""
    one = mx("queuelifetime = 2s\n")
    pid = stop_directory(one)
    try:
        queue_mail(one, "ann@d.test")
        failed = one.log.wait("failed", to="ann@d.test")
        assert failed["status"] == "5.4.7" and "does not answer" in failed["text"]
        one.log.wait("bounced")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert not one.maildir("ann@d.test").files()


def test_commands_wait_for_their_answers(mx):
    """Pipelined: each is answered in its turn, once the directory is back."""
    one = mx()
    pid = stop_directory(one)
    with Client(one) as client:
        client.sock.sendall(b"MAIL FROM:<a@client.test>\r\nRCPT TO:<ann@d.test>\r\n"
                            b"RCPT TO:<nobody@d.test>\r\nRCPT TO:<bob@d.test>\r\nDATA\r\n")
        time.sleep(0.5)
        os.kill(pid, signal.SIGCONT)
        assert [client.getreply()[0] for _ in range(5)] == [250, 250, 550, 250, 354]
        client.sock.sendall(TEXT + b".\r\n")
        assert client.getreply()[0] == 250
    one.maildir("ann@d.test").wait(1)
    one.maildir("bob@d.test").wait(1)


def test_clients_that_do_not_wait(mx):
    """They are gone when the directory answers, and nobody minds."""
    one = mx()
    pids = one.pids("smtpd")
    for _ in range(3):
        pid = stop_directory(one)
        clients = [Client(one) for _ in range(40)]
        for number, client in enumerate(clients):
            client.sock.sendall(b"MAIL FROM:<a@client.test>\r\n" +
                                b"RCPT TO:<x%d@d.test>\r\n" % number * 3)
        time.sleep(0.3)
        for client in clients:
            client.sock.close()
        time.sleep(0.3)
        os.kill(pid, signal.SIGCONT)
        assert reply(one, "ann@d.test").startswith("250")
    assert one.pids("smtpd") == pids
    deliver(one, "ann@d.test", TEXT)
    one.maildir("ann@d.test").wait(1)


def test_the_directory_comes_and_goes(node):
    """Without it its domains are not ours, and what is for a list waits until it is there."""
    one = node(domains=["a.test"], relay_from=[])
    section = f'directory {{ path = "{one.directory}/directory.db" }}\n'

    def restart(settings):
        one.settings = settings
        one.write_configuration()
        one.restart()

    assert reply(one, "ann@d.test").startswith("550 5.7.1")
    assert not one.pids("list") and not one.pids("directory")
    restart(section + "transport list { paused = yes }\n")
    with Records(one) as records:
        records.put("domain", "d.test", "kind local", "service maildir")
        records.put("address", "ann@d.test", "kind mailbox")
        records.list("list@d.test", ["ann@d.test"], "ann@d.test")
    wait_for_reply(one, "ann@d.test", "250")
    deliver(one, ["ann@d.test", "list@d.test", "anna@a.test"], TEXT)
    one.maildir("ann@d.test").wait(1)
    one.maildir("anna@a.test").wait(1)
    restart("")
    assert reply(one, "ann@d.test").startswith("550 5.7.1")
    deliver(one, "anna@a.test", TEXT)
    one.maildir("anna@a.test").wait(2)
    assert one.control_files() and not one.log.find("failed")
    restart(section)
    one.maildir("ann@d.test").wait(2)
    one.wait_empty()


# --- lists ---


def senders(one, address, count=1):
    """Return-Path of what is in a mailbox."""
    return sorted(re.match(rb"Return-Path: <(.*)>\n", stored).group(1).decode()
                  for stored in one.maildir(address).wait(count))


def test_list_of_three(mx, records):
    one = mx()
    records(one).list("list@d.test", ["ann@d.test", "bob@d.test", "carl@d.test"], "owner@d.test")
    deliver(one, "List+x@D.TEST", TEXT)
    for name in "ann", "bob", "carl":
        (stored,) = one.maildir(f"{name}@d.test").wait(1)
        trace = split_trace(stored, STORED)
        assert trace.startswith(b"Return-Path: <owner@d.test>\nDelivered-To: " + name.encode() +
                                b"@d.test\nDelivered-To: list@d.test\n")
    one.wait_empty()
    assert len(one.log.find("list_expanded")) == 1


def test_log_says_whom_mail_was_for(mx, records):
    """The address that the sender named, the message's own id; a list's new messages are traced,
    and what the log has as a number is one."""
    one = mx()
    records(one).put("address", "sales@d.test", "kind forward", "target ann@d.test")
    records(one).list("list@d.test", ["bob@d.test", "carl@d.test"], "owner@d.test")
    deliver(one, ["sales@d.test", "list@d.test"], b"Message-ID: <1.2=3@client.test>\r\n" + TEXT)
    accepted = one.log.wait("message_accepted")
    assert accepted["message_id"] == "<1.2=3@client.test>"
    assert one.log.wait("delivered", to="ann@d.test")["original"] == "sales@d.test"
    members = [one.log.wait("delivered", to=f"{name}@d.test") for name in ("bob", "carl")]
    assert all("original" not in event for event in members)  # the list's message names them
    one.wait_empty()
    told = subprocess.run([f"{one.programs}/stagepost", "trace", "--json", accepted["id"],
                           one.log.path], capture_output=True, check=True, timeout=60).stdout
    events = [json.loads(line) for line in told.splitlines()]
    assert {event["to"] for event in events if event["event"] == "delivered"} >= {
        "ann@d.test", "bob@d.test", "carl@d.test"}
    assert [event["recipients"] for event in events if "recipients" in event][0] == 2
    assert {event["id"] for event in events} == {accepted["id"], members[0]["id"]}


def test_log_says_whom_was_refused(mx):
    one = mx(listen="bare_newline = reject")
    assert reply(one, "nobody@d.test", "anna@client.test").startswith("550 5.1.1")
    refused = one.log.wait("command_refused")
    assert refused["from"] == "anna@client.test" and "nobody@d.test" in refused["command"]
    with Client(one) as client:
        refusal = client.deliver("anna@client.test", ["ann@d.test", "bob@d.test"],
                                 b"Message-ID: <4@client.test>\r\n\r\nbare\nfeed\r\n")
    assert refusal.startswith("550 5.6.11")
    refused = one.log.wait("message_refused")
    assert {name: refused[name] for name in ("from", "to", "recipients", "message_id")} == {
        "from": "anna@client.test", "to": "ann@d.test", "recipients": "2",
        "message_id": "<4@client.test>"}


def test_all_domains_are_in_the_directory(mx, records):
    """Their host has a postmaster, its users have addresses, and newaliases finds them a domain."""
    one = mx('default_domain = "d.test"\n')
    assert reply(one, "Postmaster").startswith("250")
    assert reply(one, "postmaster@mx.stagepost.test").startswith("250")
    records(one).put("address", "root@d.test", "kind alias", "target ann@d.test")
    sendmail = ["-C", one.conf, "-f", "bob", "root"]
    subprocess.run(as_user() + [f"{one.programs}/stagepost", "sendmail", *sendmail],
                   input=b"To: root\nSubject: x\n\ny\n", check=True, timeout=60)
    delivered = one.log.wait("delivered", to="ann@d.test")
    assert delivered["original"] == "root@d.test"
    (stored,) = one.maildir("ann@d.test").wait(1)
    assert b"\nTo: root@d.test\n" in stored and b"Return-Path: <bob@d.test>\n" in stored
    aliases = f"{one.directory}/aliases"
    with open(aliases, "w", encoding="ascii") as file:
        file.write("hostmaster: ann\n")
    one.settings = one.settings.replace("directory {", f'directory {{ aliases = {{ "{aliases}" }}')
    one.write_configuration()
    one.reload()
    assert "1 aliases" in subprocess.run(
        as_user() + [f"{one.programs}/stagepost", "newaliases", "-c", one.conf], check=True,
        capture_output=True, text=True, timeout=60).stdout
    wait_for_reply(one, "hostmaster@d.test", "250")


def test_extensions_begin_where_the_configuration_says(mx, records):
    """user-x is user until it has a record of its own, and both are live; a service is told user+x,
    so a name that has a record is not cut."""
    one = mx('recipient_delimiter = "-"\n')
    data = records(one)
    data.put("address", "@d.test", "kind forward", "target bob@d.test")
    deliver(one, "ann-x@d.test", TEXT)
    one.maildir("ann@d.test").wait(1)
    data.put("address", "ann-x@d.test", "kind refused", "text Not this one")
    wait_for_reply(one, "ann-x@d.test", "550 5.7.1")
    data.put("address", "ann-x@d.test", "kind mailbox")
    wait_for_reply(one, "ann-x@d.test", "250")
    deliver(one, "ann-x@d.test", TEXT)
    one.maildir("ann-x@d.test").wait(1)
    data.remove("address", "ann-x@d.test")
    data.remove("address", "@d.test")
    wait_for_reply(one, "dora-x@d.test", "550 5.1.1")
    data.put("address", "dora@d.test", "kind mailbox")
    wait_for_reply(one, "dora-x@d.test", "250")
    data.remove("address", "dora@d.test")
    wait_for_reply(one, "dora-x@d.test", "550 5.1.1")
    assert reply(one, "ann+x@d.test").startswith("550 5.1.1")
    data.put("address", "ann+x@d.test", "kind mailbox")
    wait_for_reply(one, "ann+x@d.test", "250")
    for recipient in ("ann+x@d.test", "ann+x-tag@d.test"):
        deliver(one, recipient, TEXT)
    one.maildir("ann+x@d.test").wait(2)  # a + is a character of its name like any other
    data.remove("address", "ann+x@d.test")
    wait_for_reply(one, "ann+x@d.test", "550 5.1.1")
    assert len(one.maildir("ann@d.test").files()) == 1
    one.settings = one.settings.replace('= "-"', '= "+"')
    one.write_configuration()
    one.reload()
    wait_for_reply(one, "ann+x@d.test", "250")
    wait_for_reply(one, "ann-x@d.test", "550 5.1.1")
    deliver(one, "ann+x@d.test", TEXT)
    one.maildir("ann@d.test").wait(2)


def test_list_of_five_thousand(mx, records):
    one = mx()
    records(one).put("address", "@d.test", "kind forward", "target ann@d.test")
    members = [f"member-{i}@d.test" for i in range(5000)]
    records(one).list("list@d.test", members, "owner@d.test")
    deliver(one, "list@d.test", TEXT)
    one.log.wait("delivered", by="maildir", count=5000, timeout=120)
    one.wait_empty()
    assert {event["original"] for event in one.log.find("delivered", by="maildir")} == set(members)
    assert 5 <= len(one.maildir("ann@d.test").files()) <= 50  # one for those that are delivered together
    assert len(one.log.find("list_expanded")) == 5


def test_each_member_has_a_sender_of_its_own(mx, records):
    """And a bounce to it comes to the owner."""
    one = mx()
    records(one).list("list@d.test", ["ann@d.test", "bob@d.test", "gone@d.test"], "owner@d.test",
                      verp="yes")
    deliver(one, "list@d.test", TEXT)
    assert senders(one, "ann@d.test") == ["owner+ann=d.test@d.test"]
    assert senders(one, "bob@d.test") == ["owner+bob=d.test@d.test"]
    (bounce,) = one.maildir("owner@d.test").wait(1)
    assert b"gone@d.test" in bounce and b"Delivered-To: owner+@d.test" in bounce
    deliver(one, "owner+ann=d.test@d.test", TEXT, sender="")
    one.maildir("owner@d.test").wait(2)


def test_quoted_names(mx, records):
    """Of a list and of a member, where quotes are needed."""
    one = mx()
    records(one).put("address", '"ann b"@d.test', "kind mailbox", "mailbox ann@d.test")
    records(one).list('"my list"@d.test', ['"ann b"@d.test', "bob@d.test"], "owner@d.test")
    deliver(one, '"my list"@d.test', TEXT)
    assert senders(one, "ann@d.test") == senders(one, "bob@d.test") == ["owner@d.test"]
    one.wait_empty()


def test_nested_lists(mx, records):
    """Each list has its own owner, and who is in both has the mail once."""
    one = mx()
    records(one).list("inner@d.test", ["ann@d.test", "bob@d.test"], "bob@d.test")
    records(one).list("outer@d.test", ["inner@d.test", "carl@d.test", "bob@d.test"], "owner@d.test")
    deliver(one, "outer@d.test", TEXT)
    assert senders(one, "ann@d.test") == ["bob@d.test"]
    assert senders(one, "bob@d.test") == senders(one, "carl@d.test") == ["owner@d.test"]
    one.wait_empty()
    (stored,) = one.maildir("ann@d.test").files()
    assert split_trace(open(stored, "rb").read(), STORED).startswith(
        b"Return-Path: <bob@d.test>\nDelivered-To: ann@d.test\n"
        b"Delivered-To: inner@d.test\nDelivered-To: outer@d.test\n")


def test_lists_that_fan_out(mx, records):
    """Ten deep, each with two that both lead on: 1,024 ways to one member."""
    one = mx()
    for depth in range(10):
        for side in "ab":
            below = [f"{next_side}{depth + 1}@d.test" for next_side in "ab"] if depth < 9 else [
                "ann@d.test"]
            records(one).list(f"{side}{depth}@d.test", below, "owner@d.test")
    deliver(one, "a0@d.test", TEXT)
    one.wait_empty()
    assert len(one.maildir("ann@d.test").files()) == 1
    assert one.log.wait("delivered", to="a0@d.test")["text"] == (
        "sent on to 1 members in 1 messages")


def test_lists_that_hold_each_other(mx, records):
    """Each has the mail once, and the log names the loop; nobody is troubled with it."""
    one = mx()
    records(one).list("one@d.test", ["two@d.test", "ann@d.test"], "owner@d.test")
    records(one).list("two@d.test", ["one@d.test", "bob@d.test"], "owner@d.test")
    deliver(one, "one@d.test", TEXT)
    one.maildir("bob@d.test").wait(1)
    one.wait_empty()
    assert one.log.wait("list_loop")["way"] == "one@d.test > two@d.test > one@d.test"
    assert len(one.maildir("ann@d.test").files()) == len(one.maildir("bob@d.test").files()) == 1
    assert not one.maildir("owner@d.test").files()


def test_list_that_changes(mx, records):
    one = mx()
    records(one).list("list@d.test", ["ann@d.test"], "owner@d.test")
    deliver(one, "list@d.test", TEXT)
    one.maildir("ann@d.test").wait(1)
    records(one).put("member", "list@d.test bob@d.test")
    records(one).remove("member", "list@d.test ann@d.test")
    deliver(one, "list@d.test", TEXT)
    one.maildir("bob@d.test").wait(1)
    records(one).remove("member", "list@d.test bob@d.test")
    mark = one.log.mark()
    deliver(one, "list@d.test", TEXT)
    one.log.wait("delivered", since=mark, text="the list has no members")
    records(one).remove("address", "list@d.test")
    wait_for_reply(one, "list@d.test", "550 5.1.1")
    assert len(one.maildir("ann@d.test").files()) == 1


def test_bounces_are_not_for_members(mx, records):
    one = mx()
    records(one).list("list@d.test", ["ann@d.test"], "owner@d.test")
    deliver(one, "list@d.test", TEXT, sender="")
    one.log.wait("failed", status="5.7.2")
    assert not one.maildir("ann@d.test").files()


def test_who_may_post_to_a_list(mx, records):
    """Told at RCPT; behind a forward to more, and to those who bring mail otherwise, by a bounce."""
    one = mx()
    opened = records(one)
    opened.list("inner@d.test", ["far@client.test"], "owner@d.test")
    opened.list("list@d.test", ["ann@d.test", "inner@d.test"], "owner@d.test", post="members")
    opened.put("address", "all@d.test", "kind alias", "target list@d.test")
    opened.put("address", "many@d.test", "kind forward", "target list@d.test", "target bob@d.test")
    refused = "550 5.7.2 This list takes no mail from this sender"
    for sender in "stranger@client.test", "ann+x@d.test", "":
        assert reply(one, "list@d.test", sender) == reply(one, "all@d.test", sender) == refused
    for sender in "Ann@D.test", "far@client.test", "owner@d.test":
        assert reply(one, "list@d.test", sender).startswith("250"), sender
    # what is known of one sender says nothing about another, nor about tomorrow
    opened.put("member", "list@d.test stranger@client.test")
    wait_until(lambda: reply(one, "list@d.test", "stranger@client.test").startswith("250"),
               "a new member may post")
    opened.put("address", "list@d.test", "kind list", "owner owner@d.test", "post owners")
    wait_until(lambda: reply(one, "list@d.test", "ann@d.test") == refused, "members may not post")
    assert reply(one, "list@d.test", "owner@d.test").startswith("250")
    deliver(one, "many@d.test", TEXT, sender="carl@d.test")
    assert one.log.wait("failed", to="list@d.test")["status"] == "5.7.2"
    (bounce,) = one.maildir("carl@d.test").wait(1)
    assert b"5.7.2" in bounce
    one.maildir("bob@d.test").wait(1)
    deliver(one, "list@d.test", TEXT, sender="owner@d.test")
    one.maildir("ann@d.test").wait(1)


def test_list_waits_for_the_directory(mx, records):
    one = mx('transport list { paused = yes }\n')
    records(one).list("list@d.test", [f"member-{i}@d.test" for i in range(2500)] + ["ann@d.test"],
                      "owner@d.test")
    deliver(one, ["list@d.test", "bob@d.test"], TEXT)
    one.log.wait("delivered", to="bob@d.test")  # so both were looked up
    pid = stop_directory(one)
    try:
        one.settings = one.settings.replace("transport list { paused = yes }", "")
        one.write_configuration()
        mark = one.log.mark()
        one.reload()
        one.log.wait("trigger_set", since=mark, trigger="directory")
    finally:
        os.kill(pid, signal.SIGCONT)
    begin = time.monotonic()
    one.maildir("ann@d.test").wait(1)
    assert time.monotonic() - begin < 3 * SECOND
    one.wait_empty()
    assert len(one.maildir("ann@d.test").files()) == 1


# --- nothing is lost ---


def test_killed_under_load(mx, records):
    """kill -9 of whoever takes part: each message is there for each member at least once, and
    nobody is told that there is no such user."""
    one = mx()
    members = [f"m{i}@d.test" for i in range(20)]
    for member in members:
        records(one).put("address", member, "kind mailbox")
    records(one).list("list@d.test", members, "owner@d.test")
    is_over = threading.Event()
    refused = []
    accepted = []

    def send(number):
        while not is_over.is_set():
            name = f"{number}-{len(accepted)}"
            try:
                with Client(one) as client:
                    answer = client.deliver("sender@client.test", "list@d.test",
                                            f"Subject: {name}\r\n\r\nA line.\r\n".encode())
            except OSError:
                continue
            time.sleep(0.1)  # each of them becomes twenty
            if answer.startswith("250"):
                accepted.append(name)
            elif answer.startswith("5"):
                refused.append(answer)

    senders_ = [threading.Thread(target=send, args=(number,)) for number in range(3)]
    for sender in senders_:
        sender.start()
    end = time.monotonic() + float(os.environ.get("KILL_SECONDS", "12"))
    try:
        # not in whole rounds: who is killed often is started again later each time
        for kills, program in enumerate(itertools.cycle(("list", "directory", "resolve", "list"))):
            if kills >= 8 and time.monotonic() >= end:
                break
            one.kill_and_wait(program)
            time.sleep(0.3)
    finally:
        is_over.set()
        for sender in senders_:
            sender.join()
    one.wait_empty(timeout=120)
    assert accepted and not refused
    assert not one.log.find("failed")
    for member in members:
        subjects = {re.search(rb"^Subject: (.*)$", stored, re.M).group(1).decode()
                    for stored in one.maildir(member).messages()}
        assert subjects >= set(accepted)


def test_an_alias_beside_its_address_makes_no_second_copy(mx):
    made = mx()
    with Records(made) as records:
        records.put("address", "team@d.test", "kind alias", "target ann@d.test")
    deliver(made, ["ann@d.test", "team@d.test", "bob@d.test"], TEXT)
    made.log.wait("message_done")
    assert len(made.log.find("delivered")) == 3
    assert len(made.maildir("ann@d.test").files()) == len(made.maildir("bob@d.test").files()) == 1
