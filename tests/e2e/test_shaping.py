# SPDX-License-Identifier: ISC
"""How fast mail goes: limits of the configuration, and servers that say that they get too much.
What must wait does so in memory: it is neither tried nor deferred, and other mail goes on."""
import socketserver
import threading
import time

import pytest
from peers import Postfix
from smtp import Client
from stagepost import is_root, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"


class Session(socketserver.StreamRequestHandler):
    """Takes what it gets, and notes when; over its limit it says so."""

    def handle(self):
        server = self.server
        with server.lock:
            server.sessions.append(time.monotonic())
            server.open += 1
            server.most_open = max(server.most_open, server.open)
        try:
            self.talk()
        finally:
            with server.lock:
                server.open -= 1

    def talk(self):
        self.say("220 hop.test ESMTP")
        for line in self.rfile:
            verb = line[:4].upper()
            if verb == b"MAIL" and not self.server.may_come():
                self.say(self.server.complaint)
                if self.server.complaint.startswith("421"):
                    return
                continue
            if verb == b"RCPT":
                self.server.recipients.append(time.monotonic())
            if verb == b"DATA":
                self.say("354 go on")
                while self.rfile.readline() not in (b".\r\n", b""):
                    pass
                time.sleep(self.server.takes)
                self.server.messages.append(time.monotonic())
            self.say("221 bye" if verb == b"QUIT" else "250 ok")
            if verb == b"QUIT":
                return

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, most=None, seconds=1, complaint="421 4.7.0 Try again later", takes=0):
        super().__init__(("127.0.0.1", 0), Session)
        self.lock = threading.Lock()
        self.most = most
        self.seconds = seconds
        self.complaint = complaint
        self.takes = takes
        self.open = self.most_open = self.refused = 0
        self.sessions, self.recipients, self.messages, self.mails = [], [], [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def may_come(self):
        """Whether one more MAIL is within the limit: those that were refused do not count."""
        with self.lock:
            now = time.monotonic()
            recent = [at for at in self.mails if at > now - self.seconds]
            if self.most is not None and len(recent) >= self.most:
                self.refused += 1
                return False
            self.mails.append(now)
            return True

    def route(self, domain):
        return f"{domain}:127.0.0.1;{self.server_address[1]}"


def send(mx, domain, count):
    with Client(mx) as client:
        for number in range(count):
            reply = client.deliver("s@client.test", f"u{number}@{domain}", TEXT)
            assert reply.startswith("250 "), reply


def most_within(times, seconds):
    """The most that came in any time that is so long."""
    times = sorted(times)
    return max(sum(1 for at in times if begin <= at < begin + seconds) for begin in times)


def check_never_deferred(mx):
    assert not mx.log.find("deferred")
    assert not mx.log.find("message_preprocessed")  # nothing was written for those that waited
    assert not mx.log.find("ipc_refused")


@pytest.mark.parametrize("mask", ["slow.test", ".test", "mx:127.0.0.1", "*"])
def test_messages_in_an_interval(node, mask):
    with Server() as hop, Server() as other:
        mx = node(routes=[hop.route("slow.test"), other.route("fast.example")],
                  settings=f'destination "fast.example" {{ }}\n'
                           f'destination "{mask}" {{ messages = 10 interval = 3s }}')
        begin = time.monotonic()
        send(mx, "slow.test", 35)
        send(mx, "fast.example", 35)
        mx.wait_empty()
        assert len(hop.messages) == 35 and len(other.messages) == 35
        assert most_within(hop.mails, 3) <= 10
        assert hop.messages[-1] - begin < 3 * 3.1 + 4
        assert other.messages[-1] < hop.mails[10]  # before the first pause was over
    check_never_deferred(mx)


def test_recipients_and_sessions_in_an_interval(node):
    with Server() as few, Server() as rare:
        mx = node(routes=[few.route("few.test"), rare.route("rare.test")],
                  settings='destination "few.test" { recipients = 6 interval = 2s }\n'
                           'destination "rare.test" { sessions = 2 interval = 2s }')
        with Client(mx) as client:
            for number in range(4):
                to = [f"u{number}-{i}@few.test" for i in range(4)]
                assert client.deliver("s@client.test", to, TEXT).startswith("250 ")
        send(mx, "rare.test", 10)
        mx.wait_empty()
        assert len(few.recipients) == 16 and most_within(few.recipients, 2) <= 6
        assert len(rare.messages) == 10 and most_within(rare.sessions, 2) <= 2
    check_never_deferred(mx)


def test_numbers_for_each_owner_or_server(node):
    """Two domains by the same server share its numbers."""
    with Server() as hop:
        mx = node(routes=[hop.route("one.test"), hop.route("two.test")],
                  settings='destination "*" { per = host messages = 6 interval = 3s }')
        send(mx, "one.test", 10)
        send(mx, "two.test", 10)
        mx.wait_empty()
        assert len(hop.messages) == 20
        assert most_within(hop.mails, 3) <= 6
    check_never_deferred(mx)


def test_connections_at_once(node):
    with Server(takes=0.05) as hop:
        mx = node(routes=[hop.route("slow.test")], settings='destination "*" { concurrency = 2 }')
        send(mx, "slow.test", 40)
        mx.wait_empty()
        assert len(hop.messages) == 40
        assert hop.most_open == 2
    check_never_deferred(mx)


def test_delay_between_messages_of_a_session(node):
    with Server() as hop:
        mx = node(routes=[hop.route("slow.test")],
                  settings='destination "*" { concurrency = 1 delay = 1s }')
        send(mx, "slow.test", 4)
        mx.wait_empty()
        assert len(hop.messages) == 4
        assert all(later - earlier >= 1 for earlier, later in zip(hop.messages, hop.mails[1:]))
    check_never_deferred(mx)


@pytest.mark.parametrize("complaint", ["421 4.7.0 Try again later",
                                       "450 4.7.1 Error: too much mail from 127.0.0.1"])
def test_a_server_that_gets_too_much(node, complaint):
    """It is sent less until it does not complain any more; another one gets its mail at once."""
    with Server(most=120, seconds=10, complaint=complaint) as hop, Server() as other:
        mx = node(routes=[hop.route("slow.test"), other.route("fast.test")])
        send(mx, "slow.test", 130)
        mx.log.wait("host_throttled", host="127.0.0.1")
        send(mx, "fast.test", 20)
        wait_until(lambda: len(other.messages) == 20, "the other gets its mail")
        assert len(hop.messages) < 130
        mx.wait_empty(timeout=120)
        assert len(hop.messages) == 130
        assert len(other.messages) == 20
        assert hop.refused < 40  # those that were under way, and few probes
        assert len(mx.log.find("host_throttled")) <= 5  # its time is over by then
    check_never_deferred(mx)


def test_a_server_that_says_for_how_long(node):
    complaint = "451 4.7.1 rate limited, try again in 5 seconds"
    with Server(most=1000, complaint=complaint) as hop:
        mx = node(routes=[hop.route("slow.test")])
        send(mx, "slow.test", 10)
        mx.wait_empty()
        hop.most, hop.seconds = 0, 3600
        send(mx, "slow.test", 1)
        mx.log.wait("host_throttled")
        refused_at = time.monotonic()
        hop.most = 1000
        mx.wait_empty()
        assert hop.messages[-1] - refused_at > 4.5
        assert hop.refused == 1
    check_never_deferred(mx)


@pytest.mark.skipif(not is_root(), reason="Postfix starts only as root")
def test_postfix_that_gets_too_much(node, ground):
    """Its anvil counts the messages of a client."""
    with Postfix(ground.directory("postfix"), users=("bob",), more=(
            "smtpd_client_message_rate_limit = 20\nanvil_rate_time_unit = 10s\n"
            "smtpd_client_event_limit_exceptions =\n")) as hop:
        mx = node(routes=[f"postfix.test:127.0.0.1;{hop.port}"])
        with Client(mx) as client:
            for _ in range(25):
                assert client.deliver("s@client.test", "bob@postfix.test", TEXT).startswith("250 ")
        mx.log.wait("host_throttled")
        mx.wait_empty(timeout=120)
        hop.maildir("bob@postfix.test").wait(25)
    check_never_deferred(mx)


def test_a_reload_and_a_restart_lose_nothing(node):
    """What waits follows the new numbers; a new process begins anew."""
    with Server() as hop:
        mx = node(routes=[hop.route("slow.test")],
                  settings='destination "*" { messages = 2 interval = 1h }')
        send(mx, "slow.test", 6)
        mx.log.wait("delivered", count=2)
        mx.restart()
        mx.log.wait("delivered", count=4)
        mx.settings = 'destination "*" { messages = 3 interval = 1h }'
        mx.write_configuration()
        mx.reload()
        mx.settings = ""
        mx.write_configuration()
        mx.restart()
        mx.wait_empty()
        assert len(hop.messages) == 6
