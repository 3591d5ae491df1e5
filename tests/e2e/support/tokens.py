# SPDX-License-Identifier: ISC
"""Signed tokens (JWT) as issuers make them, by openssl; and an issuer that is asked about tokens
(RFC 7662)."""

import base64
import contextlib
import http.server
import json
import ssl
import subprocess
import threading
import time
import urllib.parse

ISSUER = "https://issuer.test/"
AUDIENCE = "mail"


def url64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claims(**changes):
    """Good ones of ann, with CHANGES; None takes one out."""
    now = int(time.time())
    all_of_them = {"iss": ISSUER, "aud": AUDIENCE, "email": "ann@example.org", "iat": now, "nbf": now,
                   "exp": now + 300, **changes}
    return {name: value for name, value in all_of_them.items() if value is not None}


def raw_of_der(der, half):
    """The two numbers of an ECDSA signature side by side."""
    assert der[0] == 0x30
    at = 2 if der[1] < 0x80 else 3
    numbers = []
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(half, "big"))
        at += 2 + length
    return b"".join(numbers)


def sign(key, algorithm, text, folder):
    """TEXT signed with the private key in the file KEY."""
    if algorithm == "EdDSA":
        with open(f"{folder}/text", "wb") as file:  # openssl wants to know its size
            file.write(text)
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", key, "-rawin", "-in",
                               f"{folder}/text"], check=True, capture_output=True).stdout
    made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=text, check=True,
                          capture_output=True).stdout
    return raw_of_der(made, 32) if algorithm == "ES256" else made


def token(key, algorithm, says, folder, **header):
    head = url64(json.dumps({"alg": algorithm, "typ": "JWT", **header}).encode())
    text = f"{head}.{url64(json.dumps(says).encode())}"
    return f"{text}.{url64(sign(key, algorithm, text.encode(), folder))}"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = urllib.parse.parse_qs(body, strict_parsing=True)
        self.server.asked.append((self.path, self.headers.get("Authorization"), form))
        says = self.server.tokens.get(form["token"][0], {"active": False})
        body = (says if isinstance(says, str) else json.dumps(says)).encode()
        with contextlib.suppress(OSError):
            self.send_response(self.server.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


class Issuer(http.server.ThreadingHTTPServer):
    """TOKENS: {token: what is said of it}, an object or text."""

    daemon_threads = True

    def __init__(self, certificate, key):
        super().__init__(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True,
                                          do_handshake_on_connect=False)
        self.port = self.server_address[1]
        self.tokens = {}
        self.asked = []
        self.status = 200
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_):
        pass

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
