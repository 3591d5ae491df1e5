# SPDX-License-Identifier: ISC
"""The process "decode": what it finds is recorded, and a message that kills it keeps neither itself
nor others from being filed."""

import os
import signal
import sqlite3
import time
from datetime import datetime

import pytest
from inside import status_of
from smtp import Client
from stagepost import wait_until
from test_mailbox import site  # noqa: F401

HEAD = b"From: Lisa <lisa@gmail.test>\r\nTo: scuba@mail.test\r\nMessage-ID: <%s@gmail.test>\r\n"
MIXED = HEAD % b"mixed" + (
    b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= =?iso-2022-jp?b?GyRCJDMkcyRLJEEkTxsoQg==?=\r\n"
    b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nHello\r\n--x\r\n"
    b"Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n"
    b"Content-Disposition: attachment; filename*=utf-8''a%E2%82%AC.pdf\r\n\r\nAAECAw==\r\n--x--\r\n")
SECONDS = 10  # that mail waits at most for decoders that do not answer
# For what is in each of these the library has no bound: groups within groups, for each of which it needs
# some stack; fields, for each some memory; parameters, encoded words, time by the square of their number.
DEADLY = {
    "stack": HEAD % b"stack" + b"Cc: x" + b":a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q:r:s:t:u:v:w:x\r\n " * 40000 +
             b"\r\nSubject: deadly\r\n\r\nx\r\n",
    "memory": HEAD % b"memory" + b"Subject: deadly\r\n" +
              b"".join(b"X%x: x\r\n" % number for number in range(1000000)) + b"\r\nx\r\n",
    "parameters": HEAD % b"parameters" + b"Subject: deadly\r\nContent-Type: text/plain" +
                  b"".join(b";\r\n p%d=x" % number for number in range(60000)) + b"\r\n\r\nx\r\n",
    "sections": HEAD % b"sections" + b"Subject: deadly\r\nContent-Type: text/plain" +
                b";\r\n p*0*=utf-8''x" * 80000 + b"\r\n\r\nx\r\n",
    "words": HEAD % b"words" + b"Subject: deadly\r\nCc:" + b" =?utf-8?q?a\r\n" * 70000 + b"\r\nx\r\n",
}


def send(own, message):
    with Client(own.mx) as client:
        assert client.deliver("lisa@gmail.test", ["scuba@mail.test"], message).startswith("250 ")
    own.mx.wait_empty()


def recorded(own, query, *arguments):
    with sqlite3.connect(f"file:{own.record}?mode=ro", uri=True) as database:
        return database.execute(query, arguments).fetchall()


def test_what_is_in_a_message_is_recorded(site):  # noqa: F811
    own = site()
    send(own, MIXED)
    assert recorded(own, "SELECT subject, problem FROM message") == [("Grüßeこんにちは", "")]
    assert recorded(own, "SELECT role, address, name FROM participant ORDER BY position") == [
        ("from", "lisa@gmail.test", "Lisa"), ("to", "scuba@mail.test", "")]
    assert recorded(own, "SELECT number, type, disposition, filename, size FROM part ORDER BY position") == [
        ("TEXT", "multipart/mixed", "", "", 0), ("1", "text/plain", "", "", 5),
        ("2", "application/pdf", "attachment", "a€.pdf", 4)]


@pytest.mark.parametrize("what", DEADLY)
def test_what_a_library_cannot_bear_is_kept_from_it(site, what):  # noqa: F811
    """It is filed, with what is within the bounds, no process dies, and what comes next is as usual."""
    own = site()
    send(own, DEADLY[what])
    copy, = own.copies("scuba@mail.test").values()
    assert copy.endswith(DEADLY[what].replace(b"\r\n", b"\n"))
    (subject, problem), = recorded(own, "SELECT subject, problem FROM message")
    assert "the header has too much of something" in problem
    assert subject == "deadly"
    send(own, MIXED)
    assert recorded(own, "SELECT problem FROM message WHERE message_id LIKE '<mixed%'") == [("",)]
    assert not own.mx.log.find("process_ended")
    own.mx.stop()


def honest(own, count, first):
    """COUNT messages at once; all are filed within SECONDS."""
    with Client(own.mx) as client:
        for number in range(first, first + count):
            assert client.deliver("lisa@gmail.test", ["scuba@mail.test"],
                                  HEAD % b"honest%d" % number + b"Subject: x\r\n\r\n").startswith("250 ")
    own.mx.wait_empty()


def test_one_that_keeps_silent_holds_up_nothing(site):  # noqa: F811
    """As if it had been taken over: it is replaced, and of forty messages one is not decoded."""
    own = site()
    send(own, MIXED)
    silent = own.mx.pids("decode")[0]
    os.kill(silent, signal.SIGSTOP)
    begun = time.monotonic()
    honest(own, 40, 0)
    assert time.monotonic() - begun < SECONDS
    assert len(own.copies("scuba@mail.test")) == 41
    said = own.mx.log.wait("process_silent", program="decode", pid=silent, by="mailbox")
    assert said and own.mx.log.wait("process_ended", program="decode", pid=silent, status="signal 9")
    undecoded = recorded(own, "SELECT problem FROM message WHERE problem <> ''")
    assert undecoded == [("it was not decoded in time",)]
    honest(own, 10, 40)
    assert len(own.copies("scuba@mail.test")) == 51
    assert len(recorded(own, "SELECT 1 FROM message WHERE problem <> ''")) == 1


def test_all_keep_silent(site):  # noqa: F811
    own = site()
    send(own, MIXED)
    for pid in own.mx.pids("decode"):
        os.kill(pid, signal.SIGSTOP)
    begun = time.monotonic()
    honest(own, 40, 0)
    assert time.monotonic() - begun < SECONDS
    assert len(own.copies("scuba@mail.test")) == 41
    assert len(recorded(own, "SELECT 1 FROM message WHERE problem <> ''")) == 2


def test_a_death_costs_milliseconds(site):  # noqa: F811
    """However many there are."""
    own = site()
    for count in range(8):
        pid = own.mx.pids("decode")[0]
        wait_until(lambda: status_of(pid)["Seccomp"] == ["2"], "it has begun")
        mark = own.mx.log.mark()
        os.kill(pid, signal.SIGKILL)
        ended = own.mx.log.wait("process_ended", since=mark, pid=pid)
        begun = own.mx.log.wait("process_started", since=mark, program="decode")
        wait = (datetime.fromisoformat(begun["time"]) - datetime.fromisoformat(ended["time"])).total_seconds()
        assert wait < 0.5, count
    honest(own, 5, 0)
    assert not recorded(own, "SELECT 1 FROM message WHERE problem <> ''")
