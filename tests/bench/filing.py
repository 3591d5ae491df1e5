# SPDX-License-Identifier: ISC
"""What services of kind mailbox are measured with: the record of each message in SQLite or
PostgreSQL; beside them Dovecot, which gets the same messages from Postfix by LMTP."""
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e/support"))
from dovecot import Dovecot  # noqa: E402
from postgresql import Server  # noqa: E402

FLOOR_COPIES = 6000


class Record:
    """Of BACKEND: "sqlite", or "postgresql", with a server of its own, which syncs."""

    def __init__(self, directory, backend):
        os.mkdir(directory)
        self.server = None
        self.words = [backend, f"{directory}/record.db"]  # for bench_record
        if backend == "sqlite":
            self.settings = f'record {{ path = "{directory}/record.db" }}'
            return
        self.server = Server(directory, fsync="on")
        self.words[1] = self.server.conninfo()
        self.settings = (f'record {{ backend = postgresql\n'
                         f'database = "{self.server.conninfo()}" }}')

    def pids(self):
        return [self.server.process.pid] if self.server is not None else []

    def stop(self):
        if self.server is not None:
            self.server.stop()


class Mailboxes:
    """Dovecot's LMTP server, with its defaults, for USERS, whose Maildirs are in DIRECTORY."""

    def __init__(self, directory, users):
        self.server = Dovecot(users, f"{directory}/%u")
        self.path = self.server.path

    def pids(self):
        return [self.server.process.pid]

    def stop(self):
        self.server.close()


class Filed:
    """How many copies a node has filed: they are in the mailboxes, and the record says so."""

    def __init__(self, log):
        self.log, self.offset, self.count = log, 0, 0

    def __call__(self):
        with open(self.log, "rb") as file:
            file.seek(self.offset)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        self.offset += len(whole)
        self.count += whole.count(b"event=message_filed ")
        return self.count


def rows_alone(build, directory):
    """{backend: copies a second}: their rows in groups of 64, without mailboxes and questions."""
    rates = {}
    for backend in ("sqlite", "postgresql"):
        record = Record(os.path.join(directory, backend), backend)
        try:
            said = subprocess.run(
                [os.path.join(build, "tests/bench/bench_record"), str(FLOOR_COPIES), "1", "64",
                 *record.words], check=True, capture_output=True, text=True, timeout=300).stdout
        finally:
            record.stop()
        rates[backend] = float(re.search(r"the rows alone: (\d+)", said).group(1))
    return rates
