# SPDX-License-Identifier: ISC
"""The databases of the story (story.py), what happens to them and to connections with them."""

import contextlib
import os
import signal
import subprocess
import time

import mariadb
import postgresql
from stagepost import wait_until

NETWORK = "10.77.0.0/24"
WITNESS = ("CREATE TABLE once_section(token bigint PRIMARY KEY, name varchar(60) NOT NULL,"
           " is_left bigint NOT NULL)",
           "CREATE INDEX once_section_name ON once_section(name)",
           "CREATE TABLE once_overlap(token bigint NOT NULL, other bigint NOT NULL)")
TIMES = "timeout = 4s lock_timeout = 4s"


class PostgreSQL:
    """A primary and a standby that has what was committed, on machines db1 and db2."""

    name, title = "postgresql", "PostgreSQL, a primary and its standby"
    what = ("Eight workers on two machines are killed and paused, their connections are ended, reset, "
            "stopped and cut off, and the primary fails: the standby, which has what was committed, is "
            "promoted, also while the old primary still answers.")
    failovers = ("killed", "stopped", "both alive")
    errors = {"40001": "40001", "40P01": "40P01", "53100": "53100", "25006": "25006",
              "53300": "53300"}  # serialization, deadlock, disk full, read-only, connections
    states = {"read-only": "read-only", "too many connections": "53300"}

    def __init__(self, directory, net, ends):
        self.directory, self.net = directory, net
        ends.append(self.close)
        self.places = [(name, net.add(name)) for name in ("db1", "db2")]
        self.generation = 0
        self.servers = []
        self.primary = self._make(0)
        self.primary.sql("CREATE ROLE worker LOGIN")
        self.primary.sql(f"ALTER DATABASE {postgresql.DATABASE} OWNER TO worker")
        self._add_standby(1)

    def empty(self):
        self.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION worker")
        for text in WITNESS:
            self.primary.sql(text, user="worker")

    def _make(self, place, standby_of=None):
        self.generation += 1
        directory = os.path.join(self.directory, f"g{self.generation}")  # of its socket, too
        os.mkdir(directory)
        server = postgresql.Server(
            directory, f"s{self.generation}", machine=self.places[place], network=NETWORK,
            port=5432, standby_of=standby_of, fsync="on")
        server.place = place
        self.servers.append(server)
        return server

    def _add_standby(self, place):
        # a copy that is begun before the end of a promotion is worth nothing
        wait_until(lambda: self.primary.sql("SELECT pg_is_in_recovery()") == "f",
                   "the primary is one", 60)
        self.standby = self._make(place, standby_of=self.primary)
        self.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.sql("SELECT pg_reload_conf()")
        wait_until(lambda: self.primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync",
                   "the standby is synchronous", 60)

    def record(self):
        hosts = ",".join(address for _, address in self.places)
        return (f'backend = postgresql database = "host={hosts} port=5432 user=worker '
                f'dbname={postgresql.DATABASE}" {TIMES}')

    def sql(self, text):
        return self.primary.sql(text)

    def number(self, text):
        return int(self.sql(text))

    def machine(self):
        """Where the connections go now."""
        return self.places[self.primary.place]

    def connections(self):
        return "SELECT pid FROM pg_stat_activity WHERE application_name = 'stagepost-mailbox'"

    def terminate(self):
        self.sql(f"SELECT pg_terminate_backend(pid) FROM ({self.connections()}"
                 " ORDER BY random() LIMIT 3) found")

    def stop_some(self, seconds):
        """The server's processes of some connections stand still."""
        pids = [int(pid) for pid in self.sql(
            self.connections() + " ORDER BY random() LIMIT 2").split()]
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in pids:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            if number == signal.SIGSTOP:
                time.sleep(seconds)

    @contextlib.contextmanager
    def fails(self, error, action, table):
        """Each ACTION of rows of TABLE, with this SQLSTATE."""
        self.sql("CREATE FUNCTION once_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                 f" RAISE EXCEPTION 'a test' USING ERRCODE = '{error}'; END $$")
        self.sql(f"CREATE TRIGGER once_fail BEFORE {action} ON {table}"
                 " FOR EACH ROW EXECUTE FUNCTION once_fail()")
        yield
        self.sql("DROP FUNCTION once_fail() CASCADE")

    @contextlib.contextmanager
    def has_state(self, state):
        begin, end = {
            "read-only": (f"ALTER DATABASE {postgresql.DATABASE} SET default_transaction_read_only ="
                          " on", f"ALTER DATABASE {postgresql.DATABASE} RESET"
                          " default_transaction_read_only"),
            "too many connections": ("ALTER ROLE worker CONNECTION LIMIT 0",
                                     "ALTER ROLE worker CONNECTION LIMIT -1"),
        }[state]
        self.primary.sql(begin, database=postgresql.OWNER)
        yield
        self.primary.sql(end, database=postgresql.OWNER)

    def fail_over(self, how):
        """HOW: the old primary is killed; stands still until the other one is the primary; or both
        are for a moment."""
        old = self.primary
        if how == "killed":
            old.kill()
        elif how == "stopped":
            old.signal(signal.SIGSTOP)
        self.standby.promote()
        self.primary = self.standby
        if how != "killed":
            time.sleep(0.5)
            old.kill()
        self._add_standby(old.place)

    def close(self):
        for server in self.servers:
            server.stop()


class MariaDB:
    """A server on a machine of its own, which is killed and started again."""

    name, title = "mariadb", "MariaDB"
    what = ("Eight workers on two machines are killed and paused, their connections are ended, reset, "
            "stopped and cut off, and the server is killed and started again.")
    failovers = ("killed",)
    errors = {number: f"error {number}" for number in (
        1020, 1213, 1021, 1290, 1040)}  # changed, deadlock, disk full, read-only, connections
    states = {"read-only": "read-only"}

    def __init__(self, directory, net, ends):
        self.place = "db3", net.add("db3")
        self.server = mariadb.Server(
            directory, namespace="db3",
            settings="skip-networking = 0\nport = 3306\nskip-name-resolve\nmax_connections = 100\n"
                     f"bind-address = {self.place[1]}\n")
        ends.append(self.server.stop)
        self.server.sql("CREATE USER worker; GRANT ALL ON mail.* TO worker")

    def empty(self):
        self.server.sql("DROP DATABASE IF EXISTS mail; CREATE DATABASE mail")
        for text in WITNESS:
            self.sql(text)

    def record(self):
        return (f'backend = mariadb servers = "{self.place[1]}" user = worker database = mail '
                f'{TIMES}')

    def sql(self, text):
        return self.server.sql(text, database="mail")

    def number(self, text):
        return int(self.sql(text))

    def machine(self):
        return self.place

    def _connections(self, most):
        return self.sql("SELECT id FROM information_schema.processlist WHERE user = 'worker'"
                        f" ORDER BY rand() LIMIT {most}").split()

    def terminate(self):
        for number in self._connections(3):
            subprocess.run(["mariadb", "--no-defaults", "-S", self.server.socket, "-u", "root", "-e",
                            f"KILL CONNECTION {number}"], capture_output=True, check=False,
                           timeout=60)  # it may have ended

    def stop_some(self, seconds):
        """Its connections are threads: all of it stands still."""
        self.server.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.server.process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def fails(self, error, action, table):
        """Each ACTION of rows of TABLE, with this number."""
        self.sql(f"CREATE TRIGGER once_fail BEFORE {action} ON {table} FOR EACH ROW SIGNAL SQLSTATE"
                 f" '45000' SET MYSQL_ERRNO = {error}, MESSAGE_TEXT = 'a test'")
        yield
        self.sql("DROP TRIGGER once_fail")

    @contextlib.contextmanager
    def has_state(self, state):
        assert state == "read-only"
        self.sql("SET GLOBAL read_only = 1")
        yield
        self.sql("SET GLOBAL read_only = 0")

    def fail_over(self, how):
        assert how == "killed"
        self.server.kill()
        self.server.start()


class SQLite:
    """A file: nothing happens to it but that its users die."""

    name, title = "sqlite", "SQLite on one machine"
    what = "Eight workers are killed and paused."
    failovers = ()

    def __init__(self, directory, net, ends):
        self.directory = directory

    def empty(self):
        assert not os.listdir(self.directory), "it is used once"

    def record(self):
        return f'path = "{self.directory}/record.db" {TIMES}'


class Faults:
    """Connections are terminated, reset and cut off, the server's side stands still, and the
    database fails over, at random; each is over when the call returns."""

    def __init__(self, database, net, nodes, source):
        self.database, self.net, self.nodes, self.source = database, net, nodes, source
        self.counts = {}

    def _count(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def strike(self):
        kinds = {"connections terminated": self.database.terminate,
                 "connections reset": self._reset,
                 "connections stopped": lambda: self.database.stop_some(
                     self.source.choice((0.1, 0.5, 1.5))),
                 "machines cut off": self._cut_off}
        name = self.source.choice(sorted(kinds))
        kinds[name]()
        self._count(name)

    def fail_over(self):
        how = self.source.choice(self.database.failovers)
        self.database.fail_over(how)
        self._count(f"failovers, the old server {how}" if len(self.database.failovers) > 1
                    else "servers killed and started again")

    def _reset(self):
        """All of one node's connections, as the kernel ends them."""
        node = self.source.choice(self.nodes)
        _, address = self.database.machine()
        subprocess.run(["ip", "netns", "exec", node, "ss", "-K", "dst", address], check=True,
                       capture_output=True, timeout=20)

    def _cut_off(self):
        node = self.source.choice(self.nodes)
        self.net.cut_off(node)
        time.sleep(self.source.choice((0.2, 1, 5)))
        self.net.join(node)
