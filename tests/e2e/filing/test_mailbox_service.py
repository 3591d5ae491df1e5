# SPDX-License-Identifier: ISC
"""A service of kind mailbox within the daemon: which messages are one, whose sent mail is kept, large
and binary messages, a decoder that is not there, and what is removed from the record."""

import email
import errno
import os
import signal
import subprocess
import time

import pytest
from once import DOUG, IDENTITY, LISA, MESSAGE, SCUBA, message, site, site_with_directory  # noqa: F401
from records import Records
from shim import Call, Shim
from smtp import Client, deliver
from stagepost import PATIENCE, as_user, wait_until

HOUR_US = 3600 * 1000000
DECODE_PATIENCE = 10  # seconds, at most: filing/decode/client.h
DECODERS = ("decode", "decode2")


def send(box, recipients, text, sender=LISA):
    """Delivers and waits until it is done."""
    mark = box.mx.log.mark()
    deliver(box.mx, recipients, text, sender=sender)
    box.mx.log.wait("message_done", since=mark)
    return mark


def retry(box, message_id):
    """That message of the queue, now."""
    subprocess.run([*as_user(), os.path.join(box.mx.programs, "stagepost"), "queue", "retry", message_id,
                    "-c", box.mx.conf], check=True, timeout=PATIENCE)


def test_two_messages_with_one_identity_are_kept_and_logged(site):  # noqa: F811
    box = site(more="sent = none")
    send(box, [SCUBA], message("<x@gmail.test>", "one"))
    send(box, [SCUBA], message("<x@gmail.test>", "two"))
    send(box, [SCUBA], message("<x@gmail.test>", "two"))  # again
    box.mx.log.wait("message_filed_before", mailbox=SCUBA, folder="INBOX")
    assert len(box.files(SCUBA)) == 2
    (shared,) = box.mx.log.find("message_id_shared")
    assert (shared["message_id"], shared["text"]) == ("<x@gmail.test>", "1 with other contents")
    assert len(box.mx.log.find("message_recorded")) == 2


def test_runs_that_differ_in_what_each_delivery_adds(site):  # noqa: F811
    box = site(more="sent = all")
    for recipient in (SCUBA, DOUG):
        added = (f"Return-Path: <{LISA}>\r\nX-Original-To: {recipient}\r\nDelivered-To: {recipient}\r\n"
                 f"Received: from a by b id {recipient}; Thu, 26 Nov 2026 09:00:00 +0000\r\n").encode()
        send(box, [recipient], added + MESSAGE)
    assert [len(box.files(*place)) for place in ((SCUBA,), (DOUG,), (LISA, "Sent"))] == [1, 1, 1]
    assert len(box.mx.log.find("message_recorded", message_id=IDENTITY)) == 1


def test_sent_mail_of_local_senders(site_with_directory):  # noqa: F811
    """It is in the mailbox that mail for the sender would go to; for who has several, or none here, it
    is not kept."""
    box = site_with_directory(more="sent = local")
    with Records(box.mx) as records:
        records.put("domain", "mail.test", "kind local", "service once")
        for address in SCUBA, DOUG:
            records.put("address", address, "kind mailbox")
        records.put("address", "d@mail.test", "kind alias", f"target {DOUG}")
        records.put("address", "team@mail.test", "kind forward", f"target {SCUBA}", f"target {DOUG}")
    for number, sender in enumerate((DOUG, "Doug+x@MAIL.test", "d@mail.test", "team@mail.test", LISA)):
        send(box, [SCUBA], message(f"<{number}@x>", sender=sender))
    assert len(box.files(SCUBA)) == 5
    assert len(box.files(DOUG, "Sent")) == 3
    for address in (LISA, "team@mail.test", "d@mail.test", SCUBA):
        assert not box.files(address, "Sent"), address


