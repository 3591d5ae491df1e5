# SPDX-License-Identifier: ISC
"""What somebody says who has taken a process of a node over: all our protocols, and what almost is
one of them."""

import struct

HELLO, START, REPORT, FINISH, RESOLVE, RESOLVED, AWAIT, BACK, DRAIN, RETIRE, CONTENT = range(1, 12)
(OPEN, OPENED, REFUSED, SHARE, SHARED, DATA, ENVELOPE, COMMIT, COMMITTED, ABANDON, MANAGE, QUEUED,
 MISSED, REMOVE, MANAGED, REMOVED, CLEANED, LOAD, FOUND, STANDS, RELEASE, UNKNOWN, OPEN_RESERVE, NODE_GREET, NODE_KEPT,
 NODE_GREETED, COMMIT_HANDED, SETTLE, DROP) = range(33, 62)
# deliver/launch/launch.h
GREET, RUN, STARTED, NOT_STARTED, WHOLE, KILL, ENDED = range(1, 8)
SET_PART, SET_END, SIGN, SIGNED = range(1, 5)  # src/keys/protocol.h
ASK, COUNT, ANSWER = range(1, 4)  # src/policy/sts/protocol.h
OFFER, BEGIN_LOGIN, RESPOND_LOGIN, CANCEL_LOGIN, JUDGE = range(1, 6)  # src/auth/protocol.h
ACCEPTED = 1  # src/auth/client.h
DECODE_HELLO, DECODE_ASK, DECODE_CONTENT, DECODE_PART, DECODE_END, DECODE_LAST = range(1, 7)  # src/filing/decode/protocol.h
KEY_ID = 32  # bytes
SERVICES = (b"maildir", b"remote", b"resolve", b"list", b"box", b"run", b"once")
PART = 50000  # bytes of an envelope in one packet
ENVELOPE_MAX = 40000  # that a call of inside.c takes it with data
TRIGGERS = (b"", b"directory", b"host.x", b"hold.1", b"pipe.run.x", b"../../x", b"a\nb")
# to whom the process has connections; the others: "send"
TARGETS = {"smtpd": ("queue", "directory", "names", "keys", "auth"), "auth": ("directory",),
           "qmtpd": ("queue", "directory", "names", "keys"),
           "remote": ("send", "keys", "policy"),
           "noded": ("queue", "send", "directory", "keys"), "handover": ("send", "directory", "keys"),
           "lmtp": ("send", "keys"), "policy": ("queue",), "send": ("queue",), "resolve": ("send", "directory"),
           "list": ("send", "queue", "directory"), "pipe": ("send", "launch"),
           "mailbox": ("send", "directory", "decode", "decode2")}


def u32(value):
    return struct.pack("<I", value & 0xffffffff)


def u64(value):
    return struct.pack("<Q", value & (1 << 64) - 1)


def text(value):
    return u32(len(value)) + value


def packet(kind, body=b"", tag=0, version=1):
    return struct.pack("<HHI", version, kind, tag) + body


def netstring(value):
    return b"%d:%s," % (len(value), value)


def first_recipient(start):
    """Its number in the body of a START (src/ipc/job.h), which is well formed."""
    at = 16
    at += 4 + int.from_bytes(start[at:at + 4], "little") + 16  # the sender; size and two numbers
    for _ in range(3):  # the envelope's id, the destination, where it came from
        at += 4 + int.from_bytes(start[at:at + 4], "little")
    return int.from_bytes(start[at + 4:at + 8], "little")


