# SPDX-License-Identifier: ISC
"""An LMTP or SMTP server for tests that does as a test says."""

import os
import socketserver
import threading


class Cut(Exception):
    """Raised by what a test does: the connection ends here."""


class Server:
    """RECIPIENT(address) and FINAL(address) give replies, or raise Cut, or take their time.
    TAKEN(recipients, text) is told of each message before any FINAL. With SMTP=True there is
    one FINAL(recipients) for all. On a UNIX socket at PATH, or on TCP at self.address."""

    def __init__(self, path=None, recipient=None, final=None, *, taken=None, smtp=False):
        self.recipient = recipient or (lambda address: "250 2.1.5 ok")
        self.final = final or (lambda address: f"250 2.0.0 <{address}> saved")
        self.smtp = smtp
        self.connections = 0
        self.messages = []  # (recipients that were answered for, text)
        self.taken = taken or self._keep
        self.greetings = []
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                outer.connections += 1
                try:
                    outer.serve(self.rfile, self.wfile)
                except (Cut, OSError):
                    pass

        kind = socketserver.ThreadingUnixStreamServer if path else socketserver.ThreadingTCPServer
        kind.daemon_threads = True
        kind.block_on_close = False
        self.server = kind(path or ("127.0.0.1", 0), Handler)
        if path:
            os.chmod(path, 0o666)
            self.address = f"unix:{path}"
        else:
            self.address = f"127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def serve(self, rfile, wfile):
        recipients = []
        say = lambda text: (wfile.write(text.encode() + b"\r\n"), wfile.flush())
        say("220 faulty server")
        while line := rfile.readline().decode().rstrip("\r\n"):
            verb = line[:4].upper()
            if verb == ("EHLO" if self.smtp else "LHLO"):
                self.greetings.append(line)
                say("250-faulty\r\n250-PIPELINING\r\n250-ENHANCEDSTATUSCODES\r\n250 8BITMIME")
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
                say("354 go")
                text = self._read_text(rfile)
                if text is None:
                    return
                self._answer(recipients, text, say)
                recipients = []
            elif verb == "QUIT":
                say("221 bye")
                return
            elif verb in ("MAIL", "RSET"):
                recipients = []
                say("250 ok")
            else:
                say("500 5.5.2 what?")

    @staticmethod
    def _read_text(rfile):
        """None: the client went away."""
        lines = []
        while (line := rfile.readline()) != b".\r\n":
            if not line:
                return None
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines)

    def _keep(self, recipients, text):
        """Until each is answered for, RECIPIENTS stays empty."""
        answered = []
        self.messages.append((answered, text))
        return answered

    def _answer(self, recipients, text, say):
        answered = self.taken(recipients, text)
        if self.smtp:
            say(self.final(recipients))
            return
        for address in recipients:
            reply = self.final(address)
            if answered is not None:
                answered.append(address)
            say(reply)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
