# SPDX-License-Identifier: ISC
"""What tests and benchmarks need to start servers on loopback."""
import os
import socket
import socketserver
import subprocess
import threading
import time

SLOWNESS = float(os.environ.get("TEST_SLOWNESS", "1"))  # tools/testing/pace.py: limits of time are so much longer
PATIENCE = 20 * SLOWNESS  # seconds, for what takes milliseconds on an idle machine
POLL = 0.02  # between two looks at what comes soon
POLL_MAX = 0.25


def end(process, seconds):
    """Asks PROCESS to end, and makes it after SECONDS."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()


GIVEN = set()  # ports: whom one was given may not have bound it yet


def free_port(address="127.0.0.1"):
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
            tcp.bind((address, 0))
            port = tcp.getsockname()[1]
        if (address, port) not in GIVEN:
            GIVEN.add((address, port))
            return port


def listening(port, address="127.0.0.1"):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        return probe.connect_ex((address, port)) == 0


def pause_since(begin, pause=POLL_MAX):
    """Between two looks: a tenth of the wait, which began at BEGIN, since others need the processors; PAUSE
    seconds at most."""
    waited = time.monotonic() - begin
    time.sleep(min(max(POLL, waited / 10), pause))


def wait_until(condition, what, timeout=PATIENCE, pause=POLL_MAX):
    """Returns the first true value of CONDITION(), which is looked at again after PAUSE seconds or sooner."""
    begin = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > begin + timeout:
            raise AssertionError(f"not within {timeout} s: {what}")
        pause_since(begin, pause)


class ThreadServer(socketserver.ThreadingTCPServer):
    """Serves on a free port of ADDRESS until it is closed, in a thread, and each connection in one of its own.
    Who closes one that still serves leaves a thread that asks the closed socket for ever."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler, address="127.0.0.1"):
        super().__init__((address, 0), handler)
        self.port = self.server_address[1]

    def serve(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def server_close(self):
        self.shutdown()
        super().server_close()
