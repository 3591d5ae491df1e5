# SPDX-License-Identifier: ISC
"""Services that file each message once, through a whole node: Maildirs and a real IMAP server, with
the record in real databases, and what happens while one of these is away."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import time

import pytest
from filed import Boxes, Imap, Mariadb, Postgresql, Sqlite, identity_of, lacking, message, tell
from lmtp import Server as LmtpServer
from records import Records
from smtp import Client
from stagepost import PATIENCE, as_user, is_root, wait_until
from test_check_running import check

DOMAINS = ["domain mail.test { service = once }", "domain far.test { service = far }"]
BOTH = ["scuba@mail.test", "doug@mail.test"]


class Site:
    """A node with a service of STORE's kind; and one of FAR's, if there is one."""

    def __init__(self, node, record, store, far=None, more="sent = all", record_more="", settings="",
                 domains=()):
        self.record, self.store, self.far = record, store, far
        self.more, self.record_more, self.rest = more, record_more, settings
        self.far_more = more
        self.store_settings = store.settings
        self.mx = node(start=False)
        self.domains = list(domains)
        self.write()
        self.mx.start()

    def write(self):
        self.mx.domains = [*DOMAINS[:2 if self.far else 1], *self.domains]
        far = f"service far {{ {self.far.settings(more=self.far_more)} }}\n" if self.far else ""
        self.mx.settings = (f"service once {{ {self.store_settings(more=self.more)} }}\n{far}"
                            f"{self.record.settings(self.record_more)}{self.rest}")
        self.mx.write_configuration()

    def story(self, identity):
        """One message, given once for each recipient; each has it once, and the sender too."""
        tell(self.mx, BOTH, message(identity))
        self.mx.wait_empty()
        self.is_told_once([identity])

    def is_told_once(self, identities, store=None):
        for address, folder in [*((each, "INBOX") for each in BOTH), ("lisa@gmail.test", "Sent")]:
            assert lacking(store or self.store, address, identities, folder) == {}, address


@pytest.fixture
def keep():
    """keep(THING): it is closed at the end."""
    kept = []

    def call(thing):
        kept.append(thing)
        return thing

    yield call
    for thing in reversed(kept):
        thing.close()


RECORDS = {
    "sqlite": Sqlite,
    **{f"postgresql-{way}": lambda ground, way=way: Postgresql(ground, way)
       for way in ("socket", "address", "name")},
    **{f"mariadb-{way}": lambda ground, way=way: Mariadb(ground, way)
       for way in ("socket", "address", "name")},
}
SERVERS = {"postgresql": Postgresql, "mariadb": Mariadb}


@pytest.mark.parametrize("record", RECORDS)
def test_each_record_with_maildirs(node, ground, keep, record):
    own = Site(node, keep(RECORDS[record](ground)), keep(Boxes(ground)))
    own.story("first")
    own.mx.restart()
    tell(own.mx, BOTH, message("first"))  # the same once more
    own.mx.wait_empty()
    own.is_told_once(["first"])
    assert not own.mx.log.find("sandbox_lacks")
    if is_root():
        assert check(own.mx)[0] == 0


@pytest.mark.parametrize("record", ["sqlite", "postgresql-socket", "mariadb-socket"])
def test_each_record_keeps_which_folder_was_refused(node, ground, keep, record):
    """And how many mail has made."""
    own = Site(node, keep(RECORDS[record](ground)), keep(Boxes(ground)), more="sent = none detail_folders = yes")
    address = "scuba@mail.test"
    tell(own.mx, [address], message("first"))
    own.mx.wait_empty()
    broken = os.path.join(own.store.root, "mail.test", "scuba", ".lists")
    with open(broken, "wb"):
        pass
    for _ in range(2):
        tell(own.mx, ["scuba+lists@mail.test"], message("second"))
        own.mx.wait_empty()
        if os.path.isfile(broken):
            os.unlink(broken)
    own.mx.log.wait("message_filed_before", folder="INBOX")
    tell(own.mx, [f"scuba+f{number}@mail.test" for number in range(40)], message("third"))
    own.mx.wait_empty()
    assert lacking(own.store, address, ["first", "second", "third"]) == {}
    made = [name for name in os.listdir(os.path.dirname(broken)) if name.startswith(".")]
    assert len(made) == 31, made  # with INBOX, which is new, too


@pytest.mark.parametrize("security, login", [
    ("starttls", "%a*filer"), ("implicit", "%a*filer"), ("plain", "%a*filer"), ("starttls", "%a"),
    ("implicit", "%a"), ("plain", "%a")])
def test_each_way_to_an_imap_server(node, ground, keep, security, login):
    imap = keep(Imap(ground))
    settings = imap.settings
    imap.settings = lambda more="": settings(security, login, more)
    own = Site(node, keep(Sqlite(ground)), imap)
    own.story("first")
    own.mx.restart()
    tell(own.mx, BOTH, message("first"))
    own.mx.wait_empty()
    own.is_told_once(["first"])
    assert not imap.server.complaints()


@pytest.mark.parametrize("record", SERVERS)
def test_both_kinds_and_lmtp_in_one_node(node, ground, keep, record):
    """The sandbox has what both need; LMTP goes on as ever."""
    box = keep(LmtpServer(os.path.join(ground.directory("lmtp"), "s")))
    own = Site(node, keep(SERVERS[record](ground)), keep(Boxes(ground)), far=keep(Imap(ground)),
               settings=f'service box {{ kind = lmtp address = "{box.address}" }}\n',
               domains=["domain box.test { service = box }"])
    large = message("large", b"A line of a large message.\r\n" * 6000)  # passed as a file
    for text in message("small"), large:
        with Client(own.mx) as client:
            assert client.deliver("lisa@gmail.test", [*BOTH, "ann@far.test", "bob@far.test",
                                                      "eve@box.test"], text).startswith("250 ")
    own.mx.wait_empty()
    for address in BOTH:
        assert lacking(own.store, address, ["small", "large"]) == {}
    for address in "ann@far.test", "bob@far.test":
        assert lacking(own.far, address, ["small", "large"]) == {}
    sent = [store.texts("lisa@gmail.test", "Sent") for store in (own.store, own.far)]
    assert sorted(map(identity_of, sum(sent, []))) == ["large", "small"]  # once, in either
    assert len(box.messages) == 2
    (got,) = [text for text in own.store.texts(BOTH[0]) if b"<large@" in text]
    assert got.endswith(large.replace(b"\r\n", b"\n"))
    status, out, _ = check(own.mx)
    assert status == 0, out  # it has no more than the table of rights says


def test_two_services_with_one_record_keep_one_copy_of_sent_mail(node, ground, keep):
    """In the store of whichever service is first; the record knows of that one."""
    record = keep(Sqlite(ground))
    own = Site(node, record, keep(Boxes(ground)), far=keep(Boxes(ground)))
    names = [f"sent{i}" for i in range(10)]
    for name in names:
        for _ in range(2):  # and once more when all is filed
            tell(own.mx, [BOTH[0], "ann@far.test"], message(name))
    own.mx.wait_empty()
    assert lacking(own.store, BOTH[0], names) == {}
    assert lacking(own.far, "ann@far.test", names) == {}
    sent = [store.texts("lisa@gmail.test", "Sent") for store in (own.store, own.far)]
    assert sorted(map(identity_of, sum(sent, []))) == sorted(names)
    with contextlib.closing(sqlite3.connect(record.path)) as tables:
        assert tables.execute(
            "SELECT count(*), count(DISTINCT f.message) FROM filing f JOIN mailbox b ON b.number ="
            " f.mailbox WHERE b.folder = 'Sent' AND f.state = 'filed'").fetchone() == (10, 10)


# --- one of them is away ---

def take(own, identities):
    for identity in identities:
        tell(own.mx, BOTH, message(identity))


def retry(own):
    """Until the queue is empty; what waits is due at once."""
    def is_empty():
        if own.mx.control_files():
            run(own.mx, "queue", "retry", "--all", "--yes")
        return not own.mx.control_files()
    wait_until(is_empty, "the queue is empty", 40)


def run(mx, *words):
    return subprocess.run(
        [*as_user(), os.path.join(mx.programs, "stagepost"), *words], capture_output=True, text=True,
        env={**os.environ, "STAGEPOST_CONF": mx.conf}, timeout=PATIENCE, check=False)


@pytest.mark.parametrize("record", SERVERS)
def test_a_database_that_is_away(node, ground, keep, record):
    """Stopped and killed: mail waits, others' mail goes on, then all is filed once."""
    database = keep(SERVERS[record](ground))
    own = Site(node, database, keep(Boxes(ground)), domains=["domain a.test { service = maildir }"])
    own.story("before")
    database.kill()
    take(own, ["away1", "away2"])
    own.mx.log.wait("trigger_set", trigger="service.once")
    tell(own.mx, ["ann@a.test"], message("other"))
    own.mx.maildir("ann@a.test").wait()
    mark = own.mx.log.mark()
    own.mx.restart()
    own.mx.log.wait("deferred", since=mark)
    take(own, ["away3"])  # which waits with the others, untried
    database.start()
    retry(own)
    own.is_told_once(["before", "away1", "away2", "away3"])
    assert not own.mx.log.find("process_ended")


