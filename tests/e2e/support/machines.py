# SPDX-License-Identifier: ISC
"""Six machines that are one mail system, and what happens to them: two take mail in, two look up its
recipients and send to other hosts, two store it. The directory's data are in PostgreSQL, with a standby. Each is a
network namespace, with a wire in front of each node."""

import collections
import os
import random
import re
import signal
import subprocess
import threading
import time

from directory_tls import make_certificates, settings_of
from partition import enter, signal_all
from postgresql import DATABASE, OWNER, Server
from smtp import Client
from stagepost import PATIENCE, as_user, stamp, wait_until
from wires import BRIDGE, Net, Wire

DIRECTORY_PORT, NODE_PORT, HOP_PORT = 7071, 6270, 2525
GROUPS = {"a1": "edge", "a2": "edge", "o1": "core", "o2": "core", "b1": "box", "b2": "box"}
DOUBT = 8  # seconds
LOCAL, FAR = "a.test", "far.test"
USERS = 8
PROCESSES = ("queue", "send", "handover", "noded", "directory", "resolve", "remote", "mailbox", "smtpd")
NAMED = re.compile(rb"^Subject: (\S+)", re.M)
TAKEN_BY = re.compile(rb"by (\S+)\b[^;]*?\bid ([0-9a-f-]+)")


def run_command(made, *words):
    return subprocess.run([*as_user(), os.path.join(made.programs, "stagepost"), *words, "-c", made.conf],
                          check=False, capture_output=True, text=True, timeout=PATIENCE).stdout


class Machines:
    def __init__(self, node, ground):
        self.net = Net()
        self.wires = {}
        self.databases = []
        self.nodes = {}
        self.running = set()
        self.hop = None
        self.keys = make_certificates(ground.directory("certificates"),
                                      *(f"bridge-{name}.test" for name in GROUPS))
        try:
            self._make_databases(ground)
            self._make_hop(node)
            for name in ("o1", "o2", "a1", "a2", "b1", "b2"):
                self._make_node(node, name)
            self._fill()
            for name in GROUPS:
                self.start(name)
        except BaseException:
            self.close()
            raise

    def _wire(self, name, address, port):
        self.wires[name] = Wire(address, port)
        return self.wires[name].port

    def _make_databases(self, ground):
        for name, primary in ("db1", None), ("db2", "db1"):
            more = {} if primary is None else {
                "standby_of": self.databases[0],
                "way": (BRIDGE, self._wire("db2 to db1", self.databases[0].address, self.databases[0].port))}
            self.databases.append(Server(ground.directory(name), name, machine=(name, self.net.add(name)),
                                         network="10.77.0.0/24", **more))

    def _make_hop(self, node):
        """Another company's mail server: nothing happens to it."""
        self.hop = node("hop", start=False, domains=[FAR], address=self.net.add("hop"), port=HOP_PORT,
                        relay_from=("10.77.0.0/24",))
        self.hop.prefix = ["ip", "netns", "exec", "hop"]
        self.hop.write_configuration()
        self.hop.start()

    def _directory_of(self, name):
        if GROUPS[name] == "core":
            ports = [self._wire(f"{name} to {server.name}", server.address, server.port)
                     for server in self.databases]
            listed = ", ".join(f'"host={BRIDGE} port={port} user={OWNER} dbname={DATABASE}"' for port in ports)
            readers = ", ".join(f'"{other}.test"' for other in GROUPS)
            return f'backend = postgresql database = {{ {listed} }} changers = {{ {readers} }} ' \
                   f'listen = {{ "{self.net.addresses[name]}:{DIRECTORY_PORT}" }}'
        ports = [self._wire(f"{name} to {server}", self.net.addresses[server], DIRECTORY_PORT)
                 for server in ("o1", "o2")]
        return "backend = servers servers = {{ {} }}".format(", ".join(f'"{BRIDGE}:{port}"' for port in ports))

    def _make_node(self, node, name):
        address = self.net.add(name)
        keys = settings_of(self.keys, f"bridge-{name}.test")
        made = self.nodes[name] = node(name, start=False, hostname=f"{name}.test", domains=[],
                                       routes=[f":[{self.hop.address}];{self.hop.port}"])
        made.prefix = ["ip", "netns", "exec", name]
        made.settings = f"""
node {{ name = "{name}.test" listen = {{ "{address}:{NODE_PORT}" }} {keys} doubt = {DOUBT}s }}
stage arrive {{ nodes = core }}
transport remote {{ nodes = core }}
service once {{ kind = mailbox path = "{made.mail}/%d/%u" nodes = box }}
record {{ path = "{made.directory}/record.db" }}
domain "{LOCAL}" {{ service = once }}
directory {{ {self._directory_of(name)} {keys} }}
"""
        made.write_configuration()

    def _fill(self):
        """The core's directories make the tables; then each node has a record."""
        for name in ("o1", "o2"):
            self.start(name)
        db1 = self.databases[0]
        wait_until(lambda: db1.sql("SELECT count(*) FROM meta") == "1", "there is a schema")
        for name, group in GROUPS.items():
            port = self._wire(name, self.net.addresses[name], NODE_PORT)
            run_command(self.nodes["o1"], "node", "put", f"{name}.test", f"address={BRIDGE}:{port}",
                        *((f"group={group}",) if group != "edge" else ()))

    # --- machines come and go ---

    def start(self, name):
        if name not in self.running:
            self.nodes[name].start(timeout=60)
            self.running.add(name)

    def kill(self, name):
        """All of its processes at once."""
        self.running.discard(name)
        self.nodes[name].abandon()

    def close(self):
        for wire in self.wires.values():
            wire.close()
        for made in self.nodes.values():
            made.abandon()
        if self.hop is not None:
            self.hop.abandon()
        for server in self.databases:
            server.stop()
        self.net.close()

    # --- what has become of the mail ---

    def copies(self):
        """{(subject, recipient): ["node/id" of each copy, by whom it was delivered]}"""
        found = collections.defaultdict(list)
        for made, domain in [(self.hop, FAR)] + [(self.nodes[name], LOCAL) for name in ("b1", "b2")]:
            for number in range(USERS):
                recipient = f"user{number}@{domain}"
                for text in made.maildir(recipient).messages():
                    taken = TAKEN_BY.findall(text.partition(b"\n\n")[0])
                    last = taken[1] if made is self.hop else (made.directory.encode(), taken[0][1])
                    found[NAMED.search(text)[1].decode(), recipient].append(last)
        return found


