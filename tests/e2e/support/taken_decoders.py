# SPDX-License-Identifier: ISC
"""What somebody does with messages who has taken over "decode": he is asked what is in them."""

import collections
import struct
import time

from taken_process import Hands
from taken_words import DECODE_ASK, DECODE_END, DECODE_LAST, DECODE_PART, packet

# What comes of a question: a good answer, or what looks like one, at once or as late as he dares;
# nothing, and so nothing of what is asked after it on that connection; what cannot be an answer.
HABITS = {"lie": 12, "late": 3, "never": 1, "strange": 1}
LATEST = 2.9  # seconds: he is replaced after three
PACE = 0.01  # seconds between two looks: his own


class Decoders(Hands):
    """The process PID, a PROGRAM of the node MX, until release()."""

    def __init__(self, mx, program, pid, seed):
        super().__init__(mx, program, pid, seed)
        self.asked = 0  # questions
        self.withheld = set()  # tags of those that he kept waiting, though it was their turn
        self.owed = collections.defaultdict(collections.deque)  # by sockets: (when, habit, tag)

    def owe(self, socket, tag):
        habit, = self.source.choices(list(HABITS), HABITS.values())
        wait = {"late": self.source.uniform(1, LATEST), "never": float("inf")}.get(habit, 0)
        self.owed[socket].append((time.monotonic() + wait, habit, tag))

    def pay(self, socket):
        """In order, as only that is heard."""
        while self.owed[socket]:
            when, habit, tag = self.owed[socket][0]
            if when > time.monotonic():
                self.withheld.add(tag)
                break
            self.owed[socket].popleft()
            said = self.decoded(is_good=habit != "strange")
            last = DECODE_END
            if habit == "strange":
                last = self.source.choice((DECODE_END, DECODE_LAST, DECODE_PART, 99))
                tag = self.source.choice((tag, tag, tag + 1, 0))
            parts = self.source.choice((1, 1, 2, 5))
            length = len(said) // parts + 1
            for at in range(0, len(said), length):
                kind = DECODE_PART if at + length < len(said) else last
                self.tell(socket, packet(kind, said[at:at + length], tag)[:60000])

    def misdecode(self):
        if self.program != "decode":
            return
        self.welcome()
        for _ in range(self.source.choice((1, 20, 200))):
            for socket in self.sockets:
                for heard in iter(lambda one=socket: self.hear(one, 1), None):
                    if len(heard) < 8:
                        break
                    _, kind, tag = struct.unpack("<HHI", heard[:8])
                    if kind == DECODE_ASK:
                        self.asked += 1
                        self.owe(socket, tag)
                self.pay(socket)
            time.sleep(PACE)

    def swell(self):
        """An answer without an end."""
        for socket in [socket for socket in self.owed if self.owed[socket]]:
            _, _, tag = self.owed[socket][0]
            while self.tell(socket, packet(DECODE_PART, b"x" * 50000, tag)) > 0:
                pass