@pytest.mark.parametrize("record", SERVERS)
def test_a_database_that_hangs(node, ground, keep, record):
    """It is waited for as long as record's timeout says, by what it is to record alone."""
    database = keep(SERVERS[record](ground))
    own = Site(node, database, keep(Boxes(ground)), domains=["domain a.test { service = maildir }"])
    own.story("before")
    pids = database.server.pids() if record == "postgresql" else [database.server.process.pid]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    take(own, ["hangs"])
    tell(own.mx, ["ann@a.test"], message("other"))
    own.mx.maildir("ann@a.test").wait()
    own.mx.log.wait("trigger_set", trigger="service.once", timeout=60)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    retry(own)
    own.is_told_once(["before", "hangs"])


def test_an_imap_server_that_is_away(node, ground, keep):
    imap = keep(Imap(ground))
    own = Site(node, keep(Sqlite(ground)), imap, domains=["domain a.test { service = maildir }"])
    own.story("before")
    imap.server.stop()
    take(own, ["away1", "away2"])
    own.mx.log.wait("trigger_set", trigger="service.once")
    tell(own.mx, ["ann@a.test"], message("other"))
    own.mx.maildir("ann@a.test").wait()
    imap.server.start()
    retry(own)
    own.is_told_once(["before", "away1", "away2"])


