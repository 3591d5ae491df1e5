# SPDX-License-Identifier: ISC
"""The company of stagepost-first-day(7): its machine, on which packages are installed, and the world outside, which is
the network of the test itself: name server, other companies' mail servers, somebody's computer."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import termios
import time
from dataclasses import dataclass

import recipes
from directory_tls import make_certificates
from dns import NameServer
from packages import Site
from stagepost import PATIENCE, ROOT, Node
from users import add_user

PAGE = f"{ROOT}/doc/manual/stagepost-first-day.7.in"
MACHINE, OUTSIDE = "192.0.2.25", "192.0.2.1"
NAMES_AT, FRIEND_AT, RELAY_AT, CUSTOMER_AT = "198.51.100.53", "198.51.100.25", "198.51.100.26", "203.0.113.25"
PASSWORDS = {"ann": "correct horse", "bob": "battery staple"}
RELAY_PASSWORD = "to be relayed"

# Stands in for certbot: "issues" what the test has made, as many times as it has made it. What a renewal needs is
# kept, as certbot does it.
CERTBOT = """#!/bin/sh
set -e
kept=/etc/letsencrypt/renewal/kept
mkdir -p /etc/letsencrypt/renewal
case $1 in
certonly)
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		--standalone) ;;
		-d) name=$2; shift ;;
		--deploy-hook) hook=$2; shift ;;
		*) echo "certbot: what is $1?" >&2; exit 2 ;;
		esac
		shift
	done
	printf '%s\\n%s\\n' "$name" "$hook" >$kept
	;;
renew) ;;
*) exit 2 ;;
esac
name=$(sed -n 1p $kept) hook=$(sed -n 2p $kept)
number=$(ls -d /root/issued/* | head -n 1)
archive=/etc/letsencrypt/archive/$name/${number##*/}
live=/etc/letsencrypt/live/$name
mkdir -p "$archive" "$live"
chmod 700 /etc/letsencrypt/archive /etc/letsencrypt/live
mv "$number/$name.pem" "$archive/fullchain.pem"
mv "$number/$name.key" "$archive/privkey.pem"
rmdir "$number"
for file in fullchain privkey; do ln -sf "$archive/$file.pem" "$live/$file.pem"; done
RENEWED_LINEAGE=$live RENEWED_DOMAINS=$name sh -c "$hook"
"""

# Likewise: it runs the program that is named, with the words after it, by no shell.
LEGO = """#!/bin/sh
set -e
while [ $# -gt 0 ]; do
	case $1 in
	--accept-tos | --http | run | renew) ;;
	--email) shift ;;
	--domains) name=$2; shift ;;
	--run-hook | --renew-hook) hook=$2; shift ;;
	*) echo "lego: what is $1?" >&2; exit 2 ;;
	esac
	shift
