# SPDX-License-Identifier: ISC
"""What a process that was taken over could do with sockets that it has: a connection that it
accepted must not become one to elsewhere, a listener that others share must not be harmed."""

import os
import pwd
import socket
import tempfile
import time

import pytest
from inside import LANDLOCKS, NEEDS, PROCESSES, USERS, WITHOUT, inside, status_of, with_landlock
from lmtp import Server
from smtp import Client, deliver
from stagepost import free_port, stamp, wait_until

TEXT = b"Subject: hello\r\n\r\nA line.\r\n"
REFUSED = ("-EPERM", "-EACCES")
UNSPEC = "~" + "00" * 16
FAST_OPEN = 0x20000000
SHUT_RD, SHUT_WR, SHUT_RDWR = 0, 1, 2
F_SETFL, F_SETOWN, F_SETSIG, FIONBIO = 4, 8, 10, 0x5421
SOL_SOCKET, SO_ATTACH_FILTER, TCP, FASTOPEN_CONNECT = 1, 26, 6, 30
ASKED = 16  # times a second a process may ask for a connection (supervisor/program.c)

pytestmark = NEEDS


@pytest.fixture(params=LANDLOCKS, ids=lambda version: f"landlock-{version}")
def mx(node, ground, request):
    data = ground.directory("data")
    os.chown(data, *ids_of("directory"))
    made = node(start=False, switch_user=True, settings=PROCESSES + "smtpd_workers = 1\n"
                f'directory {{ path = "{data}/directory.db" }}\nauth {{ }}\n'
                f'listen qmtp {{ address = "127.0.0.1:{free_port()}" }}\n')
    made.prefix = with_landlock(request.param)
    os.chown(made.mail, *ids_of("local"))
    return made.start()


def ids_of(program):
    entry = pwd.getpwnam(USERS[program])
    return entry.pw_uid, entry.pw_gid


