# SPDX-License-Identifier: ISC
"""The client's side of src/auth/protocol.h, as smtpd would speak it, and SASL clients of our own
besides: SCRAM with the bindings of TLS."""

import base64
import contextlib
import hashlib
import hmac
import ipaddress
import itertools
import os
import pwd
import socket
import struct
import time

from stagepost import PATIENCE, USER, is_root

OFFER, BEGIN, RESPOND, CANCEL, ANSWER, LEAVE, FORGIVE, FOLLOW, UNFOLLOW, LOGIN, DOUBT = range(1, 12)
VALID, ENDED, NOT_KNOWN = range(3)
CHALLENGE, ACCEPTED, REFUSED, LAST_CHALLENGE = range(4)
FAILED, TEMPORARY, MALFORMED, UNKNOWN, INSECURE, TOO_WEAK = range(6)
SECURED, BINDING, CERTIFICATE = 1, 2, 4
EXPORTER = b"e" * 32
END_POINT = b"p" * 32
NETWORKS = itertools.count()


def elsewhere():
    """The address of a client, and of a network, that has not failed yet: who fails again is answered
    later each time."""
    return f"10.{next(NETWORKS)}.0.1"


@contextlib.contextmanager
def user_of_the_node():
    """The kernel tells the process who has connected."""
    if not is_root():
        yield
        return
    os.setresuid(-1, pwd.getpwnam(USER).pw_uid, 0)
    try:
        yield
    finally:
        os.setresuid(-1, 0, 0)


def text(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack("<I", len(data)) + data


class Answer:
    def __init__(self, body):
        self.outcome, self.refusal, length = struct.unpack_from("<III", body)
        self.message = body[12:12 + length]
        size, = struct.unpack_from("<I", body, 12 + length)
        self.user = body[16 + length:16 + length + size].decode()
        more, = struct.unpack_from("<I", body, 16 + length + size)
        self.stamp = body[20 + length + size:]
        assert len(self.stamp) == more

    def __repr__(self):
        return f"{self.outcome} {self.refusal} {self.message} {self.user!r}"


class Client:
    """A connection to the socket of "auth" of NODE."""

    def __init__(self, node):
        self.tag = 0
        self.offer = None
        self.states = []  # of logins that are followed: (tag, state)
        self.doubts = 0  # how often all of them were in doubt
        self.early = {}  # answers to others than the one that was waited for
        deadline = time.monotonic() + PATIENCE
        while True:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.socket.settimeout(PATIENCE)
            try:
                with user_of_the_node():
                    self.socket.connect(os.path.join(node.run, "auth"))
                self.receive()
                return
            except (OSError, AssertionError):
                self.socket.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, kind, tag, body=b""):
        self.socket.send(struct.pack("<HHI", 1, kind, tag) + body)

    def receive(self):
        """The next message: (kind, tag)."""
        packet = self.socket.recv(1 << 16)
        assert packet, "auth has closed the connection"
        version, kind, tag = struct.unpack_from("<HHI", packet)
        assert version == 1
        if kind == OFFER:
            self.offer, at = {}, 12
            for _ in range(struct.unpack_from("<I", packet, 8)[0]):
                length, = struct.unpack_from("<I", packet, at)
                name = packet[at + 4:at + 4 + length].decode()
                self.offer[name], = struct.unpack_from("<I", packet, at + 4 + length)
                at += 8 + length
        elif kind == LOGIN:
            self.states.append((tag, *struct.unpack_from("<I", packet, 8)))
        elif kind == DOUBT:
            assert len(packet) == 8 and tag == 0
            self.doubts += 1
        else:
            assert kind == ANSWER
            self.early[tag] = Answer(packet[8:])
        return kind, tag

    def wait_for_offer(self, name):
        while name not in self.offer:
            self.receive()

    def begin(self, mechanism, initial=None, address="192.0.2.1", secured=True, exporter=EXPORTER,
              end_point=END_POINT, certificate="", name="", protocol="submission"):
        """Begins an exchange; its tag."""
        self.tag += 1
        ip = ipaddress.ip_address(address)
        packed = b"\0" * 10 + b"\xff\xff" + ip.packed if ip.version == 4 else ip.packed
        self.send(BEGIN, self.tag,
                  text(packed) + struct.pack("<I", secured) + text(exporter) + text(end_point) +
                  text(certificate) + text(name) + text(protocol) + struct.pack("<I", 40000) + text("1:1") +
                  text(mechanism) +
                  struct.pack("<I", initial is not None) + text(initial or b""))
        return self.tag

    def answer(self, tag):
        while tag not in self.early:
            self.receive()
        return self.early.pop(tag)

    def ask(self, mechanism, initial=None, **peer):
        tag = self.begin(mechanism, initial, **peer)
        return tag, self.answer(tag)

    def respond(self, tag, response):
        self.send(RESPOND, tag, text(response))
        return self.answer(tag)

    # --- whole exchanges ---

    def plain(self, user, password, **peer):
        return self.ask("PLAIN", f"\0{user}\0{password}".encode(), **peer)[1]

    def login(self, user, password, **peer):
        tag, answer = self.ask("LOGIN", **peer)
        assert answer.message == b"Username:"
        assert self.respond(tag, user).message == b"Password:"
        return self.respond(tag, password)

    def scram(self, user, password, mechanism="SCRAM-SHA-256", binding=None, bound=None, flag="n",
              **peer):
        """BOUND: what the client believes to be the binding's data."""
        digest = "sha256" if "256" in mechanism else "sha1"
        header = f"p={binding},," if binding else f"{flag},,"
        data = {"tls-exporter": EXPORTER, "tls-server-end-point": END_POINT}.get(binding, b"")
        bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={os.urandom(9).hex()}"
        tag, answer = self.ask(mechanism, (header + bare).encode(), **peer)
        if answer.outcome != CHALLENGE:
            return answer
        first = answer.message.decode()
        fields = dict(field.split("=", 1) for field in first.split(","))
        salt, count = base64.b64decode(fields["s"]), int(fields["i"])
        salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, count)
        key = hmac.digest(salted, b"Client Key", digest)
        said = header.encode() + (data if bound is None else bound)
        final = f"c={base64.b64encode(said).decode()},r={fields['r']}"
        heard = f"{bare},{first},{final}".encode()
        signature = hmac.digest(hashlib.new(digest, key).digest(), heard, digest)
        proof = bytes(a ^ b for a, b in zip(key, signature))
        answer = self.respond(tag, f"{final},p={base64.b64encode(proof).decode()}")
        if answer.outcome != CHALLENGE:
            return answer
        server = hmac.digest(hmac.digest(salted, b"Server Key", digest), heard, digest)
        assert answer.message == b"v=" + base64.b64encode(server), "not the server that knows"
        return self.respond(tag, b"")

    def salt(self, user, mechanism="SCRAM-SHA-256", **peer):
        """What the server says is the user's salt, and the number of iterations."""
        tag, answer = self.ask(mechanism, f"n,,n={user},r=abc".encode(), **peer)
        self.send(CANCEL, tag)
        return answer.message.decode().split(",")[1:]

    def bearer(self, token, user=None, **peer):
        tag, answer = self.ask("OAUTHBEARER", f"n,{f'a={user}' if user else ''},\1"
                               f"auth=Bearer {token}\1\1".encode(), **peer)
        return self.respond(tag, b"\1") if answer.outcome == LAST_CHALLENGE else answer
