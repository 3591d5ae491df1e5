# SPDX-License-Identifier: ISC
"""The store in PostgreSQL (directory/store/postgresql/postgresql.h) with real servers: what is read, changed and
told, by plain SQL too, and what becomes of it when connections and servers go."""

import os
import shutil
import signal
import statistics
import threading
import time

import pytest
from postgresql import OWNER, SCHEMA, Server, Store, judge_pushes, several
from stagepost import PATIENCE, wait_until
from store_lines import closing

BULK = int(os.environ.get("BULK", "250000"))  # rows; 100,000 changes are kept
TABLES = ("address", "target", "domain", "member", '"user"', "password", "server", "node", '"group"')


@pytest.fixture(scope="module")
def place(ground):
    path = ground.directory("postgresql")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def shared(place):
    """A primary that stays up."""
    server = Server(place, "shared")
    yield server
    server.stop()


@pytest.fixture
def servers(ground):
    """servers(NAME, ...): of this test only."""
    with several(ground) as make:
        yield make


@pytest.fixture
def store(request, ground):
    """store(DATABASE...): closed at the end, which has to be clean."""
    path = ground.directory("store")
    with closing(request) as made:
        def make(*databases, **words):
            made.append(Store(path, *databases, **words))
            return made[-1]

        yield make


@pytest.fixture
def empty(shared, store):
    """The shared server with its tables, and nothing in them; a store of it."""
    one = store(shared.conninfo())
    shared.sql("TRUNCATE " + ", ".join(TABLES))
    version = int(shared.sql("SELECT version FROM meta"))
    wait_until(lambda: int(one.state()[2]) >= version, "the store has seen it")
    return one


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


# --- what a store does ---


def test_records(empty):
    """Puts, gets, lists and removals of each table; what existed; the last of equal keys."""
    mailbox = "ann@example.org|kind mailbox|service box|mailbox ann@old.example.org"
    forward = "bob@example.org|kind forward|target b@x.org|target bob@example.org|target a@x.org"
    lists = "list@example.org|kind list|owner ann@example.org|verp yes"
    answer = empty.put("address", mailbox, forward, lists, "ann@example.org|kind mailbox")
    assert (answer.error, answer.records) == ("0", ["no", "no", "no", "yes"])
    assert empty.get("address", "bob@example.org", "nobody@example.org", "ann@example.org",
                     "list@example.org").records == [
        forward, "-", "ann@example.org|kind mailbox", lists]
    assert empty.put("address", "bob@example.org|kind alias|target c@x.org").records == ["yes"]
    assert empty.record("address", "bob@example.org") == "bob@example.org|kind alias|target c@x.org"
    user = 'joe|password SCRAM-SHA-256$4096:c2FsdHNhbHRzYWx0$' \
        'aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g=:' \
        'aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g=|server imap1|name Joe "X" {a,b} \\ é'
    for table, record in (("domain", "example.org|kind local|service box"),
                          ("member", "list@example.org m@x.org"), ("user", user),
                          ("server", "imap1|service box"),
                          ("node", "a1|address a1.test:627|group core|group out|weight 2")):
        key = record.split("|")[0]
        assert empty.put(table, record).records == ["no"], table
        assert empty.record(table, key) == record
        assert empty.ask("del", table, key, "none@example.org" if table != "member" else
                         "list@example.org none@x.org").records == ["yes", "no"], table
        assert empty.record(table, key) == "-"
    assert empty.ask("del", "address", "bob@example.org").records == ["yes"]
    assert empty.put("address", "bob@example.org|kind mailbox").records == ["no"]
    assert empty.record("address", "bob@example.org") == "bob@example.org|kind mailbox"


def test_lists(empty, shared):
    """In the order of bytes, by prefix, page by page, each table."""
    keys = sorted(f"{name}@example.org" for name in ("b", "a", "a-b", "ab", "é", "zz", "_"))
    empty.put("address", *(f"{key}|kind mailbox" for key in keys))
    members = sorted(f"list@example.org m{i:03}@x.org" for i in range(250))
    empty.put("member", *members)
    empty.put("member", "list@example.org.uk other@x.org", "a@example.org m@x.org")
    listed = [r.split("|")[0] for r in empty.ask("list", "address", "", "", 100).records]
    assert listed == sorted(keys, key=lambda key: key.encode())
    assert [r.split("|")[0] for r in empty.ask("list", "address", "a", "", 100).records] == [
        "a-b@example.org", "a@example.org", "ab@example.org"]
    found, after = [], ""
    while True:
        page = empty.ask("list", "member", "list@example.org ", after, 100).records
        found += page
        if len(page) < 100:
            break
        after = page[-1]
    assert found == members
    assert len(empty.ask("list", "member", "", "", 1000).records) == 252
    empty.put("member", "a@example.org m007@x.org", "a@example.org list@example.org")
    assert empty.ask("list", "membership", "m007@x.org ", "", 100).records == [
        "m007@x.org a@example.org", "m007@x.org list@example.org"]
    assert empty.ask("list", "membership", "m007@x.org ", "m007@x.org a@example.org", 100
                     ).records == ["m007@x.org list@example.org"]
    assert empty.ask("list", "membership", "stranger@x.org ", "", 100).records == []
    assert len(empty.ask("list", "membership", "", "", 1000).records) == 254


