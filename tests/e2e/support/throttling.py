# SPDX-License-Identifier: ISC
"""Servers that take only so much mail, and say so; what came to them, and what a node tells of them."""
import json
import os
import re
import socketserver
import subprocess
import threading
import time

from smtp import Client
from stagepost import PATIENCE, ThreadServer, as_user, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
IN_FLIGHT = 30  # connections to one server at most, when it complains
FIRST = 0.7  # seconds: then who was on the way is there
LATE = 0.3  # seconds: a busy machine takes longer with one message, and the others seem early, together by so much

# --- what they allow ---


class Quota:
    """MOST at VERB in any SECONDS; for one too many COMPLAINT. VERB is CONNECT, MAIL, RCPT, or END: the
    message's final dot. Who was refused does not count. The time is counted from the first complaint, until
    which all that was taken came as if at once: how fast a machine sends does not decide whether it is too much."""

    def __init__(self, verb, most, seconds, complaint):
        self.verb, self.most, self.seconds, self.complaint = verb, most, seconds, complaint
        self.lock = threading.Lock()
        self.tries, self.refused = [], []  # when
        self.taken = []

    def judge(self, _, verb, __):
        if verb != self.verb:
            return None
        with self.lock:
            now = time.monotonic()
            self.tries.append(now)
            if not self.refused and len(self.taken) == self.most:
                self.taken = [now] * self.most
            if sum(1 for at in self.taken if at > now - self.seconds) < self.most:
                self.taken.append(now)
                return None
            self.refused.append(now)
            return self.complaint


class Slow(Quota):
    """Its first session is refused at MAIL when there is a second one, and all others are greeted late: when the
    client has noticed."""

    def __init__(self, complaint):
        super().__init__("MAIL", 0, None, complaint)
        self.connected = 0
        self.has_two, self.is_noticed = threading.Event(), threading.Event()

    def judge(self, _, verb, __):
        if verb == "CONNECT" and not self.is_first():
            self.has_two.set()
            self.is_noticed.wait()
        if verb != "MAIL" or self.refused:
            return None
        self.has_two.wait()
        self.refused.append(time.monotonic())
        return self.complaint

    def is_first(self):
        with self.lock:
            self.connected += 1
            return self.connected == 1


class AtOnce(Quota):
    """So many connections."""

    def __init__(self, most, complaint):
        super().__init__("CONNECT", most, None, complaint)

    def judge(self, session, verb, _):
        if verb != "CONNECT":
            return None
        now = time.monotonic()
        self.tries.append(now)
        if session.server.open <= self.most:
            return None
        self.refused.append(now)
        return self.complaint


class Transaction(Quota):
    """So many recipients in one."""

    def __init__(self, most, complaint):
        super().__init__("RCPT", most, None, complaint)

    def judge(self, session, verb, _):
        if verb != "RCPT" or len(session.recipients) < self.most:
            return None
        self.refused.append(time.monotonic())
        return self.complaint


class InTurn(Quota):
    """MOST recipients, then none for SECONDS, as Postfix's anvil has it. The first one is refused when all that were
    taken are over for the client, too, and whoever is refused later is refused after it: so between two refusals
    nothing is taken, however the client's sessions overlap."""

    def __init__(self, most, seconds, complaint):
        super().__init__("RCPT", most, seconds, complaint)
        self.under_way, self.is_quiet = set(), threading.Event()

    def judge(self, session, verb, _):
        if verb == "RCPT":
            return self.judge_recipient(session)
        if verb != "DATA" and verb != "END":  # the client has had the reply to the message before
            self.leave(session)
        return None

    def leave(self, session):
        with self.lock:
            self.under_way.discard(session)
            if len(self.taken) == self.most and not self.under_way:
                self.is_quiet.set()

    def judge_recipient(self, session):
        with self.lock:
            is_over = self.refused and time.monotonic() > self.refused[0] + self.seconds
            if is_over or len(self.taken) < self.most:
                self.taken.append(time.monotonic())
                self.under_way.add(session)
                return None
        self.is_quiet.wait()
        with self.lock:
            self.refused.append(time.monotonic())
        return self.complaint


class Recipients(Quota):
    """Each of NAMES once in vain."""

    def __init__(self, names, complaint):
        super().__init__("RCPT", None, None, complaint)
        self.names = set(names)

    def judge(self, _, verb, argument):
        name = argument.split("@")[0]
        if verb != "RCPT" or name not in self.names:
            return None
        self.names.remove(name)
        self.refused.append(time.monotonic())
        return self.complaint


# --- the server ---