@pytest.mark.parametrize("record", SERVERS)
def test_a_lock_that_another_has_holds_up_no_other_message(node, ground, keep, record):
    """One connection is enough for all others; then the lock's own is filed too."""
    database = keep(SERVERS[record](ground))
    own = Site(node, database, keep(Boxes(ground)), record_more="connections = 1")
    own.story("before")
    others = [f"other{i}" for i in range(30)]
    with database.locked("held"):
        take(own, ["held"])
        begun = time.monotonic()
        take(own, others)
        wait_until(lambda: all(lacking(own.store, to, ["before", *others]) == {} for to in BOTH),
                   "all others are filed")
        assert time.monotonic() - begun < 9  # of lock_timeout's ten seconds
        assert not own.mx.log.find("deferred")
    own.mx.wait_empty()
    own.is_told_once(["before", "held", *others])
    assert not own.mx.log.find("deferred")


def test_a_lock_that_another_keeps(node, ground, keep):
    database = keep(Postgresql(ground))
    own = Site(node, database, keep(Boxes(ground)), record_more="lock_timeout = 1")
    with database.locked("held"):
        take(own, ["held"])
        for event in own.mx.log.wait("deferred", count=2):
            assert event["status"] == "4.4.5"
    retry(own)
    own.is_told_once(["held"])


def test_more_messages_than_connections(node, ground, keep):
    database = keep(Postgresql(ground))
    own = Site(node, database, keep(Boxes(ground)), record_more="connections = 2")
    names = [f"one{i}" for i in range(300)]
    with Client(own.mx) as client:
        for name in names:
            assert client.deliver("lisa@gmail.test", BOTH, message(name)).startswith("250 ")
        served = int(database.server.sql("SELECT count(*) FROM pg_stat_activity WHERE"
                                         " application_name = 'stagepost-mailbox'"))
        assert 1 <= served <= 2
    own.mx.wait_empty(60)
    own.is_told_once(names)


# --- reload ---

def reload(own):
    own.write()
    own.mx.reload()


def test_reload_changes_the_record_and_the_store(node, ground, keep):
    """From SQLite to PostgreSQL to MariaDB, and to another file; the path, and the kind of store."""
    boxes, others = keep(Boxes(ground)), keep(Boxes(ground))
    records = [keep(make(ground)) for make in (Sqlite, Postgresql, Mariadb, Sqlite)]
    own = Site(node, records[0], boxes)
    for number, record in enumerate(records):
        own.record = record
        own.record_more = f"connections = {number + 1}"
        mark = own.mx.log.mark()
        reload(own)
        if number > 0:
            own.mx.log.wait("process_started", since=mark, program="mailbox")
        tell(own.mx, BOTH, message(f"record{number}"))
        own.mx.wait_empty()
    own.is_told_once([f"record{number}" for number in range(4)])
    mark = own.mx.log.mark()
    own.store_settings = others.settings
    reload(own)
    own.mx.log.wait("process_started", since=mark, program="mailbox")
    tell(own.mx, BOTH, message("moved"))
    own.mx.wait_empty()
    own.is_told_once(["moved"], others)
    mark = own.mx.log.mark()
    imap = keep(Imap(ground))
    own.store_settings = imap.settings
    reload(own)
    own.mx.log.wait("process_started", since=mark, program="mailbox")
    tell(own.mx, BOTH, message("sent away"))
    own.mx.wait_empty()
    own.is_told_once(["sent away"], imap)
    assert not own.mx.log.find("process_ended")