def test_a_large_message_holds_up_no_small_one(site):  # noqa: F811
    """It is read by a thread; both are filed, and each once."""
    box = site(more="sent = all")
    large = message("<large@gmail.test>", "x" * 70 + "\r\n" + ("y" * 70 + "\r\n") * 50000)
    assert len(large) > 3 << 20
    for _ in range(2):
        send(box, [SCUBA, DOUG], large)
        send(box, [SCUBA], message("<small@gmail.test>"))
    for address, count in ((SCUBA, 2), (DOUG, 1)):
        copies = sorted(box.copies(address).values(), key=len)
        assert len(copies) == count
        assert copies[-1].endswith(large.replace(b"\r\n", b"\n"))
    assert len(box.files(LISA, "Sent")) == 2


BINARY = (b"Subject: any bytes\r\nMessage-ID: <binary@gmail.test>\r\nFrom: lisa@gmail.test\r\n"
          b"MIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n"
          b"Content-Transfer-Encoding: binary\r\n\r\n")
BYTES = bytes(range(256)) + b"\n.\n\r.\r\n\0" * 100


def send_binary(box, recipient, text):
    with Client(box.mx) as client:
        assert client.docmd(f"MAIL FROM:<{LISA}> BODY=BINARYMIME")[0] == 250
        assert client.docmd(f"RCPT TO:<{recipient}>")[0] == 250
        client.send(b"BDAT %d LAST\r\n" % len(text) + text)
        assert client.getreply()[0] == 250


def test_binary_messages_are_encoded_and_one_with_each_other(site):  # noqa: F811
    box = site(more="sent = all", settings="binarymime = yes\n")
    for recipient in (SCUBA, DOUG, SCUBA):
        send_binary(box, recipient, BINARY + BYTES)
    box.mx.log.wait("message_done", count=3)
    for place in ((SCUBA,), (DOUG,), (LISA, "Sent")):
        (copy,) = box.copies(*place).values()
        parsed = email.message_from_bytes(copy)
        assert parsed["Content-Transfer-Encoding"] == "base64" and parsed.get_payload(decode=True) == BYTES
    assert box.database("SELECT count(*) FROM message") == [(1,)]


def test_a_binary_message_that_cannot_be_encoded(site):  # noqa: F811
    box = site(more="sent = none", settings="binarymime = yes\n")
    signed = BINARY.replace(b"application/octet-stream", b"multipart/signed; boundary=b").replace(
        b"Content-Transfer-Encoding: binary\r\n", b"")
    send_binary(box, SCUBA, signed + b"--b\r\n\r\n\0\x80\r\n--b--\r\n")
    assert box.mx.log.wait("failed", to=SCUBA)["status"] == "5.6.3"
    assert not box.files(SCUBA)


def test_what_cannot_be_decoded_is_filed_and_says_so(site):  # noqa: F811
    box = site(more="sent = none")
    deep = "".join(f"--{level}\r\nContent-Type: multipart/mixed; boundary={level + 1}\r\n\r\n"
                   for level in range(200))
    send(box, [SCUBA], message("<deep@gmail.test>", deep,
                               more="MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=0\r\n"))
    assert len(box.files(SCUBA)) == 1
    said = box.mx.log.wait("message_undecoded", message_id="<deep@gmail.test>")
    assert said["text"] == box.look("status", "<deep@gmail.test>")[0]["problem"]


def test_without_a_decoder_mail_is_filed(site):  # noqa: F811
    """What it finds only decorates a message. The first ones wait for it for a limited time."""
    box = site(more="sent = none")
    send(box, [SCUBA], message("<1@gmail.test>"))
    for name in DECODERS:
        path = os.path.join(box.mx.run, name)
        os.rename(path, path + ".away")  # who connects finds nothing
    for pid in box.mx.pids("decode"):
        os.kill(pid, signal.SIGKILL)
    for number in (2, 3, 4):
        begun = time.monotonic()
        send(box, [SCUBA], message(f"<{number}@gmail.test>"))
        assert time.monotonic() - begun < (DECODE_PATIENCE if number == 2 else 2)
        said = box.mx.log.wait("message_undecoded", message_id=f"<{number}@gmail.test>")
        assert said["text"] == "no decoder was free in time"
    assert len(box.files(SCUBA)) == 4
    for name in DECODERS:
        path = os.path.join(box.mx.run, name)
        os.rename(path + ".away", path)
    mark = box.mx.log.mark()
    number = 5
    while box.mx.log.find("message_undecoded", since=mark) or number == 5:  # until it is connected
        mark = box.mx.log.mark()
        send(box, [SCUBA], message(f"<{number}@gmail.test>"))
        number += 1
    assert not box.mx.log.find("deferred")


