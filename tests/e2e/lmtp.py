# SPDX-License-Identifier: ISC
"""LMTP servers for tests: Dovecot's, and one that does as a test says."""

import grp
import os
import pwd
import shutil
import socketserver
import subprocess
import tempfile
import threading

from stagepost import Maildir, give_to_user, is_root, wait_until

CONFIGURATION = """protocols = lmtp
base_dir = {base}/run
state_dir = {base}/state
log_path = {base}/log
ssl = no
default_internal_user = {internal}
default_internal_group = {internal_group}
default_login_user = {login}
mail_location = maildir:~/Maildir
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
service lmtp {{
  unix_listener {base}/lmtp {{
    mode = 0666
  }}
}}
"""


class Dovecot:
    """Dovecot's LMTP server on a UNIX socket, with Maildirs for USERS."""

    def __init__(self, users):
        self.base = base = tempfile.mkdtemp(prefix="dovecot-")  # its path is short
        os.chmod(base, 0o755)
        self.path = os.path.join(base, "lmtp")
        owner, group = ("nobody", "nogroup") if is_root() else (os.geteuid(), os.getegid())
        ours = pwd.getpwuid(os.geteuid()).pw_name
        text = CONFIGURATION.format(
            base=base, internal="dovecot" if is_root() else ours,
            internal_group="dovecot" if is_root()
            else grp.getgrgid(os.getegid()).gr_name,
            login="dovenull" if is_root() else ours)
        with open(os.path.join(base, "dovecot.conf"), "w", encoding="ascii") as conf:
            conf.write(text)
        with open(os.path.join(base, "users"), "w", encoding="ascii") as file:
            for user in users:
                os.makedirs(self.home(user))
                give_to_user(self.home(user))
                file.write(f"{user}::{owner}:{group}::{self.home(user)}::\n")
        os.chmod(os.path.join(base, "users"), 0o644)
        self.process = subprocess.Popen(
            [shutil.which("dovecot", path="/usr/sbin:/usr/bin"), "-F", "-c",
             os.path.join(base, "dovecot.conf")],
            stdin=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(self.path) or self.process.poll() is not None,
                   "dovecot listens")
        assert self.process.poll() is None, "dovecot has ended"

    def home(self, user):
        return os.path.join(self.base, "home", user)

    def maildir(self, user):
        return Maildir(os.path.join(self.home(user), "Maildir"))

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.base, ignore_errors=True)


class Cut(Exception):
    """Raised by what a test does: the connection ends here."""


class Server:
    """RECIPIENT(address) and FINAL(address) give replies, or raise Cut, or take their time.
    On a UNIX socket at PATH, or on TCP at self.address."""

    def __init__(self, path=None, recipient=None, final=None):
        self.recipient = recipient or (lambda address: "250 2.1.5 ok")
        self.final = final or (lambda address: f"250 2.0.0 <{address}> saved")
        self.connections = 0
        self.messages = []  # (recipients that were answered for, text)
        self.greetings = []
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                outer.connections += 1
                try:
                    outer.serve(self.rfile, self.wfile)
                except (Cut, OSError):
                    pass

        kind = socketserver.ThreadingUnixStreamServer if path else socketserver.ThreadingTCPServer
        kind.daemon_threads = True
        kind.block_on_close = False
        self.server = kind(path or ("127.0.0.1", 0), Handler)
        if path:
            os.chmod(path, 0o666)
            self.address = f"unix:{path}"
        else:
            self.address = f"127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def serve(self, rfile, wfile):
        recipients = []
        say = lambda text: (wfile.write(text.encode() + b"\r\n"), wfile.flush())
        say("220 faulty LMTP")
        while line := rfile.readline().decode().rstrip("\r\n"):
            verb = line[:4].upper()
            if verb == "LHLO":
                self.greetings.append(line)
                say("250-faulty\r\n250-PIPELINING\r\n250-ENHANCEDSTATUSCODES\r\n250 8BITMIME")
            elif verb == "RCPT":
                address = line[line.index("<") + 1:line.index(">")]
                reply = self.recipient(address)
                if reply.startswith("2"):
                    recipients.append(address)
                say(reply)
            elif verb == "DATA":
                if not recipients:
                    say("503 5.5.1 no recipients")
                    continue
                say("354 go")
                text = b""
                while (piece := rfile.readline()) != b".\r\n":
                    if not piece:
                        return
                    text += piece[1:] if piece.startswith(b".") else piece
                answered = []
                self.messages.append((answered, text))
                for address in recipients:
                    reply = self.final(address)
                    answered.append(address)
                    say(reply)
                recipients = []
            elif verb == "QUIT":
                say("221 bye")
                return
            elif verb in ("MAIL", "RSET"):
                recipients = []
                say("250 ok")
            else:
                say("500 5.5.2 what?")

    def close(self):
        self.server.shutdown()
        self.server.server_close()