def test_reload_removes_a_service_with_what_waits_for_a_lock(node, ground, keep):
    """It comes to no harm by a configuration that is gone, and is tried again."""
    database = keep(Postgresql(ground))
    own = Site(node, database, keep(Boxes(ground)), far=keep(Boxes(ground)))
    own.story("before")
    with database.locked("held"):
        tell(own.mx, ["ann@far.test"], message("held"))
        database.wait_connected(2)  # the second service asks for the lock
        far, own.far = own.far, None
        reload(own)
        wait_until(lambda: run(own.mx, "queue", "list").returncode == 0, "it goes on")
        tell(own.mx, BOTH, message("other"))
        wait_until(lambda: lacking(own.store, BOTH[0], ["before", "other"]) == {}, "others are filed")
    own.far = far
    reload(own)
    retry(own)
    assert lacking(far, "ann@far.test", ["held"]) == {}
    assert not own.mx.log.find("process_ended")


# --- stop ---

@pytest.mark.parametrize("end", ["restart", "kill send", "kill mailbox", "kill all"])
def test_nothing_is_filed_twice_over(node, ground, keep, end):
    """While messages are being filed. What was on its way to the IMAP server then waits until that
    cannot append it any more."""
    record = keep(Postgresql(ground))
    own = Site(node, record, keep(Imap(ground)))
    names = [f"one{i}" for i in range(36)]
    for begin in range(0, 36, 12):
        with Client(own.mx) as client:
            for name in names[begin:begin + 12]:
                assert client.deliver("lisa@gmail.test", BOTH, message(name)).startswith("250 ")
        own.mx.log.wait("message_filed", count=begin + 1)
        if end == "restart":
            own.mx.restart()
        elif end == "kill all":
            own.mx.kill_supervisor()
            own.mx.start()
        else:
            own.mx.kill_and_wait(end.split()[1])
    record.age_attempts()
    retry(own)
    own.is_told_once(names)


def test_a_stop_waits_for_what_is_being_filed(node, ground, keep):
    """An IMAP server that takes its time: nothing is given up, nothing filed twice."""
    imap = keep(Imap(ground))
    record = keep(Sqlite(ground))
    own = Site(node, record, imap)
    own.story("before")
    imap.server.freeze()
    tell(own.mx, BOTH, message("slow"))
    record.wait_recorded(2)  # it is on its way to the server
    own.mx.process.send_signal(signal.SIGTERM)
    own.mx.log.wait("serve_stopping")
    imap.server.thaw()
    assert own.mx.process.wait(45) == 0
    own.mx.process = None
    own.mx.start()
    retry(own)
    own.is_told_once(["before", "slow"])


# --- a directory that decides whose sent mail is kept ---

def test_a_directory_that_is_away(node, ground, keep):
    """Mail waits for whom it says that the sender is."""
    data = ground.directory("directory")
    own = Site(node, keep(Sqlite(ground)), keep(Boxes(ground)), more="",
               settings=f'directory {{ path = "{data}/directory.db" }}\n')
    with Records(own.mx) as records:
        records.put("domain", "d.test", "kind local", "service once")
        records.put("address", "lisa@d.test", "kind mailbox")
        records.put("address", "alias@d.test", "kind alias", "target lisa@d.test")
        records.list("two@d.test", ["lisa@d.test", "bob@d.test"], "bob@d.test")
        records.put("address", "bob@d.test", "kind mailbox")

    def send(sender, identity):
        text = message(identity).replace(b"lisa@gmail.test", sender.encode())
        tell(own.mx, BOTH, text, sender=sender)

    send("lisa@d.test", "own")
    send("alias@d.test", "alias")  # the mailbox that mail for it goes to
    send("two@d.test", "two")  # a list's
    send("nobody@d.test", "nobody")
    send("bob@gmail.test", "foreign")
    own.mx.wait_empty()
    assert lacking(own.store, "lisa@d.test", ["own", "alias"], "Sent") == {}
    assert lacking(own.store, "bob@d.test", [], "Sent") == {}
    (pid,) = own.mx.pids("directory")
    os.kill(pid, signal.SIGSTOP)

    def accepted():  # not by an smtpd that has not seen these recipients before
        try:
            send("bob@d.test", "later")  # whom nobody has asked for before
        except AssertionError as refused:
            assert "451 4.4.3" in str(refused)
            return False
        return True
    wait_until(accepted, "the message is accepted")
    own.mx.log.wait("deferred", count=2, timeout=60)
    os.kill(pid, signal.SIGCONT)
    retry(own)
    assert lacking(own.store, "bob@d.test", ["later"], "Sent") == {}
    for address in BOTH:
        assert lacking(own.store, address,
                       ["own", "alias", "two", "nobody", "foreign", "later"]) == {}
