# SPDX-License-Identifier: ISC
"""A record whose SQLite file is damaged, gone, or another site's: nothing is filed by it, the mail
waits and says why, and "stagepost mailbox repair --rebuild" makes a new one, by which nothing is filed a
second time."""

import os
import random
import shutil
import sqlite3

import pytest
from once import LISA, SCUBA, message, site  # noqa: F401
from smtp import Client
from stagepost import give_to_user, wait_until

PAGE = 4096
COMMAND = "stagepost mailbox repair --rebuild"
COUNT = 40


def text(number):
    return message(f"<{number}@gmail.test>", f"body {number}", more="X-Long: " + "x" * 300 + "\r\n")


@pytest.fixture
def box(site):  # noqa: F811
    """Messages for scuba, the sender's copies with lisa; the file has no log of writes."""
    made = site(more="sent = all", start=False)
    for number in range(COUNT):
        made.file(text(number))
    fold(made)
    return made


def fold(box):
    with sqlite3.connect(box.record) as database:
        assert database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    database.close()


def read(box):
    with open(box.record, "rb") as file:
        return bytearray(file.read())


def write(box, content):
    for end in "-wal", "-shm":
        if os.path.exists(box.record + end):
            os.unlink(box.record + end)
    with open(box.record, "wb") as file:
        file.write(content)
    give_to_user(box.record)


def no_database(box):
    write(box, b"This is no database.\n" * 1000)


def empty(box):
    write(box, b"")


