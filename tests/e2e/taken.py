# SPDX-License-Identifier: ISC
"""A process of a node that somebody has taken over: he stops it (tests/sandbox/inside.c) and makes
calls in its name, with its user, groups, sandbox, descriptors and token, knowing all our protocols.
What he does is chosen by a seed, among what harms most. Where he has root's powers he changes no
file and signals nobody."""

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

from inside import INSIDE
from test_hostile_processes import find_token

HELLO, START, REPORT, FINISH, RESOLVE, RESOLVED, AWAIT, BACK, DRAIN, RETIRE, CONTENT = range(1, 12)
(OPEN, OPENED, REFUSED, SHARE, SHARED, DATA, ENVELOPE, COMMIT, COMMITTED, ABANDON, MANAGE, QUEUED,
 MISSED, REMOVE, MANAGED, REMOVED, CLEANED, LOAD, FOUND, STANDS) = range(33, 53)
CHILD = range(1, 14)  # program/child.h
SERVICES = (b"maildir", b"remote", b"resolve", b"list", b"box", b"run")
TRIGGERS = (b"", b"directory", b"host.x", b"hold.1", b"../../x", b"a\nb")
MSG = 0x4040  # MSG_DONTWAIT | MSG_NOSIGNAL
READ_AT_ONCE = 8192
FLOOD = 1 << 20  # bytes of one
ASKED = 30  # times that he looks for an answer
CONTROL = 3  # program/child.h
QUESTION = struct.Struct("<Ii108s")  # os/connector.h
PIDFD_GETFD = 438
HELPERS = {"resolve": b"resolve", "remote": b"remote", "list": b"list", "local": b"maildir",
           "lmtp": b"box", "pipe": b"run"}
TARGETS = {"smtpd": ("queue", "directory"), "send": ("queue",), "resolve": ("send", "directory"),
           "list": ("send", "queue", "directory")}  # the others: "send"
KEPT = 64  # descriptors that he was handed: he reads in them again and again
AF_INET, STREAM, DATAGRAM, SEQPACKET = 2, 1, 2, 5


def u32(value):
    return struct.pack("<I", value & 0xffffffff)


def u64(value):
    return struct.pack("<Q", value & (1 << 64) - 1)


def text(value):
    return u32(len(value)) + value


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


def packet(kind, body=b"", tag=0, version=1):
    return struct.pack("<HHI", version, kind, tag) + body


def netstring(value):
    return b"%d:%s," % (len(value), value)


