# SPDX-License-Identifier: ISC
""""stagepost mailbox" without a daemon: for whom, the exit status, which message it is, and what
"status" and "list" show."""

import concurrent.futures
import fcntl
import hashlib
import json
import os
import pwd
import re
import subprocess

import pytest
from once import DOUG, IDENTITY, LISA, MESSAGE, SCUBA, message, site  # noqa: F401
from stagepost import PATIENCE, USER, as_user, is_root

USAGE, BAD_DATA, UNAVAILABLE, TRY_LATER, CONFIG = 64, 65, 69, 75, 78


@pytest.fixture
def box(site):  # noqa: F811
    return site(more="sent = all", start=False)


# --- for whom ---

def test_the_recipient_of_the_command_line(box):
    assert box.file(MESSAGE) == ""
    (copy,) = box.copies(SCUBA).values()
    assert copy == b"Return-Path: <>\nDelivered-To: scuba@mail.test\n" + MESSAGE.replace(b"\r\n", b"\n")
    (sent,) = box.copies(LISA, "Sent").items()
    assert sent[0].startswith("cur/") and sent[0].endswith(":2,S")
    assert sent[1] == MESSAGE.replace(b"\r\n", b"\n")


def test_the_recipient_that_the_message_tells(box):
    told = b"Delivered-To: doug@mail.test\r\nDelivered-To: scuba@mail.test\r\n" + MESSAGE
    assert box.run(text=told).returncode == 0
    assert len(box.files(DOUG)) == 1 and not box.files(SCUBA)


def test_a_message_cannot_choose_its_mailbox_if_the_mail_system_says_it(box):
    told = b"Delivered-To: doug@mail.test\r\n" + MESSAGE
    assert box.run(text=told, environment={"RECIPIENT": SCUBA}).returncode == 0
    assert len(box.files(SCUBA)) == 1 and not box.files(DOUG)


def test_the_recipient_of_the_environment(box):
    ended = box.run(text=MESSAGE, environment={"RECIPIENT": SCUBA, "SENDER": "bounce@gmail.test"})
    assert ended.returncode == 0, ended.stderr
    (copy,) = box.copies(SCUBA).values()
    assert copy.startswith(b"Return-Path: <bounce@gmail.test>\n")


def test_the_senders_of_the_command_line_and_environment(box):
    box.file(MESSAGE, SCUBA, "-f", "a@gmail.test", environment={"SENDER": "b@gmail.test"})
    (copy,) = box.copies(SCUBA).values()
    assert copy.startswith(b"Return-Path: <a@gmail.test>\n")
    (seen,) = box.look("list")
    assert seen["sender"] == "a@gmail.test"


# --- how it ends ---

def test_nobody_to_file_for(box):
    ended = box.run(text=MESSAGE)
    assert (ended.returncode, ended.stderr) == (USAGE, b"stagepost mailbox: for whom? Use -r\n")
    assert not os.path.exists(box.record)


def test_a_wrong_command_line(box):
    for words in (["--nothing"], ["-r"], ["-r", SCUBA, "argument"]):
        assert box.run(*words, text=MESSAGE).returncode == USAGE


def test_a_name_without_a_mailbox(box):
    for name in ("../x@mail.test", "no-domain", "@mail.test", "a@"):
        assert box.run("-r", name, "-s", "once", text=MESSAGE).returncode == BAD_DATA, name
    assert os.listdir(box.root) == ["gmail.test"]  # the sender's copy


def test_a_configuration_that_is_wrong(box):
    """A file that is being edited returns no mail to its sender; a service that is not there may."""
    for conf in ("/nowhere/stagepost.conf", "/dev/null"):
        assert box.run("-c", conf, "-r", SCUBA, text=MESSAGE, conf=False).returncode == TRY_LATER
    ended = box.run("-r", SCUBA, "-s", "nowhere", text=MESSAGE)
    assert ended.returncode == CONFIG
    assert ended.stderr == b'stagepost mailbox: -s: no service of kind mailbox or imap is called "nowhere"\n'
    assert box.run("-r", SCUBA, "-s", "maildir", text=MESSAGE).returncode == CONFIG


def test_a_message_that_is_too_large(site):  # noqa: F811
    box = site(start=False, settings="maxsize = 100K\n")
    said = box.file(MESSAGE + b"x" * 200_000, status=UNAVAILABLE)
    assert "5.3.4" in said and not box.files(SCUBA)


def test_a_record_that_cannot_be_written(box):
    os.chmod(os.path.dirname(box.record), 0)
    try:
        assert "4.3.0" in box.file(MESSAGE, status=TRY_LATER)
    finally:
        os.chmod(os.path.dirname(box.record), 0o755)
    assert not box.files(SCUBA)
    box.file(MESSAGE)
    assert len(box.files(SCUBA)) == 1


