# SPDX-License-Identifier: ISC
"""The two systems and the sink, each started on loopback with what it needs."""
import os
import pathlib
import pwd
import re
import signal
import socket
import subprocess
import threading
import time

# A recipient's domain decides what happens to a message, in both systems.
HELD = "held.example"
REMOTE = "remote.example"
LOCAL = "local.example"
MAILBOXES = 5


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            return connection.recv(3) == b"220"
    except OSError:
        return False


def delivered(mailboxes):
    total = 0
    for name in os.listdir(mailboxes) if os.path.isdir(mailboxes) else ():
        try:
            total += len(os.listdir(os.path.join(mailboxes, name, "new")))
        except OSError:
            continue
    return total


class Sink:
    """smtp-sink, and how many messages it has had."""

    def __init__(self):
        self.port = free_port()
        command = ["smtp-sink", "-4", "-c"]
        if os.geteuid() == 0:
            command += ["-u", "nobody"]
        self.process = subprocess.Popen(command + [f"127.0.0.1:{self.port}", "1000"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.count = 0
        threading.Thread(target=self._read, daemon=True).start()
        wait_until(lambda: answers(self.port), 10, "smtp-sink")

    def _read(self):
        while chunk := os.read(self.process.stdout.fileno(), 65536):
            counts = re.findall(rb"mesg=(\d+)", chunk)
            if counts:
                self.count = int(counts[-1])

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Stagepost:
    def __init__(self, directory, build, sink_port, name="stagepost", extra=""):
        self.name = name
        self.port = free_port()
        self.directory = directory
        self.mailboxes = os.path.join(directory, "mail", LOCAL)
        self.log = os.path.join(directory, "log")
        file = os.path.join(directory, "stagepost.conf")
        pathlib.Path(file).write_text(f"""
hostname = "bench.example"
user = ""
queue = "{directory}/queue"
run = "{directory}/run"
maxsessions = 5000
relay_from = {{ "127.0.0.0/8" }}
listen smtp {{ address = {{ "127.0.0.1:{self.port}" }} }}
service held {{ kind = maildir path = "{directory}/held/%u" }}
service maildir {{ kind = maildir path = "{directory}/mail/%d/%u" }}
domain "{HELD}" {{ service = held }}
domain "{LOCAL}" {{ service = maildir }}
stage held {{ paused = yes }}
smtproutes = {{ ":127.0.0.1;{sink_port}" }}
{extra or "queue_sync = auto"}
""", encoding="utf-8")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([os.path.join(build, "stagepost"), "serve", "-c", file],
                                            stderr=log)
        self.pid = self.process.pid
        wait_until(self._is_ready, 30, "stagepost")

    def _is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError("stagepost ended:\n" + pathlib.Path(self.log).read_text("utf-8"))
        return "event=serve_ready" in pathlib.Path(self.log).read_text("utf-8")

    def delivered(self):
        return delivered(self.mailboxes)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()


MASTER = """
127.0.0.1:{port} inet n - n - - smtpd
cleanup   unix  n - n - 0 cleanup
qmgr      unix  n - n 300 1 qmgr
rewrite   unix  - - n - - trivial-rewrite
bounce    unix  - - n - 0 bounce
defer     unix  - - n - 0 bounce
trace     unix  - - n - 0 bounce
verify    unix  - - n - 1 verify
flush     unix  n - n 1000? 0 flush
proxymap  unix  - - n - - proxymap
proxywrite unix - - n - 1 proxymap
smtp      unix  - - n - - smtp
relay     unix  - - n - - smtp
showq     unix  n - n - - showq
error     unix  - - n - - error
retry     unix  - - n - - error
discard   unix  - - n - - discard
virtual   unix  - n n - - virtual
anvil     unix  - - n - 1 anvil
scache    unix  - - n - 1 scache
postlog   unix-dgram n - n - 1 postlogd
"""

MAIN = """
compatibility_level = 3.6
queue_directory = {directory}/queue
data_directory = {directory}/data
daemon_directory = {daemons}
maillog_file = {directory}/log
maillog_file_prefixes = {directory}
myhostname = bench.example
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mydestination =
alias_maps =
mynetworks = 127.0.0.0/8
smtpd_peername_lookup = no
disable_dns_lookups = yes
relayhost = [127.0.0.1]:{sink}
in_flow_delay = 0
smtpd_client_connection_count_limit = 0
smtpd_recipient_restrictions = check_recipient_access inline:{{{held}=HOLD}}, permit
virtual_mailbox_domains = {local}
virtual_mailbox_base = {mailboxes}
virtual_mailbox_maps = inline:{{{users}}}
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
{extra}
"""


class Postfix:
    """An instance of its own; nothing of the system's one is read or written."""
    name = "postfix"

    def __init__(self, directory, sink_port, extra=""):
        self.port = free_port()
        self.directory = directory
        self.config = os.path.join(directory, "config")
        self.mailboxes = os.path.join(directory, "mail")
        self.log = os.path.join(directory, "log")
        owner = pwd.getpwnam("nobody")
        for path in (self.config, os.path.join(directory, "queue"), self.mailboxes):
            os.mkdir(path)
        data = os.path.join(directory, "data")
        os.mkdir(data, 0o700)
        os.chown(data, pwd.getpwnam("postfix").pw_uid, -1)
        os.chown(self.mailboxes, owner.pw_uid, owner.pw_gid)
        daemons = subprocess.run(["postconf", "-h", "daemon_directory"], capture_output=True,
                                 text=True, check=True).stdout.strip()
        users = ", ".join(f"user{i}@{LOCAL}=user{i}/" for i in range(MAILBOXES))
        self._write("main.cf", MAIN.format(
            directory=directory, daemons=daemons, sink=sink_port, held=HELD, local=LOCAL,
            users=users, mailboxes=self.mailboxes, uid=owner.pw_uid, gid=owner.pw_gid, extra=extra))
        self._write("master.cf", MASTER.format(port=self.port))
        self._command("start")
        pid_file = pathlib.Path(directory, "queue/pid/master.pid")
        wait_until(lambda: pid_file.exists() and answers(self.port), 30, "postfix")
        self.pid = int(pid_file.read_text("ascii"))

    def _write(self, name, text):
        pathlib.Path(self.config, name).write_text(text, encoding="utf-8")

    def _command(self, what):
        done = subprocess.run(["postfix", "-c", self.config, what], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            log = pathlib.Path(self.log)
            raise RuntimeError(f"postfix {what}: {done.stdout}{done.stderr}"
                               + (log.read_text("utf-8") if log.exists() else ""))

    def delivered(self):
        return delivered(self.mailboxes)

    def stop(self):
        try:
            self._command("stop")
        except RuntimeError:
            os.kill(self.pid, signal.SIGKILL)
