# SPDX-License-Identifier: ISC
"""A cluster to be partitioned: two PostgreSQL machines (a primary and its standby), two directory
servers on them, two mail machines whose directory is a relay to these; a wire before
each server; and a load that asks and changes all the while."""

import ctypes
import os
import random
import signal
import socket
import threading
import time

from directory_tls import Closed, Speaker, make_certificates, settings_of
from postgresql import DATABASE, OWNER, Server
from stagepost import PATIENCE, wait_until
from truth import ABSENT
from wires import BRIDGE, Net, Wire

TTL = 2  # seconds
PORT = 7071
DOMAIN = "a.test"
STEADY = [f"steady{number}@{DOMAIN}" for number in range(40)]  # never change
MOVING = [f"moving{number}@{DOMAIN}" for number in range(20)]  # their mailbox does
COMING = [f"coming{number}@{DOMAIN}" for number in range(20)]  # come and go
CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def enter(name):
    """This thread's new sockets are the machine's from now on."""
    with open(f"/run/netns/{name}", encoding="ascii") as namespace:
        if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


class Cluster:
    def __init__(self, node, directory, database_directories):
        self.net = Net()
        self.wires = {}
        self.databases = []
        self.keys = make_certificates(directory, "bridge-dir.example.org", "mx.example.org")
        try:
            self._make_databases(database_directories)
            self._make_directories(node)
            self._make_mail(node)
        except BaseException:
            self.close()
            raise

    def _wire(self, name, address, port):
        self.wires[name] = Wire(address, port)
        return self.wires[name].port

    def _make_databases(self, directories):
        network = "10.77.0.0/24"
        self.db1 = Server(directories[0], "db1", machine=("db1", self.net.add("db1")),
                          network=network)
        self.databases.append(self.db1)
        self.db2 = Server(directories[1], "db2", machine=("db2", self.net.add("db2")),
                          network=network, standby_of=self.db1,
                          way=(BRIDGE, self._wire("db2 to db1", self.db1.address, self.db1.port)))
        self.databases.append(self.db2)

    def _make_directories(self, node):
        """Each has wires of its own to both databases."""
        self.directories = []
        for name in "dir1", "dir2":
            address = self.net.add(name)
            ports = [self._wire(f"{name} to {server.name}", server.address, server.port)
                     for server in (self.db1, self.db2)]
            databases = [f"host={BRIDGE} port={port} user={OWNER} dbname={DATABASE}"
                         for port in ports]
            if name == "dir2":
                databases.reverse()
            listed = ", ".join(f'"{database}"' for database in databases)
            self.directories.append(self._node(
                node, name, f'backend = postgresql database = {{ {listed} }} '
                f'listen = {{ "{address}:{PORT}" }} changers = {{ "mx.example.org" }} ',
                "bridge-dir.example.org"))

    def _make_mail(self, node):
        self.mails = []
        for name in "mx1", "mx2":
            self.net.add(name)
            ports = [self._wire(f"{name} to {server}", self.net.addresses[server], PORT)
                     for server in ("dir1", "dir2")]
            listed = ", ".join(f'"{BRIDGE}:{port}"' for port in ports)
            self.mails.append(self._node(
                node, name, f"backend = servers servers = {{ {listed} }} ", "mx.example.org"))

    def _node(self, node, name, directory, certificate):
        made = node(name, start=False, domains=[])
        made.prefix = ["ip", "netns", "exec", name]
        made.settings = (f"directory {{ {directory} ttl = {TTL}s negative_ttl = {TTL}s "
                         + settings_of(self.keys, certificate) + "}\n")
        made.write_configuration()
        made.start(timeout=30)
        made.machine = name
        return made

    def close(self):
        for wire in self.wires.values():
            wire.close()
        for server in self.databases:
            server.stop()
        self.net.close()


# --- what happens to it ---


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass  # it has ended by itself, and another one comes