def test_a_mailbox_that_cannot_be_written(box):
    os.chmod(box.root, 0o500)
    try:
        said = box.file(MESSAGE, status=TRY_LATER)
    finally:
        os.chmod(box.root, 0o755)
    assert "4.3.0" in said
    states = box.database("SELECT DISTINCT state FROM filing")
    assert states == [("filing",)]
    box.file(MESSAGE)
    assert len(box.files(SCUBA)) == 1 and len(box.files(LISA, "Sent")) == 1


def test_help(box):
    for words in ([], ["status"], ["list"], ["repair"]):
        ended = box.run(*words, "--help", conf=False)
        assert ended.returncode == 0 and not ended.stderr
        assert ended.stdout.startswith(b"Usage: stagepost mailbox"), words
        assert b"EX_" not in ended.stdout
    assert b"75 " in box.run("--help", conf=False).stdout


# --- which message it is ---

def test_two_runs_of_one_message(box):
    """They differ in what each delivery adds."""
    for recipient in (SCUBA, DOUG):
        added = (f"Return-Path: <{LISA}>\r\nX-Original-To: {recipient}\r\nDelivered-To: {recipient}\r\n"
                 f"Received: from a (b [192.0.2.1])\r\n\tby c with ESMTP id {recipient}\r\n").encode()
        assert box.run(text=added + MESSAGE).returncode == 0
    assert len(box.files(LISA, "Sent")) == 1
    assert box.database("SELECT count(*) FROM message") == [(1,)]
    assert box.database("SELECT count(*) FROM filing WHERE state = 'filed'") == [(3,)]


def test_the_line_that_begins_a_message_in_an_mbox(box):
    box.file(MESSAGE)
    box.file(b"From lisa@gmail.test Thu Nov 26 09:00:00 2026\n" + MESSAGE.replace(b"\r\n", b"\n"), DOUG)
    (copy,) = box.copies(DOUG).values()
    assert copy == b"Return-Path: <>\nDelivered-To: doug@mail.test\n" + MESSAGE.replace(b"\r\n", b"\n")
    assert box.database("SELECT count(*) FROM message") == [(1,)]


def test_the_same_run_again_files_nothing(box):
    for _ in range(3):
        box.file(MESSAGE)
    assert len(box.files(SCUBA)) == 1 and len(box.files(LISA, "Sent")) == 1


def test_runs_at_the_same_moment(box):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda n: box.file(MESSAGE, (SCUBA, DOUG)[n % 2]), range(16)))
    assert said == [""] * 16
    assert [len(box.files(*where)) for where in ((SCUBA,), (DOUG,), (LISA, "Sent"))] == [1, 1, 1]


def test_two_messages_with_one_identity_are_both_kept(box):
    for body in ("one", "two"):
        box.file(message("<x@gmail.test>", body))
    assert sorted(text.split(b"\n\n")[1] for text in box.copies(SCUBA).values()) == [b"one\n", b"two\n"]
    shown = box.look("status", "<x@gmail.test>")
    assert [one["message_id"] for one in shown[:-1]] == ["<x@gmail.test>"] * 2


HOSTILE = {
    "quotes": b"<a'\";--@gmail.test>",
    "sql": b"<');DROP/**/TABLE/**/message;--@gmail.test>",
    "percent": b"<%s%n%00$(id)`id`@gmail.test>",
    "slashes": b"<../../../etc/passwd@gmail.test>",
    "upper": b"<UPPER@gmail.test>",
    "lower": b"<upper@gmail.test>",
    "long": b"<" + b"x" * 10240 + b"@gmail.test>",
    "longer": b"<" + b"x" * 10241 + b"@gmail.test>",
    "control": b"<a\x01\x1b[31m@gmail.test>",
    "latin": b"<gr\xfc\xdfe@gmail.test>",
    "utf-8": "<grüße@gmail.test>".encode(),
    "not utf-8": b"<\xc3\x28\xff@gmail.test>",
    "folded": b"\r\n <folded@gmail.test>",
    "no brackets": b"bare@gmail.test",
    "empty": b"",
    "two": b"<a@gmail.test> <b@gmail.test>",
    "as derived": b"<sha256-" + hashlib.sha256(b"x").hexdigest().encode() + b"@invalid>",
}


