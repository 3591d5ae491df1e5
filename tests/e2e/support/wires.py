# SPDX-License-Identifier: ISC
"""Machines and the wires between them: network namespaces on one bridge, and for every
server a wire, a port at the bridge through which clients reach it and on which a test can
delay, hold, halve and cut what goes by."""

import os
import select
import socket
import subprocess
import threading
import time

BRIDGE = "10.77.0.1"
CHUNK = 16384


def ip(*words):
    subprocess.run(["ip", *words], check=True, timeout=10, capture_output=True)


class Net:
    """Namespaces by name, each with one address; in a namespace of mounts of our own."""

    def __init__(self):
        os.makedirs("/run/netns", exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "netns", "/run/netns"], check=True, timeout=10)
        # an address of its own: else it is its ports' lowest, and who was there before a port
        # came with a lower one speaks to nobody for up to 13 s
        ip("link", "add", "stagepost0", "address", "02:00:00:00:00:01", "type", "bridge")
        ip("addr", "add", f"{BRIDGE}/24", "dev", "stagepost0")
        ip("link", "set", "stagepost0", "up")
        self.addresses = {}

    def add(self, name):
        """The address of the new machine."""
        number = len(self.addresses) + 2
        address = self.addresses[name] = f"10.77.0.{number}"
        ip("netns", "add", name)
        ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", f"to-{name}", "master", "stagepost0", "up")
        for words in (("addr", "add", f"{address}/24", "dev", "eth0"),
                      ("link", "set", "eth0", "up"), ("link", "set", "lo", "up")):
            ip("-n", name, *words)
        return address

    def cut_off(self, name):
        ip("link", "set", f"to-{name}", "down")

    def join(self, name):
        ip("link", "set", f"to-{name}", "up")

    def close(self):
        for name in self.addresses:
            ip("link", "del", f"to-{name}")  # with its namespace it would go later, and the next one has its name
            ip("netns", "del", name)
        ip("link", "del", "stagepost0")
        subprocess.run(["umount", "/run/netns"], check=True, timeout=10)


class Wire:
    """From BRIDGE:port to ADDRESS:PORT. Whatever is done to it applies to bytes that have not
    gone by yet."""

    def __init__(self, address, port):
        self.target = (address, port)
        self.listening = socket.create_server((BRIDGE, 0), backlog=128)
        self.port = self.listening.getsockname()[1]
        self.mend()
        self._pairs = set()
        self._lock = threading.Lock()
        self._is_closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    # --- what can be done to it ---

    def mend(self):
        self.delay = 0.0  # seconds, for each chunk
        self.is_held = False  # nothing passes, nothing is said
        self.passing = None  # (bytes that still pass towards the client, what then: held or cut)
        self.refuses = False

    def cut(self):
        """Resets every connection."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            self._end(pair)

    def halve(self, count, then):
        """COUNT more bytes of answers pass, then it is "held" or "cut"."""
        self.passing = (count, then)

    # --- how it works ---

    def _accept(self):
        while not self._is_closed:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            if self.refuses:
                client.close()
                continue
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        try:
            server = socket.create_connection(self.target, timeout=5)
        except OSError:
            client.close()
            return
        pair = (client, server)
        for end in pair:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._pairs.add(pair)
        try:
            self._pump(client, server)
        except (OSError, ValueError):
            pass
        self._end(pair)

    def _pump(self, client, server):
        while not self._is_closed:
            ready, _, _ = select.select([client, server], [], [], 1)
            if self.is_held:
                time.sleep(0.02)
                continue
            for source in ready:
                data = source.recv(CHUNK)
                if not data:
                    return
                if self.delay:
                    time.sleep(self.delay)
                if source is server:
                    data = self._halved(data)
                (client if source is server else server).sendall(data)
                if self.passing == (0, "cut"):
                    return

    def _halved(self, data):
        if self.passing is None:
            return data
        left, then = self.passing
        data = data[:left]
        self.passing = (left - len(data), then)
        if self.passing == (0, "held"):
            self.is_held = True
        return data

    def _end(self, pair):
        with self._lock:
            self._pairs.discard(pair)
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def close(self):
        self._is_closed = True
        self.listening.close()
        self.cut()
