# SPDX-License-Identifier: ISC
"""Other mail systems, as Debian packages them, each in a directory of its own.
What cannot be started makes the test fail."""

import os
import re
import shutil
import signal
import subprocess

from stagepost import (PATIENCE, USER, Maildir, free_port, give_to_user, is_root,
                       listening, wait_until)
from common.postfix import (  # noqa: E402
    BASE_CF, MASTER_CF, POSTFIX_DAEMONS, make_directories)

MAIN_CF = BASE_CF + """default_transport = {transport}
relay_transport = $default_transport
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_recipient_restrictions = check_recipient_access regexp:{directory}/refuse, permit_mynetworks, reject
virtual_mailbox_maps = texthash:{directory}/mailboxes
virtual_minimum_uid = 1
virtual_mailbox_limit = 0
mailbox_size_limit = 0
message_size_limit = 100000000
smtp_host_lookup = native
smtp_tls_security_level = none
smtpd_tls_security_level = {tls_level}
smtpd_tls_chain_files = {tls_files}
smtpd_tls_received_header = yes
# it is to change nothing
local_header_rewrite_clients =
smtp_line_length_limit = 0
message_drop_headers =
header_size_limit = 10000000
"""


class MailSystem:
    """One with mailboxes for some users of a domain, in DIRECTORY/mail/USER. Others get
    550, and those whose name begins with "later" or "full" 450 and 452."""

    address = "127.0.0.1"

    def __init__(self, directory):
        self.directory = directory
        self.port = free_port()
        self.process = None

    def _write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.write(text)

    def _run(self, name, command):
        """The server, whose log is log/NAME."""
        with open(os.path.join(self.directory, "log", name), "ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        wait_until(lambda: listening(self.port) or self.process.poll() is not None,
                   f"{type(self).__name__} listens")
        assert self.process.poll() is None, self.log()

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE)
            self.process = None

    def log(self):
        text = ""
        folder = os.path.join(self.directory, "log")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                text += file.read()
        return text

    def maildir(self, address):
        return Maildir(os.path.join(self.directory, "mail", address.partition("@")[0]))

    def as_reported(self, xtext):
        """What its reports make of an ENVID or ORCPT."""
        return re.sub(r"\+([0-9A-F]{2})", lambda code: chr(int(code.group(1), 16)), xtext)

    def forget(self):
        """Empties its mailboxes, for the next test."""
        mail = os.path.join(self.directory, "mail")
        for name in os.listdir(mail):
            shutil.rmtree(os.path.join(mail, name))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()


class Postfix(MailSystem):
    """Has mailboxes for the USERS of DOMAIN. Other mail goes to NEXT_PORT. CERTIFICATE, a path
    without ".pem" and ".key": it offers STARTTLS. MORE is text for the end of main.cf."""

    def __init__(self, directory, *, users=("bob",), domain="postfix.test",
                 hostname="mx.postfix.test", next_port=None, certificate=None, more=""):
        assert is_root(), "Postfix starts only as root"
        super().__init__(directory)
        make_directories(directory)
        give_to_user(os.path.join(directory, "mail"))
        owner = os.stat(os.path.join(directory, "mail"))
        self._write("etc/main.cf", MAIN_CF.format(
            directory=directory, daemons=POSTFIX_DAEMONS, hostname=hostname, domain=domain,
            transport=f"smtp:[127.0.0.1]:{next_port}" if next_port else "error:5.7.1 no way out",
            tls_level="may" if certificate else "none",
            tls_files=f"{certificate}.key {certificate}.pem" if certificate else "",
            uid=owner.st_uid, gid=owner.st_gid) + more)
        self._write("etc/master.cf", MASTER_CF.format(port=self.port))
        self._write("mailboxes", "".join(f"{user}@{domain} {user}/\n" for user in users))
        self._write("refuse", "/^later/ 450 4.2.0 come back later\n/^full/ 452 4.2.2 full\n")
        self.start()

    def start(self):
        conf = os.path.join(self.directory, "etc")
        self._run("master", [os.path.join(POSTFIX_DAEMONS, "master"), "-c", conf, "-d"])