def test_hostile_identities_are_never_mixed_up(box):
    """Each message is recorded as one of its own, filed once, and found again."""
    texts = [message(identity, f"body of {name}") for name, identity in HOSTILE.items()]
    texts += [message(None, f"without {number}") for number in range(3)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            assert set(pool.map(box.file, texts)) == {""}
    assert len(box.files(SCUBA)) == len(texts)
    listed = box.look("list")
    assert len(listed) == len({one["message_id"] for one in listed}) == len(texts)
    for one in listed:
        identity = one["message_id"]
        assert len(identity) <= 255 and identity.isascii() and identity.isprintable()
        (shown, lock) = box.look("status", identity)
        assert shown["message_id"] == identity and lock == {"lock": ""}
        assert [place["state"] for place in shown["mailboxes"]] == ["filed"] * 2
    kept = {name: identity.decode() for name, identity in HOSTILE.items()
            if name in ("quotes", "sql", "percent", "slashes", "upper", "lower")}
    assert set(kept.values()) <= {one["message_id"] for one in listed}


def test_a_nul_in_the_identity(box):
    box.file(message(b"<a\0b@gmail.test>", "one"))
    box.file(message(b"<ab@gmail.test>", "two"))
    assert len(box.files(SCUBA)) == 2
    assert b"\0" not in b"".join(box.copies(SCUBA).values())


def test_an_identity_that_comes_twice_in_a_message(box):
    box.file(message("<first@gmail.test>", more="Message-ID: <second@gmail.test>\r\n"))
    (one,) = box.look("list")
    assert one["message_id"] == "<first@gmail.test>"


# --- where it is filed ---

def test_folders_by_detail_and_flags(site):  # noqa: F811
    box = site(start=False, more="detail_folders = yes flags = { flagged, seen } sent = none")
    for recipient, folder in ((SCUBA, None), ("scuba+Lists/Dev@mail.test", "Lists/Dev"),
                              ("SCUBA+work@MAIL.test", "work"), ("scuba+../x@mail.test", None),
                              ("scuba+work.net@mail.test", None), ("scuba+~x@mail.test", None)):
        box.file(message(f"<{recipient}@gmail.test>"), recipient)
        names = box.files(SCUBA, folder)
        assert names and all(name.startswith("cur/") and name.endswith(":2,FS") for name in names), folder
    assert len(box.files(SCUBA)) == 4
    assert not box.files(LISA, "Sent")


@pytest.mark.parametrize("sent", ["all", "local", "none"])
def test_whose_sent_mail_is_kept(site, sent):  # noqa: F811
    box = site(start=False, more=f"sent = {sent}")
    for sender in (LISA, DOUG):
        box.file(message(f"<{sender}>", sender=sender))
    kept = {LISA: sent == "all", DOUG: sent != "none"}
    for sender, is_kept in kept.items():
        assert len(box.files(sender, "Sent")) == is_kept, sender


def test_reports_and_lists_have_no_sent_mail(box):
    for number, field in enumerate(("Auto-Submitted: auto-replied", "List-Id: <l.gmail.test>",
                                    "Precedence: bulk")):
        box.file(message(f"<{number}@gmail.test>", more=field + "\r\n"))
    assert len(box.files(SCUBA)) == 3 and not box.files(LISA, "Sent")


def test_a_sender_with_several_addresses(box):
    """The first of them is the one whose mail it is."""
    box.file(message("<1@gmail.test>", sender="Lisa <lisa@gmail.test>, Doug <doug@mail.test>"))
    assert len(box.files(LISA, "Sent")) == 1 and not box.files(DOUG, "Sent")


def test_a_sender_that_is_no_address(box):
    for number, sender in enumerate(("undisclosed:;", "@", "../../x@gmail.test", "")):
        box.file(message(f"<{number}@gmail.test>", sender=sender))
    assert len(box.files(SCUBA)) == 4
    assert os.listdir(box.root) == ["mail.test"]


# --- what is recorded ---

PARTS = """--b
Content-Type: text/plain; charset=iso-8859-1

text
--b
Content-Type: application/pdf; name="=?utf-8?q?pl=C3=A4ne.pdf?="
Content-Disposition: attachment

pdf
--b--""".replace("\n", "\r\n")


def test_status_shows_all(box):
    box.file(message(IDENTITY, PARTS, subject="=?utf-8?q?Gr=C3=BC=C3=9Fe?=", sender="Lisa <lisa@gmail.test>",
                     more="MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n"))
    shown, lock = box.look("status", IDENTITY)
    assert lock == {"lock": ""}
    assert shown["subject"] == "Grüße"
    assert {"role": "from", "address": LISA, "name": "Lisa"} in shown["participants"]
    assert {"role": "to", "address": SCUBA, "name": ""} in shown["participants"]
    assert [(part["part"], part["type"], part["filename"]) for part in shown["parts"]][-2:] == [
        ("1", "text/plain", ""), ("2", "application/pdf", "pläne.pdf")]
    (name,) = box.files(SCUBA)
    (inbox,) = [place for place in shown["mailboxes"] if place["folder"] == "INBOX"]
    assert inbox["user"] == SCUBA and inbox["state"] == "filed" and inbox["attempts"] == 0
    assert inbox["copy"] == name.partition("/")[2].partition(":")[0]
    said = box.run("status", IDENTITY).stdout.decode()
    for word in ("Grüße", "pläne.pdf", "application/pdf", f"from: {LISA}", "lock: free", inbox["copy"]):
        assert word in said


def test_status_of_what_is_being_recorded(box):
    """Another process has its lock, and has not committed: who it is, is shown."""
    box.file(MESSAGE)  # the record is there
    number = int.from_bytes(hashlib.sha256(b"<1@gmail.test>").digest()[:8], "big")
    with open(box.record + "-lock", "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX, 1, number >> 1)
        ended = box.run("status", "<1@gmail.test>", "--json")
    assert ended.returncode == 1 and b"no such message is recorded" in ended.stderr
    assert str(os.getpid()) in json.loads(ended.stdout)["lock"]


@pytest.mark.skipif(not is_root(), reason="only root can be another user")
def test_root_files_as_the_user(box):
    """Nothing belongs to root, so that the node can go on with all of it."""
    box.mx.switch_user = True
    box.mx.write_configuration()
    assert box.file(MESSAGE, user=False) == ""
    for top in (os.path.dirname(box.record), box.root):
        for path, folders, files in os.walk(top):
            for name in [*folders, *files]:
                assert os.stat(os.path.join(path, name)).st_uid == pwd.getpwnam(USER).pw_uid, name
    assert box.file(message("<2@gmail.test>")) == ""  # the user himself goes on


def test_status_of_what_is_not_known(box):
    box.file(MESSAGE)
    ended = box.run("status", "<nobody@gmail.test>")
    assert (ended.returncode, ended.stderr) == (
        1, b"stagepost mailbox status: no such message is recorded\n")
    assert box.run("status").returncode == 2
    assert box.run("status", "<a@b>", "<c@d>").returncode == 2


LISTED = {
    "--from lisa@gmail.test": {1, 2}, "--from gmail.test": {1, 2}, "--from mail.test": {3},
    "--to scuba@mail.test": {1, 2, 3}, "--to nobody@mail.test": set(), "--to cc.test": {2},
    "--subject MEETING": {1, 2}, "--subject 'quoted'": {2}, "--subject %": set(), "--subject lunch": {3},
    "--since 1h": {2, 3}, "--since 30d": {1, 2, 3}, "--limit 2": {1, 2}, "--limit 1000": {1, 2, 3},
    "--from gmail.test --since 1h": {2}, "--from gmail.test --subject lunch": set(), "": {1, 2, 3},
}


def test_list_by_each_filter(box):
    box.file(message("<1@x>", subject="Our meeting"))
    box.file(message("<2@x>", subject="meeting 'quoted'", more="Cc: carl@cc.test\r\n"))
    box.file(message("<3@x>", subject="Lunch", sender=DOUG))
    box.database("UPDATE message SET recorded_us = recorded_us - 86400000000 WHERE message_id = '<1@x>'")
    for words, wanted in LISTED.items():
        words = [word.replace("~", " ") for word in words.split()]
        found = {int(one["message_id"][1]) for one in box.look("list", *words)}
        assert found == wanted, words
        lines = [line for line in box.run("list", *words).stdout.decode().splitlines()
                 if not line.startswith(" ")]
        assert len(lines) == len(wanted), words


def test_list_refuses_what_it_does_not_know(box):
    for words in (["--since", "yesterday"], ["--limit", "0"], ["--limit", "x"], ["--limit", ""], ["--from"],
                  ["more"]):
        assert box.run("list", *words).returncode == 2, words


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["status", IDENTITY], ["repair"]])
def test_what_cannot_be_printed_is_an_error(box, words):
    box.file(MESSAGE)
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([*as_user(), *box.command(*words, "-c", box.mx.conf)], stdout=full,
                               stderr=subprocess.PIPE, check=False, timeout=PATIENCE)
    assert ended.returncode == 1, ended
    assert re.fullmatch(rb"stagepost: standard output: [^\n]+\n", ended.stderr), ended


def test_looking_without_a_record(node, site):  # noqa: F811
    box = site(start=False)
    assert box.run("list").returncode == 0 and box.run("list").stdout == b""
    plain = node(start=False)
    ended = box.run("list", "-c", plain.conf, conf=False)
    assert ended.returncode == 1
    assert b"no service of this configuration records messages" in ended.stderr
