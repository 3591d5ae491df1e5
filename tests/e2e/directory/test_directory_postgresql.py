# SPDX-License-Identifier: ISC
"""The directory process with its data in PostgreSQL: by its protocol, in its sandbox."""

import os
import shutil
import signal
import subprocess
import threading
import time

import directory
import pytest
from inside import NEEDS, inside, status_of
from outage import is_told_once
from postgresql import OWNER, SCHEMA, judge_pushes, several
from smtp import Client, deliver
from stagepost import PATIENCE, give_to_user, wait_until

SETTINGS = "maxerrors = 10000\nmaxcommands = 100000\ndirectory {{ backend = postgresql  ttl = 60s  database = {{ {databases} }} }}\n"
PASSWORD = "geheim"


@pytest.fixture
def servers(ground):
    """servers(NAME, ...): of this test only."""
    with several(ground) as make:
        yield make


@pytest.fixture
def mx(node):
    """mx(CONNINFO...): a node whose directory is there."""
    def make(*databases):
        made = node("mx", start=False, domains=())
        configure(made, *databases)
        return made.start()

    return make


@pytest.fixture
def client():
    """client(NODE): a connection that is greeted, when the data can be read."""
    opened = []

    def make(made):
        made.log.wait("store_connected", role="read")
        opened.append(directory.Client(os.path.join(made.run, "directory")))
        wait_until(lambda: opened[-1].ask("get", "domain", "none.org")[0] == "none", "it is up")
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def configure(made, *databases):
    texts = ", ".join('"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')
                      for text in databases)
    made.settings = SETTINGS.format(databases=texts)
    made.write_configuration()


def fill(server, count=50):
    server.sql("INSERT INTO domain (name, kind, service) VALUES"
               " ('example.org', 'local', 'maildir');"
               "INSERT INTO address (address, kind) SELECT 'u' || i || '@example.org', 'mailbox'"
               f" FROM generate_series(0, {count - 1}) AS i")


def test_protocol(servers, mx, client):
    """What is put is found, and in the database; what SQL changes is pushed."""
    server = servers("a")
    one = client(mx(server.conninfo()))
    assert one.ask("put", "domain", "Example.org", "kind local", "service maildir")[0] == "ok"
    assert one.ask("put", "address", "Ann@example.org", "kind mailbox")[0] == "ok"
    assert server.sql("SELECT address FROM address") == "ann@example.org"
    verb, results = one.ask("get", "route", "ann+x@example.org")
    assert verb == "val" and "local maildir ann+x@example.org" in results
    assert one.ask("list", "domain", "", "", 10) == (
        "val", ["= example.org", "kind local", "service maildir"])
    server.sql("INSERT INTO target VALUES ('ann@example.org', 0, 'bob@example.net');"
               "UPDATE address SET kind = 'forward'")
    wait_until(lambda: "remote bob@example.net" in one.ask("get", "route", "ann@example.org")[1],
               "the forward is seen")
    assert any(pushed[2:4] == ["address", "ann@example.org"] for pushed in one.pushed)
    assert one.ask("del", "address", "ann@example.org")[0] == "ok"
    assert one.ask("get", "address", "ann@example.org")[0] == "none"
    assert server.sql("SELECT count(*) FROM target") == "0"


def test_renames_refuse_nobody(servers, mx, client):
    """An alias and what it stands for, again and again in one transaction: what is read in several
    steps is of one version, or read again."""
    server = servers("a")
    one = client(mx(server.conninfo()))
    fill(server, 1)
    server.sql("INSERT INTO address (address, kind) VALUES ('alias@example.org', 'alias');"
               "INSERT INTO target VALUES ('alias@example.org', 0, 'u0@example.org')")
    over = threading.Event()

    def rename():
        session, number = server.session(), 0
        while not over.is_set():
            number += 1
            session.run("BEGIN; INSERT INTO address (address, kind)"
                        f" VALUES ('u{number}@example.org', 'mailbox');"
                        f"UPDATE target SET target = 'u{number}@example.org';"
                        f"DELETE FROM address WHERE address = 'u{number - 1}@example.org'; COMMIT")
            time.sleep(0.003)  # some hundred a second: the questions meet them at each step
        session.close()

    thread = threading.Thread(target=rename)
    thread.start()
    try:
        until = time.monotonic() + 5
        while time.monotonic() < until:
            verb, results = one.ask("get", "route", "alias@example.org")
            assert verb == "err" or results[0].startswith("local maildir u"), results
    finally:
        over.set()
        thread.join()