def test_missed(empty, shared):
    """What changed since a version; too old, of the future, or too much is ESTALE. So is a
    version that a transaction took back: nobody can have seen it."""
    first = empty.put("address", "a@example.org|kind mailbox").version
    last = empty.put("address", "b@example.org|kind mailbox").version
    answer = empty.ask("missed", first, 100)
    assert answer.records == [f"{last} address b@example.org"]
    assert empty.ask("missed", last, 100).records == []
    assert empty.ask("missed", last + 1, 100).error == "ESTALE"
    assert empty.ask("missed", first, 0).error == "ESTALE"
    shared.sql("SELECT nextval('change_version')")
    gap = int(shared.sql("SELECT last_value FROM change_version"))
    empty.put("address", "c@example.org|kind mailbox")
    assert empty.ask("missed", gap, 100).error == "ESTALE"


def test_order(empty):
    """Many gets and lists at once are answered in their order; a change is told before what
    is asked after it was answered, and that sees it."""
    empty.put("address", *(f"u{i}@example.org|kind mailbox|service old" for i in range(300)))
    sent = []
    for i in range(300):
        sent.append(empty.send("get", "address", f"u{i}@example.org"))
        if i % 50 == 0:
            sent.append(empty.send("list", "address", "", "", 3))
        if i == 150:
            change = empty.send("put", "address", "u299@example.org|kind mailbox|service new")
    for name in sent:
        empty.receive(name)
    empty.receive(change)
    assert empty.record("address", "u299@example.org").endswith("service new")
    told = [words[0] for words in empty.order if words[0] in sent]
    assert told == sent
    position = [words[0] for words in empty.order].index(change)
    version = max(empty.versions())
    assert ["*", "changed", str(version)] in empty.order[:position]


def test_changes_together(empty, shared):
    """A call with a record that the database refuses changes nothing, and does not take those
    with it that were asked for at the same time."""
    shared.sql("ALTER TABLE domain ADD CONSTRAINT good CHECK (name <> 'evil.org')")
    sent = [empty.send("put", "domain", f"g{i}.org|kind local",
                       f"{'evil' if i == 7 else f'h{i}'}.org|kind local") for i in range(20)]
    answers = [empty.receive(name).split("\t")[1] for name in sent]
    shared.sql("ALTER TABLE domain DROP CONSTRAINT good")
    assert answers == ["EIO" if i == 7 else "0" for i in range(20)]
    assert len(empty.ask("list", "domain", "g", "", 100).records) == 19
    assert empty.log.wait("store_error", role="change")["state"] == "23514"


def test_a_condition(empty, shared):
    """A record is put only if nobody has changed it since: not by this store, in the same
    transaction or before, not by plain SQL, and not before a change that is kept no more."""
    def edit(version, name, service):
        return empty.send("edit", "domain", version, f"{name}.org|kind local|service {service}")

    def errors(*names):
        return [empty.receive(name).split("\t")[1] for name in names]

    first = empty.put("domain", "a.org|kind local").version
    other = empty.put("domain", "b.org|kind local").version
    mark = empty.log.mark()
    assert errors(edit(first, "a", "s1")) == ["0"]
    assert errors(edit(first, "a", "s2"), edit(other, "b", "s2"), edit(other, "new", "s2")) == [
        "ESTALE", "0", "0"]
    assert errors(edit(other + 1000, "a", "s3")) == ["ESTALE"]
    assert empty.record("domain", "a.org") == "a.org|kind local|service s1"
    now = empty.get("domain", "a.org").version
    assert errors(*(edit(now, "a", f"n{i}") for i in range(20))) == ["0"] + ["ESTALE"] * 19
    assert empty.record("domain", "a.org") == "a.org|kind local|service n0"
    now = empty.get("domain", "a.org").version
    mark_changes = empty.mark()
    shared.sql("UPDATE domain SET service = 'sql' WHERE name = 'a.org'")
    empty.wait_event("changed", None, "domain", "a.org", since=mark_changes)
    assert errors(edit(now, "a", "s4")) == ["ESTALE"]
    empty.put("domain", "c.org|kind local")
    shared.sql(f"DELETE FROM change WHERE version <= {now + 1}")
    assert errors(edit(now - 1, "b", "s5")) == ["ESTALE"]
    assert not empty.log.find("store_error", since=mark)