class Faults:
    """Each happens, lasts, and is mended by mend()."""

    def __init__(self, machines, seed):
        self.machines = machines
        self.source = random.Random(seed)
        self.counts = collections.Counter()
        self._mends = []

    def some(self):
        kinds = (self._wire, self._cut_off, self._kill, self._kill, self._kill_one, self._pause, self._database,
                 self._drain)
        return [self.source.choice(kinds)() for _ in range(self.source.choice((1, 1, 2)))]

    def mend(self):
        while self._mends:
            self._mends.pop()()

    def _note(self, name, where):
        self.counts[name] += 1
        return f"{where}: {name}"

    def _some_node(self):
        return self.source.choice(sorted(self.machines.running) or ["o1"])

    def _wire(self):
        where, wire = self.source.choice(sorted(self.machines.wires.items()))
        faults = {"slow": lambda: setattr(wire, "delay", self.source.uniform(0.02, 0.5)),
                  "held": lambda: setattr(wire, "is_held", True), "cut": wire.cut,
                  "half an answer and the end": lambda: wire.halve(self.source.randrange(2000), "cut")}
        name = self.source.choice(sorted(faults))
        faults[name]()
        self._mends.append(wire.mend)
        return self._note(f"wire {name}", where)

    def _cut_off(self):
        name = self.source.choice((*GROUPS, "db1", "db2"))
        self.machines.net.cut_off(name)
        self._mends.append(lambda: self.machines.net.join(name))
        return self._note("machine cut off", name)

    def _kill(self):
        name = self._some_node()
        self.machines.kill(name)
        self._mends.append(lambda: self.machines.start(name))
        return self._note("machine killed", name)

    def _kill_one(self):
        name, program = self._some_node(), self.source.choice(PROCESSES)
        signal_all(self.machines.nodes[name].pids(program), signal.SIGKILL)
        return self._note("process killed", f"{name}: {program}")

    def _pause(self):
        name, program = self._some_node(), self.source.choice(PROCESSES)
        pids = self.machines.nodes[name].pids(program)
        signal_all(pids, signal.SIGSTOP)
        self._mends.append(lambda: signal_all(pids, signal.SIGCONT))
        return self._note("process stopped", f"{name}: {program}")

    def _database(self):
        """As with kill -9 of all of its processes."""
        server = self.source.choice(self.machines.databases)
        if server.process.poll() is None:
            server.kill()
            self._mends.append(server.start)
        return self._note("database killed", server.name)

    def _drain(self):
        """Of one of two: the other has all then."""
        name = self.source.choice(("o1", "o2", "b1", "b2"))
        other = {"1": "2", "2": "1"}[name[1]]

        def change(state):
            self.machines.databases[0].sql(f"UPDATE node SET state = '{state}' WHERE name = '{name}.test'")

        if self.machines.databases[0].process.poll() is None and name[0] + other in self.machines.running:
            change("draining")
            self._mends.append(lambda: change("active"))
        return self._note("node drained", name)