def sockets(pid):
    """{descriptor: inode} of what the process has open as sockets."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except FileNotFoundError:  # it was closed just now
            continue
        if target.startswith("socket:["):
            found[int(name)] = target[8:-1]
    return found


def tcp_inodes(state):
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return {row[9] for row in rows if row[3] == state}


def listener(pid):
    """The descriptor of the listening TCP socket of "smtpd"."""
    listening = tcp_inodes("0A")
    (found,) = [number for number, inode in sockets(pid).items() if inode in listening]
    return found


def works(mx, name):
    """Within the moment that connections take to be made again."""
    def is_accepted():
        with Client(mx) as client:
            return client.deliver("s@c.test", f"{name}@a.test", TEXT).startswith("250 ")

    wait_until(is_accepted, "a message is accepted")
    mx.maildir(f"{name}@a.test").wait()


class Elsewhere:
    """Somebody on the network whom nobody should reach."""

    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(0)
        self.port = self.socket.getsockname()[1]
        return self

    def __exit__(self, kind, value, traceback):
        self.socket.close()

    def was_reached(self):
        try:
            self.socket.accept()[0].close()
        except BlockingIOError:
            return False
        return True


def turn(pid, descriptor, port):
    """Tries to make a connection to PORT of the DESCRIPTOR; what came of each call."""
    address = f"=@inet:{port}"
    return {
        "shut down": inside(pid, "shutdown", descriptor, SHUT_RDWR),
        "take apart": inside(pid, "connect", descriptor, UNSPEC, 16),
        "connect": inside(pid, "connect", descriptor, address, 16),
        "connect by a send": inside(pid, "sendto", descriptor, "=x", 1, FAST_OPEN, address, 16),
        "send with the flag": inside(pid, "sendto", descriptor, "=x", 1, FAST_OPEN, 0, 0),
        "connect by a message": inside(pid, "sendmsg", descriptor, "*56", FAST_OPEN),
        "connect by messages": inside(pid, "sendmmsg", descriptor, "*64", 1, FAST_OPEN),
        "connect later": inside(pid, "setsockopt", descriptor, TCP, FASTOPEN_CONNECT, "~01000000", 4),
        "send to an address": inside(pid, "sendto", descriptor, "=x", 1, 0x4000, address, 16),
        "listen": inside(pid, "listen", descriptor, 1),
        "bind": inside(pid, "bind", descriptor, f"=@inet:{free_port()}", 16)}


def test_an_accepted_connection_goes_nowhere(mx):
    pid = mx.pids("smtpd")[0]
    before = sockets(pid)
    with Client(mx), Elsewhere() as elsewhere:
        wait_until(lambda: len(sockets(pid)) > len(before), "it is accepted")
        (accepted,) = sockets(pid).keys() - before.keys()
        results = turn(pid, accepted, elsewhere.port)
        assert not elsewhere.was_reached(), results
        assert {what: result for what, result in results.items() if result not in REFUSED} == {}
    works(mx, "anna")


def test_no_socket_is_made(mx):
    """By those who need none of their own."""
    for program in "smtpd", "qmtpd", "auth", "queue", "send", "resolve", "local":
        pid = mx.pids(program)[0]
        for family, kind in (1, 1), (1, 2), (1, 5), (2, 1), (2, 2), (10, 1), (16, 3):
            assert inside(pid, "socket", family, kind, 0) in REFUSED, (program, family, kind)
        assert inside(pid, "socketpair", 1, 2, 0, "*8") in REFUSED
        assert inside(pid, "connect", 3, f"=@unix:{mx.run}/queue", 110) in REFUSED
    pid = mx.pids("remote")[0]
    for kind in 1, 2, 5:
        assert inside(pid, "socket", 1, kind, 0) in REFUSED


HARMS = {
    "shut down": lambda number: ("shutdown", number, SHUT_RD),
    "shut down wholly": lambda number: ("shutdown", number, SHUT_RDWR),
    "take apart": lambda number: ("connect", number, UNSPEC, 16),
    "let it block": lambda number: ("fcntl", number, F_SETFL, 2),
    "let it block another way": lambda number: ("ioctl", number, FIONBIO, "~00000000"),
    "signals to another": lambda number: ("fcntl", number, F_SETOWN, 1),
    "which signals": lambda number: ("fcntl", number, F_SETSIG, 9),
    "filter packets": lambda number: ("setsockopt", number, SOL_SOCKET, SO_ATTACH_FILTER,
                                      "*16", 16)}


@pytest.mark.parametrize("program", ["smtpd", "send", "queue", "auth"])
def test_no_listener_is_harmed(mx, program):
    pid = mx.pids(program)[0]
    numbers = [listener(pid)] if program == "smtpd" else listening_unix(mx, pid)
    assert numbers
    for number in numbers:
        results = {what: inside(pid, *call(number)) for what, call in HARMS.items()}
        assert {what: result for what, result in results.items() if result not in REFUSED} == {}
    works(mx, "anna")


def listening_unix(mx, pid):
    """Descriptors of the process that are bound in the run directory and listen."""
    with open("/proc/net/unix", encoding="utf-8") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    bound = {row[6] for row in rows if len(row) > 7 and row[7].startswith(mx.run) and
             int(row[3], 16) & 0x10000}
    return [number for number, inode in sockets(pid).items() if inode in bound]


# --- the supervisor, where the kernel does not refuse ---

@pytest.fixture
def bare(node):
    made = node(start=False, switch_user=True, settings=PROCESSES + "smtpd_workers = 2\n")
    made.prefix = [WITHOUT]
    os.chown(made.mail, *ids_of("local"))
    return made.start()


def test_a_listener_that_was_ended_is_bound_anew(bare):
    """While the process that did it lives, and for all who share it."""
    mark = bare.log.mark()
    pid = bare.pids("smtpd")[0]
    assert inside(pid, "shutdown", listener(pid), SHUT_RDWR) == "0"
    bare.log.wait("listener_lost", since=mark)
    bare.log.wait("listening", since=mark)
    works(bare, "anna")
    bare.kill_and_wait("smtpd")
    works(bare, "bob")
    assert not bare.log.find("listener_lost", since=mark)[1:]


@pytest.mark.parametrize("program", ["queue", "send"])
def test_a_socket_of_one_process_is_bound_anew_for_the_next(bare, program):
    works(bare, "anna")
    mark = bare.log.mark()
    pid = bare.pids(program)[0]
    for number in listening_unix(bare, pid):
        assert inside(pid, "shutdown", number, SHUT_RDWR) == "0"
    bare.kill_and_wait(program)
    bare.log.wait("listener_lost", since=mark)
    works(bare, "bob")


def test_a_listener_that_blocks_does_so_no_longer_than_the_process(bare):
    pid = bare.pids("smtpd")[0]
    number = listener(pid)
    assert inside(pid, "fcntl", number, F_SETFL, 2) == "0"
    bare.kill_and_wait("smtpd")

    def flags():
        with open(f"/proc/{bare.pids('smtpd')[0]}/fdinfo/{number}", encoding="ascii") as info:
            return int(next(line for line in info if line.startswith("flags:")).split()[1], 8)

    wait_until(lambda: flags() & os.O_NONBLOCK, "it does not block any more")
    works(bare, "anna")


# --- the supervisor connects for them ---

def question(path, kind):
    """os/socket/connector.h: struct os_connector_question, in hexadecimal."""
    return ((7).to_bytes(4, "little") + kind.to_bytes(4, "little") +
            path.encode().ljust(108, b"\0")).hex()


def connector(pid):
    """Where it asks: the first socket for packets that it got on its control socket."""
    with open("/proc/net/unix", encoding="utf-8") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    packets = {row[6] for row in rows if row[4] == "0005"}
    return min(number for number, inode in sockets(pid).items()
               if number > 3 and inode in packets)


def ask(pid, path, kind=5):
    assert inside(pid, "sendto", connector(pid), "~" + question(path, kind), 116, 0x4000, 0, 0) == "116"


def test_the_supervisor_connects_to_no_other(mx):
    """Each to what it has business with; however often it asks, the others are served."""
    pid = mx.pids("smtpd")[0]
    for path in f"{mx.run}/send", f"{mx.run}/notify", "/dev/log", f"{mx.run}/../run/queue":
        mark = mx.log.mark()
        ask(pid, path)
        assert mx.log.wait("connect_refused", since=mark, program="smtpd")["path"] == path
    for program, names in ("auth", ("queue", "send", "keys", "names")), ("qmtpd", ("auth", "send")):
        for name in names:
            mark = mx.log.mark()
            ask(mx.pids(program)[0], f"{mx.run}/{name}")
            refused = mx.log.wait("connect_refused", since=mark, program=program)
            assert refused["path"] == f"{mx.run}/{name}"
    mark = mx.log.mark()
    begun = time.monotonic()
    pid = mx.pids("remote")[0]
    for number in range(100):
        ask(pid, "/nowhere")
    mx.kill_and_wait("queue")
    works(mx, "anna")
    # the first second and the last are not whole; so many that they are of three seconds have a whole one among them
    answered = [stamp(event["time"]) for event in mx.log.find("connect_refused", since=mark)]
    assert len(answered) <= ASKED * (2 + time.monotonic() - begun)
    assert all(later - earlier > 0.9 for earlier, later in zip(answered, answered[2 * ASKED:])), answered


@pytest.mark.parametrize("landlock", LANDLOCKS)
def test_lmtp_is_connected_to_its_servers(node, landlock):
    """And to nobody else's UNIX sockets, though it may connect by TCP."""
    with tempfile.TemporaryDirectory(prefix="lmtp-") as directory:
        os.chmod(directory, 0o755)
        paths = [f"{directory}/{name}" for name in ("first", "second")]
        servers = [Server(path) for path in paths]
        made = node(start=False, switch_user=True, domains=["a.test", 'domain "box.test" { service = box }'],
                    settings=PROCESSES + f'service box {{ kind = lmtp address = "unix:{paths[0]}" }}\n')
        made.prefix = with_landlock(landlock)
        os.chown(made.mail, *ids_of("local"))
        made.start()
        deliver(made, ["anna@box.test"], TEXT)
        assert made.log.wait("delivered", to="anna@box.test")["by"] == "box"
        pid = made.pids("lmtp")[0]
        assert inside(pid, "socket", 1, 1, 0) in REFUSED
        for path in (paths[1], f"{made.run}/queue"):
            mark = made.log.mark()
            ask(pid, path, 1)
            assert made.log.wait("connect_refused", since=mark, program="lmtp")["path"] == path
        assert servers[1].connections == 0
        for server in servers:
            server.close()