def test_plain_sql(empty, shared):
    """Each kind of statement on each table is told, with the keys of the records."""
    def told(sql, *expected):
        mark = empty.mark()
        shared.sql(sql)
        for table, key in expected:
            empty.wait_event("changed", None, table, key, since=mark)
    told("INSERT INTO address (address, kind) VALUES ('a@d', 'forward'), ('b@d', 'mailbox')",
         ("address", "a@d"), ("address", "b@d"))
    told("INSERT INTO target VALUES ('a@d', 0, 'x@y'), ('a@d', 1, 'z@y')", ("address", "a@d"))
    assert empty.record("address", "a@d") == "a@d|kind forward|target x@y|target z@y"
    told("UPDATE address SET address = 'c@d' WHERE address = 'a@d'", ("address", "a@d"),
         ("address", "c@d"))
    assert empty.record("address", "c@d") == "c@d|kind forward|target x@y|target z@y"
    told("UPDATE address SET kind = 'mailbox' WHERE address = 'c@d'", ("address", "c@d"))
    assert empty.record("address", "c@d") == "c@d|kind mailbox"  # targets are not its own now
    told("DELETE FROM address WHERE address = 'c@d'", ("address", "c@d"))
    assert shared.sql("SELECT count(*) FROM target") == "0"
    told("INSERT INTO \"user\" (name) VALUES ('joe'); INSERT INTO password VALUES"
         " ('joe', 0, '$6$saltsalt$' || repeat('a', 86))", ("user", "joe"))
    told("INSERT INTO member VALUES ('l@d', 'm@x')", ("member", "l@d m@x"))
    told("INSERT INTO domain VALUES ('d', 'local')", ("domain", "d"))
    told("INSERT INTO server VALUES ('s', 'box')", ("server", "s"))
    told("INSERT INTO node VALUES ('a1', 'a1.test:627')", ("node", "a1"))
    told("INSERT INTO \"group\" VALUES ('a1', 0, 'core')", ("node", "a1"))
    told("TRUNCATE member", ("member", "l@d m@x"))
    told("COPY (SELECT 1) TO STDOUT; INSERT INTO domain VALUES ('d', 'local') ON CONFLICT (name)"
         " DO UPDATE SET kind = 'relay'", ("domain", "d"))
    assert empty.record("domain", "d") == "d|kind relay"


def test_rolled_back(empty, shared):
    """What is rolled back is not told, and leaves no doubt about what is."""
    before = int(shared.sql("SELECT version FROM meta"))
    shared.sql("BEGIN; INSERT INTO domain VALUES ('gone.org', 'local'); ROLLBACK")
    shared.sql("INSERT INTO domain VALUES ('there.org', 'local')")
    empty.wait_event("changed", None, "domain", "there.org")
    assert not [e for e in empty.events if e[-1] == "gone.org"]
    assert empty.ask("missed", before, 10).error == "0"


def test_bad_rows(empty, shared):
    """Nobody is told that there is none where a row is no record, and the log says why."""
    with shared.unchecked():
        shared.sql("INSERT INTO address (address, kind, owner) VALUES"
                   " ('Upper@example.org', 'mailbox', NULL), ('no-target@example.org', 'forward', NULL),"
                   " ('bad-owner@example.org', 'list', 'nobody'), ('ok@example.org', 'mailbox', NULL)")
    for bad in "no-target@example.org", "bad-owner@example.org":
        assert empty.get("address", bad).error == "EBADMSG"
        assert empty.get("address", bad, "ok@example.org").error == "EBADMSG"
    assert empty.get("address", "upper@example.org", "ok@example.org").records == [
        "-", "ok@example.org|kind mailbox"]
    assert empty.ask("list", "address", "", "", 10).records == ["ok@example.org|kind mailbox"]
    assert "target" in empty.log.wait("store_record_bad", key="no-target@example.org")["reason"]
    assert "form" in empty.log.wait("store_record_bad", key="Upper@example.org")["reason"]


def test_list_around_bad_rows(empty, shared):
    """A page is full although bad rows were in it; a shorter one is the last."""
    with shared.unchecked():
        shared.sql("INSERT INTO address (address, kind) SELECT"
                   " CASE WHEN i % 3 = 0 THEN 'B' ELSE 'a' END || i || '@example.org', 'mailbox'"
                   " FROM generate_series(1000, 1299) AS i;"
                   "INSERT INTO address (address, kind) SELECT 'a' || i || 'X@example.org', 'mailbox'"
                   " FROM generate_series(1000, 1099) AS i")
    found, after = [], ""
    while True:
        page = [r.split("|")[0] for r in empty.ask("list", "address", "", after, 7).records]
        found += page
        if len(page) < 7:
            break
        after = page[-1]
    assert found == [f"a{i}@example.org" for i in range(1000, 1300) if i % 3]


