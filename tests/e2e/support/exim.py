# SPDX-License-Identifier: ISC
"""Exim, as Debian packages it. It cannot be installed beside Postfix, so it runs from where
tools/install-packages has unpacked it, without root's rights."""

import os
import shutil
import subprocess

from peers import MailSystem
from stagepost import PATIENCE, ROOT, as_user, give_to_user

PACKAGE = os.path.join(ROOT, "build-packages", "exim4-daemon-light")

NO_TLS = "tls_advertise_hosts ="
TLS = """tls_advertise_hosts = *
tls_certificate = {certificate}.pem
tls_privatekey = {certificate}.key"""

CONFIGURATION = """exim_user = {user}
exim_group = {group}
exim_path = {directory}/exim4
keep_environment = LD_PRELOAD : NSS_WRAPPER_PASSWD : NSS_WRAPPER_GROUP
spool_directory = {directory}/spool
log_file_path = {directory}/log/%s
pid_file_path = {directory}/pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = {port}
primary_hostname = {hostname}
domainlist local = {domain}
deliver_drop_privilege = true
trusted_users = {user}
message_size_limit = {size}
accept_8bitmime = true
smtputf8_advertise_hosts = *
{tls}
chunking_advertise_hosts = *
pipelining_advertise_hosts = *
dsn_advertise_hosts = *
host_lookup =
smtp_accept_max = 200
smtp_accept_queue_per_connection = 0
{more}
smtp_accept_max_per_connection = 0
remote_max_parallel = 4
queue_run_max = 4
acl_smtp_mail = mail
acl_smtp_rcpt = rcpt
acl_smtp_data = data
header_maxsize = 10M

begin acl
mail:
{mail}
  deny message = 552 5.2.3 too large
       condition = ${{if >{{$message_size}}{{{unsaid_size}}}}}
  accept
rcpt:
  deny message = 550 5.7.1 log in first
       hosts = {needs_login}
       ! authenticated = *
  defer message = 450 4.2.0 come back later
        local_parts = ^later
  defer message = 452 4.2.2 full
        local_parts = ^full
  accept domains = ! +local
  accept local_parts = lsearch;{directory}/users
  deny message = 550 5.1.1 unknown user
data:
  deny message = 550 5.7.1 we do not want this
       condition = ${{if match{{$h_subject:}}{{refuse this}}}}
  defer message = 451 4.7.1 we do not want this now
        condition = ${{if match{{$h_subject:}}{{defer this}}}}
  accept

begin routers
mailboxes:
  driver = accept
  domains = +local
  transport = maildir
others:
  driver = manualroute
  route_list = * 127.0.0.1
  self = send
  transport = smtp

begin transports
maildir:
  driver = appendfile
  user = {user}
  group = {group}
  directory = {directory}/mail/${{lookup{{$local_part}}lsearch{{{directory}/users}}}}
  maildir_format
  create_directory
smtp:
  driver = smtp
  port = {next_port}
  allow_localhost
  hosts_try_chunking = {chunking}
  {client_tls}
  message_linelength_limit = 100M
  connection_max_messages = 0

begin authenticators
{authenticators}

begin retry
* * F,1h,1m
"""


class Exim(MailSystem):
    """Has mailboxes for the USERS of DOMAIN. Other mail goes to NEXT_PORT, by BDAT if
    CHUNKING. SIZE is the largest message that it says it takes, UNSAID_SIZE the largest that
    it does take. Also refuses and defers messages whose Subject has "refuse this" and "defer
    this". CERTIFICATE, a path without ".pem" and ".key": it offers STARTTLS. CLIENT_TLS is for its
    transport. AUTHENTICATORS is text for that section; with it only users may relay or deliver. MORE
    is text for the main section, MAIL for the begin of the ACL of MAIL."""

    def __init__(self, directory, *, users=("bob",), domain="exim.test",
                 hostname="mx.exim.test", next_port=None, chunking=True, size=100_000_000,
                 unsaid_size=100_000_000, certificate=None, client_tls="hosts_avoid_tls = *",
                 authenticators="", more="", mail=""):
        program = os.path.join(PACKAGE, "usr/sbin/exim4")
        assert os.path.exists(program), f"{program} is missing: run tools/install-packages test"
        super().__init__(directory)
        for name in ("spool", "log", "mail"):
            os.mkdir(os.path.join(directory, name))
            give_to_user(os.path.join(directory, name))
        shutil.copy(program, directory)
        owner = os.stat(os.path.join(directory, "mail"))
        self._write_accounts(owner.st_uid, owner.st_gid)
        self._write("users", "".join(f"{user}: {user}\n" for user in users))
        self._write("exim.conf", CONFIGURATION.format(
            directory=directory, user=owner.st_uid, group=owner.st_gid, port=self.port,
            tls=TLS.format(certificate=certificate) if certificate else NO_TLS,
            hostname=hostname, domain=domain, next_port=next_port or 1,
            chunking="*" if chunking else ":", size=size, unsaid_size=unsaid_size,
            client_tls=client_tls, authenticators=authenticators,
            needs_login="*" if authenticators else "", more=more, mail=mail))
        self.start()

    def _write_accounts(self, user, group):
        """Exim is built to know a user whom only its installation makes."""
        self._write("passwd", "".join(f"{name}:x:{user}:{group}::/:/bin/false\n"
                                      for name in ("ours", "Debian-exim")))
        self._write("group", f"Debian-exim:x:{group}:\n")

    def _command(self, *words):
        return [*as_user(), "env", "LD_PRELOAD=libnss_wrapper.so",
                f"NSS_WRAPPER_PASSWD={self.directory}/passwd",
                f"NSS_WRAPPER_GROUP={self.directory}/group",
                f"{self.directory}/exim4", "-C", f"{self.directory}/exim.conf", *words]

    def start(self):
        checked = subprocess.run(self._command("-bV"), capture_output=True, text=True,
                                 check=False, timeout=PATIENCE)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        self._run("daemon", self._command("-bdf", "-q1h"))

    def as_reported(self, xtext):
        """It does not decode what it got."""
        return xtext
