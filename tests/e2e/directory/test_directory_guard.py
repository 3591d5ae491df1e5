# SPDX-License-Identifier: ISC
"""Data that vanish, are made anew, or are others: nobody who existed is refused for that, and no
change is said to be durable that is not, until somebody says that it is meant."""

import json
import os
import sqlite3
import subprocess
import threading

import pytest
from postgresql import DATABASE, OWNER, SCHEMA, programs, several
from records import Records
from smtp import Client
from stagepost import PATIENCE, as_user, give_to_user, wait_until

NAMES = "ann", "bob", "carl"


class Node:
    """A node whose domain d.test has NAMES; they are asked for all the time, and each answer is
    kept."""

    def __init__(self, made):
        self.made = made
        self.codes = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._ask)

    def fill(self):
        with Records(self.made) as records:
            records.put("domain", "d.test", "kind local", "service maildir")
            for name in NAMES:
                records.put("address", f"{name}@d.test", "kind mailbox")
        wait_until(lambda: self.reply("ann") == 250, "it is there")
        self.thread.start()
        return self

    def reply(self, name):
        with Client(self.made) as client:
            client.docmd("MAIL FROM:<sender@client.test>")
            return client.docmd(f"RCPT TO:<{name}@d.test>")[0]

    def _ask(self):
        while not self.is_over.wait(0.02):
            for name in NAMES:
                self.codes.append(self.reply(name))

    def end(self):
        if not self.is_over.is_set() and self.thread.ident is not None:
            self.is_over.set()
            self.thread.join()
            assert set(self.codes) <= {250, 451}, set(self.codes)

    def command(self, *words):
        ended = subprocess.run(
            as_user() + [os.path.join(self.made.programs, "stagepost"), "directory", words[0],
                         "-c", self.made.conf, *words[1:]],
            check=False, capture_output=True, text=True, timeout=PATIENCE)
        return ended.returncode, ended.stdout + ended.stderr

    def is_held(self):
        """Nobody is refused, nothing can be put, also after a restart of the process; and the
        log and the status say why, and which command ends it."""
        held = self.made.log.wait("store_held")
        wait_until(lambda: self.reply("nobody") == 451, "the store is held")
        # the connection for changes may notice first; the status is about what is read
        wait_until(lambda: json.loads(self.command("status", "--json")[1])["state"] == "held", "the status says so")
        told = json.loads(self.command("status", "--json")[1])
        assert (told["state"], told["ended_by"]) == ("held", "stagepost directory accept"), told
        assert told["held"] in [event["reason"] for event in self.made.log.find("store_held")], held
        lines = self.command("status")[1].splitlines()
        assert lines[0] == "state        held" and lines[1] == f"held         {told['held']}", lines
        assert lines[2].startswith('ended_by     "stagepost directory accept", if these data are right; or put back')
        status, text = self.command("put", "new@d.test", "kind=mailbox")
        assert status == 3, text
        before = self.made.log.mark()
        self.made.kill_and_wait("directory")
        self.made.log.wait("store_held", since=before)
        assert self.reply("nobody") == 451

    def is_as_before(self):
        wait_until(lambda: json.loads(self.command("status", "--json")[1])["state"] == "up", "it is not held")
        assert "held" not in self.command("status")[1]
        wait_until(lambda: self.reply("nobody") == 550, "it is answered again")
        for name in NAMES:  # each smtpd connects in its own time
            wait_until(lambda name=name: self.reply(name) == 250, f"{name} is there")
        assert self.command("put", "new@d.test", "kind=mailbox")[0] == 0
        wait_until(lambda: self.reply("new") == 250, "it is there")

    def accept(self):
        """They are gone, and that is meant: from here on they may be refused."""
        self.end()
        status, text = self.command("accept")
        assert (status, text) == (0, "")
        wait_until(lambda: self.command("put", "--table", "domain", "d.test", "kind=local",
                                        "service=maildir")[0] == 0, "it can be changed")
        wait_until(lambda: self.reply("ann") == 550, "it is refused")
        assert self.command("put", "new@d.test", "kind=mailbox")[0] == 0
        wait_until(lambda: self.reply("new") == 250, "it is there")
        self.made.kill_and_wait("directory")
        wait_until(lambda: self.reply("ann") == 550, "it is refused after a restart, too")
        wait_until(lambda: self.reply("new") == 250, "it is there")


@pytest.fixture
def mx(node):
    """mx(SETTING...): such a node; of the section "directory"."""
    opened = []

    def make(setting):
        made = node("mx", start=False, domains=[])
        made.settings = ("maxerrors = 10000\nmaxcommands = 100000\n"
                         f"directory {{ negative_ttl = 1s  {setting} }}\n")
        made.write_configuration()
        opened.append(Node(made.start()))
        return opened[-1]

    yield make
    for one in opened:
        one.end()


