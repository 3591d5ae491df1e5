# SPDX-License-Identifier: ISC
"""Certificates for tests, and a client that speaks the directory's protocol by TLS."""

import os
import socket
import ssl
import subprocess

from stagepost import PATIENCE, ROOT, give_to_user

PROTOCOL = "stagepost-directory/1"
ANSWERS = ("val", "none", "ok", "err", "part")  # the others have no number


def make_certificates(directory, *names):
    """Of tests/common/make-certificates, for the user of the nodes too."""
    subprocess.run([os.path.join(ROOT, "tests/common/make-certificates"), directory, *names],
                   check=True, timeout=6 * PATIENCE)
    for name in os.listdir(directory):
        give_to_user(os.path.join(directory, name))
    return directory


def settings_of(directory, name, authority="authority"):
    """The settings of a node whose certificate is called NAME."""
    return (f'certificate = "{directory}/{name}.pem" key = "{directory}/{name}.key" '
            f'authority = "{directory}/{authority}.pem" ')


def netstring(data):
    return b"%d:%s," % (len(data), data)


def frame(*words):
    return netstring(b"".join(netstring(word if isinstance(word, bytes) else str(word).encode())
                              for word in words))


def take(data):
    """(content of the first netstring, the rest), or None while it is not whole."""
    length, colon, rest = data.partition(b":")
    if not colon or len(rest) <= int(length):
        return None
    assert rest[int(length):int(length) + 1] == b","
    return rest[:int(length)], rest[int(length) + 1:]


def words_of(content):
    words = []
    while content:
        word, content = take(content)
        words.append(word.decode())
    return words


class Closed(Exception):
    """The server has ended the connection."""


class Speaker:
    """Who has a socket that speaks the protocol, and data, what of it is not taken yet."""

    socket = None
    data = b""
    numbers = 0

    def send(self, *words):
        self.socket.sendall(frame(*words))

    def receive(self):
        """The words of the next frame."""
        while True:
            taken = take(self.data)
            if taken:
                self.data = taken[1]
                return words_of(taken[0])
            more = self.socket.recv(65536)
            if not more:
                raise Closed
            self.data += more

    def ask(self, verb, *words):
        """The answer, without its number; pushes that come before are dropped."""
        self.numbers += 1
        self.send(verb, self.numbers, *words)
        while True:
            answer = self.receive()
            if answer[0] in ANSWERS and answer[1] == str(self.numbers):
                return [answer[0]] + answer[2:]


class Client(Speaker):
    """NAME's certificate is shown, None: none; the server must be SERVER_NAME."""

    def __init__(self, directory, port, name, server_name="127.0.0.1", authority="authority",
                 newest=None, alpn=PROTOCOL, patience=PATIENCE):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(f"{directory}/{authority}.pem")
        if name:
            context.load_cert_chain(f"{directory}/{name}.pem", f"{directory}/{name}.key")
        if newest:
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.maximum_version = newest
            context.set_ciphers("ALL:@SECLEVEL=0")
        if alpn:
            context.set_alpn_protocols([alpn])
        plain = socket.create_connection(("127.0.0.1", port), timeout=patience)
        try:
            self.socket = context.wrap_socket(plain, server_hostname=server_name)
        except BaseException:
            plain.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
