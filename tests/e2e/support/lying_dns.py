# SPDX-License-Identifier: ISC
"""A name server that says what a test wants, byte by byte, over UDP and TCP."""

import contextlib
import socket
import struct
import threading

from dns import free_port

A, NS, CNAME, MX, TXT, AAAA = 1, 2, 5, 15, 16, 28
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = range(6)
QUESTION = b"\xc0\x0c"  # a pointer to the name that was asked for


def labels(name):
    """A name as it is transmitted; of bytes, so that a label may hold any."""
    name = name.encode() if isinstance(name, str) else name
    found = [label for label in name.rstrip(b".").split(b".") if label]
    return b"".join(bytes([len(label)]) + label for label in found) + b"\0"


def record(kind, data, name=QUESTION, ttl=60, length=None):
    """LENGTH: what it says that its DATA has."""
    return name + struct.pack(">HHIH", kind, 1, ttl, len(data) if length is None else length) + data


def mx(preference, name):
    """NAME: as text, or as it is transmitted."""
    is_transmitted = name[-1:] == b"\0"
    return record(MX, struct.pack(">H", preference) + (name if is_transmitted else labels(name)))


def a(*addresses):
    return [record(A, socket.inet_aton(address)) for address in addresses]


def aaaa(*addresses):
    return [record(AAAA, socket.inet_pton(socket.AF_INET6, address)) for address in addresses]


class Answer:
    """ANSWERS, AUTHORITY, ADDITIONAL: records. FLAGS besides those of an answer; TAIL: bytes
    after it all; COUNTS: instead of the true ones."""

    def __init__(self, answers=(), authority=(), additional=(), code=NOERROR, *, flags=0,
                 tail=b"", counts=None, other_id=0, question=None):
        self.sections = [list(answers), list(authority), list(additional)]
        self.flags = 0x8180 | flags | code  # an answer, recursion as wanted and available
        self.tail = tail
        self.counts = counts
        self.other_id = other_id
        self.question = question

    def pack(self, number, question):
        counts = self.counts or [1] + [len(section) for section in self.sections]
        return (struct.pack(">HHHHHH", number ^ self.other_id, self.flags, *counts) +
                (question if self.question is None else self.question) +
                b"".join(b"".join(section) for section in self.sections) + self.tail)


class Raw(Answer):
    """Nothing but TAIL after the right number."""

    def pack(self, number, question):
        return struct.pack(">H", number) + self.tail


TRUNCATED = Answer(flags=0x0200)
NO_DATA = Answer()
NO_NAME = Answer(code=NXDOMAIN)


class LyingServer:
    """ANSWERS: {(name, type): Answer, None for silence, or a pair (by UDP, by TCP)}. Names
    that are not in it do not exist."""

    def __init__(self, answers, address="127.0.0.1", port=None):
        self.answers = answers
        self.address = address
        self.port = port or free_port(address)
        self.asked = {}  # how often
        self.questions = set()  # (name, type): who gets no answer in time asks again
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((address, self.port))
        self.tcp = socket.create_server((address, self.port), backlog=128)
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self._serve_udp, self._serve_tcp)]
        for thread in self.threads:
            thread.start()

    @property
    def dns_server(self):
        return f"{self.address}@{self.port}"

    def _answer(self, query, by_tcp):
        number, = struct.unpack(">H", query[:2])
        end, name = 12, []
        while query[end]:
            name.append(query[end + 1:end + 1 + query[end]])
            end += 1 + query[end]
        kind, = struct.unpack(">H", query[end + 1:end + 3])
        name = b".".join(name).lower().decode("latin-1")
        self.asked[name] = self.asked.get(name, 0) + 1
        self.questions.add((name, kind))
        known = any(name == other for other, _ in self.answers)
        answer = self.answers.get((name, kind), NO_DATA if known else NO_NAME)
        if isinstance(answer, tuple):
            answer = answer[by_tcp]
        return None if answer is None else answer.pack(number, query[12:end + 5])

    def _serve_udp(self):
        while True:
            try:
                query, client = self.udp.recvfrom(4096)
                if not query:
                    return  # shut down
                answer = self._answer(query, False)
                if answer is not None:
                    self.udp.sendto(answer, client)
            except OSError:
                return

    def _serve_tcp(self):
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        with connection:
            try:
                while head := connection.recv(2, socket.MSG_WAITALL):
                    length, = struct.unpack(">H", head)
                    answer = self._answer(connection.recv(length, socket.MSG_WAITALL), True)
                    if answer is None:
                        return
                    connection.sendall(struct.pack(">H", len(answer)) + answer)
            except (OSError, struct.error):
                pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        """A port is free again only when nobody waits at its socket: a thread in recvfrom() keeps a closed one."""
        with contextlib.suppress(OSError):
            self.udp.shutdown(socket.SHUT_RDWR)  # wakes who receives, though it is not connected
        self.tcp.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        self.udp.close()
        self.tcp.close()