done
number=$(ls -d /root/issued/* | head -n 1)
mkdir -p /root/.lego/certificates
mv "$number/$name.pem" "/root/.lego/certificates/$name.crt"
mv "$number/$name.key" "/root/.lego/certificates/$name.key"
rmdir "$number"
export LEGO_CERT_DOMAIN="$name" LEGO_CERT_PATH="/root/.lego/certificates/$name.crt"
export LEGO_CERT_KEY_PATH="/root/.lego/certificates/$name.key"
exec $hook
"""

EDITOR = f"""#!/bin/sh
echo 'relay.example.net;587|example.com|{RELAY_PASSWORD}' >>"$1"
"""


# --- the page ---


@dataclass(frozen=True)
class Step:
    """A command, or a text for a file."""
    section: str
    prompt: str  # "#", "$", or "" for a file
    text: str
    path: str = ""  # of the file


def sections(page=PAGE):
    """{section: its steps} in the order of the page; all of its blocks are in sections."""
    with open(page, encoding="utf-8") as file:
        before, *parts = re.split(r"^\.Ss (.*)\n", file.read(), flags=re.M)
    assert ".Bd" not in before
    return {name: list(steps_of(name, text)) for name, text in zip(parts[::2], parts[1::2])}


def steps_of(name, text):
    for match in re.finditer(r"^\.Bd -literal.*\n((?s:.*?))^\.Ed", text, re.M):
        block = recipes.unescape(match[1])
        if block.startswith(("# ", "$ ")):
            yield from (Step(name, prompt, command) for command, _, prompt in recipes.sessions(block))
        else:
            paths = re.findall(r"^\.Pa (\S+)", text[:match.start()], re.M)
            yield Step(name, "", block, paths[-1] if paths else "")


# --- a terminal ---


def type_at(command, typed=(), timeout=PATIENCE, **options):
    """Runs COMMAND at a terminal, where each of TYPED, (prompt, answer), is typed when its prompt appears. Its exit
    status and what the terminal shows."""
    terminal, other = pty.openpty()
    process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, start_new_session=True,
                               preexec_fn=take_terminal, **options)  # pylint: disable=subprocess-popen-preexec-fn
    os.close(other)
    shown, asked, left = "", 0, list(typed)
    deadline = time.monotonic() + timeout
    try:
        while True:
            assert time.monotonic() < deadline, f"{command} does not end: {shown}"
            if select.select([terminal], [], [], 0.05)[0]:
                try:
                    piece = os.read(terminal, 4096)
                except OSError:  # nobody has it open any more
                    break
                shown += piece.decode(errors="replace").replace("\r\n", "\n")
            found = left and re.search(left[0][0], shown[asked:])
            if found and (not is_secret(left[0][0]) or is_hidden(terminal)):
                asked += found.end()
                os.write(terminal, left.pop(0)[1].encode() + b"\n")
        return process.wait(PATIENCE), shown
    finally:
        os.close(terminal)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def is_secret(prompt):
    return "password" in prompt.lower()


def is_hidden(terminal):
    """Whether what is typed is not shown: a program that has asked drops what was typed before it hides it."""
    return not termios.tcgetattr(terminal)[3] & termios.ECHO


def take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


# --- the machine ---


class Company(Site):
    """Debian 12 with an address. BEFORE: users that it has already, as another machine has others."""

    def __init__(self, folder, before=()):
        super().__init__(folder)
        self.before = before
        self.link = f"out{os.getpid()}-{id(self) % 1000}"[:15]

    def make(self):
        super().make()
        self.write("/etc/hosts", "127.0.0.1 localhost\n127.0.1.1 mail.example.com mail\n")
        self.write("/etc/hostname", "mail\n")
        self.write("/etc/resolv.conf", f"nameserver {NAMES_AT}\n")
        # without a network there are only the packages that were downloaded before: none that are merely recommended
        self.write("/etc/apt/apt.conf.d/90recommended", 'APT::Install-Recommends "false";\n')
        for name, text in (("certbot", CERTBOT), ("lego", LEGO), ("editor", EDITOR)):
            self.write(f"/usr/local/bin/{name}", text, 0o755)

    def boot(self):
        super().boot()
        for name in self.before:
            self.run("useradd", "--system", name)

    def connect(self):
        """To the world, in which this process is."""
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", str(self.leader))
        ip("addr", "add", f"{OUTSIDE}/24", "dev", self.link)
        ip("link", "set", self.link, "up")
        for words in (f"addr add {MACHINE}/24 dev eth0", "link set eth0 up", f"route add default via {OUTSIDE}"):
            ip(*words.split(), inside=self.leader)

    def disconnect(self):
        """As a machine that is switched off; its disk is still there."""
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.leader = None
        ip("link", "del", self.link, check=False)  # it may have gone with the machine

    def give(self, folder):
        """The certificate and key in FOLDER are what is issued next."""
        number = len(os.listdir(self.folder_of_issued())) + 1
        shutil.copytree(folder, f"{self.root}/root/issued/{number}")

    def folder_of_issued(self):
        path = f"{self.root}/root/issued"
        os.makedirs(path, exist_ok=True)
        return path

    def do(self, command, folder="/", typed=(), timeout=PATIENCE):
        """As root at a terminal of the machine."""
        return type_at(["nsenter", "-t", self.leader, "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "env", "-i",
                        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                        "TERM=dumb", "LC_ALL=C.UTF-8", "SYSTEMD_PAGER=", "DEBIAN_FRONTEND=noninteractive",
                        "bash", "-c", f"cd {folder} && {command}"], typed, timeout)


def ip(*words, inside=None, check=True):
    before = [] if inside is None else ["nsenter", "-t", inside, "-n", "--"]
    return subprocess.run([*before, "ip", *words], check=check, timeout=PATIENCE, capture_output=True, text=True)


# --- the world ---


class World:
    """Everybody else."""

    def __init__(self, ground, zone):
        assert ip("-o", "link").stdout.count("\n") == 1, "the tests have no network of their own (E2E_KEEP?)"
        self.ground = ground
        self.folder = ground.directory("world")
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w", encoding="ascii") as file:
            file.write("0")
        make_certificates(self.folder, "mail.example.com", "relay.example.net")
        self.authority = f"{self.folder}/authority.pem"
        for address in NAMES_AT, FRIEND_AT, RELAY_AT, CUSTOMER_AT:  # before there is a machine that is led there
            ip("addr", "add", address, "dev", "lo")
        self.names = NameServer({
            ".": "", "example.com": zone, "2.0.192.in-addr.arpa": "25 PTR mail.example.com.\n",
            "example.net": f"@ MX 10 mx\nmx A {FRIEND_AT}\nrelay A {RELAY_AT}\n",
            "customer.example": f"@ MX 10 mx\n@ MX 20 mail.example.com.\nmx A {CUSTOMER_AT}\n"}, NAMES_AT, 53)
        self.friend = self.site("friend", FRIEND_AT, "example.net")
        self.customer = self.site("customer", CUSTOMER_AT, "customer.example")
        self.relay = None
        self.resolver = os.path.join(self.folder, "resolv.conf")
        with open(self.resolver, "w", encoding="ascii") as file:
            file.write(f"nameserver {NAMES_AT}\n")

    def site(self, name, address, *domains, port=25, **more):
        return Node(self.ground.programs, self.ground.directory(name), hostname=f"{name}.example.net", domains=domains,
                    address=address, port=port, relay_from=(), unsafe=self.ground.unsafe, **more).start()

    def start_relay(self):
        """It wants a login, by TLS, and sends on what it gets."""
        folder = self.ground.directory("relay")
        self.relay = self.site("relay", RELAY_AT, routes=[f"example.net:[{FRIEND_AT}]"], settings=f"""
directory {{ path = "{folder}/directory.db" }}
certificate main {{ chain = "{self.folder}/relay.example.net.pem" key = "{self.folder}/relay.example.net.key" }}
listen submission {{ address = "{RELAY_AT}:587" tls = required sender_login = off }}
dns_server = "{self.names.dns_server}"
""")
        add_user(self.relay, "example.com", RELAY_PASSWORD, "yescrypt")

    def issue(self):
        """A folder with another certificate of the machine."""
        folder = tempfile.mkdtemp(dir=self.folder)
        for name in ("authority.pem", "authority.key", "foreign.pem", "foreign.key"):
            shutil.copy(f"{self.folder}/{name}", folder)
        make_certificates(folder, "mail.example.com")
        for name in os.listdir(folder):
            if not name.startswith("mail.example.com"):
                os.unlink(f"{folder}/{name}")
        return folder

    def do(self, command, typed=()):
        """On somebody's computer, which knows the authority."""
        return type_at(["unshare", "--mount", "bash", "-c",
                        f"mount --make-rprivate / && mount --bind {self.resolver} /etc/resolv.conf && {command}"],
                       typed, env=os.environ | {"CURL_CA_BUNDLE": self.authority})

    def close(self):
        for site in (self.friend, self.customer, self.relay):
            if site is not None:
                site.stop()
        self.names.stop()
