# SPDX-License-Identifier: ISC
""""stagepost mailbox repair": what differs between the record and the mailboxes after a restore of
either is shown, and repaired if asked."""

import os
import re
import shutil
import signal
import subprocess

import pytest
from once import DOUG, LISA, SCUBA, message, site  # noqa: F401
from stagepost import PATIENCE, as_user, give_to_user, wait_until

LONG_AGO = "began_us = began_us - 3600000000"


@pytest.fixture
def box(site):  # noqa: F811
    """Five messages for scuba, the sender's copies with lisa."""
    made = site(more="sent = all", start=False)
    for number in range(5):
        made.file(message(f"<{number}@gmail.test>", f"body {number}"))
    return made


def state(box):
    """All that is there: names of copies, rows."""
    return (box.files(SCUBA), box.files(LISA, "Sent"),
            box.database("SELECT * FROM filing ORDER BY number"),
            box.database("SELECT * FROM attempt ORDER BY filing"),
            box.database("SELECT number, message_id FROM message ORDER BY number"))


def of(box, number, folder="INBOX"):
    """The SQL condition for a row."""
    return (f"number = (SELECT f.number FROM filing f JOIN message m ON m.number = f.message JOIN mailbox b "
            f"ON b.number = f.mailbox WHERE m.message_id = '<{number}@gmail.test>' AND b.folder = '{folder}')")


def copy_of(box, number, folder=None):
    """The path of a message's copy."""
    address = LISA if folder else SCUBA
    (name,) = [name for name, text in box.copies(address, folder).items() if b"body %d\n" % number in text]
    return os.path.join(box.path(address, folder), name)


def base(path):
    return os.path.basename(path).partition(":")[0]


def repaired(box, wanted, *words):
    """A dry run shows what is WANTED and changes nothing; --apply does it; then nothing is left."""
    before = state(box)
    *found, counts = box.look("repair", *words, status=1)
    assert [(one["difference"], one["message_id"]) for one in found] == wanted
    assert not any(one["repaired"] for one in found) and counts["left"] == len(wanted)
    assert state(box) == before
    *done, counts = box.look("repair", "--apply", *words)
    assert all(one["repaired"] for one in done) and counts["left"] == 0
    assert [{**one, "repaired": True} for one in found] == done
    assert box.look("repair", *words)[0]["left"] == 0
    return found


def test_nothing_differs(box):
    before = state(box)
    ended = box.run("repair")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"10 compared\n", b"")
    (counts,) = box.look("repair", "--apply")
    assert counts == {"compared": 10, "missing": 0, "renamed": 0, "unmarked": 0, "abandoned": 0, "surplus": 0,
                      "unrecorded": 0, "recent": 0, "failed": 0, "left": 0}
    assert state(box) == before


@pytest.mark.parametrize("words, said", [
    (["-s", "nowhere"], b'-s: no service of kind mailbox or imap is called "nowhere"'),
    (["-r", "scuba"], b'-r: "scuba" cannot have a mailbox; allowed: LOCAL@DOMAIN')])
def test_a_wrong_word(box, words, said):
    ended = box.run("repair", *words)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr == b"stagepost mailbox repair: " + said + b"\n"


def test_a_missing_copy_is_never_filed_again_by_itself(box):
    path = copy_of(box, 3)
    os.unlink(path)
    before = state(box)
    said = f"missing: {SCUBA} INBOX <3@gmail.test> {base(path)}\n10 compared, 1 missing"
    ended = box.run("repair")
    assert (ended.returncode, ended.stdout.decode()) == (
        1, said + "; nothing was changed (use --apply)\n")
    ended = box.run("repair", "--apply")
    assert (ended.returncode, ended.stdout.decode()) == (1, said + "\n")
    assert state(box) == before


