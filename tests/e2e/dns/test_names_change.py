# SPDX-License-Identifier: ISC
"""The files by which the system finds hosts and name servers change while the node runs: /etc/resolv.conf is
replaced, emptied, written in place, a link that leads nowhere yet; /etc/hosts gets a name.

The node sees a copy of /etc in a mount namespace. Its name servers are addresses of the loopback network, at
port 53: resolv.conf(5) names no port."""

import os
import shutil

import pytest
from lmtp import Server
from lying_dns import A, AAAA, NO_DATA, Answer, LyingServer, a
from smtp import deliver
from stagepost import is_root, wait_until

FIRST, SECOND = "127.53.1.1", "127.53.1.2"
TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
# those that look names up by the DNS, with the settings below
LOOKING = {"names", "remote", "lmtp", "policy"}

pytestmark = pytest.mark.skipif(not is_root(), reason="only root makes a mount namespace, and listens at port 53")


class Etc:
    """A copy of the system's."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "etc")
        shutil.copytree("/etc", self.path, symlinks=True)
        os.chmod(self.path, 0o755)
        self.prefix = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', self.path]
        self.resolv_conf = self.file("resolv.conf")
        self.hosts = self.file("hosts")
        for path in self.resolv_conf, self.hosts:
            if os.path.lexists(path):
                os.unlink(path)
        self.write(self.hosts, "127.0.0.1 localhost\n")

    def file(self, name):
        return os.path.join(self.path, name)

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def replace(self, path, text):
        self.write(path + ".new", text)
        os.rename(path + ".new", path)


@pytest.fixture
def etc(ground):
    return Etc(ground.directory("etc"))


@pytest.fixture
def hop():
    server = Server()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.fixture
def first():
    with server(FIRST, "first.test") as made:
        yield made


@pytest.fixture
def second():
    with server(SECOND, "second.test") as made:
        yield made


def server(address, *names):
    answers = {(name, A): Answer(a("127.0.0.1")) for name in names} | {(name, AAAA): NO_DATA for name in names}
    return LyingServer(answers, address, port=53)


@pytest.fixture
def start(node, etc, hop):
    def start(settings=""):
        port = hop.address.rpartition(":")[2]
        made = node(routes=[f"to-{name}:{name};{port}" for name in ("first.test", "second.test", "hosts.test")], start=False,
                    settings='service hop { kind = lmtp address = "127.0.0.1:9" servers = "lmtp.test:24" }\n'
                    f'mta_sts = yes\npolicy_path = "{etc.file("policies")}"\n' + settings)
        made.prefix = etc.prefix
        return made.start()

    os.mkdir(etc.file("policies"))
    shutil.chown(etc.file("policies"), "nobody", "nogroup")
    return start


def send(mx, to):
    """The event of what became of a message to a host that only some name server knows."""
    mark = mx.log.mark()
    address = f"box{mark}@to-{to}"
    deliver(mx, address, TEXT)
    wait_until(lambda: mx.log.find("delivered", since=mark, to=address) or mx.log.find("deferred", since=mark, to=address),
               "it was tried")
    return (mx.log.find("delivered", since=mark, to=address) or mx.log.find("deferred", since=mark, to=address))[0]


class Change:
    """What the with statement does to FILE is taken up: each process that has read it is a new one."""

    def __init__(self, mx, file="/etc/resolv.conf"):
        self.mx = mx
        self.file = file

    def __enter__(self):
        self.mark = self.mx.log.mark()

    def __exit__(self, kind, value, traceback):
        if kind is not None:
            return
        log = self.mx.log
        log.wait("names_changed", since=self.mark, file=self.file)
        wait_until(lambda: {event["program"] for event in log.find("process_started", since=self.mark)} == LOOKING,
                   f"{LOOKING} are started again")
        assert len(log.find("names_changed", since=self.mark)) == 1


def test_name_servers(start, etc, first, second):
    mx = start()  # without a file: this machine, where none listens
    assert send(mx, "first.test")["status"] == "4.4.3"
    with Change(mx):
        etc.replace(etc.resolv_conf, "# nobody yet\n")
    assert send(mx, "first.test")["status"] == "4.4.3"
    with Change(mx):
        etc.replace(etc.resolv_conf, f"nameserver {FIRST}\n")
    assert send(mx, "first.test")["event"] == "delivered"
    assert send(mx, "second.test")["status"] == "4.4.3"
    with Change(mx):
        etc.replace(etc.resolv_conf, f"nameserver {SECOND}\n")
    assert send(mx, "second.test")["event"] == "delivered"
    with Change(mx):
        etc.write(etc.resolv_conf, "")
    assert send(mx, "second.test")["status"] == "4.4.3"
    with Change(mx):
        etc.write(etc.resolv_conf, f"nameserver {FIRST}\n")
    assert send(mx, "first.test")["event"] == "delivered"
    # written again with the same text, it is no change; then a link that leads nowhere yet
    etc.replace(etc.resolv_conf, f"nameserver {FIRST}\n")
    with Change(mx):
        os.symlink("run/resolv.conf", etc.resolv_conf + ".new")
        os.rename(etc.resolv_conf + ".new", etc.resolv_conf)
    with Change(mx):
        os.mkdir(etc.file("run"))
        etc.write(etc.file("run/resolv.conf"), f"nameserver {SECOND}\n")
    assert send(mx, "second.test")["event"] == "delivered"
    assert not [event for event in mx.log.find("process_ended") if event["status"] != "exit 0"]


def test_hosts_beside_a_name_server(start, etc, first):
    """Setting dns_server says whom to ask, but not that /etc/hosts counts for nothing."""
    mx = start(f'dns_server = "{FIRST}"\n')
    assert send(mx, "hosts.test")["status"] == "4.4.3"
    with Change(mx, "/etc/hosts"):
        etc.replace(etc.hosts, "127.0.0.1 localhost\n127.0.0.1 Hosts.test # the relay\n")
    assert send(mx, "hosts.test")["event"] == "delivered"
    assert send(mx, "first.test")["event"] == "delivered"