class Faults:
    """Each happens, lasts, and is mended by mend()."""

    def __init__(self, cluster, seed):
        self.cluster = cluster
        self.source = random.Random(seed)
        self.counts = {}
        self._mends = []

    def some(self):
        """One or two of them; their names."""
        kinds = (self._wire, self._wire, self._cut_off, self._kill, self._pause, self._database)
        return [self.source.choice(kinds)() for _ in range(self.source.choice((1, 1, 2)))]

    def mend(self):
        while self._mends:
            self._mends.pop()()

    def _count(self, name, where):
        self.counts[name] = self.counts.get(name, 0) + 1
        return f"{where}: {name}"

    def _wire(self):
        where, wire = self.source.choice(sorted(self.cluster.wires.items()))
        faults = {
            "delayed": lambda: setattr(wire, "delay", self.source.uniform(0.05, 1)),
            "held": lambda: setattr(wire, "is_held", True),
            "cut": wire.cut,
            "refused": lambda: (setattr(wire, "refuses", True), wire.cut()),
            "half an answer and silence": lambda: wire.halve(self.source.randrange(400), "held"),
            "half an answer and the end": lambda: wire.halve(self.source.randrange(400), "cut"),
        }
        name = self.source.choice(sorted(faults))
        faults[name]()
        self._mends.append(wire.mend)
        return self._count(name, where)

    def _cut_off(self):
        name = self.source.choice(("dir1", "dir2", "mx1", "mx2", "db1", "db2"))
        self.cluster.net.cut_off(name)
        self._mends.append(lambda: self.cluster.net.join(name))
        return self._count("machine cut off", name)

    def _some_node(self):
        return self.source.choice(self.cluster.directories + self.cluster.mails)

    def _kill(self):
        node = self._some_node()
        pids = node.pids("directory") + node.pids("directory-postgresql")
        signal_all(pids, signal.SIGKILL)
        return self._count("directory killed", node.machine)

    def _pause(self):
        node = self._some_node()
        pids = node.pids("directory") + node.pids("directory-postgresql")
        signal_all(pids, signal.SIGSTOP)
        self._mends.append(lambda: signal_all(pids, signal.SIGCONT))
        return self._count("directory stopped", node.machine)

    def _database(self):
        server = self.source.choice((self.cluster.db1, self.cluster.db2))
        if server.process.poll() is None:  # not stopped a moment ago
            server.stop()
            self._mends.append(server.start)
        return self._count("database restarted", server.name)


# --- what it has to do meanwhile ---


class Asker(Speaker):
    """A connection to the directory of a machine, by its UNIX socket; made when it is needed."""

    def __init__(self, node):
        self.path = os.path.join(node.run, "directory")

    def _connect(self):
        self.data = b""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(self.path)

    def ask(self, verb, *words):
        """The answer's words, but for its number; None when there was none."""
        try:
            if self.socket is None:
                self._connect()
            return super().ask(verb, *words)
        except (OSError, Closed):
            self.close()
            return None

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None


def value_of(answer):
    """(is an answer, value) of a route: where it goes; ABSENT for who does not exist."""
    if answer is None or answer[0] == "err":
        return False, None
    results = [word for word in answer[3:] if not word.startswith("on ")]
    if len(results) == 1 and results[0].startswith("refuse 5.1.1 "):
        return True, ABSENT
    if len(results) == 1 and results[0].startswith("refuse 4."):
        return False, None
    return True, "; ".join(results)


