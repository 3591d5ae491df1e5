# SPDX-License-Identifier: ISC
"""A client is in the class of its name only if reverse and forward DNS agree. Clients are Postfix and its
smtp-source on hosts of a network of their own; Unbound is the name server, whose data are right, wrong,
missing or slow."""

import contextlib
import os
import subprocess
import sys

import pytest
from peers import Lan, Postfix
from stagepost import PATIENCE, is_root, wait_until
from test_limits import wait_for_counts

pytestmark = pytest.mark.skipif(not is_root(), reason="only root makes networks")

CUSTOMER = "*.customer.test"
BLACK_HOLE = "198.18.0.200"  # nobody has that address: questions to it are never answered
# (last number of its address, what its reverse and that name's forward say, its class)
CLIENTS = [
    (11, "a.customer.test", ["198.18.0.11"], CUSTOMER),
    (12, "b.customer.test", ["198.18.0.99"], "*"),  # somebody else's
    (13, None, [], "*"),
    (14, "nowhere.customer.test", [], "*"),
    (15, "c.customer.test", ["198.18.0.99", "198.18.0.15"], CUSTOMER),  # one of its addresses
    (16, "customer.test.evil.test", ["198.18.0.16"], "*"),
    (19, "A.Customer.Test", [], "*"),  # the name of number 11, which is not 19
    (20, "d.customer.test", ["198.18.0.20"], CUSTOMER),
    # last: while names are slow, nobody waits for them
    (17, BLACK_HOLE, [], "*"),  # nobody answers who it is
    (18, "slow.customer.test", BLACK_HOLE, "*"),  # nor where that is
]
SETTINGS = f"""dns_server = "198.18.0.10@53"
log_level = debug
class "{CUSTOMER}" {{{{ queue = 9 refuse = {{places}} }}}}
class "*" {{{{ queue = 50 refuse = 50 }}}}
"""
CONF = """server:
  interface: 198.18.0.10@53
  access-control: 198.18.0.0/24 allow
  do-daemonize: no
  use-syslog: no
  username: ""
  chroot: ""
  directory: "{directory}"
  pidfile: "{directory}/pid"
  module-config: "iterator"
  local-zone: "0.18.198.in-addr.arpa." transparent
  local-zone: "customer.test." transparent
  local-zone: "nowhere.customer.test." static
  local-zone: "evil.test." static
{data}
remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-addr: """ + BLACK_HOLE + "\n"


def data_of(number, name, addresses):
    """What Unbound says by itself; it asks the black hole for everything else."""
    reverse = f"{number}.0.18.198.in-addr.arpa."
    if name is None:
        yield f'  local-zone: "{reverse}" static'
    elif name != BLACK_HOLE:
        yield f'  local-data: "{reverse} PTR {name}."'
    if addresses != BLACK_HOLE:
        for address in addresses:
            yield f'  local-data: "{name}. A {address}"'


