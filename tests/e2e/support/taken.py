# SPDX-License-Identifier: ISC
"""What somebody does who has taken a process of a node over, knowing all our protocols: chosen by
a seed, among what harms most. Where he has root's powers he changes no file and signals nobody."""

import contextlib
import signal
import struct
import time

from taken_decoders import Decoders
from taken_logins import TRIES, Logins
from taken_process import (CONTROL, DATAGRAM, HELPERS, MSG, QUESTION, SEQPACKET, STREAM,
                           Enough)
from taken_words import (ASK, BACK, COMMIT, COMMITTED, COUNT, ENVELOPE, FINISH, GREET, HELLO, KILL,
                         MANAGE, MANAGED, OPEN, REPORT, RESOLVED, RUN, SHARE, SIGN, SIGNED, START,
                         STARTED, TARGETS, WHOLE, packet, text, u32, u64)

CHILD = range(1, 14)  # supervisor/child/child.h
READ_AT_ONCE = 8192
FLOOD = 1 << 20  # bytes of one
CROWDED = 1001  # recipients: one more than allowed
CROWD = 100  # connections
HOARDS = 4  # the same, by which he takes jobs
PATIENT = 200  # times that he looks for an answer which will come
WRITERS = ("queue", "send", "launch")  # of the log itself: not bounded (doc/security.md)
FORGED = b"f0f0-f0f0"
LONGEST = 3  # seconds of one act, on a busy machine
SETTLED = 1  # seconds after which an unwanted connection has been closed
AF_INET = 2


