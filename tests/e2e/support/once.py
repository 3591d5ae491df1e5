# SPDX-License-Identifier: ISC
"""A domain whose mailboxes are in a service of kind mailbox, and "stagepost mailbox" on it."""

import json
import os
import shutil
import sqlite3
import subprocess

import pytest
from stagepost import PATIENCE, as_user, give_to_user

SCUBA, DOUG, LISA = "scuba@mail.test", "doug@mail.test", "lisa@gmail.test"
IDENTITY = "<123-abc@mail.gmail.test>"
MESSAGE = (b"From: Lisa <lisa@gmail.test>\r\nTo: scuba@mail.test, doug@mail.test\r\n"
           b"Subject: Our next meeting\r\nMessage-ID: <123-abc@mail.gmail.test>\r\n"
           b"Date: Thu, 26 Nov 2026 09:00:00 +0000\r\n\r\nHey guys! Shall we meet tomorrow at 2 PM?\r\n")


def message(identity, body="hello", more="", sender=LISA, subject="a test"):
    """A message with that Message-ID, text or bytes; None: without one."""
    if isinstance(identity, str):
        identity = identity.encode()
    field = b"Message-ID: " + identity + b"\r\n" if identity is not None else b""
    return (field + f"From: {sender}\r\nTo: scuba@mail.test\r\nSubject: {subject}\r\n{more}\r\n"
            f"{body}\r\n".encode())


class Site:
    """A node whose domain mail.test has its mailboxes in the service "once", which has the settings
    MORE; SETTINGS are others of the node, RECORD of section record. Without START only commands
    run."""

    def __init__(self, node, more="", settings="", record="", start=True, **options):
        options.setdefault("domains", ["domain mail.test { service = once }"])
        self.mx = node(start=False, **options)
        self.root = os.path.join(self.mx.directory, "once")
        self.record = os.path.join(self.mx.directory, "record", "record.db")
        for path in (self.root, os.path.dirname(self.record)):
            os.mkdir(path)
            give_to_user(path)
        self.mx.settings = (f'service once {{ kind = mailbox path = "{self.root}/%d/%u" {more} }}\n'
                            f'record {{ path = "{self.record}" {record} }}\n{settings}')
        self.mx.write_configuration()
        if start:
            self.mx.start()

    # --- mailboxes ---

    def path(self, address, folder=None):
        """The directory of a folder."""
        local, _, domain = address.partition("@")
        path = os.path.join(self.root, domain, local)
        return os.path.join(path, "." + folder.replace("/", ".")) if folder else path

    def files(self, address, folder=None):
        """The names of a folder's messages, new and seen ones: "new/NAME"."""
        path = self.path(address, folder)
        return [f"{part}/{name}" for part in ("new", "cur")
                if os.path.isdir(os.path.join(path, part))
                for name in sorted(os.listdir(os.path.join(path, part)))]

    def copies(self, address, folder=None):
        """The names and contents of a folder's messages."""
        found = {}
        for name in self.files(address, folder):
            with open(os.path.join(self.path(address, folder), name), "rb") as file:
                found[name] = file.read()
        return found

    def remove(self, address, folder=None):
        """As a reader does with all his mail."""
        for name in self.files(address, folder):
            os.unlink(os.path.join(self.path(address, folder), name))

    def double(self, address, folder=None):
        """A second copy of the only one, as a store that was restored may have it."""
        (name,) = self.files(address, folder)
        path = os.path.join(self.path(address, folder), name)
        again = path.replace(".M", ".M9", 1)
        shutil.copy2(path, again)
        give_to_user(again)

    # --- the record ---

    def database(self, statement, *values):
        """The rows of STATEMENT, which may change something."""
        with sqlite3.connect(self.record) as database:
            database.execute("PRAGMA foreign_keys = ON")
            rows = database.execute(statement, values).fetchall()
        database.close()
        return rows

    # --- the command ---

    def command(self, *words):
        return [os.path.join(self.mx.programs, "stagepost"), "mailbox", *words]

    def run(self, *words, text=b"", user=True, environment=None, conf=True):
        """What the command ended with; WORDS may begin with a subcommand."""
        config = ["-c", self.mx.conf] if conf else []
        return subprocess.run([*(as_user() if user else []), *self.command(*words, *config)],
                              input=text, capture_output=True, check=False, timeout=PATIENCE,
                              env={"PATH": os.environ["PATH"], **(environment or {})})

    def file(self, text, recipient=SCUBA, *words, status=0, **how):
        """Files TEXT, and returns what was said."""
        ended = self.run("-r", recipient, *words, text=text, **how)
        assert ended.returncode == status, ended.stderr
        return ended.stderr.decode()

    def look(self, *words, status=0):
        """The objects that a subcommand prints as JSON."""
        ended = self.run(*words, "--json")
        assert ended.returncode == status, (ended.returncode, ended.stdout, ended.stderr)
        return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.fixture
def site(node):
    return lambda **options: Site(node, **options)


@pytest.fixture
def site_with_directory(node):
    """What a site serves, its directory says, which is empty."""
    def make(**options):
        made = Site(node, domains=[], start=False, **options)
        made.mx.settings += f'directory {{ path = "{made.mx.directory}/directory.db" }}\n'
        made.mx.write_configuration()
        made.mx.start()
        return made
    return make
