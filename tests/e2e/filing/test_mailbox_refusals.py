# SPDX-License-Identifier: ISC
"""What a record's database can refuse for a while, by real servers and disks: mail for mailboxes
waits, the log says why in the database's words, other mail goes on, nothing is filed twice; and it
goes on when the cause is gone."""

import os
import subprocess

import postgresql
import pytest
from disk import Image
from filed import FILER, KEY, Boxes, Mariadb, Postgresql, Sqlite, message, tell
from smtp import Client
from stagepost import PATIENCE, wait_until
from test_mailbox_servers import BOTH, Site, keep, retry  # noqa: F401  pylint: disable=unused-import

DISK = 400 << 20  # bytes
MANY = b", ".join(b"somebody-%d@a-long-name-of-a-domain.example" % i for i in range(150))
MESSAGES = 1500  # more than fit into what a database has allocated before
SERVERS = {"postgresql": Postgresql, "mariadb": Mariadb}


def site(node, database, ground):
    """Where the causes are refusals, never time: a busy machine's database may be slow."""
    database.timeout = 60
    own = Site(node, database, Boxes(ground), record_more="lock_timeout = 60",
               domains=["domain a.test { service = maildir }"])
    own.story("before")
    return own


def sees_that_mail_waits(own, words):
    """The log has one of WORDS; what others may read does not."""
    for event in own.mx.log.find("deferred"):
        assert event["status"] == "4.3.0", event
        assert event["text"] == "The record of messages cannot be written now", event
    told = [event["text"] for event in own.mx.log.find("filing_failed")]
    assert told and all(any(word in text for word in words) for text in told), told
    tell(own.mx, ["ann@a.test"], message("other"))
    own.mx.maildir("ann@a.test").wait()


def sees_that_it_goes_on(own, identities):
    retry(own)
    own.is_told_once(["before", *identities])
    for event in "failed", "process_ended":
        assert not own.mx.log.find(event)


# --- a full disk ---

class FullDisk:
    """That of the database, with BALLAST in it."""

    def __init__(self, ground):
        self.image = Image(ground.directory("disk"), DISK)
        self.directory = os.path.join(self.image.path, "data")
        os.mkdir(self.directory)
        os.chmod(self.directory, 0o777)
        self.ballast = os.path.join(self.image.path, "ballast")

    def fill(self):
        with open(self.ballast, "wb", buffering=0) as file:
            for size in 1 << 20, 4096, 1:
                try:
                    while file.write(b"x" * size) == size:
                        pass
                except OSError:
                    continue
            os.fsync(file.fileno())

    def close(self):
        self.image.close()


RECORDS = {
    "sqlite": (Sqlite, ["disk is full"]),
    "postgresql": (Postgresql, ["No space left on device"]),
    "mariadb": (Mariadb, ["is full", "rror 28", "rrno: 28"]),
}


@pytest.fixture
def disk(ground):
    made = FullDisk(ground)
    yield made
    made.close()


@pytest.mark.parametrize("record", RECORDS)
def test_a_full_disk(disk, node, ground, keep, record):  # noqa: F811
    make, words = RECORDS[record]
    own = site(node, keep(make(ground, directory=disk.directory)), ground)
    disk.fill()
    sent = []
    with Client(own.mx) as client:
        while not own.mx.log.find("deferred"):
            assert len(sent) < MESSAGES, "the database has more room than it should"
            sent.append(f"full{len(sent)}")
            text = message(sent[-1]).replace(b"\r\nSubject:", b", " + MANY + b"\r\nSubject:", 1)
            assert client.deliver("lisa@gmail.test", BOTH, text).startswith("250 ")
    sees_that_mail_waits(own, words)
    os.unlink(disk.ballast)
    sees_that_it_goes_on(own, sent)


# --- too many connections ---