class Load:
    """Asks each mail machine by protocol and by SMTP, and changes what is asked for."""

    def __init__(self, cluster, truth, judge, seed):
        self.cluster, self.truth, self.judge = cluster, truth, judge
        self.is_over = threading.Event()
        self.errors = []
        self.changes = self.unknown = 0
        self.doubts = set()  # keys whose last change nobody answered for: left alone
        self.threads = [threading.Thread(target=self._guard, args=(work, *words), daemon=True)
                        for number, mail in enumerate(cluster.mails)
                        for work, *words in ((self._ask, mail, seed + number),
                                             (self._smtp, mail, seed + number))]
        self.threads.append(
            threading.Thread(target=self._guard, args=(self._change, seed), daemon=True))
        for thread in self.threads:
            thread.start()

    def _guard(self, work, *words):
        try:
            work(*words)
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(f"{work.__name__}: {error!r}")

    def _ask(self, mail, seed):
        asker = Asker(mail)
        source = random.Random(seed)
        while not self.is_over.wait(0.004):
            key = source.choice(self.truth.keys())
            asked = time.monotonic()
            is_answer, value = value_of(asker.ask("get", "route", key))
            if is_answer:
                self.judge.answered(key, value, asked, mail.machine)
            else:
                self.judge.put_off()
        asker.close()

    def _smtp(self, mail, seed):
        enter(mail.machine)
        source = random.Random(seed)
        while not self.is_over.is_set():
            try:
                with socket.create_connection((mail.address, mail.port), 30) as client:
                    self._talk(mail, client, client.makefile("rb"), source)
            except OSError:
                self.judge.put_off()
                self.is_over.wait(0.1)

    def _talk(self, mail, client, replies, source):
        replies.readline()
        client.sendall(b"HELO client.test\r\n")
        replies.readline()
        for _ in range(15):
            key = source.choice(self.truth.keys())
            client.sendall(b"MAIL FROM:<>\r\n")
            replies.readline()
            asked = time.monotonic()
            client.sendall(f"RCPT TO:<{key}>\r\n".encode())
            reply = replies.readline()
            if reply[:1] == b"4" or not reply:
                self.judge.put_off()
            else:
                exists = reply[:1] == b"2"
                self.judge.existed(key, exists, asked, f"{mail.machine} by SMTP")
            client.sendall(b"RSET\r\n")
            replies.readline()
            if self.is_over.wait(0.004):
                return

    # --- changes ---

    def _change(self, seed):
        source = random.Random(seed)
        askers = [Asker(mail) for mail in self.cluster.mails]
        number = 0
        while not self.is_over.wait(source.uniform(0.01, 0.1)):
            number += 1
            key = source.choice(MOVING + COMING)
            if key in self.doubts:
                continue
            if key in MOVING:
                value = f"local maildir box{number}@{DOMAIN}"
                words = ("put", "address", key, "kind mailbox", "service maildir",
                         f"mailbox box{number}@{DOMAIN}")
            elif self.truth.now(key) is ABSENT:
                value = f"local maildir {key}"
                words = ("put", "address", key, "kind mailbox", "service maildir")
            else:
                value = ABSENT
                words = ("del", "address", key)
            self.truth.begin(key, value)
            answer = source.choice(askers).ask(*words)
            if answer is not None and answer[0] in ("ok", "none"):
                self.truth.end(key)
                self.changes += 1
            else:
                self.unknown += 1
                self.doubts.add(key)
        for asker in askers:
            asker.close()

    def resolve_doubts(self):
        """Whether changes that nobody answered for were made: once all is mended and what
        was on its way has come to an end, the database knows."""
        doubts = sorted(self.doubts)
        if not doubts:
            return
        found = [self._in_database(doubts)]
        while len(found) < 10 or found[-1] != found[-10]:
            time.sleep(0.2)
            found.append(self._in_database(doubts))
        for key in doubts:
            value = self.truth.now(key)
            is_made = found[-1].get(key) == (None if value is ABSENT else value.split()[-1])
            self.truth.end(key, done=is_made)
            self.doubts.discard(key)

    def _in_database(self, keys):
        """{address: its mailbox} of those that exist."""
        listed = ", ".join(f"'{key}'" for key in keys)
        rows = self.cluster.db1.sql("SELECT address, coalesce(mailbox, address) FROM address "
                                    f"WHERE address IN ({listed})")
        return dict(row.split("|") for row in rows.splitlines())

    def stop(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(PATIENCE)
        assert not self.errors, self.errors


def settle(cluster, truth, timeout=30):
    """Everything is mended: every mail machine says what is true, within TIMEOUT; how long
    it took."""
    begun = time.monotonic()
    for mail in cluster.mails:
        asker = Asker(mail)
        for key in truth.keys():
            wait_until(lambda: value_of(asker.ask("get", "route", key)) == (True, truth.now(key)),
                       f"{mail.machine} knows {key}: {truth.now(key)}",
                       timeout - (time.monotonic() - begun))
        asker.close()
    return time.monotonic() - begun
