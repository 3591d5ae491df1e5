# SPDX-License-Identifier: ISC
"""Domains with policies of MTA-STS: an HTTPS server that serves them, right or wrong, and a client
that asks the process "policy" as "remote" does."""

import contextlib
import http.server
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading

from lying_dns import TXT, Answer, a, record
from stagepost import PATIENCE, as_user

NONE, FOUND, LATER = range(3)
FETCH, INVALID, WEBPKI = range(1, 4)
MODES = ("none", "testing", "enforce")
ASK, COUNT, ANSWER = 1, 2, 3
PATH = "/.well-known/mta-sts.txt"


def policy(*mx, mode="enforce", max_age=86400, version="STSv1"):
    lines = [f"version: {version}", f"mode: {mode}", *[f"mx: {one}" for one in mx], f"max_age: {max_age}"]
    return "\r\n".join(lines) + "\r\n"


def txt(*strings, ttl=60):
    return record(TXT, b"".join(bytes([len(one)]) + one.encode() for one in strings), ttl=ttl)


def published(domain, number="1", address="127.0.0.1"):
    """The answers of the DNS by which DOMAIN has a policy with that id."""
    return {("_mta-sts." + domain, TXT): Answer([txt(f"v=STSv1; id={number};")]),
            ("mta-sts." + domain, 1): Answer(a(address))}


class Served:
    """What a host answers. TEXT in PIECES with a pause of DELAY seconds before each."""

    def __init__(self, text, *, status=200, kind="text/plain", headers=(), delay=0.0, pieces=1):
        self.text = text
        self.status = status
        self.kind = kind
        self.headers = dict(headers)
        self.delay = delay
        self.pieces = pieces


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def _send(self, served):
        body = served.text.encode()
        self.send_response(served.status)
        if served.kind:
            self.send_header("Content-Type", served.kind)
        for name, value in served.headers.items():
            self.send_header(name, value)
        if "Transfer-Encoding" not in served.headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        size = -(-len(body) // served.pieces)
        for begin in range(0, len(body), max(size, 1)):
            if self.server.ended.wait(served.delay):
                return
            self.wfile.write(body[begin:begin + size])

    def _find(self):
        host = self.headers.get("Host", "").partition(":")[0]
        self.server.asked.append((host, self.path))
        return self.server.hosts.get((host, self.path)) or self.server.hosts.get(host)

    def do_GET(self):
        served = self._find()
        with contextlib.suppress(OSError):
            if served is None or (self.path != PATH and not isinstance(served, Posts)):
                self.send_error(404)
            else:
                self._send(served)

    def do_POST(self):
        served = self._find()
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if isinstance(served, Posts):
            served.received.append((dict(self.headers), body))
        with contextlib.suppress(OSError):
            if isinstance(served, Posts):
                self._send(served)
            else:
                self.send_error(404)


class Posts(Served):
    """Takes what is posted."""

    def __init__(self, status=200):
        super().__init__("", status=status)
        self.received = []


class HttpsServer(http.server.ThreadingHTTPServer):
    """HOSTS: {host: Served}; CERTIFICATES: {host: (file, key)}, those of others are of the first.
    For each connection a thread."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, hosts, certificates, address="127.0.0.1"):
        self.hosts = hosts
        self.asked = []
        self.ended = threading.Event()
        self.contexts = {host: self._context(*files) for host, files in certificates.items()}
        super().__init__((address, 443), Handler)
        self.context = self._context(*next(iter(certificates.values())))
        self.context.sni_callback = self._choose
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @staticmethod
    def _context(certificate, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context

    def _choose(self, connection, host, _):
        connection.context = self.contexts.get(host, self.context)

    def finish_request(self, request, client_address):
        """In the connection's own thread: the handshake, too, may be slow."""
        request.settimeout(PATIENCE)
        with contextlib.suppress(OSError):
            with self.context.wrap_socket(request, server_side=True) as connection:
                super().finish_request(connection, client_address)

    def handle_error(self, request, client_address):
        pass

    def count(self, host):
        return sum(name == host for name, _ in self.asked)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.ended.set()
        self.shutdown()
        self.server_close()


class Known:
    """An answer of the process."""

    def __init__(self, body):
        self.kind, mode, self.until_us, self.problem = struct.unpack_from("<IIQI", body)
        rest = body[20:]
        texts = []
        for _ in range(2):
            size, = struct.unpack_from("<I", rest)
            texts.append(rest[4:4 + size].decode())
            rest = rest[4 + size:]
        assert not rest
        self.mode = MODES[mode]
        self.id, patterns = texts
        self.patterns = patterns.split()

    def __repr__(self):
        return f"{self.kind} {self.mode} {self.problem} {self.id} {self.patterns}"


CONNECT = """import socket, sys
connected = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connected.connect(sys.argv[2])
socket.send_fds(socket.socket(fileno=int(sys.argv[1])), [b"x"], [connected.fileno()])
"""


def connect_as_user(path):
    """A SOCK_SEQPACKET connection to PATH that to the kernel is that of the node's user."""
    ours, others = socket.socketpair()
    with ours, others:
        subprocess.run([*as_user(), sys.executable, "-c", CONNECT, str(others.fileno()), path],
                       pass_fds=[others.fileno()], check=True, timeout=PATIENCE)
        _, (descriptor,), _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=descriptor)


class Asker:
    """A connection to the process "policy" of NODE, as the user of its processes."""

    def __init__(self, node):
        self.socket = connect_as_user(os.path.join(node.run, "policy"))
        self.socket.settimeout(PATIENCE)

    def send(self, tag, domain, kind=ASK):
        domain = domain.encode()
        self.socket.send(struct.pack("<HHII", 1, kind, tag, len(domain)) + domain)

    def receive(self):
        """(tag, Known)"""
        packet = self.socket.recv(65536)
        assert packet, "the connection was closed"
        version, kind, tag = struct.unpack_from("<HHI", packet)
        assert (version, kind) == (1, ANSWER)
        return tag, Known(packet[8:])

    def ask(self, domain):
        self.send(7, domain)
        tag, known = self.receive()
        assert tag == 7
        return known

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
