# SPDX-License-Identifier: ISC
"""A disk that gives back other bytes than it was given: what is damaged is never delivered as if it
were whole, nothing goes silently, and an operator is told, and decides."""

import glob
import json
import os
import re
import subprocess

import checksums
import pytest
from smtp import deliver
from stagepost import as_user, envelope_of, free_port, wait_until

TEXT = b"Subject: damage\r\n\r\nA line that the disk will change.\r\n"
LARGE = TEXT + b"0123456789abcdef" * 6 * 2000 + b"\r\n"


@pytest.fixture
def run(ground):
    def run(node, *words):
        return subprocess.run([*as_user(), f"{ground.programs}/stagepost", *words, "-c", node.conf],
                              check=False, timeout=60, capture_output=True, stdin=subprocess.DEVNULL)

    return run


def change(path, old, new):
    """As a disk does: the same file, other bytes."""
    assert len(old) == len(new)
    with open(path, "r+b") as file:
        at = file.read().index(old)
        file.seek(at)
        file.write(new)


def info_file(mx):
    (path,) = glob.glob(mx.queue + "/info/*/*")
    return path


@pytest.fixture
def waiting(node):
    """A node with a message that waits for a host that is down, stopped; the port of that host."""
    def waiting(text, recipients=("bob@b.test",), settings="", sender="sender@client.test"):
        port = free_port()
        mx = node(routes=[f"b.test:127.0.0.1;{port}"], settings="probe_delay = 1\n" + settings)
        deliver(mx, list(recipients), text, sender=sender)
        mx.log.wait("deferred", to="bob@b.test")
        wait_until(lambda: glob.glob(mx.queue + "/info/*/*"), "it is at S5")
        wait_until(lambda: "\nwait: " in "".join(mx.control_files().values()), "it is recorded")
        mx.stop()
        return mx, port

    return waiting


@pytest.mark.parametrize("text", [TEXT, LARGE], ids=["small", "large"])
def test_damaged_data_wait_for_an_operator(waiting, node, run, text):
    mx, port = waiting(text)
    (number,) = mx.data_files()
    change(mx.data_files()[number], b"will change", b"has changed")
    mx.make_due()
    mark = mx.log.mark()
    hop = node("hop", domains=["b.test"], port=port)
    mx.start()
    damaged = mx.log.wait("data_damaged", since=mark)
    assert damaged["from"] == "sender@client.test" and damaged["recipients"] == "1"
    assert mx.log.wait("deferred", since=mark, to="bob@b.test")["status"] == "4.3.0"
    assert b"damaged the message" in run(mx, "queue", "list").stdout
    # to try it again delivers nothing
    run(mx, "queue", "retry", "--all", "--yes")
    mx.log.wait("data_damaged", since=mark, count=2)
    assert not hop.maildir("bob@b.test").files()
    released = run(mx, "queue", "release", "--damaged", "--all", "--yes")
    assert released.returncode == 0, released.stderr
    (mail,) = hop.maildir("bob@b.test").wait()
    assert b"the disk has changed" in mail
    mx.log.wait("data_accepted", since=mark)
    mx.wait_empty()


def test_the_sender_of_damaged_data_is_told_in_the_end(waiting, node):
    """When it is as old as mail may get; the damaged text is not returned as his."""
    mx, port = waiting(TEXT, settings="queuelifetime = 20\n")
    (number,) = mx.data_files()
    change(mx.data_files()[number], b"will change", b"has changed")
    mx.make_due()
    hop = node("hop", domains=["b.test"], port=port)
    mark = mx.log.mark()
    mx.start()
    failed = mx.log.wait("failed", since=mark, to="bob@b.test", timeout=60)
    assert failed["status"] == "5.3.0" and "damaged" in failed["text"]
    assert mx.log.wait("bounced", since=mark)["to"] == "sender@client.test"
    assert not hop.maildir("bob@b.test").files()