def test_what_is_no_question_ends_the_asking(mx):
    pid = mx.pids("smtpd")[0]
    assert inside(pid, "sendto", connector(pid), "=x", 1, 0x4000, 0, 0) == "1"
    wait_until(lambda: inside(pid, "sendto", connector(pid), "=x", 1, 0x4000, 0, 0) == "-EPIPE",
               "nobody hears it any more")
    works(mx, "anna")
    mx.kill_and_wait("smtpd")
    works(mx, "bob")


LDAP = 'directory {{ backend = ldap path = "{data}/copy.db" base = "dc=a,dc=test" url = {{ "{url}" }} }}\n'
POSTGRESQL = 'directory {{ backend = postgresql database = {{ "{database}" }} }}\n'
SERVERS = {  # settings of the process "directory", whether a server is at a path
    "ldap": (LDAP, {"url": "ldap://127.0.0.1:1"}, False),
    "ldapi": (LDAP, {"url": "ldapi://%2Frun%2Fnobody"}, True),
    "postgresql-host": (POSTGRESQL, {"database": "host=127.0.0.1 port=1"}, False),
    "postgresql-uri": (POSTGRESQL, {"database": "postgresql://127.0.0.1:1/mail"}, False),
    "postgresql-path": (POSTGRESQL, {"database": "host=/run/nobody"}, True)}


