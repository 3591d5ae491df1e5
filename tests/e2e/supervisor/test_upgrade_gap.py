# SPDX-License-Identifier: ISC
"""How long who connects during an upgrade waits for a greeting: with an empty queue, and with many messages that
wait in it."""

import os
import socket
import threading
import time

import pytest
from smtp import Client
from stagepost import PATIENCE, free_port, wait_until
from upgrades import Scene, subreaper

WAITING = int(os.environ.get("UPGRADE_WAITING", "300"))
WAIT_MAX = 2 * PATIENCE  # seconds: on an idle machine it is well below one


def fill(mx, count):
    def send(share):
        with Client(mx) as client:
            for _ in range(share):
                assert client.deliver("sender@client.test", "x@away.test", b"Subject: x\r\n\r\nx\r\n")[:3] == "250"

    threads = [threading.Thread(target=send, args=(count // 10,)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Clock:
    """Connects every few milliseconds, each time in a thread of its own, and notes the longest wait."""

    def __init__(self, port):
        self.port, self.is_over, self.slowest, self.failures = port, threading.Event(), 0, []
        self.threads = []
        self.main = threading.Thread(target=self.run, daemon=True)
        self.main.start()

    def greet(self):
        begun = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", self.port), WAIT_MAX) as client:
                if not client.recv(1):
                    self.failures.append("closed without a word")
        except OSError as problem:
            self.failures.append(repr(problem))
        self.slowest = max(self.slowest, time.monotonic() - begun)

    def run(self):
        while not self.is_over.is_set():
            self.threads.append(threading.Thread(target=self.greet, daemon=True))
            self.threads[-1].start()
            time.sleep(0.02)

    def stop(self):
        self.is_over.set()
        for thread in [self.main, *self.threads]:
            thread.join(WAIT_MAX)
        assert not self.failures, self.failures[:3]
        return self.slowest


@pytest.mark.parametrize("waiting", [0, WAITING])
def test_the_gap(node, ground, waiting):
    with subreaper():
        scene = Scene(node, ground.directory("scene"))
        scene.mx.routes.append(f"away.test:127.0.0.1;{free_port()}")
        scene.mx.write_configuration()
        scene.mx.reload()
        fill(scene.mx, waiting)
        wait_until(lambda: len(scene.mx.log.find("message_accepted")) >= waiting // 10 * 10, "all are queued")
        clock = Clock(scene.mx.port)
        time.sleep(0.5)
        assert scene.installed.upgrade() == (0, "")
        print(f"{waiting} messages wait; the longest wait for a greeting: {clock.stop():.2f} s")
