# SPDX-License-Identifier: ISC
"""An LMTP server for tests that does as a test says; an SMTP server for who says EHLO."""

import os
import socketserver
import threading
import time


class Cut(Exception):
    """Raised by what a test does: the connection ends here."""


class Wire:
    """A connection of a server."""

    def __init__(self, connection):
        self.connection = connection
        self.file = connection.makefile("rb")
        self.is_secured = False

    def say(self, text):
        self.connection.sendall(text.encode() + b"\r\n")

    def secure(self, context):
        self.file.close()
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.file = self.connection.makefile("rb")
        self.is_secured = True

    def close(self):
        self.file.close()
        self.connection.close()


class Server:
    """RECIPIENT(address) and FINAL(address) give replies, or raise Cut, or take their time;
    BEFORE_DATA() may take it before each 354. OFFERS are its extensions.
    TAKEN(recipients, text) is called for each message before any FINAL. What came of those whose
    client went away is in self.broken, as (recipients, text).
    On a UNIX socket at PATH, or on TCP at self.address, or at LISTENING, a socket.
    CONTEXT: of TLS, which it offers; what was said of mail without it is in self.plain."""

    def __init__(self, path=None, recipient=None, final=None, *, taken=None, before_data=None,
                 offers=("8BITMIME",), listening=None, context=None):
        self.recipient = recipient or (lambda address: "250 2.1.5 ok")
        self.final = final or (lambda address: f"250 2.0.0 <{address}> saved")
        self.before_data = before_data or (lambda: None)
        self.offers = ("PIPELINING", "ENHANCEDSTATUSCODES", *offers)
        self.commands = []  # MAIL, as they came
        self.broken = []
        self.connections = 0
        self.messages = []  # (recipients that were answered for, text)
        self.taken = taken or self._keep
        self.times = []  # when they came, as time.time()
        self.greetings = []
        self.context = context
        self.plain = []
        self.secured = 0  # connections
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                outer.connections += 1
                wire = Wire(self.request)
                try:
                    outer.serve(wire)
                except (Cut, OSError, ValueError):  # the last: of a socket that TLS has lost
                    pass
                finally:
                    wire.close()

        kind = socketserver.ThreadingUnixStreamServer if path else socketserver.ThreadingTCPServer
        kind.daemon_threads = True
        kind.request_queue_size = 128  # or else connections are lost before they are accepted
        kind.block_on_close = False
        self.server = kind(path or ("127.0.0.1", 0), Handler, bind_and_activate=listening is None)
        if listening is not None:
            self.server.socket.close()
            self.server.socket = listening
            self.server.server_address = listening.getsockname()
        if path:
            os.chmod(path, 0o666)
            self.address = f"unix:{path}"
        else:
            self.address = "{}:{}".format(*self.server.server_address)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def _offered(self, wire):
        starttls = ("STARTTLS",) if self.context is not None and not wire.is_secured else ()
        return (*starttls, *self.offers)

    def serve(self, wire):
        recipients = []
        is_lmtp = True
        say = wire.say
        say("220 faulty LMTP")
        while line := wire.file.readline().decode(errors="replace").rstrip("\r\n"):
            verb = line[:4].upper()
            if verb in ("MAIL", "RCPT", "DATA") and self.context is not None and not wire.is_secured:
                self.plain.append(line)
            if verb in ("LHLO", "EHLO"):
                is_lmtp = verb == "LHLO"
                self.greetings.append(line)
                *others, last = self._offered(wire)
                say("250-faulty\r\n" + "".join(f"250-{word}\r\n" for word in others)
                    + f"250 {last}")
            elif verb == "STAR" and self.context is not None and not wire.is_secured:
                say("220 go")
                wire.secure(self.context)
                self.secured += 1
            elif verb == "RCPT":
                address = line[line.index("<") + 1:line.index(">")]
                reply = self.recipient(address)
                if reply.startswith("2"):
                    recipients.append(address)
                say(reply)
            elif verb == "DATA":
                if not recipients:
                    say("503 5.5.1 no recipients")
                    continue
                self.before_data()
                say("354 go")
                text = self._read_text(wire.file, recipients)
                if text is None:
                    return
                answered = self.taken(recipients, text)
                for address in recipients if is_lmtp else recipients[:1]:
                    reply = self.final(address)
                    if answered is not None:
                        answered += [address] if is_lmtp else recipients
                    say(reply)
                recipients = []
            elif verb == "QUIT":
                say("221 bye")
                return
            elif verb in ("MAIL", "RSET"):
                recipients = []
                self.commands += [line] if verb == "MAIL" else []
                say("250 ok")
            else:
                say("500 5.5.2 what?")

    def _read_text(self, rfile, recipients):
        """None: the client went away."""
        lines = []
        try:
            while (line := rfile.readline()) != b".\r\n":
                if not line:
                    break
                lines.append(line[1:] if line.startswith(b".") else line)
            else:
                return b"".join(lines)
        except OSError:  # the connection was reset
            pass
        self.broken.append((list(recipients), b"".join(lines)))
        return None

    def _keep(self, recipients, text):
        """The list of those that are answered for, which grows."""
        del recipients
        answered = []
        self.messages.append((answered, text))
        self.times.append(time.time())
        return answered

    def close(self):
        self.server.shutdown()
        self.server.server_close()