def test_damaged_text_is_not_returned(waiting, run):
    """It would be somebody else's words as the sender's, or such as no mail may have: then he would not even be
    told."""
    mx, _ = waiting(TEXT, sender="anna@a.test")
    (number,) = mx.data_files()
    change(mx.data_files()[number], b"Subject: damage\r\n", b"Subject: \0amag\n\r\r")
    mx.start()
    assert run(mx, "queue", "bounce", "--all", "--yes").returncode == 0
    (report,) = mx.maildir("anna@a.test").wait()
    assert b"bob@b.test" in report and b"amag" not in report
    mx.wait_empty()


def test_a_damaged_record_is_tried_again_with_a_word(waiting, node):
    """Two of three recipients had the message: the one whose record is damaged gets it again rather
    than not at all, the other one does not."""
    mx, port = waiting(TEXT, recipients=("bob@b.test", "anna@a.test", "carl@a.test"))
    assert len(mx.maildir("anna@a.test").wait()) == 1
    path = info_file(mx)
    with open(path, "rb") as file:
        text = file.read()
    checksums.check(text)
    done = re.search(rb"^done: 2 .*\n", text, re.M).group()
    assert not text.endswith(done), "a torn end is no damage"
    change(path, done[:10], done[:8] + b"?" + done[9:10])
    mx.make_due()
    hop = node("hop", domains=["b.test"], port=port)
    mark = mx.log.mark()
    mx.start()
    damaged = mx.log.wait("records_damaged", since=mark)
    assert damaged["records"] == "1" and damaged["from"] == "sender@client.test"
    hop.maildir("bob@b.test").wait()
    assert len(mx.maildir("anna@a.test").wait(2)) == 2
    mx.wait_empty()
    assert len(hop.maildir("bob@b.test").files()) == len(mx.maildir("carl@a.test").files()) == 1


def test_the_control_file_of_an_earlier_version_is_rewritten(node):
    """It does not say what of it was on the disk. The first record that is to be there, too, is not appended: a power
    cut might leave it without the word that says so. What only says when to try again is."""
    ports = {domain: free_port() for domain in ("b.test", "c.test")}
    mx = node(routes=[f"{domain}:127.0.0.1;{port}" for domain, port in ports.items()], settings="probe_delay = 1\n")
    deliver(mx, ["bob@b.test", "carl@c.test"], TEXT)
    wait_until(lambda: "".join(mx.control_files().values()).count("\nwait: ") == 2, "both wait")
    mx.stop()
    path = info_file(mx)
    with open(path, "r+b") as file:
        kept = [line for line in file if not line.startswith(b"synced: ")]
        file.seek(0)
        file.writelines(kept)
        file.truncate()
    number = os.stat(path).st_ino
    mark = mx.log.mark()
    mx.make_due()
    mx.start()
    mx.log.wait("deferred", since=mark, count=2)
    wait_until(lambda: "".join(mx.control_files().values()).count("\nwait: ") == 6, "that is recorded")
    assert os.stat(path).st_ino == number
    mx.log.wait("trigger_released", since=mark, count=2)
    mx.stop()
    mx.make_due()
    hop = node("hop", domains=["b.test"], port=ports["b.test"])
    mx.start()
    hop.maildir("bob@b.test").wait()
    wait_until(lambda: "\ndone: 1 " in "".join(mx.control_files().values()), "one has it")
    with open(path, "rb") as file:
        text = file.read()
    checksums.check(text)
    envelope, _, record = checksums.head_of(text)
    *_, last = text.splitlines(keepends=True)
    assert last.startswith(b"synced: %d " % (len(text) - len(envelope) - len(record) - len(last)))
    assert os.stat(path).st_ino != number


def test_a_damaged_envelope_is_taken_from_behind_the_data(waiting, node):
    mx, port = waiting(TEXT)
    change(info_file(mx), b"from: <sender@", b"from: <sendez@")
    mx.make_due()
    hop = node("hop", domains=["b.test"], port=port)
    mark = mx.log.mark()
    mx.start()
    mx.log.wait("records_damaged", since=mark)
    (mail,) = hop.maildir("bob@b.test").wait()
    assert b"Return-Path: <sender@client.test>" in mail
    mx.wait_empty()