def test_held_up(empty, shared):
    """Somebody's transaction stays open: changes are given up in time, reading goes on, and so do
    changes when it has ended."""
    session = shared.session()
    session.run("BEGIN; INSERT INTO domain VALUES ('open.org', 'local')")
    begun = time.monotonic()
    name = empty.send("put", "domain", "x.org|kind local")
    assert empty.record("domain", "open.org") == "-"
    assert empty.receive(name).split("\t")[1] == "EIO"
    assert 3 < time.monotonic() - begun < 8
    name = empty.send("put", "domain", "y.org|kind local")
    session.run("COMMIT")
    session.close()
    assert empty.receive(name).split("\t")[1] == "0"
    assert empty.record("domain", "open.org") == "open.org|kind local"
    assert empty.record("domain", "x.org") == "-"


def test_concurrent_sql(empty, shared):
    """Transactions at the same time: versions ascend in the order of their commits, each change
    is told once, and nobody waits in a circle."""
    since = empty.mark()

    def work(number):
        session = shared.session()
        for i in range(40):
            session.run(f"BEGIN; INSERT INTO address (address, kind) VALUES"
                        f" ('w{number}-{i}@example.org', 'mailbox');"
                        f" UPDATE address SET service = '{number}' WHERE address ="
                        f" 'w{(number + 1) % 4}-{i}@example.org'; COMMIT")
        session.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = int(shared.sql("SELECT version FROM meta"))
    wait_until(lambda: int(empty.state()[2]) >= last, "all is told")
    versions = [int(e[2]) for e in empty.events[since:] if e[1] == "changed"]
    assert versions == sorted(set(versions))
    for number in range(4):
        for i in range(40):
            empty.wait_event("changed", None, "address", f"w{number}-{i}@example.org", since=since)


def pushes(server, one, rounds=200):
    """Milliseconds from each of ROUNDS commits to its push, and beside each what a question to the
    database and one to the process take."""
    session = server.session()
    took, others = [], []
    for i in range(rounds):
        begun = time.monotonic()
        session.run("SELECT 1")
        one.get("domain", "t.org")
        others.append((time.monotonic() - begun) * 1000)
        mark = one.mark()
        session.run("INSERT INTO domain VALUES ('t.org', 'local') ON CONFLICT (name)"
                    f" DO UPDATE SET service = '{i}'")
        committed = time.monotonic()
        event = one.wait_event("changed", None, "domain", "t.org", since=mark)
        took.append((event[0] - committed) * 1000)
    session.close()
    return took, others


def test_commit_to_push(empty, shared):
    """Milliseconds from the commit of plain SQL to the push."""
    judge_pushes(lambda: pushes(shared, empty))


@pytest.mark.parametrize("count", (199, 200, 201, 600, 850))
def test_statements(empty, shared, count):
    """What is more than one statement asks for comes whole, and in order."""
    shared.sql("INSERT INTO address (address, kind) SELECT 'u' || i || '@example.org', 'mailbox'"
               f" FROM generate_series(1000, {1000 + count - 1}) AS i")
    keys = [f"u{number}@example.org" for number in range(1000, 1000 + count)]
    answer = empty.get("address", *keys, "nobody@example.org")
    assert answer.error == "0"
    assert answer.records == [f"{key}|kind mailbox" for key in keys] + ["-"]
    shared.sql("TRUNCATE address")


def test_bulk(empty, shared):
    """More rows than changes are kept of, by SQL: one change, which says everything."""
    before = int(shared.sql("SELECT version FROM meta"))
    times = {}
    for what, sql in (
            ("insert", "INSERT INTO address (address, kind) SELECT 'u' || i || '@example.org',"
                       f" 'mailbox' FROM generate_series(0, {BULK - 1}) AS i"),
            ("update", "UPDATE address SET service = 'box'"),
            ("delete", "DELETE FROM address WHERE address >= 'u5'")):
        mark = empty.mark()
        begun = time.monotonic()
        shared.sql(sql, timeout=300)
        times[what] = time.monotonic() - begun
        empty.wait_event("reset", since=mark)
    print(f"{BULK} rows: " + ", ".join(f"{what} {s:.1f} s" for what, s in times.items()))
    assert sum(times.values()) < 200
    assert empty.ask("missed", before, 1000).error == "ESTALE"
    assert empty.record("address", "u7@example.org") == "-"
    assert empty.record("address", "u17@example.org").endswith("service box")
    shared.sql("TRUNCATE address")