def cut_at_a_page(box):
    write(box, read(box)[:len(read(box)) // PAGE // 2 * PAGE])


def cut_within_a_page(box):
    write(box, read(box)[:len(read(box)) // 2 + 1000])


def gone(box):
    os.unlink(box.record)


def of_another_program(box):
    os.unlink(box.record)
    with sqlite3.connect(box.record) as database:
        database.execute("CREATE TABLE t(x)")
    database.close()
    give_to_user(box.record)


def of_another_site(box):
    """It has other messages, but the same recipients."""
    kept = [box.record + end for end in ("-lock",)]
    for path in kept:
        os.rename(path, path + ".ours")
    os.rename(box.record, box.record + ".ours")
    box.file(message("<other@gmail.test>", "of them"))
    fold(box)
    for path in kept:
        os.rename(path + ".ours", path)


def of_noise(box):
    content = read(box)
    chance = random.Random(1)
    for page in range(1, len(content) // PAGE, 3):
        content[page * PAGE:(page + 1) * PAGE] = chance.randbytes(PAGE)
    write(box, content)


HARM = [no_database, empty, cut_at_a_page, cut_within_a_page, gone, of_another_program, of_another_site,
        of_noise]


def rebuilt(box, status=0):
    """All mailboxes: also those of which the record does not have anything any more."""
    said = box.run("repair", "--rebuild")
    assert said.returncode == 1 and b"nothing was changed" in said.stdout, (said.stdout, said.stderr)
    said = box.run("repair", "--rebuild", "--apply")
    assert said.returncode == status, (said.stdout, said.stderr)


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_record_files_nothing_and_is_rebuilt(box, harm):
    before = box.files(SCUBA), box.files(LISA, "Sent")
    harm(box)
    if harm is of_another_site:
        for name in set(box.files(SCUBA)) - set(before[0]):
            os.unlink(os.path.join(box.path(SCUBA), name))
        for name in set(box.files(LISA, "Sent")) - set(before[1]):
            os.unlink(os.path.join(box.path(LISA, "Sent"), name))
    if harm not in (cut_at_a_page, of_noise):  # these show only where it is read
        assert "cannot be written now" in box.file(text(COUNT), status=75)
        assert COMMAND in box.run("list").stderr.decode()
    rebuilt(box)
    for number in range(COUNT):
        box.file(text(number))
    assert (box.files(SCUBA), box.files(LISA, "Sent")) == before, "nothing is filed twice"
    box.file(text(COUNT))
    assert len(box.files(SCUBA)) == COUNT + 1 and len(box.files(LISA, "Sent")) == COUNT + 1
    assert (harm is gone) != os.path.exists(box.record + ".damaged-1")
    assert not [name for name in os.listdir(os.path.dirname(box.record)) if "rebuilt" in name]


def page_of_copies(box):
    """One that has rows of the table of copies, of which every second is scuba's: its number, and how many."""
    with sqlite3.connect(box.record) as database:
        found = database.execute("SELECT pageno, ncell FROM dbstat WHERE name = 'filing' AND pagetype = 'leaf' "
                                 "AND ncell >= 4 ORDER BY pageno DESC LIMIT 1").fetchone()
    database.close()
    return found


def test_what_readers_removed_stays_recorded(box):
    """As far as the rows can be read."""
    box.remove(SCUBA)
    number, rows = page_of_copies(box)
    lost = (rows + 1) // 2
    content = read(box)
    content[(number - 1) * PAGE:number * PAGE] = bytes(PAGE)
    write(box, content)
    said = box.run("repair", "--rebuild", "--apply")
    assert b"messages of it can be read" in said.stdout, (said.stdout, said.stderr)
    for number in range(COUNT):
        box.file(text(number))
    assert 0 < len(box.files(SCUBA)) <= lost < COUNT // 2


def test_mailboxes_are_found_by_the_path(box):
    """With their folders; what is no mailbox, or no user's, is passed over."""
    os.makedirs(os.path.join(box.root, "mail.test", "scuba", ".Lists.dev", "cur"))
    os.makedirs(os.path.join(box.root, "mail.test", "UPPER", "cur"))
    os.makedirs(os.path.join(box.root, "mail.test", "nothing"))
    open(os.path.join(box.root, "a file"), "wb").close()
    (name,) = [name for name, content in box.copies(SCUBA).items() if b"body 7\r\n" in content
               or b"body 7\n" in content]
    os.rename(os.path.join(box.path(SCUBA), name),
              os.path.join(box.path(SCUBA, "Lists/dev"), "cur", os.path.basename(name)))
    gone(box)
    *found, counts, last = box.look("repair", "--rebuild", "--apply")
    assert {(one["user"], one["folder"]) for one in found} == {
        (SCUBA, "INBOX"), (SCUBA, "Lists/dev"), (LISA, "Sent")}
    assert (counts["unrecorded"], last["problem"]) == (2 * COUNT, "the file is gone")


def test_a_record_that_is_whole_is_only_compared(box):
    before = os.stat(box.record).st_ino
    assert box.look("repair", "--rebuild", "--apply")[-1]["compared"] == 2 * COUNT
    assert os.stat(box.record).st_ino == before and not os.path.exists(box.record + ".damaged-1")


def test_a_backup_is_no_other_site(box):
    """Nor is the record on another machine, with its locks or without them."""
    shutil.copy2(box.record, box.record + ".old")
    box.file(text(COUNT))
    os.rename(box.record + ".old", box.record)
    for end in "-wal", "-shm":
        if os.path.exists(box.record + end):
            os.unlink(box.record + end)
    give_to_user(box.record)
    box.file(text(COUNT + 1))
    os.unlink(box.record + "-lock")
    box.file(text(COUNT + 2))
    assert box.look("status", f"<{COUNT + 2}@gmail.test>")


def test_mail_waits_for_the_record(site):  # noqa: F811
    """It is told why, and goes when there is a record again."""
    box = site(more="sent = none", settings="probe_delay = 1\n")

    def send(number):
        with Client(box.mx) as client:
            assert client.deliver(LISA, [SCUBA], text(number)).startswith("250 ")

    send(1)
    box.mx.log.wait("delivered", to=SCUBA)  # the file is there before the record says so
    assert len(box.files(SCUBA)) == 1
    os.unlink(box.record)
    send(2)
    waiting = box.mx.log.wait("deferred", to=SCUBA)
    assert waiting["status"].startswith("4.")
    assert COMMAND in box.mx.log.wait("filing_failed")["text"]
    assert box.run("repair", "--rebuild", "--apply", "-r", SCUBA).returncode == 0
    wait_until(lambda: len(box.files(SCUBA)) == 2, "it is filed")
    box.file(text(1))
    assert len(box.files(SCUBA)) == 2
