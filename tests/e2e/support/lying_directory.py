# SPDX-License-Identifier: ISC
"""Servers of directories that lie: they speak LDAP or PostgreSQL's protocol as far as a case
lets them, and then say what it says."""

import contextlib
import socket
import struct
import threading
import time

from stagepost import SLOWNESS

PATIENCE = 60 * SLOWNESS  # seconds, for all that one connection says
LARGE = 1 << 30  # bytes that a case would like to say


class Gone(Exception):
    """The client has ended the connection."""


class Peer:
    """One connection; SAID is how much the client took of what it was told."""

    def __init__(self, server, connection):
        self.server = server
        self.socket = connection
        self.socket.settimeout(PATIENCE)
        self.file = connection.makefile("rb")

    def read(self, size):
        data = self.file.read(size)
        if len(data) < size:
            raise Gone
        return data

    def say(self, data):
        self.socket.sendall(data)
        self.server.said += len(data)

    def flood(self, piece, limit=LARGE):
        """PIECE again and again."""
        block = piece * max(1, (1 << 18) // len(piece))
        for _ in range(max(1, limit // len(block))):
            self.say(block)

    def slowly(self, data):
        for index in range(len(data)):
            self.say(data[index:index + 1])
            time.sleep(0.1)

    def wait(self):
        """Until the client goes."""
        while self.file.read1(65536):
            pass


class LyingServer:
    """SPEAK(peer) is called for each connection, in a thread of its own."""

    def __init__(self, port, speak):
        self.port = port
        self.speak = speak
        self.said = 0
        self.count = 0
        self.connections = []
        self.listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.count += 1
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError, Gone, ValueError), connection:
            self.speak(Peer(self, connection))

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# --- LDAP ---

BIND, SEARCH, EXTENDED = 0x60, 0x63, 0x77
BIND_RESPONSE, ENTRY, DONE, REFERENCE = 0x61, 0x64, 0x65, 0x73
EXTENDED_RESPONSE, INTERMEDIATE = 0x78, 0x79
SYNC_STATE = b"1.3.6.1.4.1.4203.1.9.1.2"
SYNC_INFO = b"1.3.6.1.4.1.4203.1.9.1.4"


def length_of(size):
    return bytes([size]) if size < 128 else b"\x84" + struct.pack(">I", size)


def tlv(tag, *contents):
    content = b"".join(contents)
    return bytes([tag]) + length_of(len(content)) + content


def text(value):
    return tlv(4, value)


def message(number, *parts):
    return tlv(0x30, tlv(2, struct.pack(">i", number)), *parts)


def result(tag, code=0, said=b"", more=b""):
    return tlv(tag, tlv(0x0a, bytes([code])), text(b""), text(said), more)


def entry(name, **attributes):
    return tlv(ENTRY, text(name), tlv(0x30, *[
        tlv(0x30, text(key.encode()), tlv(0x31, *[text(value) for value in values]))
        for key, values in attributes.items()]))


def state(uuid, kind=1, cookie=b""):
    """The control of a synchronized entry."""
    value = tlv(0x30, tlv(0x0a, bytes([kind])), text(uuid), text(cookie) if cookie else b"")
    return tlv(0xa0, tlv(0x30, text(SYNC_STATE), text(value)))


def request(peer):
    """(number, tag of the operation) of the next one."""
    head = peer.read(2)
    size = head[1]
    if size & 0x80:
        size = int.from_bytes(peer.read(size & 0x7f), "big")
    content = peer.read(size)
    end = 2 + content[1]
    return int.from_bytes(content[2:end], "big"), content[end]


def ldap(on_bind=None, on_search=None, on_sync=None, on_extended=None):
    """Speaks LDAP well, but where a case has an ON_...(peer, number); ON_SEARCH is for questions
    before the third, which is the one for the content."""
    def speak(peer):
        searches = 0
        while True:
            number, kind = request(peer)
            if kind == BIND:
                if on_bind:
                    on_bind(peer, number)
                    continue
                peer.say(message(number, result(BIND_RESPONSE)))
            elif kind == EXTENDED:
                (on_extended or (lambda *_: None))(peer, number)
            elif kind == SEARCH:
                searches += 1
                if searches <= 2 and on_search:
                    on_search(peer, number)
                elif searches == 1:
                    peer.say(message(number, entry(b"", namingContexts=[b"dc=example,dc=org"])))
                    peer.say(message(number, result(DONE)))
                elif searches == 3 and on_sync:
                    on_sync(peer, number)
                elif searches != 3:
                    peer.say(message(number, result(DONE)))

    return speak


# --- PostgreSQL ---

def packet(kind, *parts):
    content = b"".join(parts)
    return kind + struct.pack(">I", len(content) + 4) + content


def word(value):
    return value + b"\0"


def columns(*names, types=25):
    return packet(b"T", struct.pack(">H", len(names)), *[
        word(name) + struct.pack(">IHIhiH", 0, 0, types, -1, -1, 0) for name in names])


def row(*values):
    return packet(b"D", struct.pack(">H", len(values)), *[
        struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
        for value in values])


def error(said, code=b"XX000", severity=b"ERROR", kind=b"E"):
    return packet(kind, b"S" + word(severity), b"V" + word(severity), b"C" + word(code),
                  b"M" + word(said), b"\0")


READY = packet(b"Z", b"I")
COMPLETE = packet(b"C", word(b"SELECT 1"))
AUTHENTICATED = packet(b"R", struct.pack(">I", 0))
GREETING = AUTHENTICATED + b"".join(
    packet(b"S", word(name), word(value)) for name, value in (
        (b"server_version", b"15.0"), (b"client_encoding", b"UTF8"),
        (b"standard_conforming_strings", b"on"), (b"in_hot_standby", b"off"))
) + packet(b"K", struct.pack(">II", 1, 2)) + READY


def postgresql(on_start=None, on_execute=None):
    """Speaks well until it is asked something: then ON_EXECUTE(peer), for each statement, says
    what stands for its rows; the rest of what the protocol wants is said before and behind."""
    def speak(peer):
        size, = struct.unpack(">I", peer.read(4))
        code, = struct.unpack(">I", peer.read(size - 4)[:4])
        while code in (80877103, 80877104):  # TLS, GSSAPI
            peer.say(b"N")
            size, = struct.unpack(">I", peer.read(4))
            code, = struct.unpack(">I", peer.read(size - 4)[:4])
        if on_start:
            on_start(peer)
        peer.say(GREETING)
        while True:
            kind = peer.read(1)
            size, = struct.unpack(">I", peer.read(4))
            peer.read(size - 4)
            if kind == b"P":
                peer.say(packet(b"1"))
            elif kind == b"B":
                peer.say(packet(b"2"))
            elif kind == b"E":
                on_execute(peer)
            elif kind == b"S":
                peer.say(READY)
            elif kind == b"X":
                return

    return speak


class LyingProxy(LyingServer):
    """Passes on what a true server at BEHIND says, until LIE is set: lie(kind, content) is what is
    said instead of each of its packets, or None for its own."""

    def __init__(self, port, behind):
        self.behind = behind
        self.lie = None
        self.lied = 0  # packets
        super().__init__(port, self.pass_on)

    def pass_on(self, peer):
        with socket.create_connection(("127.0.0.1", self.behind)) as true:
            self.connections.append(true)
            threading.Thread(target=self.copy, args=(peer.socket, true), daemon=True).start()
            answers = Peer(self, true)
            answers.socket.settimeout(None)
            while True:
                kind = answers.read(1)
                size, = struct.unpack(">I", answers.read(4))
                content = answers.read(size - 4)
                lie = self.lie(kind, content) if self.lie else None
                self.lied += lie is not None
                peer.say(packet(kind, content) if lie is None else lie)

    @staticmethod
    def copy(source, target):
        source.settimeout(None)
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)


def values_of(content):
    """Of a row."""
    count, = struct.unpack(">H", content[:2])
    values, at = [], 2
    for _ in range(count):
        size, = struct.unpack(">i", content[at:at + 4])
        at += 4
        values.append(None if size < 0 else content[at:at + size])
        at += max(size, 0)
    return values