def test_pruning(empty, shared):
    """Changes that are old and not among the last 100,000 go; what was missed then is ESTALE."""
    before = int(shared.sql("SELECT version FROM meta"))
    shared.sql("UPDATE change SET at = now() - interval '8 days';"
               "INSERT INTO change SELECT nextval('change_version'), 'domain', 'old.org',"
               " now() - interval '8 days' FROM generate_series(1, 101000)")
    for i in range(3):
        shared.sql("INSERT INTO address (address, kind) SELECT 'p' || i || '@example.org',"
                   " 'mailbox' FROM generate_series(1, 1000) AS i; DELETE FROM address")
    oldest, newest = map(int, shared.sql("SELECT min(version), max(version) FROM change").split("|"))
    assert oldest > before and newest - oldest >= 99999
    assert empty.ask("missed", before, 1000).error == "ESTALE"
    shared.sql("DELETE FROM change WHERE key = 'old.org'")


# --- tables and rights ---


def test_rights(shared, store):
    """Who may not make the tables is told so; who may read but not change can read."""
    shared.sql("CREATE DATABASE other", database=OWNER)
    shared.sql("CREATE ROLE reader LOGIN", database=OWNER)
    shared.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC", database="other")
    reader = store(shared.conninfo("other", user="reader"), wait=False)
    reader.wait_event("down")
    refused = reader.log.wait("store_refused", role="change")
    assert "permission denied" in refused["reason"] and "postgresql_schema.sql" in refused["reason"]
    assert "no tables" in reader.log.wait("store_refused", role="read")["reason"]
    assert reader.get("domain", "x.org").error == "ENOTCONN"
    with open(SCHEMA, encoding="utf-8") as schema:
        shared.sql(schema.read(), database="other")
    assert "permission denied for view meta" in wait_until(
        lambda: [e for e in reader.log.find("store_refused", role="read")
                 if "cannot be used" in e["reason"]], "it is told why")[0]["reason"]
    shared.sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;"
               "INSERT INTO domain VALUES ('x.org', 'local')", database="other")
    reader.wait_event("up")
    assert reader.record("domain", "x.org") == "x.org|kind local"
    answer = reader.put("domain", "y.org|kind local")
    assert answer.error == "EPERM"
    assert reader.log.wait("store_error", role="change")["state"] == "42501"
    shared.sql("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO reader",
               database="other")
    assert reader.put("domain", "y.org|kind local").error == "0"
    assert reader.record("domain", "y.org") == "y.org|kind local"


def test_tables_made_once(shared, store):
    """Several that come at the same time to a database without tables."""
    shared.sql("CREATE DATABASE fresh", database=OWNER)
    several = [store(shared.conninfo("fresh"), wait=False) for _ in range(4)]
    for one in several:
        one.wait_event("up")
    assert len({one.state()[1] for one in several}) == 1
    several[0].put("domain", "x.org|kind local")
    for one in several:
        one.wait_event("changed", None, "domain", "x.org")


def test_newer_tables(shared, store):
    """Tables of a version that is not known are left alone."""
    shared.sql("CREATE DATABASE newer", database=OWNER)
    one = store(shared.conninfo("newer"))
    one.close()
    shared.sql("UPDATE directory_data SET schema = 99", database="newer")
    one = store(shared.conninfo("newer"), wait=False)
    one.wait_event("down")
    assert "newer Stagepost" in one.log.wait("store_refused", role="read")["reason"]


NO_NODES = """DROP TABLE node, "group"; DROP FUNCTION directory_changed_node, directory_changed_group,
directory_children_group;"""  # as before there were any


def test_old_tables(shared, store):
    """Those of version 1, whose servers had no addresses, become what they are now."""
    shared.sql("CREATE DATABASE older", database=OWNER)
    one = store(shared.conninfo("older"))
    one.put("server", "s1|service box")
    one.wait_event("changed", None, "server", "s1")
    one.close()
    shared.sql("ALTER TABLE server DROP COLUMN address; DROP INDEX membership;" + NO_NODES +
               " UPDATE directory_data SET schema = 1", database="older")
    one = store(shared.conninfo("older"))
    one.put("server", "s2|service box|address s.test:24")
    one.wait_event("changed", None, "server", "s2")
    assert shared.sql("SELECT schema FROM meta", database="older") == "6"
    assert shared.sql("SELECT to_regclass('membership')", database="older") == "membership"
    assert shared.sql("SELECT address FROM server WHERE name = 's2'",
                      database="older") == "s.test:24"
    with pytest.raises(AssertionError, match="server_address_value"):
        shared.sql("UPDATE server SET address = 'nowhere'", database="older")


