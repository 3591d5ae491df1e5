# SPDX-License-Identifier: ISC
"""The loads, what they are held against, and how one of them is run."""
import os
import subprocess
import time
from dataclasses import dataclass

import measure
from common.net import wait_until
from servers import HELD, LMTP, LOCAL, MAILBOXES, REMOTE
from submission import PASSWORD, USER

WARM_UP_MESSAGES = 300
CIPHERS = "TLS_AES_128_GCM_SHA256"  # with TLS, for both systems
SENDER = USER
TO_MAILBOXES = ("local", "mailbox")
ACCEPTING = ("accept", "tls", "submission", "qmtp")  # what comes stays in the queue
# nodes of ours beside one that records in SQLite: in PostgreSQL, or not at all
OWN_POSTGRESQL = "own-postgresql"
OWN_MAILDIR = "own-maildir"
OWN_SMTP = "own-smtp"  # a node of ours, loaded by SMTP with sessions kept open
SYSTEMS = {"accept": ("postfix",), "tls": ("postfix",), "submission": ("postfix",),
           "qmtp": (OWN_SMTP,), "relay": ("postfix", "postfix-tuned"),
           "tls-relay": ("postfix", "postfix-tuned"), "lmtp": ("postfix", "postfix-tuned"),
           "local": ("postfix",),
           "mailbox": (OWN_POSTGRESQL, OWN_MAILDIR, "postfix-dovecot")}


@dataclass(frozen=True)
class Case:
    kind: str
    sessions: int
    size: int
    keep: bool = False
    divisor: int = 1  # of the number of messages
    goal: float = 0  # times the other system's rate; 0: none
    tls: str = ""  # handshakes: "full", or "resumed": with the session of the one before
    pipelines: bool = False  # MAIL, RCPT and DATA at once; with TLS only

    @property
    def has_floor(self):
        """smtp-source and smtp-sink know neither TLS nor QMTP."""
        return not self.tls and not self.kind.startswith("tls") and self.kind != "qmtp"

    @property
    def name(self):
        sessions = f"{self.sessions} kept open" if self.keep else \
            f"{self.sessions} session" + "s" * (self.sessions > 1)
        tls = f" {self.tls} handshakes," if self.tls else ""
        tls += " pipelined," if self.pipelines else ""
        return f"{self.kind}, {sessions},{tls} {self.size // 1024} KiB"


CASES = (
    Case("accept", 50, 10240, goal=3.5),
    Case("accept", 50, 1024, goal=3.5),
    Case("accept", 50, 10240, keep=True, goal=4.5),
    Case("accept", 50, 1024, keep=True, goal=4.5),
    Case("accept", 1, 10240, divisor=8, goal=1.2),
    Case("tls", 50, 10240, goal=2, tls="full"),
    Case("tls", 50, 10240, goal=3, tls="resumed"),
    Case("tls", 50, 10240, keep=True, goal=4, tls="full"),
    Case("tls", 50, 10240, keep=True, goal=4, tls="full", pipelines=True),
    Case("submission", 50, 10240, keep=True, goal=3, tls="full"),
    Case("qmtp", 1, 10240, keep=True, goal=2),
    Case("qmtp", 10, 10240, keep=True, goal=2),
    Case("qmtp", 50, 10240, keep=True),  # the disk sets the limit of both: doc/performance/qmtp.md
    Case("qmtp", 50, 1024, keep=True),
    Case("relay", 50, 10240, goal=4),
    Case("relay", 50, 1024, goal=4),
    Case("tls-relay", 50, 10240, goal=3),
    Case("lmtp", 50, 10240, goal=4),
    Case("lmtp", 50, 1024, goal=4),
    Case("local", 50, 10240, goal=4),
    Case("mailbox", 50, 10240),
    Case("mailbox", 50, 1024),
)


def warm_up(kind):
    return Case(kind, 50, 10240, keep=kind in ("qmtp", "submission"),
                tls="full" if kind in ("tls", "submission") else "")


def start_source(port, messages, case, recipient, build=""):
    """smtp-source; it knows no TLS and no QMTP, for which there are ones of ours."""
    if case.kind == "qmtp":
        return subprocess.Popen(
            [os.path.join(build, "tests/bench/qmtp_source"), "-s", str(case.sessions),
             "-m", str(messages), "-l", str(case.size), "-f", SENDER, "-t", recipient,
             f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    command = [os.path.join(build, "tests/bench/tls_source"), "-c", CIPHERS] if case.tls else \
        ["smtp-source", "-4"]
    command += ["-s", str(case.sessions), "-m", str(messages), "-l", str(case.size), "-f", SENDER,
                "-t", recipient]
    if case.keep:
        command.append("-d")
    if case.tls == "resumed":
        command.append("-r")
    if case.pipelines:
        command.append("-P")
    if case.kind == "submission":
        command += ["-u", USER, "-w", PASSWORD]
    return subprocess.Popen(command + [f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def finish_sources(sources):
    try:
        for source in sources:
            _, errors = source.communicate(timeout=300)
            if source.returncode != 0:
                raise RuntimeError(f"{source.args[0]}: {errors}")
    finally:
        for source in sources:
            source.kill()


def load(system, case, messages, build=""):
    """Sends; how many were sent. Local mail goes to several mailboxes at once."""
    if case.kind in TO_MAILBOXES:
        share = messages // MAILBOXES
        part = Case(case.kind, max(1, case.sessions // MAILBOXES), case.size, case.keep)
        finish_sources([start_source(system.port, share, part, f"user{i}@{LOCAL}", build)
                        for i in range(MAILBOXES)])
        return share * MAILBOXES
    port = system.port
    if case.kind == "qmtp" and system.name == OWN_SMTP:
        case = Case("accept", case.sessions, case.size, keep=True)
    elif case.kind == "qmtp":
        port = system.qmtp_port
    domain = HELD if case.kind in ACCEPTING else LMTP if case.kind == "lmtp" else REMOTE
    finish_sources([start_source(port, messages, case, "user@" + domain, build)])
    return messages


def processor_seconds(system):
    return sum(measure.processor_seconds(pid) for pid in system.pids)


def run_once(system, sink, case, messages, build=""):
    count = system.delivered if case.kind in TO_MAILBOXES else lambda: sink.count
    is_accepting = case.kind in ACCEPTING
    before = 0 if is_accepting else count()
    processor = processor_seconds(system)
    begin = time.monotonic()
    sent = load(system, case, max(1, messages // case.divisor), build)
    accepted = time.monotonic() - begin
    if not is_accepting:
        wait_until(lambda: count() - before >= sent, f"{system.name}: {case.name}", 120)
    seconds = time.monotonic() - begin
    time.sleep(0.3)
    return {"rate": sent / seconds, "accept_rate": sent / accepted,
            "processor_10000": (processor_seconds(system) - processor) * 10000 / sent}
