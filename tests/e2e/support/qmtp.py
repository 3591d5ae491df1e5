# SPDX-License-Identifier: ISC
"""QMTP and QMQP for tests: clients that send bytes as they are, and a server."""

import socket
import ssl
import threading

from stagepost import PATIENCE


def netstring(data):
    return str(len(data)).encode() + b":" + data + b","


def package(message, sender, recipients, coding=b"\n"):
    """MESSAGE has LF lines, or CRLF with the CODING b"\\r"."""
    listed = b"".join(netstring(recipient.encode()) for recipient in recipients)
    return netstring(coding + message) + netstring(sender.encode()) + netstring(listed)


def qmqp_package(message, sender, recipients):
    parts = [message, sender.encode()] + [recipient.encode() for recipient in recipients]
    return netstring(b"".join(netstring(part) for part in parts))


class Wire:
    """A client. BEFORE: said before all else; TLS: the context of a client, and a name; WINDOW: of what the
    server may send ahead, which the kernel does not take back later."""

    def __init__(self, port, source="127.0.0.1", before=b"", tls=None, timeout=PATIENCE, window=None):
        self.socket = socket.socket()
        self.socket.settimeout(timeout)
        if window is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", port))
        if before:
            self.socket.sendall(before)
        if tls is not None:
            self.socket = tls[0].wrap_socket(self.socket, server_hostname=tls[1])
        self.kept = b""

    def send(self, data):
        self.socket.sendall(data)

    def read(self, count):
        while len(self.kept) < count:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError("the server has closed")
            self.kept += more
        data, self.kept = self.kept[:count], self.kept[count:]
        return data

    def answer(self):
        """The next netstring."""
        digits = b""
        while (byte := self.read(1)) != b":":
            digits += byte
        data = self.read(int(digits))
        assert self.read(1) == b","
        return data.decode()

    def answers(self, count):
        return [self.answer() for _ in range(count)]

    def is_closed(self):
        """Whether the server closes, with nothing more to say."""
        try:
            return self.kept == b"" and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def deliver(self, message, sender, recipients):
        """The answer for each."""
        self.send(package(message, sender, recipients))
        return self.answers(len(recipients))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.socket.close()


class Server:
    """A QMTP server. ANSWER(recipient) is an answer's text, b"K..."; None: the connection is
    closed instead. TLS: the context of a server. READS: False: it reads nothing."""

    def __init__(self, answer=lambda recipient: b"Kok", tls=None, reads=True, port=0):
        self.answer = answer
        self.tls = tls
        self.reads = reads
        self.packages = []  # (coding and message, sender, recipients)
        self.connections = 0
        self.held = []
        self.listening = socket.create_server(("127.0.0.1", port))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            self.held.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
            stream = connection.makefile("rb")
            while self.reads and self._package(connection, stream):
                pass
        except (OSError, ValueError, ssl.SSLError):
            pass
        finally:
            if self.reads:
                connection.close()

    def _netstring(self, stream):
        digits = b""
        while (byte := stream.read(1)) != b":":
            if not byte.isdigit():
                raise ValueError("no netstring")
            digits += byte
        data = stream.read(int(digits))
        if stream.read(1) != b",":
            raise ValueError("no comma")
        return data

    def _package(self, connection, stream):
        message = self._netstring(stream)
        sender = self._netstring(stream)
        rest = self._netstring(stream)
        recipients = []
        while rest:
            digits, _, rest = rest.partition(b":")
            recipients.append(rest[:int(digits)].decode())
            rest = rest[int(digits) + 1:]
        self.packages.append((message, sender.decode(), recipients))
        for recipient in recipients:
            text = self.answer(recipient)
            if text is None:
                return False
            connection.sendall(netstring(text))
        return True

    def close(self):
        self.listening.close()
        for connection in self.held:
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.close()