def test_tables_of_nodes_come_later(shared, store):
    """A store that has seen the data takes tables without them for complete; they come with their
    triggers, and with the rights of those that were there."""
    shared.sql("CREATE DATABASE before", database=OWNER)
    shared.sql("CREATE ROLE looking LOGIN; CREATE ROLE changing LOGIN", database=OWNER)
    one = store(shared.conninfo("before"))
    one.put("server", "s1|service box")
    one.wait_event("changed", None, "server", "s1")
    one.close()
    shared.sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO looking, changing;"
               "GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO changing;" + NO_NODES +
               "UPDATE directory_data SET schema = 5", database="before")
    one = store("--known", shared.conninfo("before"))
    one.wait_event("up")
    assert one.put("node", "a1|address a1.test:627|group core|group out").error == "0"
    one.wait_event("changed", None, "node", "a1")
    for role in "looking", "changing":
        other = store(shared.conninfo("before", user=role))
        other.wait_event("up")
        assert other.record("node", "a1") == "a1|address a1.test:627|group core|group out"
        assert other.put("node", f"{role}|address b2.test:627").error == (
            "0" if role == "changing" else "EPERM")
    shared.sql("UPDATE node SET name = 'a2' WHERE name = 'a1'", database="before")
    one.wait_event("changed", None, "node", "a2")
    assert one.record("node", "a2") == "a2|address a1.test:627|group core|group out"
    shared.sql("DELETE FROM node WHERE name = 'a2'", database="before")
    one.wait_event("changed", None, "node", "a2")
    assert shared.sql('SELECT count(*) FROM "group"', database="before") == "0"
    with pytest.raises(AssertionError, match="node_weight_value"):
        shared.sql("UPDATE node SET weight = '1000'", database="before")


def test_foreign_tables(shared, store):
    """Other tables of those names are not touched."""
    shared.sql("CREATE DATABASE foreign_one", database=OWNER)
    shared.sql("CREATE TABLE domain (id integer)", database="foreign_one")
    one = store(shared.conninfo("foreign_one"), wait=False)
    one.wait_event("down")
    assert 'relation "domain" already exists' in one.log.wait(
        "store_refused", role="change")["reason"]
    assert shared.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'",
                      database="foreign_one") == "1"


@pytest.mark.parametrize("text, reason", [
    ("hots=127.0.0.1", "hots"), ("service=mail", "service"),
    ("postgresql://[::1/mail", "]")])
def test_bad_conninfo(store, text, reason):
    """Says what is wrong, and does not start."""
    one = store(text, wait=False)
    one.process.wait(PATIENCE)
    assert reason in one.log.wait("store_refused")["reason"]
    assert one.process.returncode == 1
    one.process.returncode = 0


# --- connections and servers that go ---


def test_lost_notification(empty, shared):
    """The connection that listens is killed while changes are made: none is missed, and
    nobody is told that the data are down."""
    session = shared.session()
    since = empty.mark()
    for i in range(30):
        if i % 10 == 5:
            # one that is not there yet cannot be lost
            empty.log.wait("store_connected", role="read", count=i // 10 + 1)
            shared.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                       " application_name = 'stagepost-directory'")
        session.run(f"INSERT INTO domain VALUES ('n{i}.org', 'local')")
    session.close()
    for i in range(30):
        empty.wait_event("changed", None, "domain", f"n{i}.org", since=since)
    versions = [int(e[2]) for e in empty.events[since:] if e[1] == "changed"]
    assert versions == sorted(set(versions))
    assert not [e for e in empty.events[since:] if e[1] in ("down", "reset")]
    assert len(empty.log.find("store_lost", role="read")) >= 3


def test_names_of_hosts(shared, store):
    """A host's name is looked up without libpq; several hosts are tried."""
    one = store(f"host=/nonexistent,localhost port={shared.port},{shared.port} user={OWNER}"
                " dbname=mail")
    assert one.get("domain", "none.org").error == "0"
    assert "localhost" in one.log.wait("store_connected", role="read")["database"]
    other = store("host=no-such-host.invalid dbname=mail", shared.conninfo())
    refused = other.log.wait("store_refused", role="read")
    assert "no-such-host.invalid" in refused["database"]
    assert other.get("domain", "none.org").error == "0"


