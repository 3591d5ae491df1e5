# SPDX-License-Identifier: ISC
"""Mail that comes back: known by the site's own mark at once, and by nothing that anybody can
write."""

import os
import re
import subprocess

import pytest
from records import Records
from smtp import Client, deliver
from stagepost import split_trace

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
STORED = TEXT.replace(b"\r\n", b"\n")
KEY = "00112233445566778899aabbccddeeff"
ONES_KEY = f"site_key = {KEY}\n"
MARK = re.compile(rb"^X-Stagepost-Loop: v1 [0-9a-f]{16}\n", re.M)


@pytest.fixture
def site(node):
    """site(settings, settings): two nodes, one for one.test and one for two.test, each of which
    has the other as the route for its domain."""

    def site(*settings):
        made = [node(name, start=False, domains=[], hostname=f"mx.{name}.test") for name in ("one", "two")]
        for this, other, name, more in zip(made, reversed(made), ("two", "one"), settings):
            this.routes = [f"{name}.test:{other.address};{other.port}"]
            this.settings = f'directory {{ path = "{this.directory}/directory.db" }}\n' + more
            this.write_configuration()
            this.start()
        for this, name in zip(made, ("one", "two")):
            with Records(this) as records:
                records.put("domain", f"{name}.test", "kind local", "service maildir")
                for user in "ann", "bob":
                    records.put("address", f"{user}@{name}.test", "kind mailbox")
        return made

    return site


def forward(node, address, *targets):
    with Records(node) as records:
        records.put("address", address, "kind forward", *(f"target {target}" for target in targets))


def refusal(node, recipients, text, sender="sender@client.test"):
    with Client(node) as client:
        return client.deliver(sender, recipients, text)


def is_quiet(*nodes):
    for one in nodes:
        one.wait_empty()


LOOP = "554 5.4.6 This message was delivered or sent on here before: a mail loop"


@pytest.mark.parametrize("settings", [("", ""), (ONES_KEY, ONES_KEY)], ids=["machine", "set"])
def test_forwards_that_keep_copies_and_name_each_other(site, settings):
    """One copy each. Whose second visit it is is refused at the dot, and its sender is told."""
    one, two = site(*settings)
    forward(one, "ann@one.test", "ann@one.test", "ann@two.test")
    forward(two, "ann@two.test", "ann@two.test", "ann@one.test")
    deliver(one, "ann@one.test", TEXT, sender="bob@one.test")
    refused = one.log.wait("message_refused", status="5.4.6")
    assert refused["code"] == "554"
    (bounce,) = one.maildir("bob@one.test").wait(1)
    assert b"ann@one.test" in bounce and b"5.4.6" in bounce
    is_quiet(one, two)
    (kept,) = one.maildir("ann@one.test").messages()
    assert split_trace(kept, STORED).startswith(
        b"Return-Path: <bob@one.test>\nDelivered-To: ann@one.test\nReceived: ")
    (sent,) = two.maildir("ann@two.test").messages()
    trace = split_trace(sent, STORED)
    assert trace.startswith(b"Return-Path: <bob@one.test>\nDelivered-To: ann@two.test\nReceived: ")
    assert trace.count(b"\nDelivered-To: ann@one.test\n") == 1


def test_forwards_that_keep_nothing(site):
    one, two = site("", "")
    forward(one, "ann@one.test", "ann@two.test")
    forward(two, "ann@two.test", "ann@one.test")
    deliver(one, "ann@one.test", TEXT, sender="bob@one.test")
    one.maildir("bob@one.test").wait(1)
    is_quiet(one, two)
    one.log.wait("message_refused", status="5.4.6")
    assert len(one.log.find("message_refused", status="5.4.6")) == 1
    assert not two.log.find("message_refused")


def test_a_list_and_a_forward(site):
    """A member of the list, whose mail is forwarded to the list."""
    one, two = site("", "")
    with Records(one) as records:
        records.list("list@one.test", ["bob@one.test", "ann@two.test"], "owner@one.test")
        records.put("address", "owner@one.test", "kind mailbox")
        records.put("address", "crew@one.test", "kind alias", "target list@one.test")
    forward(two, "ann@two.test", "ann@two.test", "crew@one.test")
    deliver(one, "crew@one.test", TEXT)
    one.log.wait("message_refused", status="5.4.6")
    one.maildir("owner@one.test").wait(1)  # it is its mail that comes back
    is_quiet(one, two)
    assert len(one.maildir("bob@one.test").files()) == len(two.maildir("ann@two.test").files()) == 1