class Load:
    """Clients of both machines that take mail in; what was answered with 250 is in ACCEPTED, with its
    recipients; what may have been taken as well is in DOUBTFUL."""

    def __init__(self, machines, seed):
        self.machines = machines
        self.accepted, self.doubtful = {}, set()
        self.errors = []
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self._guard, args=(name, number, seed + number), daemon=True)
                        for number, name in enumerate(("a1", "a1", "a2", "a2"))]
        for thread in self.threads:
            thread.start()

    def _guard(self, name, number, seed):
        try:
            enter(name)
            self._send_all(self.machines.nodes[name], number, random.Random(seed))
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(repr(error))

    def _send_all(self, made, number, source):
        count = 0
        while not self.is_over.wait(source.uniform(0.01, 0.06)):
            subject = f"{number}-{count}"
            count += 1
            recipients = source.sample([f"user{user}@{domain}" for user in range(USERS)
                                        for domain in (LOCAL, FAR)], source.choice((1, 1, 1, 2, 5)))
            try:
                with Client(made) as client:
                    self.doubtful.add(subject)
                    reply = client.deliver("ann@x.test", recipients, b"Subject: %s\r\n\r\nHello.\r\n" %
                                           subject.encode())
            except OSError:
                self.is_over.wait(0.2)
                continue
            if reply.startswith("250"):
                self.accepted[subject] = recipients
                self.doubtful.discard(subject)

    def stop(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(4 * PATIENCE)
        assert not self.errors, self.errors


def given_up(machines):
    """Births of messages that another node got although one may have had them, and until when (microseconds,
    in hexadecimal) one was born of which only that is known."""
    found, until = set(), "0"
    for made in machines.nodes.values():
        for event in made.log.find("node_doubt"):
            if "id" in event:
                found.add(event["id"].partition("-")[2])
            else:
                until = max(until, f"{int(stamp(event['time']) * 1e6):x}", key=lambda text: int(text, 16))
    return found, until


def judge(machines, load):
    """What is lost, and what came twice without an excuse: the same node may give another company's
    server a message again whose answer it has lost, and a package that was given up may be at two nodes."""
    copies = machines.copies()
    doubted, until = given_up(machines)

    def is_doubted(taken):
        born = taken[1].decode().partition("-")[2]
        return born in doubted or int(born, 16) < int(until, 16)

    lost = [f"{subject} to {recipient}" for subject, recipients in load.accepted.items()
            for recipient in recipients if not copies[subject, recipient]]
    twice, excused = [], 0
    for (subject, recipient), of in copies.items():
        is_excused = all(map(is_doubted, of)) or (recipient.endswith("@" + FAR) and len(set(of)) == 1)
        if len(of) > 1 and is_excused:
            excused += 1
        elif len(of) > 1:
            twice.append(f"{subject} to {recipient}: {of}")
        if subject not in load.accepted and subject not in load.doubtful:
            twice.append(f"{subject} to {recipient}: nobody has sent it")
    return lost, twice, excused


def left(machines):
    """What waits, or is remembered of any: lines, none when all is settled."""
    found = []
    for name, made in machines.nodes.items():
        folder = os.path.join(made.queue, "handed")
        found += [f"{name}: handed/{sender}/{package}" for sender in os.listdir(folder)
                  for package in os.listdir(os.path.join(folder, sender)) if not package.startswith("run.")]
        if not made.is_empty():
            found += [f"{name}: {line}" for line in run_command(made, "queue", "list", "--json").splitlines()]
    return found


def wait_until_settled(machines, seconds):
    """What was interrupted waits for its time: an operator has it tried at once."""
    deadline = time.monotonic() + seconds
    while found := left(machines):
        assert time.monotonic() < deadline, f"{len(found)} are left: " + "\n".join(found[:20])
        for made in machines.nodes.values():
            run_command(made, "queue", "retry", "--all")
        time.sleep(3)
