# SPDX-License-Identifier: ISC
"""Outcomes are recorded while other recipients of the message are under way; the last
of them may come at any moment of that."""
import os
import random
import signal
import socketserver
import time
from concurrent.futures import ThreadPoolExecutor

from smtp import Client, deliver
from stagepost import ThreadServer, free_port, wait_until

MESSAGES = 300
RECORDED_AFTER = 0.25  # seconds: then "send" records what it knows


class Session(socketserver.StreamRequestHandler):
    """Takes every message, each after a while."""

    def handle(self):
        self.say("220 slow.test")
        for line in self.rfile:
            verb = line[:4].upper()
            if verb == b"DATA":
                self.say("354 go")
                while self.rfile.readline() not in (b".\r\n", b""):
                    pass
                time.sleep(random.uniform(*self.server.delay))
                self.server.taken.append(1)
            self.say("221 bye" if verb == b"QUIT" else "250 ok")
            if verb == b"QUIT":
                return

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


class Server(ThreadServer):
    def __init__(self, *delay):
        super().__init__(Session)
        self.delay = delay
        self.taken = []
        self.serve()


def test_local_and_slow_remote_recipients(node):
    with Server(RECORDED_AFTER - 0.1, RECORDED_AFTER + 0.1) as server:
        mx = node(routes=[f"slow.test:127.0.0.1;{server.port}"])

        def send(number):
            with Client(mx) as client:
                return client.deliver("s@client.test", [f"u{number}@a.test", "x@slow.test"],
                                      b"Subject: %d\r\n\r\nhello\r\n" % number)

        with ThreadPoolExecutor(20) as pool:
            for reply in pool.map(send, range(MESSAGES)):
                assert reply.startswith("250 "), reply
        for number in range(MESSAGES):
            mx.maildir(f"u{number}@a.test").wait(1)
        mx.wait_empty()
        assert len(server.taken) == MESSAGES
        for number in range(MESSAGES):
            assert len(mx.maildir(f"u{number}@a.test").files()) == 1
        assert not mx.log.find("queue_error")


def test_nothing_is_recorded_of_a_message_that_is_being_removed(node):
    """Its number may be another message's by then."""
    with Server(RECORDED_AFTER - 0.1, RECORDED_AFTER - 0.1) as server:
        mx = node(routes=[f"slow.test:127.0.0.1;{server.port}"])
        (queue,) = mx.pids("queue")
        with Client(mx) as client:
            client.deliver("s@client.test", ["anna@a.test", "x@slow.test"], b"\r\nhello\r\n")
        mx.log.wait("delivered", to="anna@a.test")
        os.kill(queue, signal.SIGSTOP)  # the answer to the removal is late
        try:
            mx.log.wait("message_done")
            begin = time.monotonic()
            wait_until(lambda: time.monotonic() - begin > 4 * RECORDED_AFTER, "it is time")
        finally:
            os.kill(queue, signal.SIGCONT)
        mx.wait_empty()
        with Client(mx) as client:
            client.deliver("s@client.test", "anna@a.test", b"\r\nhello again\r\n")
        mx.maildir("anna@a.test").wait(2)
        mx.wait_empty()
        assert not mx.log.find("message_preprocessed")
        assert not mx.log.find("queue_error")


def test_what_is_under_way_waits_for_its_host(node):
    """One host takes its time, the other is not there: it is tried again although nobody
    sleeps that waits for it."""
    port = free_port()
    hop = node("hop", start=False, domains=["b.test"], port=port)
    with Server(3, 3) as server:
        mx = node(routes=[f"slow.test:127.0.0.1;{server.port}",
                          f"b.test:127.0.0.1;{port}"], settings="probe_delay = 1")
        deliver(mx, ["x@slow.test", "y@b.test"], b"Subject: hello\r\n\r\nA line.\r\n")
        mx.log.wait("deferred")
        mx.log.wait("delivered")
        assert len(mx.trigger_files()) == 1
        hop.start()
        mx.wait_empty()
    assert not mx.trigger_files()
