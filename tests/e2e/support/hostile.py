# SPDX-License-Identifier: ISC
"""A server for SMTP or LMTP that does wrong what a case says, until it is mended."""

import re
import socket
import struct
import threading

from stagepost import SLOWNESS

# what is said in each state; END is the message's
GOOD = {
    "greeting": b"220 hostile.test\r\n",
    "EHLO": b"250-hostile.test\r\n250 8BITMIME\r\n",
    "MAIL": b"250 2.1.0 ok\r\n",
    "RCPT": b"250 2.1.5 ok\r\n",
    "DATA": b"354 go\r\n",
    "END": b"250 2.0.0 taken\r\n",
    "RSET": b"250 ok\r\n",
    "QUIT": b"221 bye\r\n",
}
PIPELINING = {**GOOD, "EHLO": b"250-hostile.test\r\n250-8BITMIME\r\n250 PIPELINING\r\n"}
PATIENCE = 30 * SLOWNESS  # seconds, for a client that is to close


class Cut(Exception):
    """Raised by a reply: the connection ends here."""


class Peer:
    """One connection."""

    def __init__(self, connection, budget=None):
        self.socket = connection
        self.socket.settimeout(PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = connection.makefile("rb")
        self.recipient = None  # that is being answered for
        self.said = b""        # in reply to the last command
        self.budget = budget   # bytes that may still be said; then the connection ends

    def say(self, data):
        self.said += data[:3 - len(self.said)] if len(self.said) < 3 else b""
        if self.budget is None:
            self.socket.sendall(data)
            return
        self.socket.sendall(data[:self.budget])
        self.budget -= len(data)
        if self.budget <= 0:
            raise Cut

    def line(self):
        line = self.file.readline()
        if not line.endswith(b"\n"):
            raise Cut
        return line

    def reset(self):
        """The client sees ECONNRESET, not an end."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Cut

    def say_for_ever(self, piece):
        """Until the client has had enough."""
        while True:
            self.say(piece)

    def wait_for_end(self):
        """What the client still says, until it closes."""
        while self.socket.recv(65536):
            pass
        raise Cut


class Server:
    """GOOD: what it says when it is mended. REPLIES: {state: bytes, or a function of the Peer
    that says something}, for what differs. BUDGET: so many bytes are said, then the connection
    is closed. Keeps the messages whose final dot came: (recipients that it accepted, text), and what came of RCPT."""

    def __init__(self, good=None, is_lmtp=False, replies=None, budget=None):
        self.good = good or GOOD
        self.replies = {**self.good, **(replies or {})}
        self.is_lmtp = is_lmtp
        self.budget = budget
        self.messages = []
        self.commands = []  # RCPT, as they came
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def mend(self):
        self.replies = dict(self.good)
        self.budget = None

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                peer = Peer(connection, self.budget)
                with peer.file:
                    self._talk(peer)
            except (Cut, OSError):
                pass

    def _reply(self, peer, state):
        reply = self.replies[state]
        if callable(reply):
            reply(peer)
        else:
            peer.say(reply)

    def _talk(self, peer):
        recipients = []
        self._reply(peer, "greeting")
        while True:
            verb = (line := peer.line())[:4].upper().decode("latin-1")
            state = {"LHLO": "EHLO", "HELO": "EHLO"}.get(verb, verb)
            if state == "RCPT":
                peer.recipient = re.search(rb"<(.*)>", line).group(1)
                self.commands.append(line.decode().rstrip())
            elif state in ("MAIL", "RSET"):
                recipients = []
            if state not in self.replies:
                raise Cut
            peer.said = b""
            self._reply(peer, state)
            if state == "RCPT" and peer.said.startswith(b"2"):
                recipients.append(peer.recipient)
            if state == "DATA":
                self._take_message(peer, recipients)
                recipients = []

    def _take_message(self, peer, recipients):
        lines = []
        while (line := peer.line()) != b".\r\n":
            lines.append(line[1:] if line.startswith(b".") else line)
        self.messages.append((recipients, b"".join(lines)))
        for peer.recipient in recipients if self.is_lmtp else [b""]:
            self._reply(peer, "END")

    def copies(self, recipient):
        """How many messages it has for the address."""
        return sum(recipients.count(recipient.encode()) for recipients, text in self.messages
                   if text)
