# SPDX-License-Identifier: ISC
"""Postfix as the mail servers of other sites: at each of its addresses, in a network of their own,
one with another certificate, or without one."""

import os
import subprocess

from peers import Postfix
from stagepost import listening, wait_until


class SecureHops(Postfix):
    """LAN: peers.Lan; SERVERS: {address: (certificate, key) or None: no TLS}. It has a mailbox for
    bob in every domain."""

    def __init__(self, directory, lan, servers):
        self._lan = lan
        self._servers = servers
        super().__init__(directory, hostname="mx.hops.test")

    def _edit(self, name, change):
        path = os.path.join(self.directory, "etc", name)
        with open(path, encoding="ascii") as file:
            lines = file.readlines()
        with open(path, "w", encoding="ascii") as file:
            file.writelines(change(lines))

    def _services(self):
        for address, files in self._servers.items():
            options = ""
            if files is not None:
                options = (" -o smtpd_tls_security_level=may"
                           f" -o smtpd_tls_cert_file={files[0]} -o smtpd_tls_key_file={files[1]}")
            yield f"{address}:25 inet n - n - - smtpd{options}\n"

    def start(self):
        """For the network of its own."""
        settings = {"inet_interfaces": "all", "mynetworks": "198.18.0.0/24",
                    "virtual_mailbox_domains": "static:all", "virtual_mailbox_maps": "static:bob/",
                    "smtpd_tls_loglevel": "1", "smtpd_tls_received_header": "yes"}
        self._edit("main.cf", lambda lines: [line for line in lines if line.split(" =")[0] not in settings] +
                   [f"{name} = {value}\n" for name, value in settings.items()])
        self._edit("master.cf", lambda lines: [*self._services(), *lines[1:]])
        super().start()

    def _run(self, name, command):
        with open(os.path.join(self.directory, "log", name), "ab") as log:
            self.process = subprocess.Popen(
                [*self._lan.inside, *command], cwd=self.directory, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        for address in self._servers:
            wait_until(lambda at=address: listening(25, at) or self.process.poll() is not None,
                       "Postfix listens")
        assert self.process.poll() is None, self.log()
