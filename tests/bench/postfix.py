# SPDX-License-Identifier: ISC
"""Postfix as the benchmark measures it: with its defaults, and tuned."""
import os
import pathlib
import pwd
import shutil
import subprocess

from common.net import end, free_port, wait_until
from common.postfix import BASE_CF, MASTER_CF, POSTFIX_DAEMONS, make_directories
from servers import HELD, LMTP, LOCAL, MAILBOXES, answers, delivered

# What would make the comparison unfair to it is changed in both: with mail on hold
# in_flow_delay would sleep a second for each message, and names are not looked up.
MAIN_CF = BASE_CF + """smtpd_peername_lookup = no
disable_dns_lookups = yes
relayhost = [127.0.0.1]:{sink}
transport_maps = inline:{{{lmtp}=lmtp:inet:127.0.0.1:{sink}}}, texthash:{directory}/etc/transport
smtpd_recipient_restrictions = check_recipient_access inline:{{{held}=HOLD}}, permit
virtual_mailbox_maps = inline:{{{users}}}
{extra}
"""

# TUNING_README: more processes, more connections to a destination from the start, and
# connections that are used again.
TUNED = """default_process_limit = 200
initial_destination_concurrency = 50
default_destination_concurrency_limit = 100
smtp_connection_cache_on_demand = yes
smtp_connection_cache_destinations = static:all
lmtp_connection_cache_on_demand = yes
lmtp_connection_cache_destinations = static:all"""

TLS = """
smtpd_tls_security_level = may
smtpd_tls_chain_files = {certificate}.key, {certificate}.pem
"""

SETTINGS = {"postfix": "its defaults; in_flow_delay = 0, no limit of connections, no look-ups",
            "postfix-tuned": "the same; " + ", ".join(TUNED.splitlines())}


class Postfix:
    """ROUTES: {domain: (address, port)} of those that do not go to the sink. CERTIFICATE: as
    servers.make_certificate() says; None: no TLS."""

    def __init__(self, directory, sink_port, name="postfix", routes=None, certificate=None):
        self.name = name
        self.directory = directory
        self.port = free_port()
        self.mailboxes = os.path.join(directory, "mail")
        self.log = os.path.join(directory, "log", "mail")
        config = os.path.join(directory, "etc")
        make_directories(directory)
        owner = pwd.getpwnam("nobody")
        shutil.chown(self.mailboxes, owner.pw_uid, owner.pw_gid)
        users = ", ".join(f"user{i}@{LOCAL}=user{i}/" for i in range(MAILBOXES))
        text = MAIN_CF.format(
            directory=directory, daemons=POSTFIX_DAEMONS, hostname="bench.example", domain=LOCAL,
            uid=owner.pw_uid, gid=owner.pw_gid, sink=sink_port, lmtp=LMTP, held=HELD, users=users,
            extra=(TUNED if name == "postfix-tuned" else "") +
            (TLS.format(certificate=certificate) if certificate else ""))
        pathlib.Path(config, "main.cf").write_text(text, encoding="utf-8")
        pathlib.Path(config, "transport").write_text("".join(
            f"{domain} smtp:[{host}]:{port}\n" for domain, (host, port) in (routes or {}).items()),
            encoding="utf-8")
        pathlib.Path(config, "master.cf").write_text(MASTER_CF.format(port=self.port),
                                                     encoding="utf-8")
        subprocess.run(["postfix", "-c", config, "check"], check=True, timeout=60)
        self.process = subprocess.Popen(
            [os.path.join(POSTFIX_DAEMONS, "master"), "-c", config, "-d"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        self.pid = self.process.pid
        wait_until(self._is_ready, "postfix answers", 30)

    def _is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError("postfix ended:\n" + pathlib.Path(self.log).read_text("utf-8"))
        return answers(self.port)

    def delivered(self):
        return delivered(self.mailboxes)

    def stop(self):
        end(self.process, 30)
