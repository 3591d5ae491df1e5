# SPDX-License-Identifier: ISC
"""Stores of copies (filing/mailstore/mailstore.h), one contract for both: Maildirs that Dovecot reads, and
Dovecot by IMAP."""

import base64
import itertools
import os
import re
import shutil
import threading

import pytest
from dovecot import PASSWORD, Dovecot
from mailstores import DRAFT, ENOENT, FLAGGED, SEEN, Store, message

SCUBA = "<123-abc@mail.example.com>"
NUMBERS = itertools.count(1)
MANY = 64
THREADS = 4
# each test has users of its own
ANYBODY = f"""
passdb {{
  driver = static
  args = password={PASSWORD}
}}
userdb {{
  driver = static
  args = uid=nobody gid=nogroup home=/nonexistent
}}
"""
HOSTILE = [  # Message-IDs, as messages have them
    '<"quo\\"ted"@x.test>', "<a'; DROP TABLE message;--@x.test>", "<%s%n%2B@x.test>", "<*@x.test>",
    "<\\@x.test>", "<{5}@x.test>", "<a@x.test>\r\n)", "<a b@x.test>", "no brackets", "",
    "<" + "a" * 240 + "@x.test>", "<" + "a" * 10000 + "@x.test>", "<\u00e9@x.test>", "<a\tb@x.test>",
    "<a@x.test> <b@x.test>", "<sha256-" + 64 * "0" + "@invalid>", None]
FOLDERS = ["Sent", "Lists/dev", "Entw\u00fcrfe", "\u53f0\u5317/\U0001f4e8", "a & b", "&", "quo\"te\\d",
           "100%", "*star*", "not~", "inbox/below", "with space"]
NO_FOLDERS = ["", "~tilde", "a//b", "/a", "a/", "a\x01b", "..", "../x", "a/../../x"]