class Taken(Logins, Decoders):
    """The process PID, a PROGRAM of the node MX, until release()."""

    def __init__(self, mx, program, pid, seed):
        super().__init__(mx, program, pid, seed)
        self.hoards = {}  # connections by which he takes all and answers nothing: jobs of each
        self.crowd = {}  # connections that he leaves open: when they were made
        self.most = {}  # that he had at once, of what is bounded
        self.signed = 0
        self.signings = 0
        self.actions = [(action, weight) for action, weight in self.ACTIONS
                        if not self.is_root or action in self.ROOTS]
        self.untried = [action for action, _ in self.actions if action not in self.LAST]
        self.source.shuffle(self.untried)
        if program == "auth":  # before he has sent nonsense, and nobody believes him any more
            for action in "reach", "vouch":
                self.untried.remove(action)
                self.untried.append(action)
        if program == "decode":  # likewise
            self.untried.remove("swell")
            self.untried += ["swell", *["misdecode"] * self.source.choice((3, 10, 30))]
        if "keys" in TARGETS.get(program, ()):  # before he has used up the connections that he is given
            self.untried.remove("sign")
            self.untried.append("sign")
        self.is_heard = not self.is_root  # who cannot connect to others is heard by those who do
        if self.is_root:
            self.untried.insert(0, "misspeak")  # the last of them

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
            if self.source.random() < 0.3:
                said = packet(REPORT, self.lie(tag), tag)
                self.call("sendto", socket, f"~{said.hex()}", len(said), MSG, 0, 0)
            for kind in self.source.choices((REPORT, FINISH, RESOLVED, BACK), k=choose((0, 0, 1, 3))):
                said = packet(kind, self.body(kind), choose((tag, tag, tag, tag + 1)))
                self.call("sendto", socket, f"~{said.hex()}", len(said), MSG, 0, 0)
        if self.source.random() < 0.9:
            self.call("close", socket)

    def had(self, what, count):
        self.most[what] = max(self.most.get(what, 0), count)

    def hoard_jobs(self):
        """He says that he has places without end, as himself or as another, by as many connections
        as he likes, and finishes nothing."""
        if self.program not in HELPERS or self.program == "resolve":
            return
        if len(self.hoards) < HOARDS:
            service = self.source.choice((HELPERS[self.program], HELPERS[self.program],
                                          b"maildir", b"remote", b"box", b"run"))
            self.hoard_by(self.own_connection("send"), service)
        for socket in list(self.hoards):
            self.take_jobs(socket)
        self.had("jobs", sum(self.hoards.values()))
        if self.hoards and self.source.random() < 0.1:
            self.stop_hoarding(self.source.choice(list(self.hoards)))

    def hoard_by(self, socket, service):
        if socket < 0:
            return
        said = packet(HELLO, text(service) + u32(4 * 10**9) + text(self.token))
        self.call("sendto", socket, f"~{said.hex()}", len(said), MSG, 0, 0)
        self.hoards[socket] = 0

    def take_jobs(self, socket):
        for _ in range(50):
            heard = self.hear(socket)
            if heard is None:
                break
            self.hoards[socket] += len(heard) > 8 and struct.unpack("<HHI", heard[:8])[1] == START
        if self.call("recvmsg", socket, "?64", MSG)[:1] != ["-EAGAIN"]:
            self.stop_hoarding(socket)  # it was closed: his jobs are another's

    def stop_hoarding(self, socket):
        del self.hoards[socket]
        self.call("close", socket)

    def run_programs(self):
        """As many as he is given, and without end."""
        socket = self.own_connection("launch") if self.program == "pipe" else -1
        if socket < 0:
            return
        running = set()
        tell = lambda kind, tag, body: self.call(
            "sendto", socket, "~" + packet(kind, body, tag).hex(), 8 + len(body), MSG, 0, 0)
        tell(GREET, 0, text(self.token))
        for tag in range(self.source.choice((1, 5, 40))):
            tell(RUN, tag, self.order(RUN, b"run"))
            heard = self.hear(socket)
            if heard is None:
                continue
            _, kind, which = struct.unpack("<HHI", heard[:8])
            (running.add if kind == STARTED else running.discard)(which)
            self.had("programs", len(running))
        tell(self.source.choice((WHOLE, KILL)), self.source.choice((0, 1, 99)), b"")
        self.call("close", socket)

    def crowd_in(self):
        """Connections that he leaves open: one that was closed by the other side has an end."""
        name = self.source.choice([name for name in TARGETS.get(self.program, ("send",))
                                   if name != "directory"] or ["send"])
        for _ in range(8):
            socket = self.own_connection(name) if len(self.crowd) < CROWD else -1
            if socket >= 0:
                self.crowd[socket] = (name, time.monotonic())
        open_to = []
        for socket, (to, since) in list(self.crowd.items()):
            if time.monotonic() - since < SETTLED:
                continue
            if self.call("recvmsg", socket, "?64", MSG)[:1] == ["-EAGAIN"]:
                open_to.append(to)
            else:
                self.call("close", socket)
                del self.crowd[socket]
        for to in set(open_to):
            self.had(f"connections to {to}", open_to.count(to))

    def sign(self):
        """He poses as this host, until he was answered once: a busy machine does not answer in his time."""
        if "keys" not in TARGETS.get(self.program, ()):
            return
        socket = self.own_connection("keys")
        if socket >= 0:
            self.sign_by(socket)
        self.signings += 1
        if not self.signed and self.signings < TRIES:
            self.untried.append("sign")

    def sign_by(self, socket):
        """What he likes is signed, as much as he likes, in any wrong form; no answer has anything of
        the key itself (taken_judge.py)."""
        ecdsa, sha256 = 3, 1
        for tag in range(self.source.choice((1, 5, 200))):
            if self.source.random() < 0.02:
                kind, body = self.tls()
            else:
                kind, body = SIGN, (text(self.source.choice(self.keys)) + u32(ecdsa) + u32(sha256) +
                                    text(self.source.randbytes(32)))
            said = packet(kind, body, tag)[:60000]
            if self.number_of("sendto", socket, f"~{said.hex()}", len(said), MSG, 0, 0) < 0:
                break
        for heard in iter(lambda: self.hear(socket, PATIENT), None):
            if len(heard) < 8:
                break
            self.signed += struct.unpack("<HH", heard[:4])[1] == SIGNED and len(heard) > 60
        self.call("close", socket)

    def misinform(self):
        """He asks "policy" for all there is, and counts what was not."""
        socket = self.own_connection("policy") if "policy" in TARGETS.get(self.program, ()) else -1
        if socket < 0:
            return
        for tag in range(self.source.choice((1, 20, 200))):
            said = packet(ASK, text(b"d%d.thief.test" % self.source.randrange(1000)), tag)
            if self.source.random() < 0.5:
                said = packet(COUNT, text(b"b.test") + u32(self.source.choice((0, 1, 2))) + text(b"") +
                              u32(self.source.choice((0, 1, 5))) + 4 * text(b"x%d" % tag), 0)
            self.call("sendto", socket, f"~{said.hex()}", len(said), MSG, 0, 0)
        self.hear(socket)
        self.call("close", socket)

    def scribble(self):
        """Into the log, in the name of others; again and again."""
        if self.program in WRITERS:
            return
        line = (b"time=2026-11-22T23:21:43.955713Z level=info process=send[1] event=delivered "
                b"id=" + FORGED + b" to=anna@a.test text=" + b"x" * self.source.choice((1, 90)))
        said = (line + b"\n") * self.source.choice((1, 30))
        for _ in range(self.source.choice((1, 100))):
            self.call("write", 2, f"~{said.hex()}", len(said))

    def bring(self):
        """He opens messages as he may, keeps their files, and changes what he has committed."""
        socket = self.own_connection("queue") if "queue" in TARGETS.get(self.program, ()) else -1
        if socket < 0:
            return
        tell = lambda kind, body: self.call("sendto", socket, "~" + packet(kind, body).hex(),
                                            8 + len(body), MSG, 0, 0)
        self.numbers = []
        for _ in range(self.source.choice((1, 1, 8, 40))):
            tell(OPEN, u32(self.source.choice((16, 128))))
            if self.hear(socket, PATIENT) is None:
                break
        self.had("numbers", len(set(self.numbers)))
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

    def commit_to_many(self):
        """A message that is as it should be, but for how many it is to."""
        may = "queue" in TARGETS.get(self.program, ()) and self.program != "list"  # lists are long
        socket = self.own_connection("queue") if may else -1
        if socket < 0:
            return
        tell = lambda kind, body: self.call("sendto", socket, "~" + packet(kind, body).hex(),
                                            8 + len(body), MSG, 0, 0)
        self.numbers = []
        tell(OPEN, u32(1))
        self.hear(socket, PATIENT)
        for number in self.numbers[:1]:
            count = self.source.choice((CROWDED, CROWDED, 10 * CROWDED))
            *parts, last = self.envelope_to(number, count)
            for part in parts:
                tell(ENVELOPE, u64(number) + text(part))
            tell(COMMIT, u64(number) + text(last) + text(b"loot\r\n"))
            for heard in iter(lambda: self.hear(socket, PATIENT), None):
                if len(heard) < 8:
                    break
                if (struct.unpack("<HH", heard[:4])[1] == COMMITTED and
                        u64(number) + u32(0) in heard):
                    self.had("recipients", count)
        self.call("close", socket)

    def tell_supervisor(self):
        """What he must not: it ends him, or its connections for him."""
        said = self.source.choice((packet(self.source.choice((*CHILD, 99)), b"\xff" * 4),
                                   packet(9, u32(2**32 - 1)), b"", b"x" * 60000))
        to = self.source.choice((self.control, self.connector or self.control))
        self.call("sendto", to, f"~{said.hex()}", len(said), MSG, 0, 0)

    def manage(self):
        """He would be "send" to "queue", which then hands him every message."""
        socket = self.own_connection("queue") if self.program != "send" else -1
        if socket < 0:
            return
        said = packet(MANAGE, text(self.token))
        self.call("sendto", socket, f"~{said.hex()}", len(said), MSG, 0, 0)
        for _ in range(20):
            heard = self.hear(socket, PATIENT)
            if not heard:
                break
            if len(heard) >= 8 and struct.unpack("<HH", heard[:4])[1] == MANAGED:
                self.had("times manager of the queue", 1)
        self.call("close", socket)

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

    def welcome(self):
        """Whoever connects to him."""
        for socket in self.listeners:
            self.call("fcntl", socket, 4, 0o4000)  # F_SETFL: it does not block
            while (made := self.number_of("accept4", socket, 0, 0, 0o2004000)) >= 0:
                self.sockets.append(made)

    def misspeak(self):
        """To each, in a version that there is not: whoever hears him has something to say of it.
        Until somebody does, it is tried again."""
        said = packet(STARTED, b"", version=9)
        for socket in self.sockets:
            self.is_heard |= self.number_of("sendto", socket, f"~{said.hex()}", len(said), MSG, 0,
                                            0) > 0
        if not self.is_heard:
            self.untried = ["misspeak", "welcome"]

    def descriptors(self):
        for _ in range(self.source.randint(1, 100)):
            if self.number_of("dup", self.source.choice(self.sockets)) < 0:
                return

    ACTIONS = (("say", 30), ("hear", 20), ("flood", 5), ("connect", 6), ("help", 10), ("bring", 10),
               ("keep", 10), ("ask_wrongly", 0.3), ("tell_supervisor", 0.02), ("signal", 3),
               ("listener", 2), ("network", 2), ("files", 2), ("descriptors", 0.2),
               ("hoard_jobs", 15), ("manage", 10), ("commit_to_many", 3), ("run_programs", 4),
               ("crowd_in", 4), ("scribble", 4), ("welcome", 4), ("sign", 4), ("misinform", 2), ("vouch", 10), ("reach", 2),
               ("guess", 4), ("misdecode", 30), ("swell", 0.3))
    LAST = ("tell_supervisor", "listener", "descriptors")  # after these much else cannot be tried
    # Of root's: nothing that the whole machine would feel.
    ROOTS = ("say", "hear", "flood", "listener", "descriptors", "tell_supervisor", "welcome")

    def act(self):
        """One thing; False when it has ended."""
        action = (self.untried.pop() if self.untried else
                  self.source.choices(*zip(*self.actions))[0])
        self.until = time.monotonic() + LONGEST
        with contextlib.suppress(Enough):
            getattr(self, action)()
        self.until = float("inf")
        return self.inside.poll() is None and self.call("getpid")[:1] == [str(self.own_pid)]
