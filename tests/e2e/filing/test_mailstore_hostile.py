# SPDX-License-Identifier: ISC
"""IMAP servers that stall, close, lie and refuse, and connections that are cut: what becomes of
copies is told truly, in bounded time and memory."""

import os
import re
import shutil
import signal
import time

import pytest
from directory_tls import make_certificates
from dovecot import PASSWORD, Dovecot
from lying_imap import ImapServer, Wire
from mailstores import ENOENT, EOPNOTSUPP, Store, message
from stagepost import PATIENCE, free_port, wait_until

ANN = "ann@a.test"
TEXT = message("<123-abc@mail.example.com>")
TIMEOUT = 2  # seconds of the store for a command
LONGEST = 4 * TIMEOUT + 3  # a connection that turns out to be closed is made again
MEMORY = 128 << 10  # KiB

# what a server does instead of answering
LIES = {
    "stalls": lambda peer, tag: peer.wait(),
    "closes": lambda peer, tag: peer.socket.shutdown(2),
    "BYE": lambda peer, tag: b"* BYE [UNAVAILABLE] gone fishing\r\n",
    "a line without end": lambda peer, tag: peer.flood(b"x"),
    "a greeting's line without end": lambda peer, tag: peer.flood(b"* OK x"),
    "lines without end": lambda peer, tag: peer.flood(b"* 1 EXISTS\r\n"),
    "a literal without end": lambda peer, tag: peer.say(b'* LIST () "/" {4000000000}\r\n')
    or peer.flood(b"x"),
    "a huge literal": lambda peer, tag: b'* LIST () "/" {99999999999999999999}\r\nx\r\n',
    "another tag": lambda peer, tag: b"X9 OK done\r\n",
    "no tag": lambda peer, tag: b"OK done\r\n",
    "a continuation": lambda peer, tag: b"+ more\r\n",
    "no status": lambda peer, tag: tag + b" MAYBE\r\n",
    "NULs": lambda peer, tag: b"\0" * 1000 + b"\r\n",
    "drops": lambda peer, tag: peer.slowly(b"* OK " + b"x" * 10000),
}
STEPS_OF_APPEND = ["greeting", "CAPABILITY", "LOGIN", "LIST", "APPEND", "literal"]
STEPS_OF_FIND = ["EXAMINE", "UID SEARCH", "UID FETCH"]
STEPS_OF_REMOVE = ["SELECT", "UID STORE", "UID EXPUNGE"]
REFUSALS = {
    "[OVERQUOTA] too much": "4.2.2", "[NOPERM] not you": "5.7.1", "[UNAVAILABLE] later": "4.3.0",
    "[NONEXISTENT] nobody": "4.2.1", "[CANNOT] never": "5.1.3", "[TOOBIG] large": "5.2.3",
    "plain": "4.3.0", "[ODD \r": "4.3.0",
    # without a code, as Cyrus, Courier, hMailServer, Exchange and Zimbra have them
    "Over quota": "4.2.2", "You exceeded your mail quota.": "4.2.2", "[ALERT] Mailbox is full": "4.2.2",
    "Your quota has been exceeded": "4.2.2", "APPEND failed: quota exceeded": "4.2.2",
    "Message contains invalid header": "5.6.0", "Message contains NUL characters": "5.6.0",
    "Message contains bare newlines": "5.6.0", "Message has no header/body separator": "5.6.0",
    "Message contains non-ASCII characters in headers": "5.6.0",
    "Message size exceeds fixed limit": "5.2.3", "maximum message size exceeded": "5.2.3",
    "Permission denied": "4.7.0", "Invalid mailbox name": "4.2.1",
    # what may change
    "System I/O error": "4.3.0", "Mailbox is locked": "4.3.0", "APPEND failed": "4.3.0",
    "Server Unavailable. 15": "4.3.0", "[SERVERBUG] Internal quota calculation error": "4.3.0",
    "[UNAVAILABLE] over quota, or not": "4.3.0"}
MASTER = """
auth_master_user_separator = *
passdb {{
  driver = passwd-file
  args = {users}
  master = yes
}}
"""
WITH_TLS = """
ssl = required
ssl_cert = <{path}/localhost.pem
ssl_key = <{path}/localhost.key
"""