class Taken:
    """The process PID, a PROGRAM of the node MX, until release()."""

    def __init__(self, mx, program, pid, seed):
        self.mx = mx
        self.program = program
        self.pid = pid
        self.source = random.Random(seed)
        # With a service that has a user, "pipe" is root's, and so are its powers (doc/security.md).
        self.is_root = os.stat(f"/proc/{pid}").st_uid == 0
        self.heard = []  # bytes that he came by
        self.kept = []  # descriptors that came to him
        self.numbers = []  # that "queue" gave him
        self.questions = []  # that a directory was asked
        self.packets = []  # that he was sent, to be replayed
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

    def find_sockets(self):
        found = []
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{self.pid}/fd/{name}").startswith("socket:"):
                    found.append(int(name))
        return found

    # --- what he says ---

    def number(self):
        return self.source.choice(self.numbers or [1]) if self.source.random() < 0.8 else \
            self.source.choice((0, 1, 2**32, 2**63, 2**64 - 1))

    def envelope(self):
        lines = [b"stagepost 1", b"id: %d-1" % self.number(), b"from: <a@b.test>",
                 b"to: 1 <anna@a.test>", b"to: 1 <%s>" % (b"x" * self.source.choice((5, 9000))),
                 b"size: 9", b"at: %020d" % 7, b"end:", b"\0" * 9]
        if self.source.random() < 0.3:  # as it should be
            return (b"stagepost 1\nid: %d-660b1182f1e21\nstage: arrive\n"
                    b"born: 2026-11-20T08:33:11.482913Z\nfrom: <thief@client.test>\nsize: %d\n"
                    b"to: 1 <thief@a.test>\nend:\n" % (self.number(), self.source.choice((0, 6))))
        return b"\n".join(self.source.choices(lines, k=self.source.randint(0, 12))) + b"\n"

    def report(self):
        choose = self.source.choice
        return (u32(choose((0, 1, 2, 7, 2**32 - 1))) + u32(choose((0, 0, 0, 1, 255))) +
                text(choose((b"2.0.0", b"4.4.1", b"5.1.1", b"2", b"9" * 500))) +
                text(choose((b"done", b"a\nb", b"x" * 50000))) + text(choose(TRIGGERS)))

    def target(self):
        choose = self.source.choice
        return (u32(choose((0, 1, 9))) + u32(choose((0, 1, 2, 7))) + text(choose(SERVICES)) +
                text(choose((b"anna@a.test", b"", b"x" * 60000, b"a>\n"))) + text(b"") + text(b""))

    def body(self, kind):
        choose = self.source.choice
        large = b"z" * choose((0, 1, 100, 30000, 60000))
        return {
            HELLO: lambda: text(choose(SERVICES)) + u32(choose((0, 1, 4 * 10**9))) +
            text(choose((self.token, b"", b"send-" + b"0" * 32))),
            MANAGE: lambda: text(self.token),
            REPORT: self.report, FINISH: self.report,
            RESOLVE: lambda: u64(self.number()) + u32(1) + text(b"") + u32(1) + u32(1) + text(b"a"),
            RESOLVED: lambda: u64(self.number()) + u32(choose((0, 1, 7))) + u32(choose((0, 1, 4))) +
            u64(1) + u32(choose((0, 1, 2**32 - 1))) + self.target(),
            OPEN: lambda: u32(choose((0, 1, 16, 128, 2**32 - 1))),
            SHARE: lambda: u64(self.number()),
            DATA: lambda: u64(self.number()) + text(large),
            ENVELOPE: lambda: u64(self.number()) + text(self.envelope() + large[:30000]),
            COMMIT: lambda: u64(self.number()) + text(self.envelope()) + text(large),
            ABANDON: lambda: u64(self.number()),
            COMMITTED: lambda: (u64(self.number()) + u32(choose((0, 5)))) * choose((1, 1000)),
            QUEUED: lambda: u32(0) + u64(self.number()) + text(self.envelope()),
            REMOVE: lambda: u32(choose((0, 1, 2))) + u32(0) + u64(choose((11, 12, 13, 14, 15))),
            REMOVED: lambda: u64(self.number()), FOUND: lambda: u32(0) + u64(self.number()),
            STANDS: lambda: u32(0) + u64(self.number()),
        }.get(kind, lambda: b"")()

    def frame(self):
        """Of the directory's protocol (src/directory/frame.h), to whoever it is."""
        choose = self.source.choice
        question = b"%d" % choose(self.questions or [1])
        key = choose((b"a.test", b"anna@a.test", b"list@d.test", b"x" * 5000, b"\n", b"d.test"))
        table = choose((b"domain", b"address", b"route", b"list", b"secret", b"x"))
        words = choose((
            (b"val", question, b"%d" % choose((0, 1000, 2**63)), b"%d" % choose((0, 9, 2**64)),
             choose((b"kind mailbox", b"kind local", b"on domain " + key, b"= " + key, b"x"))),
            (b"none", question, b"0", b"9"), (b"part", question, b"kind mailbox"),
            (b"err", question, choose((b"later", b"bad", b"storage", b"?")), b"no"),
            (b"new", b"%d" % choose((0, 9, 2**63)), table, key), (b"reset", b"other", b"1"),
            (b"hello", b"1", b"other", b"1", b"read"), (b"down",), (b"up",), (b"ok", question, b"7"),
            (b"get", question, table, key), (b"put", question, table, key, b"kind mailbox"),
            (b"del", question, table, key), (b"list", question, table, b"", b"", b"9" * 9),
            (b"since", b"other", b"0"), (b"watch",), (b"ping", question), (b"stats", question)))
        said = netstring(b"".join(map(netstring, words))) * choose((1, 1, 1, 1000 if len(key) < 9
                                                                     else 1))
        return said[:choose((len(said), len(said), len(said), 9))][:60000]

    def sentence(self):
        source = self.source
        if source.random() < (0.8 if self.program == "directory" else
                              0.2 if "directory" in TARGETS.get(self.program, ()) else 0.02):
            return self.frame()
        if self.packets and source.random() < 0.15:  # a replay
            return source.choice(self.packets)
        kind = source.choice((*range(1, 12), *range(33, 53), *([OPEN, SHARE, DATA] * 2), 99))
        said = bytearray(packet(kind, self.body(kind), source.choice((0, 1, 2, 3, 2**32 - 1)),
                                1 if source.random() < 0.98 else 2))
        if source.random() < 0.1:  # of a wrong size
            del said[source.randrange(len(said)):]
        if source.random() < 0.05 and said:
            said[source.randrange(len(said))] ^= 1 << source.randrange(8)
        return bytes(said)

    # --- what he does ---

    def say(self, to=None):
        to = to if to is not None else self.source.choice(self.sockets)
        said = self.sentence()
        if self.source.random() < 0.1:
            self.call("sendmsg", to, f"+{self.source.choice(self.kept or [0])}:{said.hex()}", MSG)
        else:
            self.call("sendto", to, f"~{said.hex()}", len(said), MSG, 0, 0)

    def flood(self):
        """The same again and again, reading nothing."""
        to, said = self.source.choice(self.sockets), self.sentence()
        for _ in range(min(self.source.choice((20, 100, 400)), FLOOD // (len(said) + 1) + 5)):
            if self.number_of("sendto", to, f"~{said.hex()}", len(said), MSG, 0, 0) < 0:
                return

    def receive(self, socket, room):
        """What comes soon."""
        words = []
        for _ in range(ASKED):
            words = self.call("recvmsg", socket, f"?{room}", MSG)
            if words[:1] != ["-EAGAIN"]:
                break
            time.sleep(0.001)  # his own pace: nothing is waited for by the test
        return words

    def hear(self, socket=None):
        words = self.receive(socket, 65536) if socket is not None else self.call(
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
        _, kind, _ = struct.unpack("<HHI", heard[:8])
        if kind == OPENED:
            self.numbers = (self.numbers + [number for (number,) in struct.iter_unpack(
                "<Q", heard[8:8 + (len(heard) - 8) // 8 * 8])])[-1000:]
        if len(self.packets) < 200:
            self.packets.append(heard)

    def connect(self):
        """As whoever he likes to be, to whom he likes."""
        name, kind = self.source.choice((("queue", SEQPACKET), ("send", SEQPACKET),
                                         ("notify", DATAGRAM), ("directory", STREAM)))
        socket = self.number_of("socket", 1, kind | 0o4000, 0)
        if socket >= 0:
            self.call("connect", socket, f"=@unix:{self.mx.run}/{name}", 110)
        else:
            socket = self.ask(f"{self.mx.run}/{name}", kind)
        if socket < 0:
            return
        for _ in range(self.source.randint(1, 5)):
            self.say(socket)
        order = self.source.choice((b"remove 12", b"flush", b"hold 12", b"stop", b"\0" * 999))
        self.call("sendto", socket, f"~{order.hex()}", len(order), MSG, 0, 0)
        self.hear(socket)
        if self.source.random() < 0.7 or len(self.sockets) > 200:
            self.call("close", socket)
        else:
            self.sockets.append(socket)  # and is silent

    def ask(self, path, kind):
        """The supervisor for a connection, as who cannot make one does."""
        if self.connector is None:
            return -1
        question = QUESTION.pack(self.source.randrange(1 << 32), kind, path.encode()[:108])
        self.call("sendto", self.connector, f"~{question.hex()}", len(question), MSG, 0, 0)
        words = self.receive(self.connector, 64)
        return int(words[2]) if len(words) > 2 and words[2].isdigit() else -1

    def ask_wrongly(self):
        """For what is not his; at a rate that is not, of any kind."""
        choose = self.source.choice
        for _ in range(choose((1, 3, 40))):
            path = choose((f"{self.mx.run}/send", f"{self.mx.run}/notify", "/dev/log", "",
                           "/run/systemd/private", "x" * 200, f"{self.mx.run}/../run/queue"))
            question = QUESTION.pack(7, choose((STREAM, SEQPACKET, DATAGRAM, 99, -1)),
                                     path.encode()[:108])
            if self.connector is not None:
                self.call("sendto", self.connector, f"~{question.hex()}", len(question), MSG, 0, 0)

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

    def help(self):
        """He is believed, by his token, and lies about what he is given: what is done is not, what
        is not his is, twice, and not at all."""
        service = HELPERS.get(self.program)
        socket = self.own_connection("send") if service else -1
        if socket < 0:
            return
        choose = self.source.choice
        if self.source.random() < 0.2:  # or he says that he is another
            service = choose(sorted(HELPERS.values()))
        said = packet(HELLO, text(service) + u32(choose((1, 20, 4 * 10**9))) + text(self.token))
        self.call("sendto", socket, f"~{said.hex()}", len(said), MSG, 0, 0)
        for _ in range(choose((1, 5, 40))):
            heard = self.hear(socket)
            if heard is None or len(heard) < 8:
                continue
            tag = struct.unpack("<HHI", heard[:8])[2]
            for kind in self.source.choices((REPORT, FINISH, RESOLVED, BACK), k=choose((0, 1, 3))):
                said = packet(kind, self.body(kind), choose((tag, tag, tag, tag + 1)))
                self.call("sendto", socket, f"~{said.hex()}", len(said), MSG, 0, 0)
        if self.source.random() < 0.9:
            self.call("close", socket)

    def bring(self):
        """He opens messages as he may, keeps their files, and changes what he has committed."""
        socket = self.own_connection("queue") if "queue" in TARGETS.get(self.program, ()) else -1
        if socket < 0:
            return
        tell = lambda kind, body: self.call("sendto", socket, "~" + packet(kind, body).hex(),
                                            8 + len(body), MSG, 0, 0)
        self.numbers = []
        for _ in range(self.source.choice((1, 1, 8, 60))):
            tell(OPEN, u32(16))
            if self.hear(socket) is None:
                break
        for number in self.numbers[-16:]:
            if self.source.random() < 0.5:
                tell(SHARE, u64(number))
                self.hear(socket)
                self.keep()
            if self.source.random() < 0.5:
                tell(COMMIT, u64(number) + text(self.envelope()) + text(b"loot\r\n"))
            self.keep()
        if self.source.random() < 0.9:
            self.call("close", socket)

    def tell_supervisor(self):
        """What he must not: it ends him, or its connections for him."""
        said = self.source.choice((packet(self.source.choice((*CHILD, 99)), b"\xff" * 4),
                                   packet(9, u32(2**32 - 1)), b"", b"x" * 60000))
        to = self.source.choice((self.control, self.connector or self.control))
        self.call("sendto", to, f"~{said.hex()}", len(said), MSG, 0, 0)

    def keep(self):
        """Looks what became of what he was handed, and changes it."""
        if not self.kept:
            return
        file = self.source.choice(self.kept)
        words = self.call("pread64", file, f"&{READ_AT_ONCE}", READ_AT_ONCE,
                          self.source.choice((0, 0, 5000, 100000)))
        if len(words) > 1:
            with contextlib.suppress(ValueError):
                self.heard.append(bytes.fromhex(words[1]))
        self.call("pwrite64", file, "~" + b"stolen\n".hex() * 20, 140, self.source.choice((0, 400)))
        self.call("ftruncate", file, self.source.choice((0, 1, 1 << 40)))

    def signal(self):
        if self.is_root:
            return
        if self.source.random() < 0.3:  # whom it would reach, it tells
            self.call("kill", -1, 0)
            return
        other = self.source.choice(self.others)
        number = int(self.source.choice((signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)))
        self.call(self.source.choice(("kill", "tgkill")), other, number, number)

    def listener(self):
        """What is shared with others is spoilt for them."""
        socket = self.source.choice(self.sockets)
        choose = self.source.random()
        if choose < 0.2 and socket > 3:
            self.call("shutdown", socket, self.source.choice((0, 1, 2)))
        elif choose < 0.5:
            self.call("fcntl", socket, 4, 0)  # F_SETFL: it blocks
        elif choose < 0.7:
            self.call("setsockopt", socket, 1, self.source.choice((7, 8, 20, 21, 26)), "*16", 16)
        elif choose < 0.85:
            self.call("listen", socket, 0)
        else:
            self.call("connect", socket, "*16", 16)  # AF_UNSPEC

    def network(self):
        socket = self.number_of("socket", AF_INET, STREAM, 0)
        to = f"=@inet:{self.mx.port}"
        self.call("sendto", socket if socket >= 0 else self.source.choice(self.sockets),
                  "~41", 1, 0x20000000 | MSG, to, 16)
        if socket >= 0:
            self.call("close", socket)

    def files(self):
        """What is the machine's is only read: where a wall does not hold, nothing is harmed but
        what the test made."""
        read_only = ("/etc/shadow", "/etc/passwd", f"/proc/{self.source.choice(self.others)}/mem")
        own = (self.mx.conf, f"{self.mx.queue}/format", f"{self.mx.run}/queue",
               f"{self.mx.run}/stagepost.pid", f"{self.mx.mail}/a.test")
        if self.source.random() < 0.5:
            file = self.number_of("openat", -100, f"={self.source.choice(read_only)}", 0, 0)
            if file >= 0:
                self.call("close", file)
            return
        path = self.source.choice(own)
        assert path.startswith(self.mx.directory + "/")
        if not self.is_root:
            self.call(self.source.choice(("unlinkat", "fchmodat")), -100, f"={path}", 0, 0)

    def descriptors(self):
        for _ in range(self.source.randint(1, 100)):
            if self.number_of("dup", self.source.choice(self.sockets)) < 0:
                return

    ACTIONS = ((say, 30), (hear, 20), (flood, 5), (connect, 6), (help, 10), (bring, 10), (keep, 10),
               (ask_wrongly, 0.3), (tell_supervisor, 0.02), (signal, 3), (listener, 2), (network, 2),
               (files, 2), (descriptors, 0.2))

    def act(self):
        """One thing; False when it has ended."""
        (action,) = self.source.choices([action for action, _ in self.ACTIONS],
                                        [weight for _, weight in self.ACTIONS])
        action(self)
        return self.inside.poll() is None and self.call("getpid")[:1] == [str(self.own_pid)]
