# SPDX-License-Identifier: ISC
"""TLS on both hops, for campaigns: clients send by STARTTLS with certificates of the process
"keys"; mail for b.test goes to a server in a network of its own, which a policy of MTA-STS names,
and an impostor is the first of that domain's hosts."""

import ctypes
import hashlib
import re
import socket
import ssl
import subprocess
import threading

from lying_dns import Answer, LyingServer, a, mx
from peers import Lan
from policies import HttpsServer, Served, policy, published
from smtp import Client
from stagepost import PATIENCE
from tls_in import HOST, Certificates, context_for, start_tls

DOMAIN = "b.test"
RIGHT, IMPOSTOR = "a.hop.test", "b.hop.test"  # hosts
RIGHT_AT, IMPOSTOR_AT, OTHER_AT = (f"198.18.0.{host}" for host in (10, 11, 12))
POLICY_HOST = f"mta-sts.{DOMAIN}"
NAMES = (HOST, RIGHT, f"foreign-{IMPOSTOR}", POLICY_HOST)
SETTINGS = """dns_server = "{dns}"
mta_sts = yes
https_private = yes
tls_reports = yes
dane = no
tls_authorities = "{authority}"
policy_path = "{policies}"
"""
CLONE_NEWNET = 0x40000000


def listen_inside(pid, address):
    """A socket that listens there, in the network of the process PID: a socket stays in the network
    in which it was made, and a thread alone may change to another."""
    made = []

    def work():
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/proc/{pid}/ns/net", "rb") as network:
            if libc.setns(network.fileno(), CLONE_NEWNET) == 0:
                made.append(socket.create_server(address, backlog=128))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert made, "the network cannot be entered"
    return made[0]


class SecureClient(Client):
    """A session after STARTTLS. What fails in it is an OSError."""

    def __init__(self, node, context, **options):
        super().__init__(node, **options)
        try:
            start_tls(self, context)
        except AssertionError:  # who has no certificate yet refuses
            self.close()
            raise ConnectionError("no TLS") from None
        except OSError:
            self.close()
            raise
        self.ehlo()


class SecureWay:
    """What a node needs for it besides its settings; one at a time. GROUND: the tests'."""

    def __init__(self, ground):
        self.certificates = Certificates(ground.directory("secure"), *NAMES)
        self.client_context = context_for(self.certificates)
        self.lan = Lan(hosts=3)
        self.names = LyingServer({(IMPOSTOR, 1): Answer(a(IMPOSTOR_AT)), **published(DOMAIN)})
        self.set_hosts(IMPOSTOR, RIGHT)
        self.https = HttpsServer({POLICY_HOST: Served(policy(RIGHT, IMPOSTOR))},
                                 {POLICY_HOST: self._files(POLICY_HOST)})

    def _files(self, name):
        return self.certificates.path(f"{name}.pem"), self.certificates.path(f"{name}.key")

    def context(self, name):
        """Of a server that has this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self._files(name))
        return context

    def set_hosts(self, *hosts, right_at=RIGHT_AT):
        """Those of the domain, in the order of preference."""
        self.names.answers[DOMAIN, 15] = Answer([mx(10 * n + 10, host) for n, host in enumerate(hosts)])
        self.names.answers[RIGHT, 1] = Answer(a(right_at))

    def listen(self, address):
        """A socket that listens at port 25 of a host of the other network."""
        return listen_inside(self.lan.holder.pid, (address, 25))

    def settings(self, policies):
        """Of a node that keeps policies in the directory POLICIES."""
        return SETTINGS.format(dns=self.names.dns_server, policies=policies,
                               authority=self.certificates.authority) + self.certificate(HOST)

    def certificate(self, name):
        """The section of a node that is called NAME."""
        return self.certificates.section(name)

    def key_id(self, name):
        """By which "keys" knows the key of NAME's certificate (src/tls/signer.h)."""
        public = self._openssl("x509", "-in", self._files(name)[0], "-noout", "-pubkey")
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(public.decode().replace(
            "PUBLIC KEY", "CERTIFICATE"))).digest()

    def private_number(self, name):
        """Of the key of NAME's certificate, which is of P-256."""
        said = self._openssl("pkey", "-in", self._files(name)[1], "-noout", "-text").decode()
        digits = re.sub(r"[\s:]", "", said.partition("priv:")[2].partition("pub:")[0])
        return bytes.fromhex(digits)[-32:]

    @staticmethod
    def _openssl(*words):
        return subprocess.run(["openssl", *words], check=True, capture_output=True,
                              timeout=PATIENCE).stdout

    def client(self, node, **options):
        """After STARTTLS."""
        return SecureClient(node, self.client_context, **options)

    def close(self):
        self.https.__exit__()
        self.names.__exit__()
        self.lan.__exit__()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
