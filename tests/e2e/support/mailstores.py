# SPDX-License-Identifier: ISC
"""A store of copies that is driven by lines (mailstore.c)."""

import os
import subprocess

from stagepost import BUILD, PATIENCE, is_root

SEEN, FLAGGED, DRAFT = 1, 2, 4
ENOENT, EOPNOTSUPP = -2, -95


class Appended:
    def __init__(self, line):
        self.status, unknown, self.copy, self.text = line.split("\t")
        self.is_unknown = unknown == "1"

    def __repr__(self):
        return f"{self.status} {self.is_unknown} {self.copy} {self.text}"


class Store:
    """WORDS as mailstore.c has them; messages are written to files in DIRECTORY."""

    def __init__(self, directory, *words):
        program = os.path.join(BUILD, "tests", "e2e", "mailstore")
        self.directory = directory
        self.process = subprocess.Popen(
            [program, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            bufsize=1, umask=0o077, user="nobody" if is_root() else None,
            group="nogroup" if is_root() else None, extra_groups=[] if is_root() else None)
        self.files = 0

    def _file(self, message):
        self.files += 1
        path = os.path.join(self.directory, f"m{self.process.pid}.{self.files}")
        with open(path, "wb") as file:
            file.write(message)
        os.chmod(path, 0o644)
        return path

    def _say(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def _hear(self):
        line = self.process.stdout.readline()
        assert line, "the store has ended"
        return line.rstrip("\n")

    def note(self, user, message, folder="INBOX", sender="lisa@example.com", recipient=None, flags=0,
             date=0):
        """For the next go(). RECIPIENT: the user."""
        self._say("append", user, folder, self._file(message), sender,
                  user if recipient is None else recipient, flags, date * 1000000)

    def start(self):
        """Begins a go(), whose end nobody waits for."""
        self._say("go")

    def ended(self):
        lines = []
        while (line := self._hear()) != ".":
            lines.append(Appended(line))
        return lines

    def go(self):
        self.start()
        return self.ended()

    def append(self, user, message, **how):
        self.note(user, message, **how)
        (appended,) = self.go()
        return appended

    def look(self, user, message, folder="INBOX"):
        """(result, error, copies)"""
        self._say("find", user, folder, self._file(message))
        result, error, *copies = self._hear().split("\t")
        return int(result), error, copies

    def find(self, user, message, folder="INBOX"):
        result, error, copies = self.look(user, message, folder)
        assert result == 0, error
        return copies

    def remove(self, user, message, copy, folder="INBOX"):
        """(result, error)"""
        self._say("remove", user, folder, self._file(message), copy)
        result, error = self._hear().split("\t")
        return int(result), error

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def close(self):
        """Its exit status: 0, unless it came to harm."""
        self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.stdout.close()


def message(identity, body="hello", more=""):
    """A message with this Message-ID; None: without one."""
    head = f"Message-ID: {identity}\r\n" if identity is not None else ""
    return f"{head}From: lisa@example.com\r\nSubject: a test\r\n{more}\r\n{body}\r\n".encode()
