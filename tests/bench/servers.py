# SPDX-License-Identifier: ISC
"""Stagepost and the sink, each started on loopback with what it needs."""
import os
import pathlib
import re
import socket
import subprocess
import threading

from common.net import end, free_port, wait_until
from filing import Filed, Record
from submission import add_to_stagepost

# A recipient's domain decides what happens to a message, in both systems.
HELD = "held.example"
REMOTE = "remote.example"
LOCAL = "local.example"
LMTP = "lmtp.example"
DEAD = "dead.example"
MAILBOXES = 5
DEAD_PORT = 1  # nobody listens there


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            return connection.recv(3) == b"220"
    except OSError:
        return False


def delivered(mailboxes):
    total = 0
    for name in os.listdir(mailboxes) if os.path.isdir(mailboxes) else ():
        try:
            total += len(os.listdir(os.path.join(mailboxes, name, "new")))
        except OSError:
            continue
    return total


class Sink:
    """smtp-sink (with -L: by LMTP), and how many messages it has had."""

    def __init__(self, *options, build=""):
        self.port = free_port()
        self.process = subprocess.Popen(self._command(options, build), stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.count = 0
        threading.Thread(target=self._read, daemon=True).start()
        wait_until(lambda: answers(self.port), "the sink answers")

    def _command(self, options, _):
        command = ["smtp-sink", "-4", "-c", *options]
        if os.geteuid() == 0:
            command += ["-u", "nobody"]
        return command + [f"127.0.0.1:{self.port}", "1000"]

    def _read(self):
        while chunk := os.read(self.process.stdout.fileno(), 65536):
            counts = re.findall(rb"mesg=(\d+)", chunk)
            if counts:
                self.count = int(counts[-1])

    def stop(self):
        self.process.terminate()
        self.process.wait()


class TlsSink(Sink):
    """tls_sink: the same with STARTTLS. CERTIFICATE: as make_certificate() says."""

    def __init__(self, build, certificate, ciphers):
        self.certificate, self.ciphers = certificate, ciphers
        super().__init__(build=build)

    def _command(self, options, build):
        return [os.path.join(build, "tests/bench/tls_sink"), "-c", self.ciphers,
                f"{self.certificate}.pem", f"{self.certificate}.key", f"127.0.0.1:{self.port}"]


def make_certificate(directory):
    """Of ECDSA with P-256, for all systems: the path to which .pem and .key are added."""
    make = pathlib.Path(__file__).parent.parent / "common" / "make-certificates"
    subprocess.run([make, directory, "bench.example"], check=True, timeout=60)
    return os.path.join(directory, "bench.example")


class Stagepost:
    """ROUTES: smtproutes that go before those of the other domains. CERTIFICATE: as
    make_certificate() says; None: no TLS with clients. RELAYS_BY_TLS: and not without. QMTP: also
    by that, at qmtp_port. SUBMISSION: at port users submit mail, and nobody else. RECORD: in which
    backend the messages that are filed in mailboxes are recorded; "": nowhere."""

    def __init__(self, directory, build, sink_port, name="stagepost", extra="", routes=(),
                 certificate=None, relays_by_tls=False, qmtp=False, submission=False,
                 record=""):
        self.name = name
        self.port = free_port()
        self.record = Record(os.path.join(directory, "record"), record) if record else None
        self.qmtp_port = free_port()
        self.directory = directory
        self.queue = os.path.join(directory, "queue")
        self.mailboxes = os.path.join(directory, "mail", LOCAL)
        self.log = os.path.join(directory, "log")
        self.delivered = Filed(self.log) if record else lambda: delivered(self.mailboxes)
        file = os.path.join(directory, "stagepost.conf")
        pathlib.Path(file).write_text(f"""
hostname = "bench.example"
user = ""
queue = "{self.queue}"
run = "{directory}/run"
maxsessions = 20000
{self._listeners(submission)}
{f'listen qmtp {{ address = "127.0.0.1:{self.qmtp_port}" }}' if qmtp else ""}
service held {{ kind = maildir path = "{directory}/held/%u" }}
service lmtp {{ kind = lmtp address = "127.0.0.1:{sink_port}" }}
service maildir {{ kind = {"mailbox" if record else "maildir"} path = "{directory}/mail/%d/%u" }}
{self.record.settings if record else ""}
domain "{HELD}" {{ service = held }}
domain "{LMTP}" {{ service = lmtp }}
domain "{LOCAL}" {{ service = maildir }}
transport held {{ paused = yes }}
smtproutes = {{ {"".join(f'"{route}", ' for route in routes)}
	"{DEAD}:127.0.0.1;{DEAD_PORT}", ":127.0.0.1;{sink_port}" }}
{extra or "queue_sync = auto"}
{"remote_tls = encrypt" if relays_by_tls else ""}
{f'certificate bench {{ chain = "{certificate}.pem" key = "{certificate}.key" }}' if certificate else ""}
""", encoding="utf-8")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([os.path.join(build, "stagepost"), "serve", "-c", file],
                                            stderr=log)
        self.pid = self.process.pid
        self.pids = [self.pid] + (self.record.pids() if record else [])
        try:
            wait_until(self._is_ready, "stagepost is ready", 60)
            if submission:
                add_to_stagepost(build, file)
        except BaseException:
            self.stop()
            raise

    def _listeners(self, submission):
        if not submission:
            return f"""relay_from = {{ "127.0.0.0/8" }}
listen smtp {{ address = {{ "127.0.0.1:{self.port}" }} }}"""
        return f"""directory {{ path = "{self.directory}/directory.db" }}
listen submission {{ address = {{ "127.0.0.1:{self.port}" }} }}"""

    def _is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError("stagepost ended:\n" + pathlib.Path(self.log).read_text("utf-8"))
        return "event=serve_ready" in pathlib.Path(self.log).read_text("utf-8")

    def stop(self):
        end(self.process, 40)
        if self.record is not None:
            self.record.stop()
