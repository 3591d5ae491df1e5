# SPDX-License-Identifier: ISC
"""A client of the directory of a node, by its protocol (src/directory/wire/frame.h)."""

import itertools
import os
import socket


def netstring(content):
    return b"%d:%s," % (len(content), content)


class Refused(Exception):
    """The server answered "err"."""


class Records:
    """put and del of records, one after the other or many at once, as the user of MX; or as
    ourselves, where other threads must not become that user for a moment, too."""

    def __init__(self, mx, as_user=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        before = os.geteuid()
        group = os.getegid()
        if as_user:
            os.setegid(os.stat(mx.run).st_gid)
            os.seteuid(os.stat(mx.queue).st_uid)
        try:
            self.socket.connect(f"{mx.run}/directory")
        finally:
            if as_user:
                os.seteuid(before)
                os.setegid(group)
        self.file = self.socket.makefile("rb")
        self.ids = itertools.count(1)
        assert self.hear()[0] == b"hello"

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.file.close()
        self.socket.close()

    def _netstring(self, file):
        digits = b""
        while not digits.endswith(b":"):
            byte = file.read(1)
            assert byte, "the connection was ended"
            digits += byte
        content = file.read(int(digits[:-1]))
        assert file.read(1) == b","
        return content

    def hear(self):
        """The words of the next frame."""
        content = self._netstring(self.file)
        words = []
        while content:
            length, _, rest = content.partition(b":")
            words.append(rest[:int(length)])
            content = rest[int(length) + 1:]
        return words

    def say(self, *words):
        self.socket.sendall(netstring(b"".join(netstring(word) for word in words)))

    def answer(self, number):
        while True:
            words = self.hear()
            if words[0] in (b"ok", b"none", b"err", b"val") and words[1] == b"%d" % number:
                if words[0] == b"err":
                    raise Refused(b" ".join(words[2:]).decode())
                return words

    def put(self, table, key, *fields):
        number = next(self.ids)
        self.say(b"put", b"%d" % number, *(word.encode() for word in (table, key, *fields)))
        return self.answer(number)

    def remove(self, table, key):
        number = next(self.ids)
        self.say(b"del", b"%d" % number, table.encode(), key.encode())
        return self.answer(number)

    def lacking(self, method):
        """Whether some user has a password and no keys of METHOD."""
        number = next(self.ids)
        self.say(b"get", b"%d" % number, b"lacking", method.encode())
        return self.answer(number)[0] == b"val"

    def put_many(self, table, keys, window=500):
        """Records without fields, many under way at once."""
        waiting = []
        for key in keys:
            waiting.append(next(self.ids))
            self.say(b"put", b"%d" % waiting[-1], table.encode(), key.encode())
            if len(waiting) == window:
                self.wait_for(waiting)
        self.wait_for(waiting)

    def wait_for(self, numbers):
        left = {b"%d" % number for number in numbers}
        while left:
            words = self.hear()
            if words[0] == b"err":
                raise Refused(b" ".join(words[2:]).decode())
            if words[0] == b"ok":
                left.discard(words[1])
        numbers.clear()

    def list(self, name, members, owner, **fields):
        """A mailing list with MEMBERS."""
        self.put("address", name, "kind list", f"owner {owner}",
                 *(f"{field} {value}" for field, value in fields.items()))
        self.put_many("member", (f"{name} {member}" for member in members))