def test_frozen(servers, store):
    """A server that says nothing any more is left within seconds."""
    primary = servers("primary")
    one = store(primary.conninfo())
    one.put("domain", "x.org|kind local")
    standby = servers("standby", standby_of=primary)
    both = store(primary.conninfo(), standby.conninfo())
    assert both.record("domain", "x.org") == "x.org|kind local"
    primary.signal(signal.SIGSTOP)
    begun = time.monotonic()
    assert both.get("domain", "x.org").records == ["x.org|kind local"]
    took = time.monotonic() - begun
    print(f"from a frozen server to the next: {took:.1f} s")
    assert took < 8
    assert both.ask("put", "domain", "y.org|kind local").error == "ENOTCONN"
    primary.signal(signal.SIGCONT)
    wait_until(lambda: both.put("domain", "y.org|kind local").error == "0", "it changes again")


def test_standby(servers, store):
    """Reads a standby, which cannot be listened at; changes go to the primary."""
    primary = servers("primary")
    store(primary.conninfo()).close()
    standby = servers("standby", standby_of=primary)
    one = store(standby.conninfo(), primary.conninfo())
    assert str(standby.port) in one.log.wait("store_connected", role="read")["database"]
    assert str(primary.port) in one.log.wait("store_connected", role="change")["database"]
    assert one.put("domain", "x.org|kind local").error == "0"
    assert one.record("domain", "x.org") == "x.org|kind local"
    took, _ = pushes(primary, one, 60)
    print(f"commit at the primary to push by a standby: median {statistics.median(took):.0f} ms, "
          f"p99 {percentile(took, .99):.0f} ms")
    assert percentile(took, .99) < 1000
    wait_until(lambda: int(one.state()[3]) < 1000000, "it is known to be in line")
    primary.kill()
    assert one.record("domain", "t.org") == "t.org|kind local|service 59"
    wait_until(lambda: int(one.state()[3]) > 1000000, "it is no longer known to be in line")


def test_standby_cut_off(servers, store):
    """What a standby says that is not known to be in line any more is used for a TTL, and no
    longer: then it is asked to wait, and gets no changes that may be wrong. When another
    one can be read it is."""
    primary = servers("primary", settings="wal_sender_timeout = 1000\n")
    store(primary.conninfo()).close()
    standby = servers("standby", standby_of=primary)
    one = store(standby.conninfo(), primary.conninfo())
    assert one.put("domain", "x.org|kind local").error == "0"
    assert one.record("domain", "x.org") == "x.org|kind local"
    one.receive(one.send("ttl", 3))
    primary.kill()
    begun = time.monotonic()
    mark = one.mark()
    answered = begun
    while time.monotonic() < begun + 20:
        answer = one.get("domain", "x.org")
        if answer.error != "0":
            break
        answered = time.monotonic()
        assert answer.records == ["x.org|kind local"]
        time.sleep(0.02)
    assert answer.error == "ENOTCONN"
    assert 1.5 < answered - begun < 4.5
    one.wait_event("down", since=mark)
    one.log.wait("store_stale")
    mark = one.mark()
    primary.start()
    one.wait_event("up", since=mark)
    assert one.record("domain", "x.org") == "x.org|kind local"


def test_standby_that_is_behind(servers, store):
    """Data older than what was seen are not read: who asks is told to wait."""
    primary = servers("primary")
    store(primary.conninfo()).close()
    standby = servers("standby", standby_of=primary)
    one = store(primary.conninfo(), standby.conninfo())
    one.put("domain", "x.org|kind local")
    standby.replayed(int(one.state()[2]))
    standby.sql("SELECT pg_wal_replay_pause()")
    assert one.ask("del", "domain", "x.org").error == "0"
    version = int(one.state()[2])
    wait_until(lambda: standby.sql("SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()")
               == "t", "the standby has received it")
    primary.kill()
    assert one.get("domain", "x.org").error == "ENOTCONN"
    assert "older than what was seen" in one.log.wait("store_refused", role="read")["reason"]
    standby.sql("SELECT pg_wal_replay_resume()")
    wait_until(lambda: one.get("domain", "x.org").error == "0", "it is up again")
    assert one.record("domain", "x.org") == "-"
    assert int(one.state()[2]) >= version


def test_stale_standby(servers, store):
    """A standby that stays behind is left for the primary."""
    primary = servers("primary")
    store(primary.conninfo()).close()
    standby = servers("standby", standby_of=primary)
    one = store(standby.conninfo(), primary.conninfo())
    one.put("domain", "x.org|kind local")
    one.wait_event("changed", None, "domain", "x.org")
    standby.sql("SELECT pg_wal_replay_pause()")
    primary.sql("INSERT INTO domain VALUES ('y.org', 'local')")
    one.wait_event("changed", None, "domain", "y.org", timeout=20)
    assert one.record("domain", "y.org") == "y.org|kind local"