def test_an_outage_is_told_once(servers, mx, client):
    server = servers("a")
    made = mx(server.conninfo())
    is_told_once(client(made), made.log, lambda: server.sql("ALTER TABLE address RENAME TO away"),
                 lambda: server.sql("ALTER TABLE away RENAME TO address"), "role")


def test_commit_to_push(servers, mx, client):
    """Milliseconds from the commit of plain SQL to the push at a client."""
    server = servers("a")
    made = mx(server.conninfo())
    one = client(made)
    fill(server, 100)
    judge_pushes(lambda: pushes(server, one))


def pushes(server, one):
    """Those milliseconds, and beside each what a question to the database and one to the process
    take."""
    session = server.session()
    took, others = [], []
    for i in range(100):
        key = f"u{i}@example.org"
        while one.ask("get", "address", key)[0] != "val":
            pass
        begun = time.monotonic()
        session.run("SELECT 1")
        one.ask("ping")
        others.append((time.monotonic() - begun) * 1000)
        session.run(f"UPDATE address SET service = 'maildir' WHERE address = '{key}'")
        committed = time.monotonic()
        while one.receive()[2:4] != ["address", key]:
            pass
        took.append((time.monotonic() - committed) * 1000)
    session.close()
    return took, others


def test_tls_and_password(servers, mx, client):
    """A database that wants a password, by TLS, under a name: the process reads the files
    that the connection string names, in its sandbox, again after each loss, and after they
    were replaced."""
    server = servers("a")
    directory_of = os.path.join(server.sockets, "files")
    os.mkdir(directory_of)
    certificate = os.path.join(directory_of, "ca.pem")
    path = os.path.join(server.directory, "server")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
                    f"{path}.key", "-out", f"{path}.crt", "-days", "2", "-subj",
                    "/CN=localhost"], check=True, capture_output=True, timeout=PATIENCE)
    os.chmod(f"{path}.key", 0o600)
    for end in ("key", "crt"):
        if os.geteuid() == 0:
            shutil.chown(f"{path}.{end}", OWNER)
    shutil.copyfile(f"{path}.crt", certificate)
    secret = os.path.join(directory_of, "pass")
    write_secret(secret, "wrong")
    server.sql(f"CREATE ROLE mail LOGIN PASSWORD '{PASSWORD}'", database=OWNER)
    server.sql("ALTER DATABASE mail OWNER TO mail; ALTER SCHEMA public OWNER TO mail")
    server.sql("ALTER SYSTEM SET ssl = on", database=OWNER)
    with open(os.path.join(server.directory, "pg_hba.conf"), "r+", encoding="ascii") as file:
        rest = file.read()
        file.seek(0)
        file.write("hostssl all mail all scram-sha-256\nhost all mail all reject\n" + rest)
    server.sql("SELECT pg_reload_conf()", database=OWNER)
    made = mx(f"host=localhost port={server.port} dbname=mail user=mail sslmode=verify-full "
              f"sslrootcert={certificate} passfile='{secret}'")
    assert "password authentication failed" in made.log.wait("store_refused")["reason"]
    write_secret(secret, PASSWORD)
    made.reload()
    one = client(made)
    assert one.ask("put", "domain", "example.org", "kind local", "service maildir")[0] == "ok"
    assert server.sql("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
                      " WHERE usename = 'mail'") == "t"
    mark = made.log.mark()
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'mail'")
    made.log.wait("store_connected", since=mark, role="read")
    assert one.ask("get", "domain", "example.org")[0] == "val"


def write_secret(path, password):
    """Beside it first: a file of that name is there at any time, and it is another one."""
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(f"*:*:*:mail:{password}\n")
    os.chmod(f"{path}.new", 0o600)
    give_to_user(f"{path}.new")
    os.rename(f"{path}.new", path)


