# SPDX-License-Identifier: ISC
"""A node whose programs are replaced while it runs, as a package manager does it: each file by another one of
its name. And clients that never stop, with a ledger of what they were told."""

import contextlib
import ctypes
import itertools
import os
import random
import shutil
import smtplib
import socket
import subprocess
import threading
import time

from qmtp import Wire
from smtp import Client
from stagepost import FOR_SECTIONS, PATIENCE, PROGRAMS, as_user, free_port, wait_until

OWN_VERSION = b"0.1.0"
PROBE_EVERY = 0.005  # seconds
SET_CHILD_SUBREAPER = 36


@contextlib.contextmanager
def subreaper():
    """The successors of processes that we start are children of ours, once those have ended."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        libc.prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)


class Successor:
    """Like subprocess.Popen, of a child that we did not start."""

    def __init__(self, pid):
        self.pid = pid
        self.returncode = None

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout=None):
        begin = time.monotonic()
        while self.poll() is None:
            if timeout is not None and time.monotonic() > begin + timeout:
                raise subprocess.TimeoutExpired("successor", timeout)
            time.sleep(0.02)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(9)


class Installed:
    """The programs of one node, which it runs from a folder of its own."""

    def __init__(self, mx, folder):
        self.mx = mx
        self.built = mx.programs
        mx.programs = shutil.copytree(self.built, folder)

    def put(self, name, data):
        """Under its name the old file is replaced, and stays what it was for whoever has it open."""
        path = os.path.join(self.mx.programs, name)
        with open(path + ".new", "wb") as file:
            file.write(data)
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)

    def install(self, version):
        """Another version: built from the same sources, with another name."""
        assert len(version) == len(OWN_VERSION)
        for name in PROGRAMS + FOR_SECTIONS:
            with open(os.path.join(self.built, name), "rb") as file:
                self.put(name, file.read().replace(OWN_VERSION + b"\0", version + b"\0"))

    def spoil(self, name, script):
        self.put(name, script.encode())

    def run(self, command, *arguments, program=None, timeout=3 * PATIENCE):
        program = program or os.path.join(self.mx.programs, "stagepost")
        return subprocess.run([*as_user(), program, command, "-c", self.mx.conf, *arguments],
                              capture_output=True, text=True, check=False, timeout=timeout)

    def upgrade(self, program=None, timeout=3 * PATIENCE):
        """As the package's script does; the command's exit status and what it says. PROGRAM: in place of the
        installed one, as that may not work at all."""
        mx = self.mx
        ended = self.run("upgrade", program=program, timeout=timeout)
        if ended.returncode == 0:
            mx.process.wait(PATIENCE)
            with open(os.path.join(mx.run, "stagepost.pid"), encoding="ascii") as file:
                mx.process = Successor(int(file.read()))
            assert mx.process.poll() is None
        return ended.returncode, ended.stderr

    def version(self):
        """Of the node that runs."""
        return self.mx.log.find("serve_ready")[-1]["release"]


class Ledger:
    """What clients were told, and what became of their connections."""

    def __init__(self):
        self.accepted = {}  # recipient: how many messages were answered with success
        self.turned_away = 0  # 421, which says to come back
        self.broken = []  # refused, or reset, or closed before a word
        self.slowest = 0  # seconds until the first byte
        self.connections = 0
        self.lock = threading.Lock()

    def heard(self, begun):
        with self.lock:
            self.connections += 1
            self.slowest = max(self.slowest, time.monotonic() - begun)

    def took(self, recipient):
        with self.lock:
            self.accepted[recipient] = self.accepted.get(recipient, 0) + 1


def text_of(number):
    return b"Subject: %d\r\nMessage-ID: <%d@client.test>\r\n\r\n%s\r\n" % (number, number, b"x" * (number % 3000))


class Load:
    """Clients at each of the node's listeners, until is_over is set. Each message has a recipient of its own, in one of
    DOMAINS, of which the first has mailboxes on the node."""

    def __init__(self, mx, ports, lmtp, domains):
        self.mx, self.ports, self.lmtp, self.domains = mx, ports, lmtp, domains
        self.ledger = Ledger()
        self.numbers = itertools.count()
        self.is_over = threading.Event()
        self.failures = []
        works = [self.probe] * 2 + [self.send_smtp] * 3 + [self.send_lmtp, self.send_qmtp, self.probe_unix]
        self.threads = [threading.Thread(target=self.repeat, args=(work,), daemon=True) for work in works]
        for thread in self.threads:
            thread.start()

    def repeat(self, work):
        try:
            while not self.is_over.is_set():
                work()
        except Exception as problem:  # pylint: disable=broad-except
            self.failures.append(f"{work.__name__}: {problem!r}")

    def recipient(self, domains):
        number = next(self.numbers)
        return number, f"u{number}@{random.choice(domains)}"

    def greet(self, made, address, what):
        """Connects, and reads the first byte."""
        begun = time.monotonic()
        try:
            made.settimeout(2 * PATIENCE)
            made.connect(address)
            if not made.recv(1):
                self.ledger.broken.append(f"{what}: closed without a word")
        except OSError as problem:
            self.ledger.broken.append(f"{what}: {problem!r}")
        self.ledger.heard(begun)

    def probe(self):
        port = random.choice(self.ports["smtp"])
        with socket.socket() as made:
            self.greet(made, ("127.0.0.1", port), f"port {port}")
        time.sleep(PROBE_EVERY)

    def probe_unix(self):
        with socket.socket(socket.AF_UNIX) as made:
            self.greet(made, self.lmtp, "LMTP")
        time.sleep(PROBE_EVERY)

    def session(self, client, domains):
        """Some messages; it may be ended by 421 at each command, and then by a close."""
        for _ in range(random.randrange(1, 6)):
            number, to = self.recipient(domains)
            reply = client.deliver("sender@client.test", to, text_of(number))
            if reply.startswith("250"):
                self.ledger.took(to)
            else:
                assert reply.startswith("421"), reply
                self.ledger.turned_away += 1
                return

    def converse(self, path=None):
        try:
            with contextlib.closing(Client(self.mx, timeout=2 * PATIENCE, path=path)) as client:
                if path is not None:  # for services of the node alone
                    client.docmd("LHLO client.test")
                self.session(client, self.domains if path is None else self.domains[:1])
        except smtplib.SMTPConnectError as refusal:  # the greeting
            assert refusal.smtp_code == 421, refusal
            self.ledger.turned_away += 1
        except (smtplib.SMTPServerDisconnected, ConnectionResetError, BrokenPipeError):
            self.ledger.turned_away += 1  # what was sent after its 421

    def send_smtp(self):
        self.mx.port = random.choice(self.ports["smtp"])
        self.converse()

    def send_lmtp(self):
        self.converse(self.lmtp)

    def send_qmtp(self):
        try:
            with Wire(self.ports["qmtp"], timeout=2 * PATIENCE) as wire:
                for _ in range(random.randrange(1, 6)):
                    number, to = self.recipient(self.domains)
                    (answer,) = wire.deliver(text_of(number).replace(b"\r\n", b"\n"), "sender@client.test", [to])
                    if answer.startswith("K"):
                        self.ledger.took(to)
                    else:
                        assert answer.startswith("Z"), answer
                        self.ledger.turned_away += 1
        except ConnectionRefusedError as problem:
            self.ledger.broken.append(f"QMTP: {problem!r}")
        except (EOFError, ConnectionError):
            self.ledger.turned_away += 1

    def stop(self):
        for thread in self.threads:
            thread.join(3 * PATIENCE)
        assert not any(thread.is_alive() for thread in self.threads), "a client hangs"
        assert not self.failures, self.failures

    def judge(self, nodes):
        """No connection was refused; each accepted message arrived once. NODES: {domain: its node}."""
        assert not self.ledger.broken, f"{len(self.ledger.broken)}: {self.ledger.broken[:5]}"
        wrong = {to: len(nodes[to.partition("@")[2]].maildir(to).files())
                 for to in self.ledger.accepted
                 if len(nodes[to.partition("@")[2]].maildir(to).files()) != 1}
        assert not wrong, f"{len(wrong)} of {len(self.ledger.accepted)}: {list(wrong.items())[:5]}"


class Scene:
    """A node with many listeners that is upgraded, and a next hop that is not."""

    def __init__(self, node, folder, **more):
        self.ports = {"smtp": [free_port(), free_port()], "qmtp": free_port()}
        self.lmtp = f"{folder}/lmtp"
        self.hop = node("hop", domains=["b.test"])
        settings = (f'listen submission {{ address = "127.0.0.1:{self.ports["smtp"][1]}" }}\n'
                    f'listen qmtp {{ address = "127.0.0.1:{self.ports["qmtp"]}" }}\n'
                    f'listen lmtp {{ address = "unix:{self.lmtp}" }}\n' + more.pop("settings", ""))
        self.mx = node("upgraded", start=False, port=self.ports["smtp"][0], settings=settings,
                       routes=[f"b.test:127.0.0.1;{self.hop.port}"], **more)
        self.installed = Installed(self.mx, f"{folder}/programs")
        self.mx.start()

    @contextlib.contextmanager
    def load(self):
        """Clients while the context lasts; their ledger, which is judged at its end."""
        load = Load(self.mx, self.ports, self.lmtp, ["a.test", "b.test"])
        try:
            wait_until(lambda: len(load.ledger.accepted) > 20, "mail flows", 2 * PATIENCE)
            yield load.ledger
        finally:
            load.is_over.set()
        load.stop()
        for one in (self.mx, self.hop):
            one.wait_empty(6 * PATIENCE)
        load.judge({"a.test": self.mx, "b.test": self.hop})