class Words:
    """Of a program, chosen by a source of chance, about what it knows."""

    def __init__(self, program, source):
        self.program = program
        self.source = source
        self.token = b""
        self.numbers = []  # that "queue" gave him
        self.questions = []  # that a directory was asked
        self.packets = []  # that he was sent, to be replayed
        self.tags = []  # of those
        self.keys = []  # by which "keys" signs
        self.recipients = {}  # of jobs, by their tags: the number of the first

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
        lines = self.source.choices(lines, k=self.source.randint(0, 12))
        return b"\n".join(lines)[:ENVELOPE_MAX] + b"\n"

    @staticmethod
    def envelope_to(number, count):
        """As it should be, in parts that fit into packets."""
        whole = (b"stagepost 1\nid: %d-660b1182f1e21\nstage: arrive\n"
                 b"born: 2026-11-20T08:33:11.482913Z\nfrom: <>\nsize: 6\n" % number +
                 b"".join(b"to: %d <thief@a.test>\n" % (index + 1) for index in range(count)) +
                 b"end:\n")
        return [whole[at:at + PART] for at in range(0, len(whole), PART)]

    def report(self):
        choose = self.source.choice
        return (u32(choose((0, 1, 2, 7, 2**32 - 1))) + u32(choose((0, 0, 0, 1, 255))) +
                text(choose((b"2.0.0", b"4.4.1", b"5.1.1", b"2", b"9" * 500))) +
                text(choose((b"done", b"a\nb", b"x" * 50000))) + text(choose(TRIGGERS)))

    def lie(self, tag):
        """About what he was given: it waits, for what is not his."""
        return (u32(self.recipients.get(tag, 1)) + u32(0) + text(b"4.4.1") + text(b"no") +
                text(self.source.choice(TRIGGERS[:5])))

    def target(self):
        choose = self.source.choice
        return (u32(choose((0, 1, 9))) + u32(choose((0, 1, 2, 7))) + text(choose(SERVICES)) +
                text(choose((b"", b"127.0.0.1:1", b"x:y\n"))) +
                text(choose((b"anna@a.test", b"", b"x" * 60000, b"a>\n"))) + text(b"") + text(b""))

    def serial(self):
        """Another node, and which of its connections."""
        choose = self.source.choice
        return (text(choose((b"a1", b"a1", b"a2", b"..", b"A/1", b"x" * 300))) + u64(1) +
                u64(choose((0, 1, 2, 2**64 - 1))) + u64(choose((0, 1, 2, 3))))

    def package(self):
        return self.source.choice((b"1-1", b"12-660b1182f1e21", b"12-660b1182f1e21.3", b"", b"../../x", b"y" * 300))

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
            COMMIT: lambda: u64(self.number()) + text(self.envelope()) + text(large[:30000]),
            ABANDON: lambda: u64(self.number()),
            COMMITTED: lambda: (u64(self.number()) + u32(choose((0, 5)))) * choose((1, 1000)),
            QUEUED: lambda: u32(0) + u64(self.number()) + text(self.envelope()),
            REMOVE: lambda: u32(choose((0, 1, 2))) + u32(0) + u64(choose((11, 12, 13, 14, 15))),
            REMOVED: lambda: u64(self.number()), FOUND: lambda: u32(0) + u64(self.number()),
            STANDS: lambda: u32(0) + u64(self.number()),
            NODE_GREET: lambda: self.serial() + text(choose((self.token, self.token, b"", b"noded-" + b"0" * 32))),
            NODE_KEPT: self.serial,
            SETTLE: lambda: self.serial() + text(self.package()) * choose((0, 1, 100)),
            DROP: lambda: self.serial() + text(self.package()) * choose((0, 1, 100)),
            COMMIT_HANDED: lambda: u64(self.number()) + self.serial() +
            text(self.envelope().replace(b"end:", b"handed: a1/%s\norigin: a1/1-1\nvia: 1\nend:" % self.package())) +
            text(large[:30000]),
        }.get(kind, lambda: b"")()

    def order(self, kind, service=None):
        """What "pipe" and "launch" say to each other. The programs that are run are the node's."""
        choose = self.source.choice
        address = lambda: text(choose((b"thief@p.test", b"thief@p.test", b"x" * 2000, b"a>\n")))
        return {
            GREET: lambda: text(choose((self.token, b"", b"pipe-" + b"0" * 32))),
            RUN: lambda: text(service or choose(SERVICES)) + u64(self.number()) + u64(7) +
            address() + address(),
            NOT_STARTED: lambda: text(choose((b"4.3.0", b"5.0.0", b"x", b"2.0.0"))) +
            text(choose((b"no", b"a\nb", b"y" * 30000))),
            ENDED: lambda: u32(choose((0, 9, 256 * 75, 2**32 - 1))) + u32(choose((0, 1, 2))),
        }.get(kind, lambda: b"")()

    def tls(self):
        """What is said to "keys" and to "policy", and by them, of the kinds that the program says."""
        choose = self.source.choice
        domain = lambda: text(choose((b"b.test", b"b.test", b"thief.test", b"x" * 300, b"B.test", b"a\nb")))
        noise = lambda: self.source.randbytes(choose((0, 1, 32, 70, 256, 2000)))
        key = lambda: text(choose(self.keys or [b"k" * KEY_ID]) if self.source.random() < 0.8 else noise())
        bodies = {
            SIGN: lambda: key() + u32(choose((0, 1, 3, 3, 2**32 - 1))) + u32(choose((0, 1, 2, 9))) +
            text(noise()),
            ASK: domain,
            COUNT: lambda: domain() + u32(choose((0, 1, 2, 9))) + text(noise()) + u32(choose((0, 3, 99)))
            + 4 * text(choose((b"mx.thief.test", b"198.18.0.9", b"x" * 30000 if choose((0, 1)) else b"")))[:9000],
        } if self.program != "keys" and self.program != "policy" else {
            SET_PART: lambda: noise() * choose((1, 20)), SET_END: lambda: b"",
            SIGNED: lambda: text(noise())} if self.program == "keys" else {
            ANSWER: lambda: u32(choose((0, 1, 1, 2, 9))) + u32(choose((0, 1, 2, 9))) +
            u64(choose((0, 2**62, 2**64 - 1))) + u32(choose((0, 1, 9))) + text(choose((b"1", b"x" * 99))) +
            text(choose((b"b.hop.test", b"*.thief.test", b"", b"a\nb", b"y " * 20000)))}
        kind = choose(sorted(bodies))
        return kind, bodies[kind]()

    def frame(self):
        """Of the directory's protocol (src/directory/wire/frame.h), to whoever it is."""
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

    def decoded(self, is_good):
        """A message as "decode" says that it is (src/filing/decode/wire.h): false, and if it IS_GOOD, well formed."""
        choose = self.source.choice
        texts = (b"loot", b"", b"List-Id: <x@d.test>", b"x" * 998, "\u00fc".encode())
        wrong = () if is_good else (b"x" * 999, b"a\nb", b"\xff", b"\x1b[2J", b"z" * 50000)
        word = lambda: text(choose(texts + wrong))
        numbers = (0, 7, 10**15) if is_good else (0, 2**62, 2**63, 2**64 - 1)
        addresses = (b"thief@a.test", b"u1@m.test") if is_good else (b"", b"a@b@c", b"a>\n@m.test", b"x" * 9000)
        participant = lambda: u32(choose(range(6 if is_good else 9))) + text(choose(addresses)) + word()
        part = lambda: (text(choose((b"1", b"TEXT", b"1.2") if is_good else (b"", b"x"))) +
                        text(b"text/plain") + text(b"utf-8") + text(b"") + word() + u64(choose(numbers)) +
                        text(b"d" * (32 if is_good else choose((0, 31, 32)))))
        several = lambda make, most: (lambda count: u32(count if is_good else choose((count, 2**32 - 1))) +
                                      b"".join(make() for _ in range(count)))(choose((0, 1, 3, most)))
        said = (word() + u64(choose(numbers)) + several(participant, 40 if is_good else 1001) +
                several(part, 40 if is_good else 1001) + word())
        return said if is_good else said[:choose((len(said), self.source.randrange(len(said))))]

    def decoding(self):
        """What "mailbox" and "decode" say to each other (src/filing/decode/protocol.h)."""
        choose = self.source.choice
        kind = choose((DECODE_HELLO, DECODE_ASK, DECODE_CONTENT, DECODE_PART, DECODE_END, DECODE_LAST, 99))
        body = {
            DECODE_HELLO: lambda: text(choose((self.token, b"", b"mailbox-" + b"0" * 32))),
            DECODE_ASK: lambda: u64(choose((0, 1, 9, 1 << 20, (1 << 20) + 1, 2**63, 2**64 - 1))),
            DECODE_CONTENT: lambda: self.source.randbytes(choose((0, 1, 9, 2000, 30000))),
        }.get(kind, lambda: self.decoded(choose((True, False))))()
        return packet(kind, body, choose((*range(4), *self.tags[-9:])))[:60000]

    def sentence(self):
        source = self.source
        if source.random() < {"decode": 0.8, "mailbox": 0.2}.get(self.program, 0):
            return self.decoding()
        if source.random() < (0.8 if self.program == "directory" else
                              0.2 if "directory" in TARGETS.get(self.program, ()) else 0.02):
            return self.frame()
        if source.random() < {"auth": 0.8, "smtpd": 0.2}.get(self.program, 0):
            return self.login_sentence()
        if self.packets and source.random() < 0.15:  # a replay
            return source.choice(self.packets)
        if source.random() < {"noded": 0.3}.get(self.program, 0):
            kind = source.choice((NODE_GREET, COMMIT_HANDED, SETTLE, DROP))
            return packet(kind, self.body(kind), source.choice((*range(4), *self.tags[-9:])))[:60000]
        if source.random() < {"keys": 0.9, "policy": 0.7, "remote": 0.2, "smtpd": 0.2}.get(self.program, 0.02):
            kind, said = self.tls()
            return packet(kind, said, source.choice((*range(4), *self.tags[-9:])))[:60000]
        if source.random() < {"launch": 0.9, "pipe": 0.3}.get(self.program, 0.01):
            kind = source.choice((*range(1, 8), 99))
            said = self.order(kind)
        else:
            kind = source.choice((*range(1, 12), *range(33, DROP + 1), *([OPEN, SHARE, DATA] * 2), 99))
            said = self.body(kind)
        tag = source.choice((*range(4), *self.tags[-9:], 2**32 - 1))
        said = bytearray(packet(kind, said, tag, 1 if source.random() < 0.98 else 2))
        if source.random() < 0.1:  # of a wrong size
            del said[source.randrange(len(said)):]
        if source.random() < 0.05 and said:
            said[source.randrange(len(said))] ^= 1 << source.randrange(8)
        return bytes(said)
