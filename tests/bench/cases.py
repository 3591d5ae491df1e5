# SPDX-License-Identifier: ISC
"""The loads, what they are held against, and how one of them is run."""
import subprocess
import time
from dataclasses import dataclass

import measure
from common.net import wait_until
from servers import HELD, LMTP, LOCAL, MAILBOXES, REMOTE

WARM_UP_MESSAGES = 300
SENDER = "sender@client.example"
SYSTEMS = {"accept": ("postfix",), "relay": ("postfix", "postfix-tuned"),
           "lmtp": ("postfix", "postfix-tuned"), "local": ("postfix",)}


@dataclass(frozen=True)
class Case:
    kind: str
    sessions: int
    size: int
    keep: bool = False
    divisor: int = 1  # of the number of messages
    goal: float = 0  # times Postfix's rate; 0: none

    @property
    def name(self):
        sessions = f"{self.sessions} kept open" if self.keep else \
            f"{self.sessions} session" + "s" * (self.sessions > 1)
        return f"{self.kind}, {sessions}, {self.size // 1024} KiB"


CASES = (
    Case("accept", 50, 10240, goal=3.5),
    Case("accept", 50, 1024, goal=3.5),
    Case("accept", 50, 10240, keep=True, goal=4.5),
    Case("accept", 50, 1024, keep=True, goal=4.5),
    Case("accept", 1, 10240, divisor=8, goal=1.2),
    Case("relay", 50, 10240, goal=4),
    Case("relay", 50, 1024, goal=4),
    Case("lmtp", 50, 10240, goal=4),
    Case("lmtp", 50, 1024, goal=4),
    Case("local", 50, 10240, goal=4),
)


def warm_up(kind):
    return Case(kind, 50, 10240)


def start_source(port, messages, case, recipient):
    command = ["smtp-source", "-4", "-s", str(case.sessions), "-m", str(messages),
               "-l", str(case.size), "-f", SENDER, "-t", recipient]
    if case.keep:
        command.append("-d")
    return subprocess.Popen(command + [f"127.0.0.1:{port}"], stderr=subprocess.PIPE, text=True)


def finish_sources(sources):
    try:
        for source in sources:
            _, errors = source.communicate(timeout=300)
            if source.returncode != 0:
                raise RuntimeError("smtp-source: " + errors)
    finally:
        for source in sources:
            source.kill()


def load(system, case, messages):
    """Sends; how many were sent. Local mail goes to several mailboxes at once."""
    if case.kind == "local":
        share = messages // MAILBOXES
        part = Case(case.kind, max(1, case.sessions // MAILBOXES), case.size, case.keep)
        finish_sources([start_source(system.port, share, part, f"user{i}@{LOCAL}")
                        for i in range(MAILBOXES)])
        return share * MAILBOXES
    domain = {"accept": HELD, "relay": REMOTE, "lmtp": LMTP}[case.kind]
    finish_sources([start_source(system.port, messages, case, "user@" + domain)])
    return messages


def run_once(system, sink, case, messages):
    count = {"accept": lambda: 0, "local": system.delivered}.get(case.kind, lambda: sink.count)
    before = count()
    processor = measure.processor_seconds(system.pid)
    begin = time.monotonic()
    sent = load(system, case, max(1, messages // case.divisor))
    accepted = time.monotonic() - begin
    if case.kind != "accept":
        wait_until(lambda: count() - before >= sent, f"{system.name}: {case.name}", 120)
    seconds = time.monotonic() - begin
    time.sleep(0.3)
    return {"rate": sent / seconds, "accept_rate": sent / accepted,
            "processor_10000": (measure.processor_seconds(system.pid) - processor) * 10000 / sent}