@pytest.fixture
def place(ground):
    path = ground.directory("stores")
    os.chmod(path, 0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def dovecot(ground):
    made = Dovecot([], settings=ANYBODY)
    yield made
    made.close()


@pytest.fixture
def ann():
    return f"ann{next(NUMBERS)}@a.test"


@pytest.fixture
def bob():
    return f"bob{next(NUMBERS)}@a.test"


def make_store(kind, dovecot, place):
    if kind == "maildir":
        return Store(place, "maildir", f"{dovecot.base}/mail/%u@%d", "auto")
    return Store(place, "imap", "127.0.0.1", dovecot.port, "plain", "", "%a", PASSWORD, "", 20)


@pytest.fixture(params=["maildir", "imap"])
def store(request, dovecot, place):
    made = make_store(request.param, dovecot, place)
    made.kind = request.param
    yield made
    assert made.close() == 0


def utf7(folder):
    """RFC 3501 section 5.1.3, by Python's codec of RFC 2152."""
    def run(match):
        text = match.group(0).encode("utf-16-be")
        return "&" + base64.b64encode(text).decode().rstrip("=").replace("/", ",") + "-"
    return re.sub("[^ -~]+", run, folder.replace("&", "&-"))


def in_dovecot(dovecot, user, folder="INBOX"):
    """[(flags, the date, the text)] of a mailbox, as Dovecot shows it."""
    session = dovecot.imap(user)
    name = '"' + utf7(folder).replace("/", ".").replace("\\", "\\\\").replace('"', '\\"') + '"'
    status, answer = session.select(name, readonly=True)
    assert status == "OK", answer
    if answer == [b"0"]:
        session.logout()
        return []
    status, parts = session.fetch("1:*", "(UID FLAGS INTERNALDATE BODY.PEEK[])")
    assert status == "OK"
    found = []
    for told, text in (part for part in parts if isinstance(part, tuple)):
        flags = re.search(rb"FLAGS \(([^)]*)\)", told).group(1).decode().split()
        found.append((sorted(set(flags) - {"\\Recent"}),
                      re.search(rb'INTERNALDATE "([^"]*)"', told).group(1).decode(), text))
    session.logout()
    return found


def test_a_copy_is_what_was_given(store, dovecot, ann):
    text = message(SCUBA)
    assert store.find(ann, text) == []
    done = store.append(ann, text, date=1700000000)
    assert (done.status, done.is_unknown) == ("2.0.0", False)
    assert store.find(ann, text) == [done.copy] != [""]
    ((flags, date, read),) = in_dovecot(dovecot, ann)
    assert flags == []
    assert read == (b"Return-Path: <lisa@example.com>\r\nDelivered-To: " + ann.encode() + b"\r\n" + text)
    if store.kind == "imap":
        assert date == "14-Nov-2023 22:13:20 +0000"
    assert not dovecot.complaints()


def test_flags_folders_and_sent(store, dovecot, ann, bob):
    """Without a recipient nothing is added."""
    text = message(SCUBA)
    done = store.append(ann, text, folder="Sent", recipient="", flags=SEEN | FLAGGED | DRAFT)
    assert done.status == "2.0.0"
    ((flags, _, read),) = in_dovecot(dovecot, ann, "Sent")
    assert flags == ["\\Draft", "\\Flagged", "\\Seen"] and read == text
    assert store.find(ann, text, "Sent") == [done.copy]
    assert store.find(ann, text) == [] and store.find(bob, text, "Sent") == []
    assert not dovecot.complaints()


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_of_folders(store, dovecot, folder, ann):
    text = message(SCUBA)
    assert store.find(ann, text, folder) == []
    done = store.append(ann, text, folder=folder)
    assert done.status == "2.0.0", done
    assert store.find(ann, text, folder) == [done.copy]
    assert len(in_dovecot(dovecot, ann, folder)) == 1
    assert not dovecot.complaints()


@pytest.mark.parametrize("folder", NO_FOLDERS)
def test_names_of_no_folders(store, dovecot, folder, ann):
    text = message(SCUBA)
    done = store.append(ann, text, folder=folder)
    assert done.status == "5.1.3" and not done.is_unknown
    assert store.look(ann, text, folder)[0] < 0
    assert not [name for _, _, names in os.walk(f"{dovecot.base}/mail/{ann}")
                for name in names if ",S=" in name]


def test_one_failure_prevents_no_other(store, ann, bob):
    text = message(SCUBA)
    store.note(ann, text, folder="a//b")
    store.note(ann, text)
    store.note("ann/../../bob@a.test", text, recipient=bob)
    store.note("a\x01n@a.test", text, recipient=bob)
    store.note(bob, text)
    wrong = "5.1.3" if store.kind == "maildir" else "4.3.0"  # the server's login tells no reason
    assert [done.status for done in store.go()] == ["5.1.3", "2.0.0", wrong, "5.1.3", "2.0.0"]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_ids(store, number, ann):
    """None is taken for another, and each is found, whatever a delivery adds in front."""
    texts = [message(identity) for identity in HOSTILE]
    mine = texts[number]
    copies = {}
    for text in texts:
        copies[text] = store.append(ann, text).copy
    returned = b"Return-Path: <lisa@example.com>\r\nDelivered-To: ann@a.test\r\n"
    received = b"Received: from a by b; Thu, 1 Jan 2026 00:00:00 +0000\r\n"
    assert store.find(ann, returned + mine) == [copies[mine]]
    # Without a Message-ID, what came another way is another message.
    assert store.find(ann, received + mine) == ([copies[mine]] if HOSTILE[number] else [])


def test_equal_ids_and_different_contents(store, ann):
    one, two = message(SCUBA, "one"), message(SCUBA, "two")
    first = store.append(ann, one).copy
    second = store.append(ann, two).copy
    third = store.append(ann, one, folder="INBOX").copy
    assert store.find(ann, one) == [first, third] and store.find(ann, two) == [second]


def test_removing_takes_this_copy_only(store, dovecot, ann):
    text = message(SCUBA)
    copies = [store.append(ann, text, flags=flags).copy for flags in (0, SEEN, FLAGGED)]
    session = dovecot.imap(ann)
    session.select()
    session.store("1", "+FLAGS", "\\Deleted")  # by the user, who has not expunged it
    session.logout()
    assert store.remove(ann, text, copies[1]) == (0, "")
    assert store.find(ann, text) == [copies[0], copies[2]]
    assert store.remove(ann, text, copies[1])[0] == ENOENT
    assert store.remove(ann, text, "../new/x")[0] == ENOENT
    assert store.remove(ann, text, copies[0], folder="None")[0] == ENOENT
    assert len(in_dovecot(dovecot, ann)) == 2
    assert not dovecot.complaints()


def test_readers_move_and_flag(store, dovecot, ann):
    """Dovecot takes what is in new/ to cur/ and changes names; copies of the user's are found, too."""
    text = message(SCUBA)
    done = store.append(ann, text)
    session = dovecot.imap(ann)
    session.select()
    session.store("1", "+FLAGS", "(\\Seen \\Answered keyword)")
    assert store.find(ann, text) == [done.copy]
    session.copy("1", "INBOX")
    found = store.find(ann, text)
    assert found[0] == done.copy and len(found) == 2
    assert store.remove(ann, text, found[1])[0] == 0
    session.noop()
    assert store.find(ann, text) == [done.copy]
    session.store("1", "+FLAGS", "\\Deleted")
    session.expunge()
    assert store.find(ann, text) == []
    session.logout()
    assert not dovecot.complaints()


def test_the_index_keeps_what_maildirs_get(dovecot, place, ann):
    """UIDs of what Dovecot knows stay while copies come with and without flags."""
    store = make_store("maildir", dovecot, place)
    session = dovecot.imap(ann)
    uids = []
    for number in range(10):
        done = store.append(ann, message(f"<{number}@x.test>"), flags=SEEN if number % 2 else 0)
        assert done.status == "2.0.0"
        session.select()
        now = session.uid("SEARCH", None, "ALL")[1][0].split()
        assert now[:-1] == uids
        uids = now
    assert len(session.uid("SEARCH", None, "SEEN")[1][0].split()) == 5
    session.logout()
    with open(f"{dovecot.base}/mail/{ann}/dovecot-uidlist", encoding="ascii") as listed:
        assert len(re.findall(r",I=[0-9a-f]{32}$", listed.read(), re.M)) == 10
    assert store.close() == 0
    assert not dovecot.complaints()


def test_many_at_once(store, dovecot, ann, bob):
    for number in range(MANY):
        store.note([ann, bob][number % 2], message(f"<{number}@x.test>"),
                   folder=["INBOX", "Sent"][number // 2 % 2], flags=number % 8)
    done = store.go()
    assert {each.status for each in done} == {"2.0.0"}
    assert len({(number % 4, each.copy) for number, each in enumerate(done)}) == MANY
    for user in (ann, bob):
        for folder in ("INBOX", "Sent"):
            assert len(in_dovecot(dovecot, user, folder)) == MANY // 4
    assert not dovecot.complaints()


@pytest.mark.parametrize("kind", ["maildir", "imap"])
def test_several_write_to_one_mailbox(kind, dovecot, place, ann):
    """Each makes the same new folder at the same moment, and a reader reads."""
    stores = [make_store(kind, dovecot, place) for _ in range(THREADS)]
    for index, store in enumerate(stores):
        for number in range(MANY):
            store.note(ann, message(f"<{index}.{number}@x.test>"), folder="new/folder",
                       flags=number % 2)
    for store in stores:
        store.start()
    over = threading.Event()

    def read():
        while not over.is_set():
            session = dovecot.imap(ann)
            status, answer = session.select('"new.folder"')
            if status == "OK" and answer != [b"0"]:
                session.store("1", "+FLAGS", "\\Flagged")
            session.logout()
    reader = threading.Thread(target=read)
    reader.start()
    done = [each for store in stores for each in store.ended()]
    over.set()
    reader.join()
    assert {each.status for each in done} == {"2.0.0"}, done
    assert len({each.copy for each in done}) == len(in_dovecot(dovecot, ann, "new/folder"))
    for index, store in enumerate(stores):
        assert len(store.find(ann, message(f"<{index}.0@x.test>"), "new/folder")) == 1
        assert store.close() == 0
    assert not dovecot.complaints()
