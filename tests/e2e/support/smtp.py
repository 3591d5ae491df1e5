# SPDX-License-Identifier: ISC
"""An SMTP client for tests, which sends bytes as they are."""

import select
import smtplib
import socket


class Client(smtplib.SMTP):
    """smtplib, except that a message may be empty and is sent exactly as it is. PATH: of the UNIX
    socket that NODE listens at, in place of its port. BEFORE: said before all else."""

    def __init__(self, node, source="127.0.0.1", timeout=60, path=None, before=b""):
        self.path = path
        self.before = before
        super().__init__(node.address, node.port, local_hostname="client.test",
                         timeout=timeout, source_address=(source, 0))
        self.ehlo()

    def _get_socket(self, host, port, timeout):
        if self.path is None:
            made = super()._get_socket(host, port, timeout)
            # after a handshake without tickets Nagle's algorithm holds a command up for 40 ms
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.sendall(self.before)
            return made
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(timeout)
        made.connect(self.path)
        return made

    def data(self, msg, before_dot=None):
        """MSG has CRLF lines and ends with one, or is empty. BEFORE_DOT is called
        before the line with the final dot is sent."""
        code, text = self.docmd("DATA")
        if code != 354:
            raise smtplib.SMTPDataError(code, text)
        stuffed = stuff(msg)
        if before_dot is not None:
            self.sock.sendall(stuffed[:-3])
            before_dot()
            stuffed = stuffed[-3:]
        self.sock.sendall(stuffed)
        return self.getreply()

    def deliver(self, sender, recipients, message, before_dot=None):
        """The final reply, "250 2.0.0 queued as 457-63f1", or the first refusal."""
        if isinstance(recipients, str):
            recipients = [recipients]
        size = f" SIZE={len(message)}" if self.has_extn("size") else ""
        commands = [f"MAIL FROM:<{sender}>{size} BODY=8BITMIME"]
        commands += [f"RCPT TO:<{recipient}>" for recipient in recipients]
        for command in commands:
            code, text = self.docmd(command)
            if code != 250:
                self.docmd("RSET")
                return f"{code} {text.decode()}"
        try:
            code, text = self.data(message, before_dot)
        except smtplib.SMTPDataError as refusal:
            code, text = refusal.smtp_code, refusal.smtp_error
        return f"{code} {text.decode()}"

    def break_off(self, sender, recipients, message):
        """In the middle of the message; raises ConnectionError."""
        for command in (f"MAIL FROM:<{sender}>", *(f"RCPT TO:<{to}>" for to in recipients), "DATA"):
            self.docmd(command)
        self.sock.sendall(message[:len(message) // 2])
        self.close()
        raise ConnectionError("broken off")


def stuff(message):
    """MESSAGE as it follows DATA, with the final dot."""
    if message.startswith(b"."):
        message = b"." + message
    return message.replace(b"\r\n.", b"\r\n..") + b".\r\n"


def deliver(node, recipients, message, sender="sender@client.test", source="127.0.0.1"):
    """One session with one message; it must be accepted, unless the reply is asked for."""
    with Client(node, source) as client:
        reply = client.deliver(sender, recipients, message)
    assert reply.startswith("250 "), reply
    return reply


class Wire:
    """A connection for what no decent client says."""

    def __init__(self, node, source="127.0.0.1", timeout=20):
        self.socket = socket.create_connection((node.address, node.port), timeout, (source, 0))
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def reply(self):
        """The next reply's lines in one string; "" when the server has closed."""
        lines = []
        while True:
            line = self.file.readline()
            lines.append(line.decode("ascii").rstrip("\r\n"))
            if line == b"" or line[3:4] != b"-":
                return "\n".join(lines)

    def ask(self, data):
        self.send(data + b"\r\n")
        return self.reply()

    def heard(self, seconds):
        """What comes until it is quiet for SECONDS. Not while a reply is half read."""
        heard = b""
        while select.select([self.socket], [], [], seconds)[0]:
            piece = self.socket.recv(4096)
            heard += piece
            if piece == b"":
                break
        return heard

    def begin(self, sender=b"sender@client.test", recipient=b"anna@a.test", with_data=True):
        """Up to the 354 of DATA, or to what stands before it."""
        assert self.reply().startswith("220 ")
        for command in (b"EHLO client.test", b"MAIL FROM:<%s>" % sender,
                        b"RCPT TO:<%s>" % recipient):
            reply = self.ask(command)
            assert reply.startswith("250"), reply
        if with_data:
            assert self.ask(b"DATA").startswith("354 ")

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