def with_server(made, data, name):
    settings, server, _ = SERVERS[name]
    made.settings = PROCESSES + settings.format(data=data, **server)
    made.write_configuration()


def can_make_path_sockets(pid):
    made = inside(pid, "socket", 1, 1, 0)
    if made in REFUSED:
        return False
    inside(pid, "close", made)
    return True


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("landlock", LANDLOCKS)
def test_a_database_on_the_network_leaves_no_way_to_paths(node, ground, landlock, name):
    """The libraries of the directories connect by themselves: to a path only where one is configured."""
    made = node(start=False, switch_user=True, domains=())
    made.prefix = with_landlock(landlock)
    data = ground.directory("data")
    os.chown(data, *ids_of("directory"))
    with_server(made, data, name)
    made.start()
    (pid,) = made.pids("directory")
    assert can_make_path_sockets(pid) == SERVERS[name][2]
    assert int(inside(pid, "socket", 2, 1, 0)) > 0
    assert inside(pid, "socketpair", 1, 2, 0, "*8") in REFUSED  # it could be connected to a path


@pytest.mark.parametrize("before, after", [("ldap", "ldapi"), ("postgresql-host", "postgresql-path")])
def test_a_server_at_a_path_is_reached_after_a_reload(node, ground, before, after):
    made = node(start=False, switch_user=True, domains=())
    data = ground.directory("data")
    os.chown(data, *ids_of("directory"))
    with_server(made, data, before)
    made.start()
    (pid,) = made.pids("directory")
    with_server(made, data, after)
    made.reload()
    wait_until(lambda: made.pids("directory") and pid not in made.pids("directory"), "there is another one")
    (pid,) = made.pids("directory")
    wait_until(lambda: status_of(pid)["Seccomp"] == ["2"], "it is in its sandbox")
    assert can_make_path_sockets(pid)