class TestSandbox:
    """What the process may do, tried from inside."""

    pytestmark = NEEDS

    def test_rights(self, servers, mx, client, ground):
        server = servers("a")
        place = ground.directory("files")
        secret, other = (os.path.join(place, name) for name in ("pass", "other"))
        write_secret(secret, PASSWORD)
        write_secret(other, PASSWORD)
        made = mx(server.conninfo() + f" passfile={secret}")
        client(made)
        pid = made.pids("directory")[0]
        assert status_of(pid)["Seccomp"] == ["2"]

        def opens(path, flags=0):
            return inside(pid, "openat", -100, f"={path}", flags, 0o600)

        assert int(opens(secret)) >= 0
        for path, flags in ((other, 0), (secret, os.O_WRONLY), (place, os.O_DIRECTORY),
                            (place + "/made", os.O_WRONLY | os.O_CREAT), ("/etc/passwd", 0),
                            (made.conf, 0), ("/etc/resolv.conf", 0)):
            assert opens(path, flags) in ("-EACCES", "-EPERM"), path
        for call in (("execve", "=/bin/true", 0, 0), ("unlinkat", -100, f"={secret}", 0),
                     ("clone", int(signal.SIGCHLD), 0, 0, 0, 0),
                     ("kill", os.getpid(), 0), ("socket", 17, 3, 0)):
            assert inside(pid, *call) in ("-EACCES", "-EPERM"), call
        tcp = int(inside(pid, "socket", 2, 1, 0))
        assert inside(pid, "bind", tcp, "=@inet:0", 16) in ("-EACCES", "-EPERM")
        assert inside(pid, "listen", tcp, 5) in ("-EACCES", "-EPERM")
        assert inside(pid, "connect", tcp, f"=@inet:{server.port}", 16) == "0"


def test_away_and_back(servers, mx, client):
    """Without its database it answers "later", and nothing else; then it goes on."""
    server = servers("a")
    made = mx(server.conninfo())
    one = client(made)
    fill(server)
    wait_until(lambda: one.ask("get", "route", "u1@example.org")[0] == "val", "it is there")
    server.kill()
    for _ in range(3):
        verb, words = one.ask("get", "address", "u2@example.org")
        assert (verb, words[0]) == ("err", "later")
        verb, words = one.ask("get", "route", "nobody@example.org")
        assert (verb, words[0]) == ("err", "later")
    mark = made.log.mark()
    server.start()
    made.log.wait("store_connected", since=mark, role="read")
    wait_until(lambda: one.ask("get", "address", "u2@example.org")[0] == "val", "it goes on")


def test_another_database(servers, mx, client):
    """A reload that names another database."""
    servers_of = [servers("a"), servers("b")]
    made = mx(servers_of[0].conninfo())
    client(made)
    fill(servers_of[0])
    configure(made, servers_of[1].conninfo())
    mark = made.log.mark()
    made.reload()
    made.log.wait("store_connected", since=mark, role="read")
    one = directory.Client(os.path.join(made.run, "directory"))
    wait_until(lambda: one.ask("get", "address", "u1@example.org")[0] == "none",
               "the other database answers")
    one.close()


class Load:
    """Lookups of routes that are there and of some that are not, on a connection."""

    def __init__(self, made):
        self.path = os.path.join(made.run, "directory")
        self.counts = {"val": 0, "none": 0, "err": 0}
        self.wrong = []
        self.versions = []
        self.stopping = False
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        one = directory.Client(self.path, timeout=30)
        number = 0
        while not self.stopping:
            number += 1
            for key, exists in ((f"u{number % 50}@example.org", True),
                                (f"nobody{number}@example.org", False)):
                verb, words = one.ask("get", "address", key)
                self.counts[verb] += 1
                if verb != "err" and (verb == "val") != exists:
                    self.wrong.append((key, verb, words))
            self.versions += [int(pushed[1]) for pushed in one.pushed if pushed[0] == "new"]
            one.pushed = []
        one.close()

    def stop(self):
        self.stopping = True
        self.thread.join(30)


def filled(servers, count):
    """A server with tables and COUNT addresses."""
    server = servers("primary")
    with open(SCHEMA, encoding="utf-8") as schema:
        server.sql(schema.read())
    fill(server, count)
    return server


