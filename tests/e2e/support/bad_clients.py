# SPDX-License-Identifier: ISC
"""Clients that eat places: they idle, trickle, sit in DATA or talk nonsense slowly.

usage: bad_clients.py PORT COUNT ADDRESSES SECONDS

COUNT connections from ADDRESSES addresses (127.1.0.1 and up). Says on standard output how
many of them it has when the server has greeted or closed each; ends after SECONDS."""

import os
import resource
import selectors
import socket
import sys
import time

ENVELOPE = (b"EHLO bad.test\r\n", b"MAIL FROM:<bad@client.test>\r\n",
            b"RCPT TO:<anna@a.test>\r\n", b"DATA\r\n")
# what is said each time when the server has spoken, and then a piece of every second
KINDS = {
    "idle": ((), b""),
    "trickle": ((), b"E"),
    "data": (ENVELOPE + (b"Subject: for ever\r\n",), b"x"),
    "garbage": ((), os.urandom(12).replace(b"\n", b"n") + b"\r\n"),
}


class Bad:
    def __init__(self, selector, number, port, addresses):
        host = number % addresses
        hello, self.piece = list(KINDS.values())[number % len(KINDS)]
        self.hello = list(hello)
        self.selector = selector
        self.was_heard = False
        self.socket = socket.socket()
        self.socket.setblocking(False)
        # the port is chosen at connect: only the pair of addresses must be unique
        self.socket.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
        self.socket.bind((f"127.1.{host // 250}.{host % 250 + 1}", 0))
        self.socket.connect_ex(("127.0.0.1", port))
        selector.register(self.socket, selectors.EVENT_READ, self)

    def hear(self):
        try:
            heard = self.socket.recv(65536)
            if heard and self.hello:
                self.socket.send(self.hello.pop(0))
        except OSError:
            heard = b""
        self.was_heard = True
        if not heard:
            self.selector.unregister(self.socket)
            self.socket.close()
            self.socket = None

    def speak(self):
        try:
            if self.socket is not None and self.was_heard and not self.hello:
                self.socket.send(self.piece)
        except OSError:
            pass  # hear() will see it


def serve(selector, until):
    while (left := until - time.monotonic()) > 0:
        for key, _ in selector.select(left):
            key.data.hear()


def main():
    port, count, addresses, seconds = (int(word) for word in sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_NOFILE, [resource.getrlimit(resource.RLIMIT_NOFILE)[1]] * 2)
    end = time.monotonic() + seconds
    selector = selectors.DefaultSelector()
    clients = []
    while len(clients) < count:
        clients += [Bad(selector, number, port, addresses)
                    for number in range(len(clients), min(len(clients) + 100, count))]
        serve(selector, time.monotonic() + 0.005)
    while not all(client.was_heard for client in clients) and time.monotonic() < end:
        serve(selector, time.monotonic() + 0.02)
    if not all(client.was_heard for client in clients):
        sys.exit("not all were heard")
    serve(selector, time.monotonic() + 0.2)
    print(sum(client.socket is not None for client in clients), flush=True)
    turn = 0
    while time.monotonic() < end:
        # a tenth of them at a time, so that they do not all speak at once
        for client in clients[turn % 10::10]:
            client.speak()
        turn += 1
        serve(selector, time.monotonic() + 0.1)


if __name__ == "__main__":
    main()