class Session(socketserver.StreamRequestHandler):
    def handle(self):
        server = self.server
        with server.lock:
            server.sessions.append(time.monotonic())
            server.open += 1
            server.most_open = max(server.most_open, server.open)
        try:
            self.talk()
        finally:
            if hasattr(server.allows, "leave"):
                server.allows.leave(self)
            with server.lock:
                server.open -= 1

    def talk(self):
        self.recipients = []
        if not self.answer("CONNECT", "", "220 hop.test ESMTP"):
            return
        for line in self.rfile:
            verb = line[:4].decode().upper()
            address = re.search(r"<([^>]*)>", line.decode())
            if not self.obey(verb, address.group(1) if address else ""):
                return

    def obey(self, verb, address):
        """False: the session is over."""
        server = self.server
        if verb == "QUIT":
            self.say("221 bye")
            return False
        if verb == "DATA" and not self.recipients:
            self.say("503 5.5.1 nobody is to get it")
            return True
        if verb == "DATA":
            return self.take()
        if verb == "MAIL":
            server.mails.append(time.monotonic())
            self.recipients = []
        taken = self.answer(verb, address, "250 2.0.0 ok")
        if verb == "RCPT" and self.said.startswith("250"):
            self.recipients.append(address)
            server.recipients.append(time.monotonic())
        return taken

    def take(self):
        goes_on = self.answer("DATA", "", "354 go on")
        if not self.said.startswith("354"):
            return goes_on
        while (line := self.rfile.readline()) != b".\r\n":
            if not line:
                return False
        time.sleep(self.server.takes)
        ended = time.monotonic()  # before the client knows
        goes_on = self.answer("END", "", "250 2.0.0 ok")
        if self.said.startswith("250"):
            self.server.messages.append(ended)
            self.server.delivered += self.recipients
        self.recipients = []
        return goes_on

    def answer(self, verb, address, reply):
        """False: the connection is closed."""
        self.said = (self.server.allows and self.server.allows.judge(self, verb, address)) or reply
        self.say(self.said)
        return not self.said.startswith("421") and (verb != "CONNECT" or self.said == reply)

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


class Server(ThreadServer):
    """Takes what it gets, as far as ALLOWS allows, in so many seconds a message, and notes when."""

    def __init__(self, allows=None, takes=0):
        super().__init__(Session)
        self.lock = threading.Lock()
        self.allows = allows
        self.takes = takes
        self.open = self.most_open = 0
        self.sessions, self.mails, self.recipients, self.messages = [], [], [], []
        self.delivered = []  # addresses
        self.serve()

    def handle_error(self, *_):
        """The client is gone."""

    def route(self, domain):
        return f"{domain}:127.0.0.1;{self.port}"


# --- what went there ---


def send(mx, domain, count, name="u"):
    """To COUNT addresses, which are returned, from as many senders: what several are told is about the host."""
    addresses = [f"{name}{number}@{domain}" for number in range(count)]
    with Client(mx) as client:
        for number, address in enumerate(addresses):
            reply = client.deliver(f"s{number}@client.test", address, TEXT)
            assert reply.startswith("250 "), reply
    return addresses


def most_within(times, seconds):
    """The most that came in any time that is so long."""
    times = sorted(times)
    return max(sum(1 for at in times if begin <= at < begin + seconds) for begin in times)


def wait_empty(mx, timeout=PATIENCE):
    """Whoever is told something before others are told the same waits by his own schedule: an operator does not
    wait for that."""
    def is_empty():
        assert stagepost(mx, "queue", "retry", "--all", "--yes").returncode in (0, 1)
        return mx.is_empty()

    wait_until(is_empty, "the queue is empty", timeout, pause=3)


def check_few_deferred(mx, most):
    """Only those who were told so first."""
    deferred = {event["id"] for event in mx.log.find("deferred")}
    assert len(deferred) <= most, deferred
    assert not mx.log.find("ipc_refused")


def check_never_deferred(mx):
    assert not mx.log.find("deferred")
    assert not mx.log.find("message_preprocessed")  # nothing was written for those that waited
    assert not mx.log.find("ipc_refused")


# --- what a node tells of them ---


def stagepost(mx, *words):
    return subprocess.run([*as_user(), os.path.join(mx.programs, "stagepost"), *words, "-c", mx.conf],
                          capture_output=True, text=True, check=False, timeout=PATIENCE)


def pauses(mx):
    """{domain: pause}, as "queue stats" has it."""
    made = stagepost(mx, "queue", "stats", "--json")
    assert made.returncode == 0, made.stderr
    return {pause["destination"]: pause for pause in json.loads(made.stdout)["paused"]}


def throttled(mx, port):
    return mx.log.find("host_throttled", port=port)


def check_calmed_down(name, allows, events):
    """After its complaint, and what was on the way then, it gets no more than it allows; if that was about mail,
    each message comes its gap after the one before."""
    assert len(allows.refused) < IN_FLIGHT + len(events), name
    if allows.verb == "CONNECT":
        assert len(allows.refused) <= len(events) + 2 and "connections" in events[0], (name, events)
        return
    later = [at for at in allows.tries if at > allows.refused[0] + FIRST]
    if allows.seconds is not None and later:
        assert most_within(later, allows.seconds) <= allows.most, name
    gap = int(events[0]["apart_ms"]) / 1000
    assert all(last - first >= 0.9 * gap * between - LATE for number, first in enumerate(later)
               for between, last in enumerate(later[number:])), (name, gap, later)