def pair(servers, count):
    """The same, and its synchronous standby."""
    primary = filled(servers, count)
    standby = servers("standby", standby_of=primary)
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'", database=OWNER)
    primary.sql("SELECT pg_reload_conf()", database=OWNER)
    wait_until(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync",
               "the standby is synchronous")
    return primary, standby


def test_failover_at_rcpt(servers, mx, client):
    """What SMTP clients hear meanwhile: of an address that is there never 550, of one that is not
    never 250, whether it was asked for before or not."""
    primary, standby = pair(servers, 20000)
    made = mx(primary.conninfo(), standby.conninfo())
    client(made)
    deliver(made, "u1@example.org", b"Subject: hello\r\n\r\nA line.\r\n")
    made.maildir("u1@example.org").wait()
    counts, wrong = {}, []
    stopping = threading.Event()

    def ask(first):
        with Client(made) as smtp:
            for number in range(first, 20000, 2):
                if stopping.is_set():
                    return
                smtp.docmd("MAIL FROM:<sender@client.test>")
                for address, allowed in ((f"u{number}@example.org", 250),
                                         (f"nobody{number}@example.org", 550)):
                    code, text = smtp.docmd(f"RCPT TO:<{address}>")
                    counts[code] = counts.get(code, 0) + 1
                    if code != allowed and code // 100 != 4:
                        wrong.append((address, code, text))
                smtp.docmd("RSET")

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: counts.get(250, 0) > 200, "recipients are accepted")
    primary.kill()
    standby.promote()
    before = counts.get(250, 0)
    wait_until(lambda: counts.get(250, 0) > before + 200, "recipients are accepted again", 40)
    stopping.set()
    for thread in threads:
        thread.join(PATIENCE)
    print(f"failover: replies to RCPT: {counts}")
    assert wrong == []


def test_no_database_at_rcpt(servers, mx, client):
    """Without any database: mail for addresses that are not cached is deferred."""
    primary = filled(servers, 10)
    made = mx(primary.conninfo())
    client(made)
    with Client(made) as smtp:
        smtp.docmd("MAIL FROM:<sender@client.test>")
        assert smtp.docmd("RCPT TO:<u1@example.org>")[0] == 250
        primary.kill()
        assert smtp.docmd("RCPT TO:<u2@example.org>")[0] == 451
        assert smtp.docmd("RCPT TO:<nobody@example.org>")[0] == 451
        assert smtp.docmd("RCPT TO:<u1@example.org>")[0] == 250  # kept for its TTL
        mark = made.log.mark()
        primary.start()
        made.log.wait("store_connected", since=mark, role="read")
        wait_until(lambda: smtp.docmd("RCPT TO:<u2@example.org>")[0] == 250, "it goes on")
        assert smtp.docmd("RCPT TO:<nobody@example.org>")[0] == 550


def test_failover(servers, mx, client):
    """The primary is killed under load, its synchronous standby promoted: nobody is told a
    lie, no version goes back, and what was answered is there."""
    primary, standby = pair(servers, 50)
    made = mx(primary.conninfo(), standby.conninfo())
    one = client(made)
    loads = [Load(made) for _ in range(2)]
    durable = []

    def change(number):
        verb, _ = one.ask("put", "address", f"c{number}@example.org", "kind mailbox")
        if verb == "ok":
            durable.append(f"c{number}@example.org")
        return verb

    for number in range(100):
        assert change(number) == "ok"
    primary.kill()
    standby.promote()
    number = 100
    begun = time.monotonic()
    while change(number) != "ok":
        number += 1
        assert time.monotonic() - begun < 30
    took = time.monotonic() - begun
    for number in range(1000, 1100):
        assert change(number) == "ok"
    for load in loads:
        load.stop()
    counts = {verb: sum(load.counts[verb] for load in loads) for verb in loads[0].counts}
    print(f"failover: changes again after {took:.1f} s; {counts}")
    assert [load.wrong for load in loads] == [[], []]
    for load in loads:
        assert load.versions == sorted(load.versions)
    there = set(standby.sql("SELECT address FROM address").split())
    assert [key for key in durable if key not in there] == []