# ---- SQLite ----


class File:
    def __init__(self, path):
        self.path = path

    def copy(self, to):
        """A whole copy, as sqlite3's own tool makes it."""
        with sqlite3.connect(self.path) as here, sqlite3.connect(to) as there:
            here.backup(there)
        give_to_user(to)

    def sql(self, text):
        with sqlite3.connect(self.path, timeout=10) as database:
            database.executescript(text)


@pytest.fixture
def sqlite(mx, ground):
    def make():
        path = os.path.join(ground.directory("data"), "directory.db")
        return mx(f'path = "{path}"').fill(), File(path)

    return make


def remove(file):
    os.unlink(file.path)


def truncate(file):
    os.truncate(file.path, 0)


@pytest.mark.parametrize("harm", (remove, truncate))
def test_sqlite_file_vanishes(sqlite, harm):
    """While it is open; the copy that is put in its place is taken without a word."""
    one, file = sqlite()
    kept = file.path + ".kept"
    file.copy(kept)
    harm(file)
    one.is_held()
    for rest in "-wal", "-shm":
        if os.path.exists(file.path + rest):
            os.unlink(file.path + rest)
    os.rename(kept, file.path)
    one.is_as_before()


@pytest.mark.parametrize("harm", (remove, truncate))
def test_sqlite_file_vanishes_on_purpose(sqlite, harm):
    one, file = sqlite()
    harm(file)
    one.is_held()
    one.accept()


def test_sqlite_another_file_is_put_in_place(sqlite):
    """By rename, while the process runs: an empty one of ours."""
    one, file = sqlite()
    kept, other = file.path + ".kept", file.path + ".other"
    file.copy(kept)
    file.copy(other)
    with sqlite3.connect(other) as database:
        database.executescript("DELETE FROM address; DELETE FROM domain; DELETE FROM change;"
                               "UPDATE meta SET version = 0, identity = 'other'")
    database.close()
    os.rename(other, file.path)
    one.is_held()
    os.rename(kept, file.path)
    one.is_as_before()


def test_sqlite_an_older_copy_is_put_in_place(sqlite):
    one, file = sqlite()
    kept = file.path + ".kept"
    file.copy(kept)
    assert one.command("put", "dora@d.test", "kind=mailbox")[0] == 0
    os.rename(kept, file.path)
    one.made.log.wait("store_held")
    wait_until(lambda: one.reply("dora") == 451, "it is held")
    assert one.command("accept") == (0, "")
    wait_until(lambda: one.reply("dora") == 550, "it was not there then")
    wait_until(lambda: one.reply("ann") == 250, "the others were")


def test_sqlite_is_emptied(sqlite):
    one, file = sqlite()
    kept = file.path + ".kept"
    file.copy(kept)
    file.sql("DELETE FROM address; DELETE FROM domain;")
    one.is_held()
    os.rename(kept, file.path)
    one.made.log.wait("store_held", count=2)


def test_what_is_removed_by_command_is_meant(sqlite):
    one, _ = sqlite()
    one.end()
    for name in NAMES:
        assert one.command("del", f"{name}@d.test")[0] == 0
    wait_until(lambda: one.reply("ann") == 550, "it is refused")
    assert one.command("del", "--table", "domain", "d.test")[0] == 0
    assert one.command("put", "--table", "domain", "d.test", "kind=local",
                       "service=maildir")[0] == 0
    one.made.kill_and_wait("directory")
    wait_until(lambda: one.reply("ann") == 550, "it is refused after a restart, too")
    assert not one.made.log.find("store_held")


# ---- PostgreSQL ----


@pytest.fixture
def postgresql(mx, ground):
    """postgresql(): such a node, and its database."""
    with several(ground) as servers:
        def make():
            server = servers("a")
            return mx(f'backend = postgresql  database = {{ "{server.conninfo()}" }}').fill(), server

        yield make


ANEW = "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO public"


def dump(server, *options):
    return subprocess.run(
        [os.path.join(programs(), "pg_dump"), "-h", server.address, "-p", str(server.port),
         "-U", OWNER, *options, DATABASE], check=True, capture_output=True, text=True,
        timeout=PATIENCE).stdout


def restore(server, text, *options):
    """Statement by statement, as psql does it."""
    subprocess.run(
        [os.path.join(programs(), "psql"), "-q", "-h", server.address, "-p", str(server.port),
         "-U", OWNER, "-v", "ON_ERROR_STOP=1", *options, DATABASE], input=text, check=True,
        capture_output=True, text=True, timeout=PATIENCE)