class Unbound:
    def __init__(self, directory, lan):
        data = "\n".join(line for number, name, addresses, _ in CLIENTS for line in data_of(number, name, addresses))
        path = os.path.join(directory, "unbound.conf")
        with open(path, "w", encoding="ascii") as conf:
            conf.write(CONF.format(directory=directory, data=data))
        self.process = subprocess.Popen([*lan.inside, "unbound", "-d", "-p", "-c", path], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        said = b""
        while b"start of service" not in said:
            piece = self.process.stderr.readline()
            assert piece, said.decode()
            said += piece

    def close(self):
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module")
def lan():
    with Lan(11) as made:
        yield made


@pytest.fixture
def mx(node, lan, ground):  # pylint: disable=redefined-outer-name
    unbound = Unbound(ground.directory("unbound"), lan)
    yield lambda places=5: node(address="198.18.0.1", relay_from=(), settings=SETTINGS.format(places=places))
    unbound.close()


def send_from(lan, number, node):  # pylint: disable=redefined-outer-name
    """A message by smtp-source on the host of that number."""
    subprocess.run([*lan.inside, "ip", "route", "replace", "198.18.0.0/24", "dev", "eth0", "src",
                    f"198.18.0.{number}"], check=True, timeout=PATIENCE)
    return subprocess.run([*lan.inside, "smtp-source", "-f", "ann@b.test", "-t", f"u{number}@a.test",
                           f"{node.address}:{node.port}"], check=False, capture_output=True, text=True,
                          timeout=2 * PATIENCE)


def test_only_names_that_are_confirmed(mx, lan):  # pylint: disable=redefined-outer-name
    node = mx()
    for number, name, _, mask in CLIENTS:
        done = send_from(lan, number, node)
        assert done.returncode == 0 and not done.stderr, (number, done.stderr)
        event = node.log.wait("class_decided", client=f"198.18.0.{number}")
        assert event["class"] == mask, event
        assert event.get("name", "") == (name if mask == CUSTOMER or number == 16 else ""), event
        node.maildir(f"u{number}@a.test").wait()
    wait_for_counts(node, "0+0 0+0")


STANDS = """import socket, sys
wire = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20, (sys.argv[3], 0))
print(wire.recv(100).decode(), end="", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def standing(lan, number, node):  # pylint: disable=redefined-outer-name
    """A session of that host; what it was told first."""
    with subprocess.Popen([*lan.inside, sys.executable, "-c", STANDS, node.address, str(node.port),
                           f"198.18.0.{number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        yield client.stdout.readline()


class PostfixInside(Postfix):
    """On a host of the network, from which its mail goes to NODE."""

    def __init__(self, directory, lan, number, node):  # pylint: disable=redefined-outer-name
        self.lan = lan
        super().__init__(directory, more=f"default_transport = smtp:[{node.address}]:{node.port}\n"
                         f"smtp_bind_address = 198.18.0.{number}\nqueue_run_delay = 1s\n"
                         "minimal_backoff_time = 1s\nmaximal_backoff_time = 2s\n"
                         "smtp_destination_concurrency_limit = 1\n")

    def _run(self, name, command):
        with open(os.path.join(self.directory, "log", name), "ab") as log:
            self.process = subprocess.Popen([*self.lan.inside, *command], cwd=self.directory, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        wait_until(lambda: "daemon started" in self.log() or self.process.poll() is not None, "Postfix has started")
        assert self.process.poll() is None, self.log()

    def send(self, to):
        subprocess.run([*self.lan.inside, "smtp-source", "-f", "ann@b.test", "-t", to, f"127.0.0.1:{self.port}"],
                       check=True, timeout=PATIENCE)


def test_postfix_waits_for_a_place_of_its_class(mx, lan, ground):  # pylint: disable=redefined-outer-name
    """While another host of its class has the only one; who merely says that it is in that class does
    not matter."""
    node = mx(places=1)
    with standing(lan, 12, node) as other, standing(lan, 11, node) as greeting:
        assert other.startswith("220 ") and greeting.startswith("220 ")
        wait_for_counts(node, "1+0 1+0")
        with standing(lan, 15, node) as refused:
            assert refused == "421 mx.stagepost.test Too many sessions, try again later\n", refused
        postfix = PostfixInside(ground.directory("postfix"), lan, 20, node)
        with postfix:
            postfix.send("anna@a.test")
            wait_until(lambda: "Too many sessions, try again later" in postfix.log(), "Postfix is told to come later")
            assert node.log.wait("class_decided", client="198.18.0.20")["class"] == CUSTOMER
            assert not node.maildir("anna@a.test").files()
            assert send_from(lan, 19, node).returncode == 0
            wait_for_counts(node, "1+0 1+0")
    with PostfixInside(ground.directory("postfix2"), lan, 20, node) as postfix:
        postfix.send("lea@a.test")
        node.maildir("lea@a.test").wait()
    wait_for_counts(node, "0+0 0+0")