@pytest.fixture
def place(ground):
    path = ground.directory("stores")
    os.chmod(path, 0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def connect(place):
    """A store of a server at PORT."""
    made = []

    def make(port, tls="plain", authorities="", login="%a", password=PASSWORD, host="127.0.0.1"):
        store = Store(place, "imap", host, port, tls, authorities, login, password, "", TIMEOUT)
        made.append(store)
        return store
    yield make
    for store in made:
        if store.process.poll() is None:
            assert store.close() == 0


@pytest.fixture
def dovecot(ground):
    made = Dovecot([ANN])
    yield made
    made.close()


def peak(store):
    with open(f"/proc/{store.process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))


@pytest.mark.parametrize("step", STEPS_OF_APPEND)
@pytest.mark.parametrize("lie", LIES)
def test_lies_about_appending(connect, lie, step):
    with ImapServer(free_port(), step, LIES[lie]) as server:
        store = connect(server.port)
        before = time.monotonic()
        done = store.append(ANN, TEXT)
        assert time.monotonic() - before < LONGEST
        assert peak(store) < MEMORY
        if (lie, step) == ("a continuation", "APPEND"):  # it is one: then nothing follows
            assert done.status == "4.3.0" and done.is_unknown
            return
        assert done.status == "4.3.0" or done.status == "2.0.0" and step != "literal", done
        assert done.is_unknown == (step == "literal")
        assert len(server.messages) == (done.status == "2.0.0" or step == "literal")
        # it tells the truth now
        again = store.append(ANN, TEXT)
        assert again.status == "2.0.0" and again.copy


@pytest.mark.parametrize("step", STEPS_OF_FIND)
@pytest.mark.parametrize("lie", LIES)
def test_lies_about_what_is_there(connect, lie, step):
    """It is not known, or it is true."""
    with ImapServer(free_port(), step, LIES[lie]) as server:
        store = connect(server.port)
        copy = store.append(ANN, TEXT).copy
        before = time.monotonic()
        result, error, copies = store.look(ANN, TEXT)
        assert time.monotonic() - before < LONGEST
        assert peak(store) < MEMORY
        assert (result < 0 and error) or copies == [copy]
        assert store.find(ANN, TEXT) == [copy]
        assert server.commands.count("UID SEARCH") >= 1


@pytest.mark.parametrize("step", STEPS_OF_REMOVE)
@pytest.mark.parametrize("lie", ["stalls", "closes", "BYE", "another tag", "lines without end"])
def test_lies_about_removing(connect, lie, step):
    with ImapServer(free_port(), step, LIES[lie]) as server:
        store = connect(server.port)
        copy = store.append(ANN, TEXT).copy
        before = time.monotonic()
        result, error = store.remove(ANN, TEXT, copy)
        assert time.monotonic() - before < LONGEST
        assert (result < 0 and error) or result == 0
        assert {line.split(b" ", 1)[1] for line in server.lines if b"EXPUNGE" in line} <= {
            b"UID EXPUNGE 1"}


def test_others_data_are_not_ours(connect):
    """Untagged data about other messages, and UIDs that were not asked for."""
    def lie(peer, tag):
        return (b"* 2 FETCH (UID 99 BODY[] {%d}\r\n%s)\r\n" % (len(TEXT), TEXT)
                + b"* SEARCH 1\r\n* 1 FETCH (FLAGS (\\Seen))\r\n* OK [APPENDUID 7 55] x\r\n"
                + b'* 1 FETCH (BODY[] "UID 1" UID 1)\r\n'
                + tag + b" OK done\r\n")
    other = message("<123-abc@mail.example.com>", "another")
    with ImapServer(free_port(), "UID FETCH", lie, number=2) as server:
        store = connect(server.port)
        assert store.append(ANN, other).copy == "7:1"
        assert store.find(ANN, TEXT) == []


def test_a_server_of_imap4rev2_alone(connect):
    """It answers a search with ESEARCH, in ranges."""
    with ImapServer(free_port(), capabilities="IMAP4rev2 UIDPLUS AUTH=PLAIN SASL-IR") as server:
        store = connect(server.port)
        assert store.find(ANN, TEXT) == []
        copies = []
        for number in (1, 2, 3):
            copies.append(store.append(ANN, TEXT).copy)
            if number != 2:
                assert store.find(ANN, TEXT) == copies
        assert store.remove(ANN, TEXT, copies[1])[0] == 0
        assert store.remove(ANN, TEXT, "7:9")[0] == ENOENT


@pytest.mark.parametrize("nothing", [b'""', b"NIL", b"{0}\r\n"])
def test_a_message_that_is_a_header_without_message_id(connect, nothing):
    """Its subset has not even an empty line (RFC 3501 section 6.4.5)."""
    text = b"From: <lisa@example.com>\r\nSubject: no body\r\n"

    def lie(peer, tag):
        return (b"* 1 FETCH (UID 1 BODY[HEADER.FIELDS (MESSAGE-ID)] " + nothing + b")\r\n"
                + tag + b" OK done\r\n")
    with ImapServer(free_port(), "UID FETCH", lie) as server:
        store = connect(server.port)
        copy = store.append(ANN, text).copy
        assert store.find(ANN, text) == [copy]
        assert store.find(ANN, text + b"\r\nA body.\r\n") == []


@pytest.mark.parametrize("words, status", REFUSALS.items())
def test_refusals(connect, words, status):
    with ImapServer(free_port(), refuse={"APPEND": "NO " + words}) as server:
        done = connect(server.port).append(ANN, TEXT)
        assert (done.status, done.is_unknown) == (status, False)
        assert words.rpartition("] ")[2].rstrip("\r") in done.text


@pytest.mark.parametrize("quota, status", [
    ("STORAGE 512 512", "4.2.2"), ("STORAGE 511 512 MESSAGE 7 7", "4.2.2"), ("STORAGE 600 512", "4.2.2"),
    ("STORAGE 1 512 MESSAGE 6 7", "4.3.0"), ("STORAGE", "4.3.0"), ("", "4.3.0"),
    ("STORAGE x 18446744073709551616", "4.3.0")])
def test_refusals_by_quota(connect, quota, status):
    """What the server's sentence does not say, its quota may."""
    with ImapServer(free_port(), refuse={"APPEND": "NO nein"}, quota=quota or " ") as server:
        assert connect(server.port).append(ANN, TEXT).status == status


def test_a_refused_login(connect):
    with ImapServer(free_port(), refuse={"LOGIN": "NO [AUTHENTICATIONFAILED] who are you"}) as server:
        store = connect(server.port)
        done = store.append(ANN, TEXT)
        assert done.status == "4.3.0" and not done.is_unknown
        assert "who are you" in done.text and PASSWORD not in done.text
        result, error, _ = store.look(ANN, TEXT)
        assert result < 0 and "who are you" in error


def test_a_password_that_is_said_again(connect):
    with ImapServer(free_port(), refuse={"LOGIN": f"NO I do not like {PASSWORD}"}) as server:
        done = connect(server.port).append(ANN, TEXT)
        assert done.status == "4.3.0" and PASSWORD not in done.text


def test_nobody_listens(connect):
    store = connect(free_port())
    for _ in range(2):
        store.note(ANN, TEXT)
    assert [done.status for done in store.go()] == ["4.3.0"] * 2


def test_a_group_waits_once_for_a_wedged_server(connect):
    with ImapServer(free_port(), "greeting", LIES["stalls"]) as server:
        store = connect(server.port)
        for _ in range(50):
            store.note(ANN, TEXT)
        before = time.monotonic()
        assert {done.status for done in store.go()} == {"4.3.0"}
        assert time.monotonic() - before < LONGEST


def test_without_uidplus_nothing_is_removed(connect):
    with ImapServer(free_port(), capabilities="IMAP4rev1 AUTH=PLAIN SASL-IR") as server:
        store = connect(server.port)
        store.append(ANN, TEXT)
        result, error = store.remove(ANN, TEXT, "7:1")
        assert result == EOPNOTSUPP and "UIDPLUS" in error
        assert not {"UID STORE", "UID EXPUNGE", "EXPUNGE", "CLOSE"} & set(server.commands)


def test_another_validity_is_another_message(connect):
    with ImapServer(free_port()) as server:
        store = connect(server.port)
        store.append(ANN, TEXT)
        assert store.remove(ANN, TEXT, "8:1")[0] == ENOENT
        assert not {"UID STORE", "UID EXPUNGE"} & set(server.commands)


def test_a_kept_connection_that_was_closed_is_made_again(connect):
    with ImapServer(free_port()) as server:
        store = connect(server.port)
        for count in range(1, 4):
            assert store.append(ANN, TEXT).status == "2.0.0"
            assert server.count == count
            connection = server.connections[-1]
            connection.shutdown(2)
    assert len(server.messages) == 3


def test_one_connection_serves_many_commands(connect):
    with ImapServer(free_port()) as server:
        store = connect(server.port)
        for _ in range(20):
            assert store.append(ANN, TEXT).status == "2.0.0"
        assert len(store.find(ANN, TEXT)) == 20
        assert server.count == 1 and server.commands.count("LOGIN") == 1


def test_an_answer_that_is_lost_leaves_it_unknown(connect, dovecot):
    """It has been appended: who looks, finds it."""
    with Wire(free_port(), dovecot.port, b"hello\r\n\r\n") as wire:
        store = connect(wire.port)
        done = store.append(ANN, TEXT)
        assert done.status == "4.3.0" and done.is_unknown
        wait_until(lambda: len(store.find(ANN, TEXT)) == 1, "it is there")


def test_a_connection_that_is_lost_before_leaves_nothing(connect, dovecot):
    with Wire(free_port(), dovecot.port, b"APPEND", count=2) as wire:
        store = connect(wire.port)
        done = store.append(ANN, TEXT)
        assert done.status == "4.3.0" and not done.is_unknown
        assert store.find(ANN, TEXT) == []


def test_a_connection_that_is_lost_within_a_message_leaves_nothing(connect):
    """No part of a message is one."""
    def lie(peer, tag):
        peer.read(1000)
    with ImapServer(free_port(), "begin", lie) as server:
        done = connect(server.port).append(ANN, message("<1@x.test>", "x" * (20 << 20)))
        assert done.status == "4.3.0" and not done.is_unknown
        assert not server.messages


def test_who_is_killed_while_appending(connect, dovecot):
    """Nothing, or all of it, is there."""
    texts = [message(f"<{number}@x.test>", "x" * 100000) for number in range(40)]
    for delay in (0.005, 0.02, 0.05, 0.1):
        store = connect(dovecot.port)
        for text in texts:
            store.note(ANN, text)
        store.start()
        time.sleep(delay)
        store.process.send_signal(signal.SIGKILL)
        store.process.wait(PATIENCE)
    reader = connect(dovecot.port)
    found = sum(len(reader.find(ANN, text)) for text in texts)
    session = dovecot.imap(ANN)
    assert int(session.select()[1][0]) == found
    session.logout()


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
def test_tls_is_verified(connect, place, tls):
    """An authority that did not sign, or another name: the password is not told."""
    make_certificates(place, "localhost")
    server = Dovecot([ANN], settings=WITH_TLS.format(path=place) + f"""
service imap-login {{
  inet_listener imaps {{
    address = 127.0.0.1
    port = {(secure := free_port())}
    ssl = yes
  }}
}}
""")
    try:
        port = secure if tls == "implicit" else server.port
        good = connect(port, tls, f"{place}/authority.pem", host="localhost")
        assert good.append(ANN, TEXT).status == "2.0.0"
        assert len(good.find(ANN, TEXT)) == 1
        for authorities, host in (("foreign", "localhost"), ("authority", "127.0.0.1")):
            bad = connect(port, tls, f"{place}/{authorities}.pem", host=host)
            done = bad.append(ANN, message("<2@x.test>"))
            assert done.status == "4.3.0" and "certificate" in done.text.lower(), done
    finally:
        server.close()


def test_starttls_that_is_not_offered(connect):
    with ImapServer(free_port()) as server:
        done = connect(server.port, "starttls").append(ANN, TEXT)
        assert done.status == "4.3.0"
        assert "LOGIN" not in server.commands


def test_a_masters_login(connect, place):
    users = f"{place}/masters"
    with open(users, "w", encoding="ascii") as file:
        file.write("filer:{PLAIN}key to all\n")
    os.chmod(users, 0o644)
    server = Dovecot([ANN, "bob@a.test"], settings=MASTER.format(users=users))
    try:
        store = connect(server.port, login="%a*filer", password="key to all")
        assert store.append(ANN, TEXT).status == "2.0.0"
        assert store.append("bob@a.test", TEXT).status == "2.0.0"
        assert len(store.find("bob@a.test", TEXT)) == 1
        assert store.append("nobody@a.test", TEXT).status == "4.3.0"
    finally:
        server.close()