def test_partitioned(servers, store):
    """A failover that lost changes: while the new primary is behind it is not read; when its
    versions have passed, what was told before is known to be another history."""
    primary = servers("primary")
    store(primary.conninfo()).close()
    standby = servers("standby", standby_of=primary,
                      settings="wal_receiver_timeout = 1000\n")
    one = store(primary.conninfo(), standby.conninfo())
    one.put("domain", "x.org|kind local")
    standby.replayed(int(one.state()[2]))
    standby.stop()
    for i in range(3):
        assert one.put("domain", f"lost{i}.org|kind local").error == "0"
    lost = int(one.state()[2])
    primary.kill()
    standby.start()
    standby.promote()
    one.log.wait("store_refused", role="read", timeout=PATIENCE)
    assert one.get("domain", "lost1.org").error == "ENOTCONN"
    mark = one.mark()
    # the sequence goes on from a number that was written ahead, so one may be enough
    standby.sql("INSERT INTO domain SELECT 'new' || i || '.org', 'local'"
                " FROM generate_series(1, 10) AS i")
    one.wait_event("up", since=mark)
    one.wait_event("reset", since=mark)
    assert one.record("domain", "lost1.org") == "-"
    assert one.record("domain", "new1.org") == "new1.org|kind local"
    assert int(one.state()[2]) > lost


def test_restored(empty, shared):
    """An operator gives the data another identity: what was kept is old."""
    mark = empty.mark()
    shared.sql("UPDATE meta SET identity = gen_random_uuid()")
    empty.wait_event("reset", shared.sql("SELECT identity FROM meta"), since=mark)


class Load:
    """Asks and changes all the time, and remembers what was answered."""

    def __init__(self, one):
        self.store = one
        self.stopping = False
        self.wrong = []
        self.versions = []
        self.durable = []
        self.doubtful = []
        self.counts = {"answered": 0, "later": 0}
        self.longest = 0
        self.threads = [threading.Thread(target=work) for work in (self._look, self._change)]
        for thread in self.threads:
            thread.start()

    def _look(self):
        last = time.monotonic()
        while not self.stopping:
            sent = [self.store.send("get", "address", f"u{i}@example.org") for i in range(50)]
            for name in sent:
                words = self.store.receive(name).split("\t")
                if words[1] != "0":
                    self.counts["later"] += 1
                    continue
                now = time.monotonic()
                self.longest = max(self.longest, now - last)
                last = now
                self.counts["answered"] += 1
                self.versions.append(int(words[2]))
                if words[3] == "-":
                    self.wrong.append(words)

    def _change(self):
        number = 0
        while not self.stopping:
            number += 1
            key = f"c{number}@example.org"
            answer = self.store.put("address", f"{key}|kind mailbox")
            (self.durable if answer.error == "0" else self.doubtful).append(key)

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(PATIENCE)


def test_failover(servers, store):
    """The primary is killed under load and its synchronous standby promoted: nobody is told
    that there is no such address, versions do not go back, and no change that was
    answered is lost."""
    primary = servers("primary")
    store(primary.conninfo()).close()
    standby = servers("standby", standby_of=primary)
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'", database=OWNER)
    primary.sql("SELECT pg_reload_conf()", database=OWNER)
    wait_until(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync",
               "the standby is synchronous")
    one = store(primary.conninfo(), standby.conninfo())
    one.put("address", *(f"u{i}@example.org|kind mailbox" for i in range(50)))
    load = Load(one)
    wait_until(lambda: len(load.durable) > 100, "changes are made")
    primary.kill()
    standby.promote()
    before = len(load.durable)
    wait_until(lambda: len(load.durable) > before + 100, "changes are made again", 40)
    load.stop()
    print(f"failover: {load.counts['answered']} lookups answered, {load.counts['later']} told to "
          f"ask later, {len(load.durable)} changes durable, {len(load.doubtful)} unknown; "
          f"longest time without an answer {load.longest:.2f} s")
    assert load.wrong == []
    assert load.versions == sorted(load.versions)
    told = one.versions()
    assert told == sorted(set(told))
    there = set(standby.sql("SELECT address FROM address").split())
    assert [key for key in load.durable if key not in there] == []
    assert not [e for e in one.events if e[1] == "reset"]
    # it is listened at since it is no standby any more
    judge_pushes(lambda: pushes(standby, one, 40))


def test_speed(empty, shared):
    """Lookups that nothing was kept of, at different depths."""
    shared.sql("INSERT INTO address (address, kind) SELECT 'u' || i || '@example.org', 'mailbox'"
               " FROM generate_series(0, 5999) AS i")
    rates = {depth: empty.bench("address", "u%d@example.org", 6000, 1, depth)
             for depth in (1, 2000)}
    print("lookups a second: " + ", ".join(f"{n} with {d} at a time" for d, n in rates.items()))
    assert rates[2000] > 5000
    assert rates[2000] > 2 * rates[1]
