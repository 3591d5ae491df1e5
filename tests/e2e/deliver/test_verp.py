# SPDX-License-Identifier: ISC
"""Senders of their own for each recipient, as qmail has them: LOCAL@DOMAIN-@[]."""

import os
import re
import subprocess

import pytest
from stagepost import as_user

TEXT = b"Subject: hello\n\nA line.\n"


@pytest.fixture
def enqueue(ground):
    def enqueue(mx, sender, *recipients):
        envelope = b"F" + sender + b"\0" + b"".join(b"T" + to + b"\0" for to in recipients) + b"\0"
        read, write = os.pipe()
        os.write(write, envelope)
        os.close(write)
        try:
            ended = subprocess.run(
                as_user() + [os.path.join(ground.programs, "stagepost"), "enqueue"], input=TEXT,
                stdout=read, stderr=subprocess.PIPE, check=False, timeout=60, cwd=mx.directory,
                env={**os.environ, "STAGEPOST_CONF": mx.conf})
        finally:
            os.close(read)
        return ended.returncode, ended.stderr

    return enqueue


def sender_of(stored):
    return re.match(rb"Return-Path: <(.*)>\n", stored).group(1)


def test_each_recipient_has_its_own(node, enqueue):
    mx = node(domains=["a.test"])
    status, words = enqueue(mx, b"list-@a.test-@[]", b"ann@a.test", b"bob+x@a.test")
    assert status == 0, words
    (ann,) = mx.maildir("ann@a.test").wait(1)
    (bob,) = mx.maildir("bob@a.test").wait(1)
    assert sender_of(ann) == b"list-ann=a.test@a.test"
    assert sender_of(bob) == b"list-bob+x=a.test@a.test"
    mx.wait_empty()


def test_bounce_goes_to_the_whole(node, enqueue):
    mx = node(domains=['domain "a.test" { service = maildir addresses = { "ann", "list-" } }'])
    status, words = enqueue(mx, b"list-@a.test-@[]", b"ann@a.test", b"gone@a.test")
    assert status == 0, words
    (bounce,) = mx.maildir("list-@a.test").wait(1)
    assert sender_of(bounce) == b"" and b"gone@a.test" in bounce
    mx.wait_empty()


def test_relayed_alone(node, enqueue):
    """To one host, but each by a transaction of its own."""
    hop = node("hop", domains=["b.test"])
    mx = node("mx", routes=[f":127.0.0.1;{hop.port}"])
    status, words = enqueue(mx, b"list-@a.test-@[]", *(b"m%d@b.test" % i for i in range(20)))
    assert status == 0, words
    for i in range(20):
        (stored,) = hop.maildir(f"m{i}@b.test").wait(1)
        assert sender_of(stored) == b"list-m%d=b.test@a.test" % i
    mx.wait_empty()


def test_not_of_that_form(node, enqueue):
    mx = node()
    for sender in b"list-@-@[]", b"-@[]", b"list @a.test-@[]":
        status, _ = enqueue(mx, sender, b"ann@a.test")
        assert status != 0