def test_a_missing_copy_is_forgotten_if_asked(box):
    os.unlink(copy_of(box, 3))
    box.file(message("<3@gmail.test>", "body 3"))
    assert len(box.files(SCUBA)) == 4  # the record says that it was filed
    repaired(box, [("missing", "<3@gmail.test>")], "--forget-missing")
    box.file(message("<3@gmail.test>", "body 3"))
    assert len(box.files(SCUBA)) == 5 and len(box.files(LISA, "Sent")) == 5


def test_a_copy_that_its_reader_flagged_is_the_same(box):
    for number in range(5):
        path = copy_of(box, number)
        os.makedirs(os.path.join(box.path(SCUBA), "cur"), exist_ok=True)
        os.rename(path, path.replace("/new/", "/cur/") + ":2,FS")
    assert box.look("repair")[0]["left"] == 0


def test_a_copy_under_another_name(box):
    path = copy_of(box, 2)
    os.rename(path, path.replace(".M", ".M7", 1))
    (found,) = repaired(box, [("renamed", "<2@gmail.test>")])
    assert found["text"] == base(path) and found["copy"] == base(copy_of(box, 2))


@pytest.mark.parametrize("hours, left", [(1, 1), (48, 0)])
def test_a_row_of_a_process_that_died_before_it_marked(box, hours, left):
    """Its attempt stays noted for a day: another machine's clock may be wrong by as much."""
    box.database(f"UPDATE filing SET state = 'filing', copy = '', filed_us = 0 WHERE {of(box, 1)}")
    box.database(f"INSERT INTO attempt SELECT number, randomblob(16), opened_us - {hours} * 3600000000 "
                 f"FROM filing WHERE {of(box, 1)}")
    repaired(box, [("unmarked", "<1@gmail.test>")])
    assert box.database("SELECT count(*) FROM attempt") == [(left,)]
    assert box.database(f"SELECT copy FROM filing WHERE {of(box, 1)}") == [(base(copy_of(box, 1)),)]


def test_a_row_of_a_process_that_died_before_it_filed(box):
    os.unlink(copy_of(box, 1))
    box.database(f"UPDATE filing SET state = 'filing', copy = '' WHERE {of(box, 1)}")
    box.database(f"INSERT INTO attempt SELECT number, randomblob(16), opened_us - 3600000000 FROM filing "
                 f"WHERE {of(box, 1)}")
    repaired(box, [("abandoned", "<1@gmail.test>")])
    box.file(message("<1@gmail.test>", "body 1"))
    assert len(box.files(SCUBA)) == 5


def test_a_row_of_a_process_that_may_still_file(box):
    os.unlink(copy_of(box, 1))
    box.database(f"UPDATE filing SET state = 'filing', copy = '' WHERE {of(box, 1)}")
    box.database(f"INSERT INTO attempt SELECT number, randomblob(16), "
                 f"CAST(strftime('%s', 'now') AS INTEGER) * 1000000 FROM filing WHERE {of(box, 1)}")
    before = state(box)
    found, counts = box.look("repair", "--apply")
    assert (found["difference"], found["repaired"], counts["left"]) == ("recent", False, 0)
    assert state(box) == before


def test_copies_that_are_twice(box):
    kept = base(copy_of(box, 4))
    path = copy_of(box, 4)
    for digit in "789":
        shutil.copy2(path, path.replace(".M", f".M{digit}", 1))
        give_to_user(path.replace(".M", f".M{digit}", 1))
    repaired(box, [("surplus", "<4@gmail.test>")] * 3)
    assert base(copy_of(box, 4)) == kept


