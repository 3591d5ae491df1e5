# SPDX-License-Identifier: ISC
"""Bursts of mail, a trickle of mail beside them, and how long the trickle waited: from its 250
to where it was delivered. Knows no mail system: both sides of a comparison are judged alike."""

import bisect
import os
import smtplib
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from common.hops import MARK

BOXES = 10  # mailboxes that local mail of a trickle goes to, by turns
RUN = 600  # seconds; the longest that a burst may take to be accepted


def start_source(port, count, recipient, *, sessions=20, size=1024, sender="burst@client.test",
                 many=False):
    """A burst of COUNT messages, under way; MANY: each to a recipient of its own."""
    return subprocess.Popen(
        ["smtp-source", "-4", "-d", "-s", str(sessions), "-m", str(count), "-l", str(size),
         *(["-N"] if many else []), "-f", sender, "-t", recipient, f"127.0.0.1:{port}"],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish_sources(sources):
    try:
        for source in sources:
            _, errors = source.communicate(timeout=RUN)
            assert source.returncode == 0, f"smtp-source: {errors}"
    finally:
        for source in sources:
            if source.poll() is None:
                source.kill()
                source.wait()


class Wire:
    """A connection that messages go over one after the other, with few round trips."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), RUN)
        self._replies = self._socket.makefile("rb")
        self._expect(b"220")
        self.say(b"HELO client.test\r\n", b"250")

    def _expect(self, code):
        line = self._replies.readline()
        assert line.startswith(code), f"{line} where {code} was expected"

    def say(self, commands, *codes):
        """COMMANDS at once, and a reply of one line with each of the CODES."""
        self._socket.sendall(commands)
        for code in codes:
            self._expect(code)

    def send(self, sender, recipients, text=b"Subject: one of many\r\n\r\nOne line.\r\n",
             at_once=100):
        """TEXT has CRLF lines and no dots in front."""
        commands = [b"RCPT TO:<%s>\r\n" % to.encode() for to in recipients]
        self.say(b"MAIL FROM:<%s>\r\n" % sender.encode(), b"250")
        for begin in range(0, len(commands), at_once):
            part = commands[begin:begin + at_once]
            self.say(b"".join(part), *[b"250"] * len(part))
        self.say(b"DATA\r\n", b"354")
        self.say(text + b".\r\n", b"250")

    def close(self):
        self._replies.close()
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def send_all(port, envelopes, connections=8):
    """A message for each of the ENVELOPES, (sender, recipients); returns when all are accepted."""
    def send_some(first):
        with Wire(port) as wire:
            for sender, recipients in envelopes[first::connections]:
                wire.send(sender, recipients)

    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(send_some, range(connections)))


class Steady:
    """RATE messages a second to the ADDRESSES by turns, over connections that are kept, from the
    constructor until stop(), which raises what went wrong."""

    def __init__(self, port, addresses, rate, connections=4):
        self.accepted = 0
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(connections)
        self._works = [self._pool.submit(self._work, port, addresses[first::connections],
                                         connections / rate) for first in range(connections)]

    def _work(self, port, addresses, interval):
        with Wire(port) as wire:
            next_at = time.monotonic()
            turn = 0
            while not self._stop.wait(max(0, next_at - time.monotonic())):
                wire.send("steady@client.test", [addresses[turn % len(addresses)]])
                with self._lock:
                    self.accepted += 1
                turn += 1
                next_at += interval

    def stop(self):
        self._stop.set()
        for work in self._works:
            work.result()
        self._pool.shutdown()


class Trickle:
    """Sends a message each INTERVAL seconds to the ADDRESSES by turns, over a new connection
    each, from the constructor until stop(). accepted: {mark: (time of its 250, address)}."""

    numbers = iter(range(1, 1 << 60))

    def __init__(self, port, addresses, interval, sender="trickle@client.test"):
        self.port = port
        self.addresses = addresses
        self.interval = interval
        self.sender = sender
        self.accepted = {}
        self.refused = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def stop(self):
        self._stop.set()
        self._thread.join()

    def _work(self):
        next_at = time.monotonic()
        turn = 0
        while not self._stop.wait(max(0, next_at - time.monotonic())):
            try:
                self._send(self.addresses[turn % len(self.addresses)])
            except OSError as error:  # smtplib's exceptions are OSErrors, too
                self.refused.append(str(error))
            turn += 1
            next_at += self.interval

    def _send(self, address):
        mark = str(next(Trickle.numbers))
        text = MARK.decode() + f"{mark}\r\nSubject: a trickle\r\n\r\nOne line.\r\n"
        with smtplib.SMTP("127.0.0.1", self.port, local_hostname="client.test",
                          timeout=60) as client:
            client.sendmail(self.sender, [address], text)
            self.accepted[mark] = (time.time(), address)


def boxes(domain):
    return [f"user{number}@{domain}" for number in range(BOXES)]


def taken_by_boxes(folder):
    """{mark: time} of what is in the Maildirs in FOLDER."""
    found = {}
    for box in os.listdir(folder) if os.path.isdir(folder) else ():
        new = os.path.join(folder, box, "new")
        for name in os.listdir(new) if os.path.isdir(new) else ():
            with open(os.path.join(new, name), "rb") as file:
                text = b"\n" + file.read(4096)
                written = os.fstat(file.fileno()).st_mtime
            mark = text.partition(b"\n" + MARK)[2].partition(b"\n")[0].strip().decode()
            if mark:
                found[mark] = written
    return found


def taken_by_hop(hops, name):
    return {mark: when for when, mark, _ in hops.taken(name) if mark is not None}


class Waiting:
    """How long the accepted messages of a trickle waited. Who still waits has waited until
    now: the figures are too small then, never too large."""

    def __init__(self, accepted, taken, now=None):
        """ACCEPTED: {mark: (time, address)}; TAKEN: {mark: time}."""
        now = time.time() if now is None else now
        self.spans = [(when, taken.get(mark, now)) for mark, (when, _) in accepted.items()]
        self.seconds = sorted(max(0, end - when) for when, end in self.spans)
        self.missing = len(accepted.keys() - taken.keys())

    def __len__(self):
        return len(self.seconds)

    def share(self, part):
        """The wait that PART of the messages did not exceed: 0.99 for p99."""
        place = min(len(self.seconds) - 1, int(part * len(self.seconds)))
        return self.seconds[place]

    def passed_by(self, others):
        """For each message, how many of OTHERS, times of events, came while it waited; sorted."""
        others = sorted(others)
        return sorted(max(0, bisect.bisect(others, end) - bisect.bisect(others, when))
                      for when, end in self.spans)

    def __repr__(self):
        if not self.seconds:
            return "none"
        return (f"{len(self)} messages, p50 {self.share(0.5):.3f} s, p99 {self.share(0.99):.3f} s, "
                f"longest {self.seconds[-1]:.3f} s, {self.missing} not delivered yet")
