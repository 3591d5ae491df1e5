# SPDX-License-Identifier: ISC
"""Postfix as the benchmark measures it: with its defaults, and tuned."""
import os
import pathlib
import pwd
import shutil
import subprocess

from common.net import end, free_port, wait_until
from common.postfix import BASE_CF, MASTER_CF, POSTFIX_DAEMONS, make_directories
from submission import Dovecot
from filing import Mailboxes
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

# Only users who have authenticated may send; as an administrator sets it up for port 587.
SUBMISSION = """
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = {sasl}
smtpd_tls_auth_only = yes
smtpd_client_restrictions = permit_sasl_authenticated, reject
"""

# Sessions are resumed, as ours are.
RELAY_TLS = """
smtp_tls_security_level = encrypt
smtp_tls_session_cache_database = btree:${{data_directory}}/smtp_scache
"""
TUNED_RELAY_TLS = "smtp_tls_connection_reuse = yes\n"

# To Dovecot, which then has the mailboxes.
LMTP_MAILBOXES = "virtual_transport = lmtp:unix:{path}\n"

SETTINGS = {"postfix": "its defaults; in_flow_delay = 0, no limit of connections, no look-ups",
            "postfix-dovecot": "as postfix; local mail by LMTP to Dovecot, with its defaults",
            "postfix-tuned": "the same; " + ", ".join(TUNED.splitlines())}


class Postfix:
    """ROUTES: {domain: (address, port)} of those that do not go to the sink. CERTIFICATE: as
    servers.make_certificate() says; None: no TLS with clients. RELAYS_BY_TLS: and not without.
    SUBMISSION: for users of Dovecot only."""

    def __init__(self, directory, sink_port, name="postfix", routes=None, certificate=None,
                 relays_by_tls=False, submission=False):
        self.name = name
        self.directory = directory
        self.port = free_port()
        self.mailboxes = os.path.join(directory, "mail")
        self.log = os.path.join(directory, "log", "mail")
        config = os.path.join(directory, "etc")
        make_directories(directory)
        self.dovecot = Dovecot(os.path.join(directory, "dovecot")) if submission else None
        owner = pwd.getpwnam("nobody")
        shutil.chown(self.mailboxes, owner.pw_uid, owner.pw_gid)
        self.filing = None
        if name == "postfix-dovecot":
            self.filing = Mailboxes(self.mailboxes,
                                    [f"user{i}@{LOCAL}" for i in range(MAILBOXES)])
        users = ", ".join(f"user{i}@{LOCAL}=user{i}/" for i in range(MAILBOXES))
        text = MAIN_CF.format(
            directory=directory, daemons=POSTFIX_DAEMONS, hostname="bench.example", domain=LOCAL,
            uid=owner.pw_uid, gid=owner.pw_gid, sink=sink_port, lmtp=LMTP, held=HELD, users=users,
            extra=self._extra(certificate, relays_by_tls))
        if self.dovecot is not None:
            text += SUBMISSION.format(sasl=self.dovecot.path)
        if self.filing is not None:
            text += LMTP_MAILBOXES.format(path=self.filing.path)
        pathlib.Path(config, "main.cf").write_text(text, encoding="utf-8")
        pathlib.Path(config, "transport").write_text("".join(
            f"{domain} smtp:[{host}]:{port}\n" for domain, (host, port) in (routes or {}).items()),
            encoding="utf-8")
        pathlib.Path(config, "master.cf").write_text(MASTER_CF.format(port=self.port),
                                                     encoding="utf-8")
        self.process = subprocess.Popen(
            [os.path.join(POSTFIX_DAEMONS, "master"), "-c", config, "-d"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        self.pid = self.process.pid
        self.pids = [self.pid] + (self.filing.pids() if self.filing is not None else [])
        wait_until(self._is_ready, "postfix answers", 30)

    def _extra(self, certificate, relays_by_tls):
        is_tuned = self.name == "postfix-tuned"
        parts = [(is_tuned, TUNED), (certificate, TLS.format(certificate=certificate)),
                 (relays_by_tls, RELAY_TLS.format()),
                 (relays_by_tls and is_tuned, TUNED_RELAY_TLS)]
        return "\n".join(text for is_wanted, text in parts if is_wanted)

    def _is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError("postfix ended:\n" + pathlib.Path(self.log).read_text("utf-8"))
        return answers(self.port)

    def delivered(self):
        return delivered(self.mailboxes)

    def stop(self):
        end(self.process, 30)
        if self.dovecot is not None:
            self.dovecot.stop()
        if self.filing is not None:
            self.filing.stop()
