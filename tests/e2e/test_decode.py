# SPDX-License-Identifier: ISC
"""The process "decode": what it finds is recorded, and a message that kills it keeps neither itself
nor others from being filed."""

import sqlite3

import pytest
from smtp import Client
from test_mailbox import site  # noqa: F401

HEAD = b"From: Lisa <lisa@gmail.test>\r\nTo: scuba@mail.test\r\nMessage-ID: <%s@gmail.test>\r\n"
MIXED = HEAD % b"mixed" + (
    b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= =?iso-2022-jp?b?GyRCJDMkcyRLJEEkTxsoQg==?=\r\n"
    b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nHello\r\n--x\r\n"
    b"Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n"
    b"Content-Disposition: attachment; filename*=utf-8''a%E2%82%AC.pdf\r\n\r\nAAECAw==\r\n--x--\r\n")
# groups within groups, for each of which the library needs some stack; fields, for each some memory
DEADLY = {
    "stack": HEAD % b"stack" + b"Cc: x" + b":a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q:r:s:t:u:v:w:x\r\n " * 40000 +
             b"\r\nSubject: deadly\r\n\r\nx\r\n",
    "memory": HEAD % b"memory" + b"".join(b"X%x: x\r\n" % number for number in range(1000000)) + b"\r\nx\r\n",
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
def test_a_message_that_kills_it_is_filed(site, what):  # noqa: F811
    """Twice, and then it is recorded without what it has; what comes next is as usual."""
    own = site()
    send(own, DEADLY[what])
    copy, = own.copies("scuba@mail.test").values()
    assert copy.endswith(DEADLY[what].replace(b"\r\n", b"\n"))
    assert recorded(own, "SELECT subject, problem FROM message") == [("", "the decoder crashed on it")]
    assert len(own.mx.log.find("process_ended", program="decode")) == 2
    send(own, MIXED)
    assert recorded(own, "SELECT problem FROM message WHERE message_id LIKE '<mixed%'") == [("",)]
    assert len(own.mx.log.find("process_ended")) == 2
    own.mx.stop(may_say=lambda line: "event=process_said" in line and "program=decode" in line)
