# SPDX-License-Identifier: ISC
"""Dovecot shows by IMAP what is delivered into Maildirs, also while it is."""

import collections
import os
import re
import threading

import pytest
from corpus import corpus
from dovecot import Dovecot
from smtp import Client, deliver
from stagepost import split_trace

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
USERS = ["anna@a.test", "bob@a.test"]
SAMPLES = 500
SENDERS = 4
ROUNDS = 100  # messages of each sender


@pytest.fixture
def mx(node):
    return node(settings="nul = remove\n")


@pytest.fixture
def dovecot(mx):
    made = Dovecot(USERS, f"{mx.mail}/%d/%n")
    yield made
    made.close()


def opened(dovecot, user):
    """A session in the user's INBOX."""
    session = dovecot.imap(user)
    assert session.select()[0] == "OK"
    return session


def fetch(session, numbers, what):
    """[(what stands before the literal, the literal)]"""
    status, parts = session.fetch(numbers, f"({what})")
    assert status == "OK", parts
    return [part for part in parts if isinstance(part, tuple)]


def test_every_byte_is_read(mx, dovecot):
    """Of as many shapes of messages as there are; the sizes in file names are true."""
    samples = {f"{sample.name}@client.test": sample for sample in corpus()[:SAMPLES]}
    with Client(mx) as client:
        for sender, sample in samples.items():
            assert client.deliver(sender, "anna@a.test", sample.data).startswith("250 ")
    count = len(samples)
    mx.maildir("anna@a.test").wait(count, timeout=60)
    session = opened(dovecot, "anna@a.test")
    found = fetch(session, "1:*", "RFC822.SIZE BODY.PEEK[]")
    for told, text in found:
        sender = re.match(rb"Return-Path: <([^>]*)>", text).group(1).decode()
        sample = samples.pop(sender)
        assert text.endswith(sample.data.replace(b"\0", b""))
        split_trace(text.replace(b"\r\n", b"\n"), sample.stored)
        assert int(re.search(rb"RFC822\.SIZE (\d+)", told).group(1)) == len(text)
    assert len(found) == count and not samples
    read = os.path.join(mx.maildir("anna@a.test").path, "cur")  # Dovecot has moved them
    assert len(os.listdir(read)) == count
    for name in os.listdir(read):
        assert f",S={os.path.getsize(os.path.join(read, name))}," in name
    session.logout()
    assert not dovecot.complaints()


@pytest.mark.parametrize("is_first", [True, False], ids=["Dovecot first", "Stagepost first"])
def test_both_make_mailboxes(mx, dovecot, is_first):
    if is_first:
        opened(dovecot, "bob@a.test").logout()
    deliver(mx, "bob@a.test", TEXT)
    mx.log.wait("delivered", to="bob@a.test")
    session = opened(dovecot, "bob@a.test")
    ((_, text),) = fetch(session, "1:*", "BODY[]")
    assert text.endswith(TEXT)
    assert session.store("1", "+FLAGS", r"(\Deleted)")[0] == "OK"
    assert session.expunge() == ("OK", [b"1"])
    deliver(mx, "bob@a.test", TEXT)
    mx.log.wait("delivered", to="bob@a.test", count=2)
    assert session.noop()[0] == "OK"
    assert len(fetch(session, "1:*", "BODY[]")) == 1
    session.logout()
    assert not dovecot.complaints()


def test_mail_is_seen_while_the_mailbox_is_open(mx, dovecot):
    session = opened(dovecot, "anna@a.test")
    assert session.select()[1] == [b"0"]
    session.send(b"idle IDLE\r\n")
    assert session.readline().startswith(b"+ ")
    for count in range(1, 4):
        deliver(mx, "anna@a.test", TEXT)
        lines = iter(session.readline, b"* %d EXISTS\r\n" % count)
        assert all(re.match(rb"\* (\d+ RECENT|OK )", line) for line in lines)
    session.send(b"DONE\r\n")
    assert any(line.startswith(b"idle OK ") for line in iter(session.readline, b""))
    deliver(mx, "anna@a.test", TEXT)
    mx.log.wait("delivered", count=4)
    assert session.noop()[0] == "OK"
    assert session.response("EXISTS")[1][-1] == b"4"
    session.logout()
    assert not dovecot.complaints()


def send_numbered(mx, sender):
    with Client(mx) as client:
        for number in range(ROUNDS):
            text = b"Subject: %d.%d\r\n\r\nhello\r\n" % (sender, number)
            assert client.deliver("s@client.test", "anna@a.test", text).startswith("250 ")


def numbers_in(session):
    """Which of them are in the mailbox that is open."""
    if session.search(None, "ALL")[1] == [b""]:
        return []
    return [text.strip() for _, text in
            fetch(session, "1:*", "BODY.PEEK[HEADER.FIELDS (SUBJECT)]")]


def test_readers_and_deliveries_do_not_disturb_each_other(mx, dovecot):
    """A reader moves messages from new/ to cur/, marks them, files some and removes others
    while more are delivered: each is in one place at the end."""
    senders = [threading.Thread(target=send_numbered, args=(mx, sender))
               for sender in range(SENDERS)]
    session = opened(dovecot, "anna@a.test")
    assert session.create("filed")[0] == "OK"
    for sender in senders:
        sender.start()
    removed = []
    rounds = 0
    while any(sender.is_alive() for sender in senders) or rounds < 3:
        assert session.noop()[0] == "OK"
        here = numbers_in(session)
        if len(here) > 10:
            assert session.store("1:5", "+FLAGS", r"(\Seen \Flagged)")[0] == "OK"
            assert session.copy("1:2", "filed")[0] == "OK"
            assert session.store("1:4", "+FLAGS", r"(\Deleted)")[0] == "OK"
            assert session.expunge()[0] == "OK"
            removed += here[2:4]
            rounds += 1
    for sender in senders:
        sender.join()
    mx.log.wait("delivered", count=SENDERS * ROUNDS)
    mx.wait_empty()
    assert session.noop()[0] == "OK"
    left = numbers_in(session)
    assert session.select("filed")[0] == "OK"
    filed = numbers_in(session)
    session.logout()
    assert collections.Counter(removed + left + filed) == collections.Counter(
        b"Subject: %d.%d" % (sender, number)
        for sender in range(SENDERS) for number in range(ROUNDS))
    assert len(filed) == len(removed) == 2 * rounds
    assert not os.listdir(os.path.join(mx.maildir("anna@a.test").path, "tmp"))
    assert not mx.log.find("deferred") and not dovecot.complaints()
