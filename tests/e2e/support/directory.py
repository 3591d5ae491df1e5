# SPDX-License-Identifier: ISC
"""The directory's protocol as stagepost-directory(7) describes it, from that page alone."""

import socket

# of "Hello world!"
HASH = ("$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnI"
        "FNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1")


def encode(*words):
    content = b"".join(b"%d:%s," % (len(word), word) for word in (str(w).encode() for w in words))
    return b"%d:%s," % (len(content), content)


class Client:
    def __init__(self, path, timeout=10):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.stream = self.socket.makefile("rb")
        self.hello = self.receive()
        self.pushed = []
        self.number = 0

    def netstring(self, stream):
        digits = b""
        while (byte := stream.read(1)) not in (b":", b""):
            digits += byte
        text = stream.read(int(digits)) if digits else b""
        return text if stream.read(1) == b"," else None

    def receive(self):
        """The words of the next frame; [] when the server has ended the connection."""
        content, words = self.netstring(self.stream), []
        while content:
            length, _, content = content.partition(b":")
            words.append(content[:int(length)].decode())
            content = content[int(length) + 1:]
        return words

    def send(self, *words):
        self.socket.sendall(encode(*words))

    def ask(self, verb, *words):
        """(verb of the answer, its words after ID TTL VERSION, or after ID)."""
        self.number += 1
        self.send(verb, self.number, *words)
        results = []
        while True:
            answer = self.receive()
            assert answer, "the server has ended the connection"
            if answer[0] in ("new", "now", "reset", "up", "down"):
                self.pushed.append(answer)
            elif answer[0] == "part":
                results += answer[2:]
            else:
                skip = 4 if answer[0] in ("val", "none") else 2
                return answer[0], results + answer[skip:]

    def close(self):
        self.stream.close()
        self.socket.close()