def test_postgresql_schema_is_dropped(postgresql):
    one, server = postgresql()
    kept = dump(server)
    server.sql(ANEW)
    one.is_held()
    assert server.sql("SELECT to_regclass('address') IS NULL") == "t", "nothing is made anew"
    server.sql("DROP SCHEMA public")
    restore(server, "CREATE SCHEMA IF NOT EXISTS public;\n" + kept)
    one.is_as_before()


def test_postgresql_schema_is_dropped_on_purpose(postgresql):
    one, server = postgresql()
    server.sql(ANEW)
    one.is_held()
    one.accept()


def test_postgresql_schema_is_made_anew(postgresql):
    """By its owner, while the process runs."""
    one, server = postgresql()
    with open(SCHEMA, encoding="utf-8") as file:
        server.sql(ANEW + ";" + file.read())
    one.is_held()
    one.accept()


def test_postgresql_is_restored_under_the_process(postgresql):
    """By "pg_dump -c | psql": tables are dropped, made empty, filled one after the other, and get
    their triggers at last. Its lines are given slowly, so that each state is seen."""
    one, server = postgresql()
    text = dump(server, "-c", "--if-exists")
    slow = "SELECT pg_sleep(0.03);\n"
    text = text.replace("\n\n--\n", "\n\n" + slow + "--\n")
    assert text.count(slow) > 50
    restore(server, text)
    before = len(one.codes)
    wait_until(lambda: len(one.codes) > before + 30, "answers of afterwards")
    one.is_as_before()


def test_postgresql_an_older_dump_is_restored(postgresql):
    one, server = postgresql()
    kept = dump(server, "-c", "--if-exists")
    assert one.command("put", "dora@d.test", "kind=mailbox")[0] == 0
    restore(server, kept, "-1")
    one.made.log.wait("store_held")
    wait_until(lambda: one.reply("nobody") == 451, "it is not read")
    assert one.command("put", "evil@d.test", "kind=mailbox")[0] != 0, "nor written"
    assert server.sql("SELECT count(*) FROM address WHERE address = 'evil@d.test'") == "0"
    one.made.kill_and_wait("directory")
    one.made.log.wait("store_held", count=2)
    assert one.reply("nobody") == 451
    assert one.command("accept") == (0, "")
    wait_until(lambda: one.reply("dora") == 550, "it was not there then")
    wait_until(lambda: one.reply("ann") == 250, "the others were")


def test_postgresql_is_emptied(postgresql):
    one, server = postgresql()
    kept = dump(server)
    one.end()  # what is asked before the notification has come is told what is true
    server.sql("TRUNCATE address, domain")
    one.is_held()
    server.sql("DROP SCHEMA public CASCADE")
    restore(server, "CREATE SCHEMA IF NOT EXISTS public;\n" + kept)
    assert one.reply("nobody") == 451, "it is older than that it was emptied"
    assert one.command("accept") == (0, "")
    wait_until(lambda: one.reply("ann") == 250, "it is back")


# ---- rows that are no records ----

MALFORMED = {  # rows of an address, and what mends it
    "a kind that is none": ("INSERT INTO address (address, kind) VALUES ('eve@d.test', 'mailbx')",
                            "UPDATE address SET kind = 'mailbox' WHERE address = 'eve@d.test'"),
    "a target that is none": ("INSERT INTO address (address, kind) VALUES ('eve@d.test', 'alias');"
                              "INSERT INTO target VALUES ('eve@d.test', 0, 'no address')",
                              "UPDATE target SET target = 'ann@d.test'"
                              " WHERE address = 'eve@d.test'"),
    "the first of two inserts": ("INSERT INTO address (address, kind) VALUES ('eve@d.test', 'forward')",
                                 "INSERT INTO target VALUES ('eve@d.test', 0, 'ann@d.test')")}


# what takes the constraints away, so that rows are as in data that are older than they are
SQLITE_UNCHECKED = "".join(f"DROP TRIGGER {table}_check_insert; DROP TRIGGER {table}_check_update;"
                           for table in ("address", "target"))


def is_malformed(one, data, rows, mending):
    """Mail for an address waits for its record to be mended: it is not refused, and is not the
    catch-all's. Those beside it are as before."""
    with Records(one.made) as records:
        records.put("address", "@d.test", "kind forward", "target ann@d.test")
    wait_until(lambda: one.reply("somebody") == 250, "the catch-all is there")
    data.sql(rows)
    wait_until(lambda: one.reply("eve") == 451, "it is answered later")
    assert one.made.log.wait("store_record_bad", key="eve@d.test")["reason"]
    assert one.reply("ann") == 250
    data.sql(mending)
    wait_until(lambda: one.reply("eve") == 250, "it is mended")


