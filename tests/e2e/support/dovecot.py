# SPDX-License-Identifier: ISC
"""Dovecot, as Debian packages it."""

import contextlib
import grp
import imaplib
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

from passwords import DOVECOT as PASSWORD
from stagepost import PATIENCE, Maildir, free_port, give_to_user, is_root, listening, wait_until

CONFIGURATION = """protocols = lmtp imap
base_dir = {base}/run
state_dir = {base}/state
log_path = {base}/log
ssl = no
disable_plaintext_auth = no
default_internal_user = {internal}
default_internal_group = {internal_group}
default_login_user = {login}
mail_location = maildir:{mail}
first_valid_uid = 1
first_valid_gid = 1
recipient_delimiter = +
passdb {{
  driver = passwd-file
  args = {base}/users
}}
userdb {{
  driver = passwd-file
  args = {base}/users
}}
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    address = 127.0.0.1
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service lmtp {{
  unix_listener {base}/lmtp {{
    mode = 0666
  }}
}}
"""


class Dovecot:
    """Its LMTP server on a UNIX socket and its IMAP server on a port, for USERS, whose
    Maildirs are at MAIL, in its own words: %u, or %n at %d; SETTINGS are more of its own."""

    def __init__(self, users, mail=None, settings=""):
        self.base = base = tempfile.mkdtemp(prefix="dovecot-")  # its path is short
        os.chmod(base, 0o755)
        self.path = os.path.join(base, "lmtp")
        self.port = free_port()
        self.mail = mail or f"{base}/mail/%u"
        os.mkdir(os.path.join(base, "mail"))
        give_to_user(os.path.join(base, "mail"))
        owner, group = ("nobody", "nogroup") if is_root() else (os.geteuid(), os.getegid())
        ours = pwd.getpwuid(os.geteuid()).pw_name
        text = CONFIGURATION.format(
            base=base, mail=self.mail, port=self.port, internal="dovecot" if is_root() else ours,
            internal_group="dovecot" if is_root()
            else grp.getgrgid(os.getegid()).gr_name,
            login="dovenull" if is_root() else ours)
        with open(os.path.join(base, "dovecot.conf"), "w", encoding="ascii") as conf:
            conf.write(text + settings)
        with open(os.path.join(base, "users"), "w", encoding="ascii") as file:
            for user in users:
                file.write(f"{user}:{{PLAIN}}{PASSWORD}:{owner}:{group}::{base}/mail::\n")
        os.chmod(os.path.join(base, "users"), 0o644)
        self.start()

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.process = subprocess.Popen(
            [shutil.which("dovecot", path="/usr/sbin:/usr/bin"), "-F", "-c",
             os.path.join(self.base, "dovecot.conf")],
            stdin=subprocess.DEVNULL, start_new_session=True)
        wait_until(lambda: os.path.exists(self.path) and listening(self.port)
                   or self.process.poll() is not None, "dovecot listens")
        assert self.process.poll() is None, "dovecot has ended"

    def _signal(self, number):
        """To all of its processes: they are one session."""
        os.killpg(self.process.pid, number)

    def freeze(self):
        self._signal(signal.SIGSTOP)

    def thaw(self):
        self._signal(signal.SIGCONT)

    def stop(self):
        self._signal(signal.SIGTERM)
        self.process.wait(PATIENCE)

    def maildir(self, user):
        name, _, domain = user.partition("@")
        path = self.mail.replace("%u", user).replace("%n", name).replace("%d", domain)
        return Maildir(path)

    def log(self):
        with open(os.path.join(self.base, "log"), encoding="utf-8") as file:
            return file.read()

    def complaints(self):
        """What its log has to say against a mailbox or a client."""
        return re.findall(r"^.*(?:Warning|Error|Fatal|Panic): .*$", self.log(), re.M)

    def imap(self, user):
        session = imaplib.IMAP4("127.0.0.1", self.port, PATIENCE)
        session.login(user, PASSWORD)
        return session

    def close(self):
        if self.process.poll() is None:
            self.thaw()
            self.stop()
        shutil.rmtree(self.base, ignore_errors=True)