class Crowd:
    """Takes all connections that DATABASE has left, until it is closed."""

    def __init__(self, *command):
        self.command = command
        self.sessions = []
        while self.join():
            assert len(self.sessions) < 100, "it takes everybody"

    def join(self):
        session = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, bufsize=1)
        self.sessions.append(session)
        try:
            session.stdin.write("SELECT 1;\n")
            return session.stdout.readline() == "1\n"
        except BrokenPipeError:
            return False

    def close(self):
        while self.sessions:
            session = self.sessions.pop()
            session.kill()
            session.communicate(timeout=PATIENCE)


CROWDS = {
    "postgresql": ("max_connections = 6\nsuperuser_reserved_connections = 0\n",
                   lambda database: ["psql", "-XqAt", "-d", database.server.conninfo()],
                   ["too many clients already"]),
    "mariadb": ("max_connections = 10\n",
                lambda database: ["mariadb", "--no-defaults", "-S", database.server.socket, "-u", FILER,
                                  f"-p{KEY}", "-N", "-B", "-n", "mail"],
                ["Too many connections"]),
}


@pytest.mark.parametrize("record", CROWDS)
def test_too_many_connections(node, ground, keep, record):  # noqa: F811
    settings, session, words = CROWDS[record]
    database = keep(SERVERS[record](ground, settings=settings))
    own = site(node, database, ground)
    own.mx.stop()  # and its connections are gone
    crowd = keep(Crowd(*session(database)))
    own.mx.start()
    tell(own.mx, BOTH, message("crowded"))
    own.mx.log.wait("deferred")  # the others wait for the trigger
    sees_that_mail_waits(own, words)
    crowd.close()
    sees_that_it_goes_on(own, ["crowded"])


# --- what an operator has done to it ---

BY_ALL = {
    "newer": ("UPDATE record_meta SET version = version + 90",
              "UPDATE record_meta SET version = version - 90", ["the tables have version 9"]),
    "without a table": ("ALTER TABLE attempt RENAME TO gone", "ALTER TABLE gone RENAME TO attempt",
                        ["attempt"]),
}
CAUSES = {
    "postgresql": {
        "read only": ("ALTER DATABASE mail SET default_transaction_read_only = on",
                      "ALTER DATABASE mail RESET default_transaction_read_only",
                      ["the database is read-only"]),
        "closed": ("ALTER DATABASE mail ALLOW_CONNECTIONS false",
                   "ALTER DATABASE mail ALLOW_CONNECTIONS true",
                   ["not currently accepting connections"]),
        **BY_ALL},
    "mariadb": {
        "read only": ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", ["the database is read-only"]),
        "locked": ("ALTER USER filer@localhost ACCOUNT LOCK",
                   "ALTER USER filer@localhost ACCOUNT UNLOCK", ["account is locked"]),
        "without rights": ("REVOKE INSERT ON mail.* FROM filer@localhost",
                           "GRANT INSERT ON mail.* TO filer@localhost", ["INSERT command denied"]),
        **BY_ALL},
}


@pytest.mark.parametrize("record, cause", [(record, cause) for record, causes in CAUSES.items()
                                           for cause in causes])
def test_what_an_operator_has_changed(node, ground, keep, record, cause):  # noqa: F811
    """Connections that are there already may not notice it: so they are made anew."""
    done, undone, words = CAUSES[record][cause]
    database = keep(SERVERS[record](ground))
    own = site(node, database, ground)
    own.mx.stop()
    # of PostgreSQL not in the database itself, which may let nobody in afterwards
    place = "mail" if "TABLE" in done or "UPDATE" in done else \
        {"postgresql": postgresql.OWNER, "mariadb": "mysql"}[record]
    database.server.sql(done, database=place)
    own.mx.start()
    tell(own.mx, BOTH, message("refused"))
    own.mx.log.wait("deferred")  # the others wait for the trigger
    sees_that_mail_waits(own, words)
    database.server.sql(undone, database=place)
    own.mx.restart()
    sees_that_it_goes_on(own, ["refused"])