def postfix_command(directory, name, *words):
    """A command of Postfix that ends: what it said. Its configuration is in DIRECTORY, and
    empty: the system's own may be missing, or say anything."""
    with open(os.path.join(directory, "main.cf"), "a", encoding="ascii") as conf:
        conf.write("" if conf.tell() else "compatibility_level = 3.6\n")
    return subprocess.run([name, "-c", directory, *words], text=True, capture_output=True,
                          check=False, timeout=PATIENCE)


class Sink:
    """smtp-sink, which keeps each message in a file. OPTIONS are its own."""

    def __init__(self, directory, *options, address="127.0.0.1", port=None, inside=()):
        self.directory = directory
        self.address = address
        self.port = port or free_port(address)
        user = ["-u", USER] if is_root() else []
        with open(os.path.join(directory, "sink.log"), "ab") as log:
            self.process = subprocess.Popen(
                [*inside, "smtp-sink", *user, "-d", os.path.join(directory, "mail."), *options,
                 f"{address}:{self.port}", "1000"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        if not inside:
            wait_until(lambda: listening(self.port, address) or self.process.poll() is not None,
                       "smtp-sink listens")
            assert self.process.poll() is None, "smtp-sink ended"

    def files(self):
        return [os.path.join(self.directory, name) for name in os.listdir(self.directory)
                if name.startswith("mail.")]

    def transactions(self):
        """[(recipients, message with LF lines)], without smtp-sink's own lines. Of what was
        under way when it ended the message may be cut off."""
        found = []
        for path in self.files():
            with open(path, "rb") as file:
                own, _, text = file.read().partition(b"\nReceived: from ")
            recipients = re.findall(rb"^X-Rcpt-Args: <([^>]*)>", own, re.M)
            message = b"".join(text.split(b"\n", 3)[3:]).removesuffix(b"\n")
            found.append(([to.decode() for to in recipients], message))
        return found

    def messages(self):
        return [message for _, message in self.transactions()]

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE)
            self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()


def smtp_source(node, *options, sender="source@client.test", recipient="anna@a.test"):
    """Runs smtp-source to its end."""
    done = subprocess.run(
        ["smtp-source", *options, "-f", sender, "-t", recipient, f"{node.address}:{node.port}"],
        capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr


class Lan:
    """A network of its own with other hosts in it, since mail to this machine's own
    addresses would be a loop. They are 198.18.0.10 and up; this machine is .1."""

    def __init__(self, hosts=4):
        assert is_root(), "only root makes networks"
        self.holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "ip link set lo up && echo && exec sleep 1000000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self.holder.stdout.readline() == b"\n", "no network namespace"
        self.name = f"sp{self.holder.pid}"
        self._ip(f"link add {self.name} type veth peer name eth0 netns {self.holder.pid}")
        self._ip(f"addr add 198.18.0.1/24 dev {self.name}")
        self._ip(f"link set {self.name} up")
        for host in range(10, 10 + hosts):
            self._ip(f"addr add 198.18.0.{host}/24 dev eth0", inside=True)
        self._ip("link set eth0 up", inside=True)
        subprocess.run([*self.inside, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start"],
                       check=True, timeout=PATIENCE)  # who is no root serves port 25

    @property
    def inside(self):
        """The start of a command that runs on those hosts."""
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--"]

    def _ip(self, words, inside=False):
        subprocess.run([*(self.inside if inside else []), "ip", *words.split()], check=True,
                       timeout=PATIENCE)

    def sink(self, directory, host, *options):
        sink = Sink(directory, *options, address=f"198.18.0.{host}", port=25, inside=self.inside)
        wait_until(lambda: listening(25, sink.address) or sink.process.poll() is not None,
                   "smtp-sink listens")
        assert sink.process.poll() is None, "smtp-sink ended"
        return sink

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        subprocess.run(["ip", "link", "del", self.name], check=False, timeout=PATIENCE)
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()
