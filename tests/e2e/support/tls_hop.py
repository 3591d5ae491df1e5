# SPDX-License-Identifier: ISC
"""A next hop for tests of TLS, that does as a test says: it offers STARTTLS or not, refuses it,
stalls, answers with garbage, injects replies, or ends in the middle."""

import hashlib
import os
import re
import socketserver
import ssl
import subprocess
import threading
import time

from directory_tls import make_certificates
from stagepost import PATIENCE


class Certificates:
    """Those of tests/common/make-certificates, and more of the same authority."""

    def __init__(self, directory, *names):
        self.directory = make_certificates(directory, *names)
        self.keys = {}

    @property
    def authority(self):
        return self.path("authority")

    def path(self, name, suffix="pem"):
        return os.path.join(self.directory, f"{name}.{suffix}")

    def context(self, name, asks_clients=False):
        """A server's. ASKS_CLIENTS: it demands a certificate of the authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path(name), self.path(name, "key"))
        if asks_clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.authority)
        return context

    def fingerprint(self, name):
        """SHA-256 of the certificate, with colons."""
        with open(self.path(name), encoding="ascii") as file:
            digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read())).hexdigest()
        return re.sub("..(?=.)", r"\g<0>:", digest.upper())

    def key_fingerprint(self, name):
        """SHA-256 of the public key."""
        if name not in self.keys:
            self.keys[name] = subprocess.run(
                ["sh", "-c", f"openssl x509 -in {self.path(name)} -pubkey -noout | "
                 "openssl pkey -pubin -outform DER | openssl dgst -sha256 -r"], check=True,
                capture_output=True, text=True, timeout=PATIENCE).stdout.split()[0]
        return self.keys[name]


class Session:
    """One connection."""

    def __init__(self, hop, connection):
        self.hop = hop
        self.connection = connection
        self.rfile = connection.makefile("rb")
        self.is_secured = False
        self.recipients = []
        self.number = 0  # of the connection, in the hop

    def say(self, *lines):
        self.connection.sendall("".join(f"{line}\r\n" for line in lines).encode())

    def offer(self, name):
        if self.hop.behaviour == "ehlo":
            self.say("502 5.5.1 what")
            return
        offers = ["PIPELINING", "8BITMIME", *self.more_offers()]
        if self.hop.context is not None and not self.is_secured and self.hop.behaviour != "none":
            offers.append("STARTTLS")
        lines = [name, *offers]
        self.say(*(f"250-{line}" for line in lines[:-1]), f"250 {lines[-1]}")

    def more_offers(self):
        return []

    def take_other(self, line):
        """What no other method knows."""
        del line
        self.say("250 2.0.0 ok")

    def secure(self):
        """False: the session is over."""
        behaviour = self.hop.behaviour
        if behaviour == "refuse":
            self.say("454 4.7.0 TLS not available")
            return True
        if behaviour == "busy":
            self.say("421 4.3.2 TLS is broken here")
            return False
        if behaviour == "inject":
            self.say("220 go ahead", "250-mx.injected.test", "250 PIPELINING", "250 ok",
                     "250 ok", "354 go ahead", "250 2.0.0 taken")
            self.connection.settimeout(5)
            self.hop.plain += list(self.rfile)
            return False
        self.say("220 go ahead")
        if behaviour == "stall":
            self.hop.stopped.wait(PATIENCE)
        if behaviour == "garbage":
            self.connection.sendall(b"This is not TLS at all\r\n" * 20)
            time.sleep(0.2)
        if behaviour in ("stall", "garbage", "close"):
            return False
        self.rfile.close()
        self.connection = self.hop.context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.is_secured = True
        self.hop.resumed += bool(self.connection.session_reused)
        presented = self.connection.getpeercert()
        self.hop.presented.append(presented and dict(
            pair for name in presented["subject"] for pair in name)["commonName"])
        return True

    def take(self):
        """False: the session is over."""
        self.say("354 go ahead")
        text = b""
        for line in self.rfile:
            if self.is_secured and self.hop.behaviour == "break in the data":
                return False
            if line == b".\r\n":
                break
            text += line
        if self.hop.behaviour == "cut":  # the end of TLS, without close_notify
            self.hop.broken.append(text)
            return False
        self.hop.messages.append((self.recipients, text, self.is_secured))
        self.say("250 2.0.0 taken")
        self.recipients = []
        return True

    def run(self):
        self.say("220 mx.hop.test ESMTP")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if self.is_secured and self.hop.behaviour == f"break at {verb.decode()}":
                return
            if not self.is_secured:
                self.hop.plain.append(line)
            if verb in (b"EHLO", b"LHLO"):
                self.offer("mx.hop.test")
            elif verb == b"STAR":
                if not self.secure():
                    return
            elif verb == b"RCPT":
                self.recipients.append(line.strip().decode())
                self.say("250 2.1.5 ok")
            elif verb == b"DATA":
                if not self.take():
                    return
            elif verb == b"QUIT":
                self.say("221 bye")
                return
            else:
                self.take_other(line)


class Hop:
    """BEHAVIOUR: "good", "none" (STARTTLS is not offered), "ehlo" (EHLO is unknown), "refuse",
    "busy" (421 to STARTTLS), "stall", "garbage", "close" or "inject" (in place of the handshake), "cut" (no reply to the
    message, and no close_notify), "break at MAIL", "break at DATA" or "break in the data" (inside TLS only). CONTEXT: of the server; None: no TLS. LISTENING: a socket, in the
    place of one at ADDRESS and PORT."""

    session_class = Session

    def __init__(self, context=None, behaviour="good", address="127.0.0.1", port=0, listening=None):
        self.context = context
        self.behaviour = behaviour
        self.messages = []  # (recipients, text, whether by TLS)
        self.broken = []
        self.plain = []  # lines that came in plain text
        self.names = []  # that clients asked for
        self.connections = 0
        self.resumed = 0
        self.presented = []  # names in the certificates of clients; None: none
        self.stopped = threading.Event()
        outer = self
        if context is not None:
            context.sni_callback = lambda _, name, __: self.names.append(name)

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                outer.connections += 1
                session = outer.session_class(outer, self.request)
                try:
                    session.run()
                except (OSError, ValueError):
                    pass
                if outer.behaviour != "cut":
                    return
                session.rfile.close()
                session.connection.close()

        socketserver.ThreadingTCPServer.allow_reuse_address = True
        self.server = socketserver.ThreadingTCPServer((address, port), Handler, listening is None)
        if listening is not None:
            self.server.socket.close()
            self.server.socket = listening
            self.server.server_address = listening.getsockname()
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def mail_in_plain_text(self):
        """What an eavesdropper has read of mail."""
        return [line for line in self.plain if line[:4].upper() in (b"MAIL", b"RCPT", b"DATA")]

    def close(self):
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
