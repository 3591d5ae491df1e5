# SPDX-License-Identifier: ISC
"""What somebody does with logins who has taken over "auth", who judges them, or "smtpd", who asks."""

import struct

from taken_process import SEQPACKET, STREAM, Hands
from taken_words import (ACCEPTED, BEGIN_LOGIN, CANCEL_LOGIN, JUDGE, OFFER, RESPOND_LOGIN, TARGETS, packet,
                         text, u32)

FOREIGN = ("queue", "send", "keys", "policy", "launch", "names")  # whom "auth" has no business with
GUESSES = 40
TRIES = 20  # until somebody asks


class Logins(Hands):
    """The process PID, a PROGRAM of the node MX, until release()."""

    def __init__(self, mx, program, pid, seed):
        super().__init__(mx, program, pid, seed)
        self.vouched = 0  # for whom somebody had asked
        self.tries = 0
        self.is_served = False  # by the directory, so that he would be by others

    def judgement(self):
        """Of a login, right and wrong in every way."""
        choose = self.source.choice
        user = choose((b"ann", b"ann", b"root", b"", b"a\r\nb", b"\xff\xfe", b"ann@a.test", b"x" * 255,
                       b"x" * 30000, b"a\0b"))
        return (u32(choose((0, ACCEPTED, ACCEPTED, 2, 9))) + u32(choose((0, 0, 1, 5, 99))) +
                text(choose((b"", b"v=1", b"\r\n250 ok", b"z" * 13000))) + text(user))

    def offer(self):
        choose = self.source.choice
        names = self.source.choices((b"PLAIN", b"LOGIN", b"SCRAM-SHA-256", b"PLAIN\r\n250 HELP", b"",
                                     b"x" * 40, b"A B"), k=choose((0, 1, 2, 20)))
        return u32(choose((len(names), len(names), 9, 2**32 - 1))) + b"".join(
            text(name) + u32(choose((0, 1, 7, 2**32 - 1))) for name in names)

    def attempt(self):
        """Of a client whom there is not."""
        choose = self.source.choice
        mechanism = choose((b"PLAIN", b"PLAIN", b"LOGIN", b"SCRAM-SHA-256", b"EXTERNAL", b"x" * 99))
        initial = choose((b"\0ann\0guess", b"n,,n=ann,r=abc", b"", b"z" * 20000))
        return (text(self.source.randbytes(choose((16, 16, 16, 3)))) + u32(choose((0, 1))) +
                text(b"e" * choose((0, 32, 900))) + text(b"") + text(choose((b"", b"0" * 64))) +
                text(choose((b"", b"ann"))) + text(b"submission") + text(mechanism) +
                u32(choose((0, 1))) + text(initial))

    def login_sentence(self):
        """Of src/auth/protocol.h."""
        source = self.source
        tag = source.choice((*range(4), *self.tags[-9:]))
        if self.program == "auth":
            kind, body = source.choice(((JUDGE, self.judgement()), (JUDGE, self.judgement()),
                                        (OFFER, self.offer()), (99, b"")))
        else:
            kind, body = source.choice(((BEGIN_LOGIN, self.attempt()), (CANCEL_LOGIN, b""),
                                        (RESPOND_LOGIN, text(source.randbytes(9)))))
        return packet(kind, body, tag)[:60000]

    def vouch(self):
        """He says of whoever asks that he is who he likes."""
        if self.program != "auth":
            return
        known = set(self.sockets)
        self.welcome()
        for socket in set(self.sockets) - known:
            self.tell(socket, packet(OFFER, u32(1) + text(b"PLAIN") + u32(0)))
        for socket in self.sockets:
            for heard in iter(lambda one=socket: self.hear(one), None):
                if len(heard) < 8 or struct.unpack("<HH", heard[:4])[1] not in (BEGIN_LOGIN,
                                                                               RESPOND_LOGIN):
                    break
                good = u32(ACCEPTED) + u32(0) + text(b"") + text(b"ann")
                said = packet(JUDGE, good if self.source.random() < 0.7 else self.judgement(),
                              struct.unpack("<HHI", heard[:8])[2])
                self.vouched += self.tell(socket, said[:60000]) > 0
        self.tries += 1
        if not self.vouched and self.tries < TRIES:
            self.untried.append("vouch")

    def reach(self):
        """Whom he would need for more than that."""
        if self.program != "auth":
            return
        for name in FOREIGN:
            socket = self.own_connection(name)
            if socket >= 0:
                self.had("connections to others", 1)
                self.call("close", socket)
        socket = self.ask(f"{self.mx.run}/directory", STREAM)
        if socket >= 0:
            self.is_served = True
            self.call("close", socket)

    def guess(self):
        """As "smtpd" would, for clients that he makes up: more than he may have open."""
        if "auth" not in TARGETS.get(self.program, ()):
            return
        socket = self.ask(f"{self.mx.run}/auth", SEQPACKET)
        if socket < 0:
            return
        for _ in range(self.source.choice((1, GUESSES, 50 * GUESSES))):
            if self.tell(socket, self.login_sentence()) < 0:
                break
        while self.hear(socket) is not None:
            pass
        self.call("close", socket)