def test_the_record_of_an_older_backup(box):
    """What was filed since then is recorded again, and not filed twice."""
    backup = box.record + ".old"
    shutil.copy2(box.record, backup)
    give_to_user(backup)
    for number in range(5, 8):
        box.file(message(f"<{number}@gmail.test>", f"body {number}", more="Cc: carl@cc.test\r\n"))
    for name in ("record.db", "record.db-wal", "record.db-shm"):
        path = os.path.join(os.path.dirname(box.record), name)
        if os.path.exists(path):
            os.unlink(path)
    os.rename(backup, box.record)
    assert box.look("repair", status=1)[-1]["left"] == 6
    *found, counts = box.look("repair", "--apply")
    assert sorted((one["difference"], one["user"], one["message_id"]) for one in found) == sorted(
        ("unrecorded", user, f"<{number}@gmail.test>") for user in (SCUBA, LISA) for number in range(5, 8))
    assert counts["left"] == 0 and box.look("repair")[0]["compared"] == 16
    for number in range(5, 8):
        box.file(message(f"<{number}@gmail.test>", f"body {number}", more="Cc: carl@cc.test\r\n"))
    assert len(box.files(SCUBA)) == len(box.files(LISA, "Sent")) == 8
    assert {one["message_id"] for one in box.look("list", "--to", "carl@cc.test")} == {
        "<5@gmail.test>", "<6@gmail.test>", "<7@gmail.test>"}


def test_the_record_is_lost(box):
    """Its mailboxes have to be named."""
    shutil.rmtree(os.path.dirname(box.record))
    os.mkdir(os.path.dirname(box.record))
    give_to_user(os.path.dirname(box.record))
    (counts,) = box.look("repair", "--apply")
    assert counts["compared"] == 0
    for address in (SCUBA, LISA):
        *found, counts = box.look("repair", "--apply", "-r", address)
        assert {one["difference"] for one in found} == {"unrecorded"} and len(found) == 5
    assert box.look("repair")[0]["compared"] == 10


def test_one_mailbox_only(box):
    box.remove(SCUBA)
    box.remove(LISA, "Sent")
    *found, counts = box.look("repair", "-r", "LISA+x@gmail.test", status=1)
    assert {one["user"] for one in found} == {LISA} and counts["compared"] == 5


def test_a_copy_whose_content_was_changed(box):
    path = copy_of(box, 0)
    box.database("DELETE FROM message WHERE message_id = '<0@gmail.test>'")
    with open(path, "ab") as file:
        file.write(b"more\n")
    *found, _ = box.look("repair", "--apply", status=1)
    failed = [one for one in found if one["user"] == SCUBA]
    assert [(one["difference"], one["text"]) for one in failed] == [
        ("failed", "its content is not what its name says")]


def test_a_folder_that_cannot_be_read(box):
    os.chmod(os.path.join(box.path(SCUBA), "new"), 0)
    try:
        *found, counts = box.look("repair", status=1)
    finally:
        os.chmod(os.path.join(box.path(SCUBA), "new"), 0o700)
    (failed,) = found
    assert (failed["difference"], failed["user"]) == ("failed", SCUBA) and "Permission denied" in failed["text"]
    assert counts["compared"] == 5


def test_a_lock_that_another_process_has(site):  # noqa: F811
    """Nothing is decided without it."""
    box = site(more="sent = none", record="lock_timeout = 1s", start=False)
    box.file(message("<1@gmail.test>", "body 1"))
    os.unlink(copy_of(box, 1))
    holder = subprocess.Popen(
        [*as_user(), "strace", "-qq", "-f", "-o", "/dev/null", "-e", "inject=rename,renameat,renameat2:delay_enter=20s",
         *box.command("-r", DOUG, "-c", box.mx.conf)], stdin=subprocess.PIPE,
        start_new_session=True)
    try:
        holder.stdin.write(message("<1@gmail.test>", "body 1"))
        holder.stdin.close()
        wait_until(lambda: box.look("status", "<1@gmail.test>")[-1]["lock"] != "", "the lock is taken")
        *found, counts = box.look("repair", "--apply", "-r", SCUBA)
        assert [(one["difference"], one["text"]) for one in found] == [("recent", "another process has its lock")]
    finally:
        os.killpg(holder.pid, signal.SIGKILL)
        holder.wait(PATIENCE)


def test_words(box):
    for words in (["more"], ["--nothing"], ["-r"]):
        assert box.run("repair", *words).returncode == 2, words
    shown = box.run("repair", "--help", conf=False).stdout.decode()
    assert re.search(r"^  1 +differences are left", shown, re.M)
