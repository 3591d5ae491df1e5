# SPDX-License-Identifier: ISC
"""A name server for tests: NSD on a loopback port, with zones given as text."""

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time

SOA = "@ 60 IN SOA ns.test. hostmaster.test. 1 60 60 60 1\n@ 60 IN NS ns.test.\n"


def free_port(address="127.0.0.1"):
    """A port that is free for UDP and TCP."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
            tcp.bind((address, 0))
            port = tcp.getsockname()[1]
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
                try:
                    udp.bind((address, port))
                except OSError:
                    continue
                return port


class NameServer:
    """Serves ZONES, {"example.org": "@ MX 10 mx\\nmx A 192.0.2.1\\n"}, from the
    end of the constructor until stop(). A SOA and an NS record are added. For
    stagepost.conf: dns_server = server.dns_server.

    A name outside the zones is refused, which a resolver takes for a server
    that fails; with the zone "." everything else does not exist."""

    def __init__(self, zones, address="127.0.0.1", port=None):
        self.address = address
        self.port = port or free_port(address)
        self.directory = tempfile.mkdtemp(prefix="stagepost-nsd-")
        self.process = None
        self._write(zones)
        self.start()

    @property
    def dns_server(self):
        return f"{self.address}@{self.port}"

    def _write(self, zones):
        path = lambda name: os.path.join(self.directory, name)
        with open(path("nsd.conf"), "w", encoding="ascii") as conf:
            conf.write(
                f"server:\n  ip-address: {self.address}@{self.port}\n  server-count: 1\n"
                f'  username: ""\n  chroot: ""\n  zonesdir: "{self.directory}"\n'
                f'  database: ""\n  zonelistfile: "{path("zone.list")}"\n'
                f'  xfrdfile: "{path("xfrd.state")}"\n  xfrdir: "{self.directory}"\n'
                f'  pidfile: "{path("nsd.pid")}"\n'
                "  rrl-ratelimit: 0\n  rrl-whitelist-ratelimit: 0\n  rrl-size: 1\n  xfrd-tcp-max: 1\n  xfrd-tcp-pipeline: 1\n"
                "remote-control:\n  control-enable: no\n"
            )
            for number, (name, text) in enumerate(zones.items()):
                with open(path(f"{number}.zone"), "w", encoding="ascii") as zone:
                    zone.write(self._zone(name, text))
                conf.write(f'zone:\n  name: "{name}"\n  zonefile: "{number}.zone"\n')

    def _zone(self, name, text):
        """The file of one zone."""
        return f"$ORIGIN {name.rstrip('.')}.\n$TTL 60\n{SOA}{text}\n"

    def start(self):
        """Starts it (again) and returns when it answers."""
        log = open(os.path.join(self.directory, "log"), "ab")
        with log:
            self.process = subprocess.Popen(
                ["/usr/sbin/nsd", "-d", "-c", os.path.join(self.directory, "nsd.conf")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                # it would read the machine's authorities, for transfers of zones by TLS, at each start
                env=os.environ | {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": self.directory},
            )
        self._wait_until_it_answers()

    def _wait_until_it_answers(self):
        query = struct.pack(">HHHHHH", 1, 0, 1, 0, 0, 0) + b"\0" + struct.pack(">HH", 6, 1)
        deadline = time.monotonic() + 10
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.settimeout(0.05)
            udp.connect((self.address, self.port))
            while self.process.poll() is None and time.monotonic() < deadline:
                try:
                    udp.send(query)
                    udp.recv(512)
                    return
                except ConnectionRefusedError:
                    time.sleep(0.01)  # not bound yet; nothing tells when it is
                except TimeoutError:
                    continue
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as log:
            text = log.read()
        self.stop()
        raise RuntimeError(f"nsd does not answer: {text}")

    def halt(self):
        """Ends the server and keeps its zones, for start()."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(10)
            self.process = None

    def stop(self):
        self.halt()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()