def test_what_anybody_can_write_is_no_mark(site):
    """Neither the field of other systems, nor our own with another key."""
    one, two = site(ONES_KEY, "")
    deliver(two, "ann@two.test", TEXT)
    (copy,) = two.maildir("ann@two.test").wait(1)
    (mark,) = MARK.findall(copy)
    forged = (b"Delivered-To: ann@one.test\r\n" + mark.replace(b"\n", b"\r\n") +
              b"X-Stagepost-Loop: v1 0123456789abcdef\r\n" + TEXT)
    deliver(one, "ann@one.test", forged, sender="victim@two.test")
    (stored,) = one.maildir("ann@one.test").wait(1)
    assert stored.endswith(forged.replace(b"\r\n", b"\n"))
    is_quiet(one, two)


def test_who_has_it_is_refused_at_the_dot(site):
    """As long as nobody else is to get it; who has it among others fails alone."""
    one, _ = site("", "")
    deliver(one, "ann@one.test", TEXT)
    (copy,) = one.maildir("ann@one.test").wait(1)
    again = copy.replace(b"\n", b"\r\n")
    assert refusal(one, "ann@one.test", again) == LOOP
    assert refusal(one, "Ann@One.Test", again) == LOOP
    deliver(one, ["ann@one.test", "bob@one.test"], again, sender="ann@two.test")
    one.maildir("bob@one.test").wait(1)
    failed = one.log.wait("failed", to="ann@one.test")
    assert failed["status"] == "5.4.6"
    one.wait_empty()
    assert len(one.maildir("ann@one.test").files()) == 1


def test_a_node_knows_the_marks_of_its_site(site):
    """Of the same key: each node is where the other's mail could come back to."""
    one, two = site(ONES_KEY, ONES_KEY)
    with Records(two) as records:
        records.put("domain", "one.test", "kind local", "service maildir")
        records.put("address", "ann@one.test", "kind mailbox")
    deliver(one, "ann@one.test", TEXT)
    (copy,) = one.maildir("ann@one.test").wait(1)
    assert refusal(two, "ann@one.test", copy.replace(b"\n", b"\r\n")) == LOOP


def test_who_sends_it_again_may(site):
    """Fields Resent- above say that a user did (RFC 5322 section 3.6.6)."""
    one, _ = site("", "")
    deliver(one, "ann@one.test", TEXT)
    (copy,) = one.maildir("ann@one.test").wait(1)
    again = b"Resent-From: ann@one.test\r\nResent-To: ann@one.test\r\n" + copy.replace(b"\n", b"\r\n")
    deliver(one, "ann@one.test", again, sender="ann@one.test")
    one.maildir("ann@one.test").wait(2)
    one.wait_empty()


def test_a_recipient_does_not_learn_of_others(site):
    """Two forwards to one host: each message says only which address led it there."""
    one, two = site("", "")
    forward(one, "ann@one.test", "ann@two.test")
    forward(one, "bob@one.test", "bob@two.test")
    deliver(one, ["ann@one.test", "bob@one.test"], TEXT)
    for user, other in ("ann", b"bob"), ("bob", b"ann"):
        (stored,) = two.maildir(f"{user}@two.test").wait(1)
        assert other not in stored.lower()
        assert len(MARK.findall(stored)) == 2  # of both nodes


def test_the_key_is_not_shown(site):
    one, _ = site(ONES_KEY, "")
    for words in (), ("site_key",), ("--changed",):
        shown = subprocess.run([os.path.join(one.programs, "stagepost"), "config", "-c", one.conf, *words],
                               capture_output=True, check=True, text=True)
        assert KEY not in shown.stdout + shown.stderr and "hidden" in shown.stdout
    with open(one.conf, "a", encoding="utf-8") as conf:
        conf.write(f"site_key = {KEY}0\n")
    wrong = subprocess.run([os.path.join(one.programs, "stagepost"), "check", "-c", one.conf], capture_output=True, check=False, text=True)
    assert wrong.returncode != 0 and KEY not in wrong.stdout + wrong.stderr
    with open(one.log.path, encoding="utf-8") as log:
        assert KEY not in log.read()