@pytest.mark.parametrize("name", MALFORMED)
def test_sqlite_malformed(sqlite, name):
    one, file = sqlite()
    file.sql(SQLITE_UNCHECKED)
    is_malformed(one, file, *MALFORMED[name])


@pytest.mark.parametrize("name", MALFORMED)
def test_postgresql_malformed(postgresql, name):
    one, server = postgresql()
    with server.unchecked():
        is_malformed(one, server, *MALFORMED[name])


REFUSED = [  # the constraint that refuses it, and the statement
    ("address_kind_value", "INSERT INTO address (address, kind) VALUES ('eve@d.test', 'mailbx')"),
    ("address_kind_value", "INSERT INTO address (address) VALUES ('eve@d.test')"),
    ("address_address_key", "INSERT INTO address (address, kind) VALUES ('Eve@d.test', 'mailbox')"),
    ("address_owner_required", "INSERT INTO address (address, kind) VALUES ('eve@d.test', 'list')"),
    ("address_owner_kind", "UPDATE address SET owner = 'bob@d.test' WHERE address = 'ann@d.test'"),
    ("address_status_value", "INSERT INTO address (address, kind, text, status)"
                             " VALUES ('eve@d.test', 'refused', 'gone', '2.0.0')"),
    ("target_target_value", "INSERT INTO target VALUES ('eve@d.test', 0, 'no address')"),
    ("member_member_other", "INSERT INTO member VALUES ('l@d.test', 'l@d.test')"),
    ("password_password_value", "INSERT INTO password (name, password) VALUES ('ann', 'secret')"),
    ("user_name_key", 'INSERT INTO "user" (name) VALUES (\'Ann\')'),
    ("server_service_required", "INSERT INTO server (name) VALUES ('s1')"),
    ("domain_service_kind", "INSERT INTO domain (name, kind, service) VALUES ('x', 'relay', 'box')")]


def refuses_rows(one, sql, error):
    """Each statement fails, and says which constraint; an address is as it was."""
    for constraint, statement in REFUSED:
        with pytest.raises(error, match=constraint):
            sql(statement)
    assert one.reply("ann") == 250


def test_sqlite_refuses_malformed_rows(sqlite):
    one, file = sqlite()
    refuses_rows(one, file.sql, sqlite3.IntegrityError)


def test_postgresql_refuses_malformed_rows(postgresql):
    one, server = postgresql()
    refuses_rows(one, server.sql, AssertionError)


def names_malformed_rows(one, sql):
    """What cannot be exported is said, by name, and the export fails; so do list and check, and
    all that is well-formed is printed all the same."""
    sql("INSERT INTO address (address, kind) VALUES ('eve@d.test', 'mailbx'),"
        " ('Fay@d.test', 'mailbox'); INSERT INTO member VALUES ('l@d.test', 'nobody')")
    wait_until(lambda: one.reply("eve") == 451, "it is there")
    status, printed = one.command("export")
    assert status == 1
    assert [json.loads(line)["key"] for line in printed.splitlines() if line.startswith("{")] == [
        "d.test", "ann@d.test", "bob@d.test", "carl@d.test"]
    for line in ("left out: address eve@d.test is malformed: field kind is \"mailbx\"",
                 "left out: address Fay@d.test is malformed: the key",
                 "left out: member l@d.test nobody is malformed: "):
        assert printed.count(line) == 1, (line, printed)
    status, printed = one.command("list")
    assert status == 1 and "malformed: address eve@d.test: field kind" in printed
    assert "carl@d.test" in printed
    status, printed = one.command("check", "--json")
    assert status == 1
    assert {(found["table"], found["key"]) for found in map(json.loads, printed.splitlines())} == {
        ("address", "eve@d.test"), ("address", "Fay@d.test"), ("member", "l@d.test nobody"),
        ("address", "postmaster")}  # whom this node does not have
    sql("DELETE FROM address WHERE address IN ('eve@d.test', 'Fay@d.test'); DELETE FROM member")
    wait_until(lambda: one.command("export")[0] == 0, "nothing is left out")
    status, printed = one.command("check")
    assert status == 1 and printed.startswith("address postmaster: ") and printed.count("\n") == 1


def test_sqlite_names_malformed_rows(sqlite):
    one, file = sqlite()
    file.sql(SQLITE_UNCHECKED + "DROP TRIGGER member_check_insert")
    names_malformed_rows(one, file.sql)


def test_postgresql_names_malformed_rows(postgresql):
    one, server = postgresql()
    with server.unchecked():
        names_malformed_rows(one, server.sql)