def without_checksums(path):
    """A queued message as an earlier version has left it."""
    with open(path, "rb") as file:
        data = file.read()
    text = envelope_of(data)
    envelope, _, _ = checksums.head_of(text)
    with open(path, "wb") as file:
        file.write(data[:-len(text) - 25] + envelope.replace(b"stagepost 2\n", b"stagepost 1\n") + data[-25:])


def parts(told):
    return {(difference["part"], difference["path"].split("/")[0]) for difference in told}


def test_what_differs_is_said(waiting, run):
    """By queue show, queue stats and queue repair, to people and as JSON: which part of which file,
    at which byte, and both checksums."""
    mx, _ = waiting(TEXT)
    sent = subprocess.run([*as_user(), f"{mx.programs}/stagepost", "sendmail", "-f", "anna@a.test",
                           "carl@a.test"], check=False, input=TEXT, capture_output=True, timeout=60,
                          env={**os.environ, "STAGEPOST_CONF": mx.conf})
    assert sent.returncode == 0, sent.stderr
    stats = lambda *words: json.loads(run(mx, "queue", "stats", "--json", *words).stdout)
    assert stats()["damaged"] == 0 and stats()["damage"] == []
    assert b"checksum" not in run(mx, "queue", "stats", "--check").stdout
    (queued,) = glob.glob(mx.queue + "/todo/*/*/*")
    without_checksums(queued)
    (number,) = {os.path.basename(path) for path in glob.glob(mx.queue + "/mess/*/*")}
    with open(info_file(mx), "rb") as file:
        text = file.read()
    data = mx.data_files()[int(number)]
    change(data, b"will change", b"has changed")
    change(info_file(mx), b"\nmap: 1 ", b"\nmap; 1 ")
    shown = json.loads(run(mx, "queue", "show", number, "--json").stdout)
    assert parts(shown["damage"]) == {("data", "mess"), ("record", "info")}
    record, = (found for found in shown["damage"] if found["part"] == "record")
    line = re.search(rb"^map: 1 .* #([0-9a-f]{8})\n", text, re.M)
    birth = re.search(rb"^id: \d+-([0-9a-f]+)$", text, re.M).group(1)
    assert record == {
        "path": os.path.relpath(info_file(mx), mx.queue), "part": "record", "line": text[:line.start()].count(b"\n") + 1,
        "at": line.start(), "length": len(line.group()), "expected": line.group(1).decode(),
        "found": "%08x" % checksums.crc32c(birth + line.group()[:-11].replace(b"map:", b"map;"))}
    with open(data, "rb") as file:
        now = file.read()[:shown["size"]]
    found, = (found for found in shown["damage"] if found["part"] == "data")
    assert (found["at"], found["length"], found["found"]) == (0, len(now), "%08x" % checksums.crc32c(now))
    assert found["expected"] == "%08x" % checksums.head_of(text)[1] != found["found"]
    told = run(mx, "queue", "show", number).stdout.decode()
    for each in shown["damage"]:
        assert re.search(rf"{each['path']}: .*{each['length']} bytes from byte {each['at']}, "
                         rf"checksum {each['expected']} expected, {each['found']} found", told), told
    assert parts(stats()["damage"]) == {("record", "info")} and stats()["damaged"] == 1
    assert stats("--check")["damage"] == shown["damage"]
    assert re.search(r"^damaged +1$", run(mx, "queue", "stats").stdout.decode(), re.M)
    repaired = run(mx, "queue", "repair", "--json")
    assert repaired.returncode == 1
    *each, total = map(json.loads, repaired.stdout.splitlines())
    assert parts(line["damage"] for line in each) == parts(shown["damage"])
    assert total == {"sum": {"renumbered": 0, "set_aside": 0, "damage": 2, "dry_run": False}}
    assert b"0 renumbered, 0 set aside" in run(mx, "queue", "repair").stdout
