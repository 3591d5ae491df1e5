# SPDX-License-Identifier: ISC
"""A process of a node in the hands of somebody else: he stops it (tests/sandbox/inside.c) and makes
calls in its name, with its user, groups, sandbox, descriptors and token."""

import contextlib
import ctypes
import os
import random
import re
import signal
import socket as sockets
import struct
import subprocess
import time

from inside import INSIDE, status_of
from taken_words import OPENED, START, Words, first_recipient
from test_hostile_processes import find_token

MSG = 0x4040  # MSG_DONTWAIT | MSG_NOSIGNAL
ASKED = 30  # times that he looks for an answer
CONTROL = 3  # supervisor/child/child.h
QUESTION = struct.Struct("<Ii108s")  # os/socket/connector.h
PIDFD_GETFD = 438
HELPERS = {"resolve": b"resolve", "remote": b"remote", "list": b"list", "local": b"maildir",
           "lmtp": b"box", "pipe": b"run", "mailbox": b"once"}
KEPT = 64  # descriptors that he was handed: he reads in them again and again
STREAM, DATAGRAM, SEQPACKET = 1, 2, 5


class Enough(Exception):
    """What he does takes too long."""


def find_connector(pid):
    """The descriptor by which it asks the supervisor for connections: one end of a pair, as only
    the control socket is besides. None: it has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(pid)
    try:
        for name in sorted(map(int, os.listdir(f"/proc/{pid}/fd"))):
            copy = libc.syscall(PIDFD_GETFD, process, name, 0)
            if copy < 0:
                continue
            try:
                one = sockets.socket(fileno=copy)
            except OSError:  # no socket
                os.close(copy)
                continue
            with one, contextlib.suppress(OSError):  # not connected
                if (name > CONTROL and one.family == sockets.AF_UNIX and
                        one.type == sockets.SOCK_SEQPACKET and not one.getsockname() and
                        not one.getpeername()):
                    return name
    finally:
        os.close(process)
    return None


def find_listeners(pid, names):
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(pid)
    try:
        found = []
        for name in names:
            with sockets.socket(fileno=libc.syscall(PIDFD_GETFD, process, name, 0)) as one:
                if one.getsockopt(sockets.SOL_SOCKET, sockets.SO_ACCEPTCONN):
                    found.append(name)
        return found
    finally:
        os.close(process)


class Hands(Words):
    """The process PID, a PROGRAM of the node MX, until release()."""

    def __init__(self, mx, program, pid, seed):
        super().__init__(program, random.Random(seed))
        self.mx = mx
        self.pid = pid
        # Where a service has a user, "launch" is root's, and so are its powers (doc/security.md).
        self.uid = int(status_of(pid)["Uid"][0])
        self.is_root = self.uid == 0
        self.until = float("inf")  # when he has had enough of what he does
        self.span = 0, 0  # the last message that the ledger knew before and after he came
        self.heard = []  # bytes that he came by
        self.kept = []  # descriptors that came to him
        self.counts = {}
        self.acts = 0
        self.others = [other for other in mx.pids() if other != pid] + [mx.process.pid]
        self.inside = subprocess.Popen([INSIDE, str(pid)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        self.own_pid = int(self.call("getpid")[0])
        self.token = (find_token(pid, program) or b"") if program in HELPERS or program == "send" \
            else b""
        self.connector = find_connector(pid)
        self.control = CONTROL
        self.sockets = [one for one in self.find_sockets() if one not in (CONTROL, self.connector)]
        self.listeners = find_listeners(pid, self.sockets) if (
            self.is_root or program in ("auth", "decode")) else []

    def release(self):
        """It ends, as who was found out would: its supervisor starts another one."""
        with contextlib.suppress(OSError):
            self.inside.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.inside.wait(20)
        self.inside.stdout.close()

    def call(self, name, *arguments):
        """Its result, "-EPERM", and what came with it; [] when it has ended."""
        if time.monotonic() > self.until:
            raise Enough
        try:
            print(name, *arguments, file=self.inside.stdin, flush=True)
            words = self.inside.stdout.readline().split()
        except OSError:
            return []
        self.counts[name] = self.counts.get(name, 0) + 1
        return words

    def number_of(self, name, *arguments):
        words = self.call(name, *arguments)
        return int(words[0]) if words and not words[0].startswith("-") else -1

    def tell(self, socket, said):
        return self.number_of("sendto", socket, f"~{said.hex()}", len(said), MSG, 0, 0)

    def find_sockets(self):
        found = []
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{self.pid}/fd/{name}").startswith("socket:"):
                    found.append(int(name))
        return found

    def receive(self, socket, room, patience=ASKED):
        """What comes soon."""
        words = []
        for _ in range(patience):
            words = self.call("recvmsg", socket, f"?{room}", MSG)
            if words[:1] != ["-EAGAIN"]:
                break
            time.sleep(0.001)  # his own pace: nothing is waited for by the test
        return words

    def hear(self, socket=None, patience=ASKED):
        words = self.receive(socket, 65536, patience) if socket is not None else self.call(
            "recvmsg", self.source.choice(self.sockets), "?65536", MSG)
        heard = None
        if len(words) < 2 or words[0].startswith("-"):
            return None
        with contextlib.suppress(ValueError):
            heard = bytes.fromhex(words[1])
            self.note(heard)
            self.kept += [int(word) for word in words[2:] if word.isdigit()]
        for old in self.kept[:-KEPT]:
            self.call("close", old)
        del self.kept[:-KEPT]
        return heard

    def note(self, heard):
        self.heard.append(heard)
        self.questions = (self.questions + [
            int(number) for number in re.findall(rb"3:get,\d+:(\d+),", heard)])[-100:]
        if len(heard) < 8:
            return
        _, kind, tag = struct.unpack("<HHI", heard[:8])
        if kind == OPENED:
            self.numbers = (self.numbers + [number for (number,) in struct.iter_unpack(
                "<Q", heard[8:8 + (len(heard) - 8) // 8 * 8])])[-2000:]
        if kind == START:
            self.recipients[tag] = first_recipient(heard[8:])
        self.tags = (self.tags + [tag])[-100:]
        if len(self.packets) < 200:
            self.packets.append(heard)

    def ask(self, path, kind):
        """The supervisor for a connection, as who cannot make one does."""
        if self.connector is None:
            return -1
        question = QUESTION.pack(self.source.randrange(1 << 32), kind, path.encode()[:108])
        self.call("sendto", self.connector, f"~{question.hex()}", len(question), MSG, 0, 0)
        while True:
            words = self.receive(self.connector, 64)
            if len(words) < 2 or words[0].startswith("-"):
                return -1
            given = int(words[2]) if len(words) > 2 and words[2].isdigit() else -1
            if bytes.fromhex(words[1])[:4] == question[:4]:
                return given
            if given >= 0:  # of a question that he no longer waits for
                self.call("close", given)

    def own_connection(self, name):
        """Made as the process itself would make it."""
        path = f"{self.mx.run}/{name}"
        socket = self.ask(path, SEQPACKET)
        if socket < 0:
            socket = self.number_of("socket", 1, SEQPACKET | 0o4000, 0)
            if socket >= 0 and self.number_of("connect", socket, f"=@unix:{path}", 110) < 0:
                self.call("close", socket)
                socket = -1
        return socket