# --- a copy of which nobody knew ---

@pytest.fixture
def shim():
    made = Shim()
    yield made
    made.close()


def let_somebody_die(box):
    """Who had appended the only copy, and did not live to record it: the file may not be durable."""
    box.database("UPDATE filing SET state = 'filing', copy = '', filed_us = 0")
    box.database("INSERT INTO attempt(filing, token, began_us) SELECT number, zeroblob(16), opened_us"
                 " FROM filing")


def test_a_copy_that_is_found_is_durable_before_it_is_recorded(site, shim):  # noqa: F811
    """And while the disk refuses that, the record does not say that it is filed."""
    box = site(more="sent = none", start=False)
    box.mx.prefix = shim.prefix
    box.mx.start()
    send(box, [SCUBA], message("<1@gmail.test>"))
    let_somebody_die(box)
    shim.arm(Call("mailbox", "syncfs", "directory"), 1, errno.EIO)
    deliver(box.mx, [SCUBA], message("<1@gmail.test>"), sender=LISA)
    told = box.mx.log.wait("deferred", to=SCUBA)
    assert shim.fired
    assert (told["status"], told["text"]) == ("4.3.0", "The mailbox cannot be read now")
    assert os.strerror(errno.EIO) in box.mx.log.wait("filing_failed")["text"]
    assert box.database("SELECT state, copy FROM filing") == [("filing", "")]
    retry(box, told["id"])
    box.mx.wait_empty()
    assert box.mx.log.find("filing_found") and not box.mx.log.find("filing_surplus")
    assert box.database("SELECT state FROM filing") == [("filed",)]
    assert len(box.files(SCUBA)) == 1


def test_old_messages_are_removed_from_the_record(site):  # noqa: F811
    """Not from mailboxes, and none that is still being filed."""
    box = site(more="sent = none", record="keep = 1h", start=False)
    for number in range(250):
        box.file(message(f"<{number}@gmail.test>")) if number < 4 else None
    columns = "derived, size, sender, subject, date_us, problem"
    for number in range(4, 250):  # more than one step
        box.database(f"INSERT INTO message(message_id, digest, recorded_us, {columns}) SELECT ?, digest, "
                     f"recorded_us, {columns} FROM message WHERE message_id = '<0@gmail.test>'",
                     f"<{number}@gmail.test>")
    box.database("UPDATE message SET recorded_us = recorded_us - ? WHERE message_id <> '<1@gmail.test>'",
                 2 * HOUR_US)
    box.database("UPDATE filing SET state = 'filing' WHERE message = "
                 "(SELECT number FROM message WHERE message_id = '<2@gmail.test>')")
    box.mx.start()
    assert box.mx.log.wait("record_pruned")["removed"] == "248"
    assert box.database("SELECT message_id FROM message ORDER BY message_id") == [
        ("<1@gmail.test>",), ("<2@gmail.test>",)]
    assert box.database("SELECT count(*) FROM filing") == [(2,)]
    assert len(box.files(SCUBA)) == 4


def test_a_record_that_is_kept_for_ever(site):  # noqa: F811
    box = site(more="sent = none", start=False)
    box.file(message("<1@gmail.test>"))
    box.database("UPDATE message SET recorded_us = 0")
    box.mx.start()
    send(box, [SCUBA], message("<2@gmail.test>"))
    box.mx.stop()
    assert not box.mx.log.find("record_pruned")
    assert box.database("SELECT count(*) FROM message") == [(2,)]
