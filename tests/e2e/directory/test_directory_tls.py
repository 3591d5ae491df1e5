# SPDX-License-Identifier: ISC
"""Directory servers among machines: mutual TLS, and a relay in front of others."""

import os
import random
import select
import shutil
import socket
import ssl
import subprocess
import time

import pytest
from directory import HASH
from directory_tls import Client, Closed, make_certificates, settings_of
from dns import NameServer
from extent import extent
from inside import NEEDS, inside
from memory import has_in_memory, secret_of
from stagepost import PATIENCE, as_user, free_port, give_to_user, listening, wait_until

CERTIFICATES = ("loopback-dir1.example.org", "loopback-dir2.example.org", "reader.example.org",
                "changer.example.org", "relay.example.org", "stranger.example.org",
                "foreign-reader.example.org", "expired-reader.example.org",
                "foreign-dir1.example.org", "expired-dir1.example.org", "wrong.example.org")
ROLES = 'readers = { "reader.example.org" } changers = { "changer.example.org", ' \
        '"relay.example.org" } '
HANDSHAKE = 10  # seconds that a server waits for one


@pytest.fixture(scope="module")
def keys(ground):
    return make_certificates(ground.directory("certificates"), *CERTIFICATES)


class Server:
    """A node with a directory: what is in the file DATABASE, or what the servers at PORTS say."""

    def __init__(self, node, keys, name="dir1", database=None, ports=(), hosts=(),
                 certificate=None, start=True, more="", node_settings=""):
        self.port = free_port()
        self.keys = keys
        hosts = hosts or [f"127.0.0.1:{port}" for port in ports]
        if hosts:
            backend = "backend = servers servers = { " + \
                ", ".join(f'"{host}"' for host in hosts) + " } "
        else:
            backend = f'path = "{database}" ' if database else 'path = "DIRECTORY/db" '
        certificate = certificate or f"loopback-{name}.example.org"
        self.node = node(name, start=False)
        self.node.domains = []
        self.database = database
        self.node.settings = (
            f'directory {{ {backend} listen = {{ "127.0.0.1:{self.port}" }} '
            + settings_of(keys, certificate) + ROLES + more + "}\n" + node_settings
        ).replace("DIRECTORY", self.node.directory)
        self.node.write_configuration()
        if start:
            self.node.start()

    def client(self, name="reader.example.org", **options):
        return Client(self.keys, self.port, name, **options)

    def run(self, *words, check=True):
        """stagepost directory, through the UNIX socket."""
        ended = subprocess.run(
            as_user() + [os.path.join(self.node.programs, "stagepost"), "directory", *words,
                         "-c", self.node.conf],
            capture_output=True, text=True, timeout=PATIENCE)
        assert not check or ended.returncode == 0, (words, ended)
        return ended

    @property
    def log(self):
        return self.node.log


def put_domain(client):
    assert client.ask("put", "domain", "example.org", "kind local", "service maildir")[0] == "ok"


def put_address(client, address, service="maildir"):
    answer = client.ask("put", "address", address, "kind mailbox", f"service {service}")
    assert answer[0] == "ok", answer


# --- who may ---

def test_a_reader_reads_and_a_changer_changes(node, keys):
    server = Server(node, keys)
    with server.client("changer.example.org") as changer, server.client() as reader:
        hello = changer.receive()
        assert hello[:2] == ["hello", "1"] and set(hello[4:]) == {"read", "list", "secret", "change"}
        assert reader.receive()[4:] == ["read", "list"]
        put_domain(changer)
        put_address(changer, "ann@example.org")
        answer = reader.ask("get", "route", "ann@example.org")
        assert answer[0] == "val" and "local maildir ann@example.org" in answer
        assert reader.ask("put", "address", "b@example.org", "kind mailbox")[:2] == \
            ["err", "denied"]
        assert reader.ask("del", "address", "ann@example.org")[:2] == ["err", "denied"]
        assert reader.ask("get", "address", "ann@example.org")[0] == "val"
        assert changer.ask("put", "user", "ann", f"password {HASH}")[0] == "ok"
        assert changer.ask("put", "user", "ann", "password $6$x$y")[:2] == ["err", "bad"]
        assert any(word.startswith("password ") for word in changer.ask("get", "user", "ann"))
        assert not any(word.startswith("password ") for word in reader.ask("get", "user", "ann"))


REFUSED = [
    # certificate, what the log says
    (None, "peer did not return a certificate"),
    ("foreign-reader.example.org", "unable to get local issuer certificate"),
    ("expired-reader.example.org", "certificate has expired"),
    ("stranger.example.org", "no name of the certificate is among readers and changers"),
]


def test_others_are_turned_away(node, keys):
    server = Server(node, keys)
    for newest in (None, ssl.TLSVersion.TLSv1_2):
        for name, reason in REFUSED:
            mark = server.log.mark()
            with pytest.raises((ssl.SSLError, ConnectionError, Closed)):
                with server.client(name, newest=newest) as client:
                    client.receive()
            assert server.log.wait("directory_refused", since=mark)["reason"] == reason
    with server.client() as client:
        assert client.receive()[0] == "hello"


def test_what_is_out_of_date_is_not_spoken(node, keys):
    server = Server(node, keys)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        server.client(newest=ssl.TLSVersion.TLSv1_1)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        server.client(alpn="smtp")
    with server.client(newest=ssl.TLSVersion.TLSv1_2) as client:
        assert client.receive()[0] == "hello"
        assert client.socket.cipher()[0].startswith("ECDHE-")
        assert client.socket.session is None or not client.socket.session.has_ticket
    with server.client(alpn=None) as client:
        assert client.receive()[0] == "hello"
        assert client.socket.version() == "TLSv1.3"


def test_nobody_begins_anew_within_a_connection(node, keys):
    """Renegotiation: the peer is who he was."""
    server = Server(node, keys)
    path = os.path.join(keys, "reader.example.org")
    client = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_2", "-cert",
         path + ".pem", "-key", path + ".key", "-CAfile", f"{keys}/authority.pem"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = b""
    while b"hello" not in said:  # so it is connected
        assert select.select([client.stdout], [], [], PATIENCE)[0], said
        said += os.read(client.stdout.fileno(), 65536)
        assert client.poll() is None, said
    client.stdin.write("R\n")
    client.stdin.flush()
    text = said.decode("ascii", "replace") + client.communicate(timeout=PATIENCE)[0]
    assert "hello" in text and "no renegotiation" in text, text


# --- what is done to the listener ---

def is_ended(peer, timeout=PATIENCE):
    """Whether the server has closed PEER, a plain socket."""
    peer.settimeout(timeout)
    try:
        while peer.recv(4096):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def hello_of(keys):
    """The first bytes that a client says."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(f"{keys}/authority.pem")
    client = context.wrap_bio(incoming, outgoing, server_hostname="dir1.example.org")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_rubbish_at_the_listener(node, keys):
    server = Server(node, keys)
    chance = random.Random(5)
    good = hello_of(keys)
    with server.client() as held:
        assert held.receive()[0] == "hello"
        for number in range(300):
            data = bytearray(good)
            kind = number % 4
            if kind == 0:
                data = bytearray(chance.randbytes(chance.randrange(1, 3000)))
            elif kind == 1:
                data = data[:chance.randrange(len(data))]
            elif kind == 2:
                for _ in range(chance.randrange(1, 20)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
            else:
                data = data[:5] + chance.randbytes(chance.randrange(1, 500))
            with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as peer:
                try:
                    peer.sendall(data)
                    peer.shutdown(socket.SHUT_WR)
                except ConnectionError:
                    continue
                assert is_ended(peer), bytes(data)
        assert held.ask("get", "route", "nobody@example.com")[0] in ("val", "none")
    assert server.node.pids("directory")
    assert not server.log.find("process_ended")


def test_slow_handshakes_are_bounded(node, keys):
    server = Server(node, keys)
    good = hello_of(keys)
    slow = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
            for _ in range(400)]
    begin = time.monotonic()
    for number, peer in enumerate(slow):
        try:
            peer.sendall(good[:number % len(good)])
        except ConnectionError:
            pass  # one of the oldest, who has given way
    with server.client() as client:
        assert client.receive()[0] == "hello"
    assert time.monotonic() - begin < HANDSHAKE / 2, "they keep others out"
    # one byte a second is no handshake either
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as dripping:
        begin = time.monotonic()
        for byte in good:
            if select.select([dripping], [], [], 1)[0]:
                break
            dripping.sendall(bytes([byte]))
        assert HANDSHAKE - 1 < time.monotonic() - begin < HANDSHAKE + 3
        assert is_ended(dripping)
    for peer in slow:
        assert is_ended(peer)
        peer.close()


def test_cut_connections_are_forgotten(node, keys):
    server = Server(node, keys)
    pid = server.node.pids("directory")[0]
    count = lambda: len(os.listdir(f"/proc/{pid}/fd"))
    before = count()
    clients = [server.client() for _ in range(50)]
    for client in clients:
        assert client.receive()[0] == "hello"
    assert count() == before + 50
    for number, client in enumerate(clients):
        plain = client.socket
        if number % 2:  # in the middle of a record
            os.write(plain.fileno(), b"\x17\x03\x03\x01\x00abc")
        os.close(plain.detach())
    wait_until(lambda: count() == before, "all are closed")


# --- a relay ---

@pytest.fixture
def trio(node, keys, ground):
    """Two servers of the same data, and a relay that asks them."""
    database = os.path.join(ground.directory("shared"), "db")
    first = Server(node, keys, "dir1", database)
    second = Server(node, keys, "dir2", database)
    relay = Server(node, keys, "relay", ports=(first.port, second.port),
                   certificate="relay.example.org")
    with first.client("changer.example.org") as changer:
        changer.receive()
        put_domain(changer)
        put_address(changer, "ann@example.org")
    return first, second, relay


def greet(relay, name="reader.example.org", server_name="relay.example.org"):
    client = relay.client(name, server_name=server_name)
    hello = client.receive()
    assert hello[0] == "hello", hello
    return client, hello


def test_a_relay_passes_all_on(trio):
    first, _, relay = trio
    with first.client() as direct:
        identity = direct.receive()[2]
        expected = direct.ask("get", "route", "ann@example.org")
    client, hello = greet(relay)
    with client:
        assert hello[2].split("+")[0] == identity.split("+")[0]  # the same data
        answer = client.ask("get", "route", "ann@example.org")
        assert answer[0] == expected[0] and sorted(answer[3:]) == sorted(expected[3:])
        assert 0 < int(answer[1]) <= int(expected[1])
        assert client.ask("get", "address", "ann@example.org")[0] == "val"
        assert client.ask("get", "address", "gone@example.org")[0] == "none"
        gone = client.ask("get", "route", "gone@example.org")
        assert any(word.startswith("refuse 5.1.1 gone@example.org ") for word in gone), gone
        listed = client.ask("list", "address", "", "", 10)
        assert "= ann@example.org" in listed
        assert client.ask("put", "address", "x@example.org", "kind mailbox")[:2] == \
            ["err", "denied"]
    changer, _ = greet(relay, "changer.example.org")
    with changer:
        put_address(changer, "new@example.org")
        assert changer.ask("get", "address", "new@example.org")[0] == "val"
        assert changer.ask("del", "address", "new@example.org")[0] == "ok"
        assert changer.ask("del", "address", "new@example.org")[0] == "none"
    with first.client() as direct:
        direct.receive()
        assert direct.ask("get", "address", "new@example.org")[0] == "none"


def test_a_life_time_is_not_lengthened(node, keys):
    """What the relay kept for a while has less of it left."""
    server = Server(node, keys, "dir1", more="ttl = 8s negative_ttl = 6s ")
    relay = Server(node, keys, "relay", ports=(server.port,), certificate="relay.example.org")
    with server.client("changer.example.org") as changer:
        changer.receive()
        put_domain(changer)
        put_address(changer, "ann@example.org")
    client, _ = greet(relay)
    with client:
        whole = int(client.ask("get", "route", "ann@example.org")[1])
        assert 6000 < whole <= 8000
        assert 3000 < int(client.ask("get", "address", "gone@example.org")[1]) <= 6000
        time.sleep(1)
        assert int(client.ask("get", "route", "ann@example.org")[1]) <= whole - 900
        server.node.kill_supervisor()  # and what it had said is told until it ends
        left = int(client.ask("get", "route", "ann@example.org")[1])
        assert left <= whole - 900
        time.sleep(left / 1000 + 0.3)
        assert client.ask("get", "route", "ann@example.org")[:2] == ["err", "later"]
        assert client.ask("get", "route", "other@example.org")[:2] == ["err", "later"]


def push_delay(client, changer, number):
    """Seconds from the change to the push."""
    address = "ann@example.org"
    client.ask("get", "route", address)
    begin = time.monotonic()
    put_address(changer, address, "maildir" if number % 2 else "other")
    while True:
        words = client.receive()
        if words[0] == "new" and words[3:] == [address]:
            return time.monotonic() - begin


def test_a_change_comes_through_within_a_second(trio):
    first, second, relay = trio
    client, _ = greet(relay)
    with client, first.client("changer.example.org") as near, \
            second.client("changer.example.org") as far:
        near.receive()
        far.receive()
        delays = [push_delay(client, near if number % 4 < 2 else far, number)
                  for number in range(12)]
        print("pushes through the relay:", " ".join(f"{delay * 1000:.0f}" for delay in delays),
              "ms")
        assert max(delays) < 1


def test_a_relay_goes_to_the_other_server(trio):
    first, second, relay = trio
    client, _ = greet(relay)
    with client:
        assert client.ask("get", "route", "ann@example.org")[0] == "val"
        first.node.kill_supervisor()
        begin = time.monotonic()
        while client.ask("get", "address", f"q{time.monotonic()}@example.org")[0] != "none":
            assert time.monotonic() - begin < PATIENCE
        print(f"failover: {(time.monotonic() - begin) * 1000:.0f} ms")
        assert time.monotonic() - begin < 2
        with second.client("changer.example.org") as changer:
            changer.receive()
            assert push_delay(client, changer, 0) < 1
        # nothing is left; what is not known is to be asked later, at once
        second.node.kill_supervisor()
        wait_until(lambda: client.ask("get", "address", "other@example.org")[:2] ==
                   ["err", "later"], "nobody answers")
        begin = time.monotonic()
        assert client.ask("get", "address", "another@example.org")[:2] == ["err", "later"]
        assert time.monotonic() - begin < 1
        first.node.start()
        wait_until(lambda: client.ask("get", "address", "other@example.org")[0] == "none",
                   "the first answers again")


def test_a_client_of_a_relay_hears_what_it_missed(trio):
    first, _, relay = trio
    client, hello = greet(relay)
    with client, first.client("changer.example.org") as changer:
        at_first = int(changer.receive()[3])
        wait_until(lambda: int(client.ask("ping")[-1]) >= at_first, "the relay is up to date")
        version = int(client.ask("ping")[-1])
        for number in range(5):
            put_address(changer, f"a{number}@example.org")
        wait_until(lambda: int(client.ask("ping")[-1]) >= version + 5, "the relay has heard")
    late, again = greet(relay)
    with late:
        assert again[2] == hello[2]
        late.send("since", hello[2], version)
        missed = []
        while (words := late.receive())[0] == "new":
            missed.append(words[3])
        assert words[0] == "now"
        assert missed == [f"a{number}@example.org" for number in range(5)]
    relay.node.kill_and_wait("directory")  # what it had heard is forgotten
    late, again = greet(relay)
    with late:
        if again[2] == "-":
            again = late.receive()
        late.send("since", hello[2], version)
        while (words := late.receive())[0] in ("new", "up"):
            pass
        assert words[0] == "reset"


def test_a_relay_believes_nobody_else(node, keys):
    """A server with a foreign certificate, an old one, one of another name."""
    reasons = {"foreign-dir1.example.org": "unable to get local issuer certificate",
               "expired-dir1.example.org": "certificate has expired",
               "wrong.example.org": "IP address mismatch"}
    for certificate, reason in reasons.items():
        server = Server(node, keys, "dir1", certificate=certificate)
        relay = Server(node, keys, "relay", ports=(server.port,),
                       certificate="relay.example.org")
        lost = relay.log.wait("directory_lost")
        assert reason in lost["reason"], lost
        ended = relay.run("get", "ann@example.org", check=False)
        assert ended.returncode != 0
        server.log.wait("directory_refused")
        relay.node.stop()
        server.node.stop()


def test_a_server_is_found_by_its_name(node, keys):
    """Of its addresses the first does not answer; the certificate is of the name."""
    server = Server(node, keys)
    names = NameServer({"example.org": "dir1 A 127.0.0.9\ndir1 A 127.0.0.1\n"
                                       "other A 127.0.0.1\n"})
    try:
        settings = f'dns_server = "{names.dns_server}"\n'
        relay = Server(node, keys, "relay", hosts=[f"dir1.example.org:{server.port}"],
                       certificate="relay.example.org", node_settings=settings)
        client, _ = greet(relay)
        with client:
            wait_until(lambda: client.ask("get", "address", "gone@example.org")[0] == "none",
                       "the server is found")
        for host, reason in ((f"other.example.org:{server.port}", "hostname mismatch"),
                             (f"none.example.org:{server.port}", "has no address")):
            wrong = Server(node, keys, "wrong", hosts=[host], certificate="relay.example.org",
                           node_settings=settings)
            assert reason in wrong.log.wait("directory_lost")["reason"]
    finally:
        names.stop()


def test_other_servers_are_asked_after_a_reload(node, keys):
    first = Server(node, keys, "dir1")
    second = Server(node, keys, "dir2")
    with second.client("changer.example.org") as changer:
        changer.receive()
        put_address(changer, "ann@example.org")
    relay = Server(node, keys, "relay", ports=(first.port,), certificate="relay.example.org")
    client, hello = greet(relay)
    with client:
        assert client.ask("get", "address", "ann@example.org")[0] == "none"
    relay.node.settings = relay.node.settings.replace(str(first.port), str(second.port))
    relay.node.write_configuration()
    relay.node.reload()

    def is_there():
        try:
            client, again = greet(relay)
            with client:
                return client.ask("get", "address", "ann@example.org")[0] == "val" \
                    and again[2] != hello[2]
        except (ssl.SSLError, ConnectionError, Closed):
            return False

    wait_until(is_there, "the other one is asked")


def test_the_address_changes_and_back(node, keys):
    """Nobody listens any more where it was."""
    server = Server(node, keys)
    other = free_port()
    for port, left in ((other, server.port), (server.port, other)):
        server.node.settings = server.node.settings.replace(f"127.0.0.1:{left}",
                                                            f"127.0.0.1:{port}")
        server.node.write_configuration()
        server.node.reload()
        with Client(keys, port, "reader.example.org") as client:
            assert client.receive()[0] == "hello"
        wait_until(lambda left=left: not listening(left), "nobody listens there")


def test_another_name_server_is_asked_after_a_reload(node, keys):
    server = Server(node, keys)
    old = NameServer({"example.org": "dir1 A 127.0.0.9\n"})
    new = NameServer({"example.org": "dir1 A 127.0.0.1\n"})
    try:
        relay = Server(node, keys, "relay", hosts=[f"dir1.example.org:{server.port}"],
                       certificate="relay.example.org",
                       node_settings=f'dns_server = "{old.dns_server}"\n')
        relay.log.wait("directory_lost")
        relay.node.settings = relay.node.settings.replace(old.dns_server, new.dns_server)
        relay.node.write_configuration()
        relay.node.reload()
        relay.log.wait("directory_up")
    finally:
        old.stop()
        new.stop()


def test_who_loses_his_name_is_cut_off(node, keys):
    server = Server(node, keys)
    with server.client() as reader, server.client("changer.example.org") as changer:
        reader.receive()
        changer.receive()
        server.node.settings = server.node.settings.replace('{ "reader.example.org" }',
                                                            '{ "other.example.org" }')
        server.node.write_configuration()
        server.node.reload()
        with pytest.raises((Closed, ConnectionError)):
            reader.receive()
    wait_until(lambda: server.log.find("process_renewed"), "it is started again")
    server.log.wait("directory_up", count=2)
    with server.client("changer.example.org") as changer:
        assert changer.receive()[0] == "hello"
    with pytest.raises((ssl.SSLError, ConnectionError, Closed)):
        with server.client() as reader:
            reader.receive()


def may(pid, call, *arguments):
    """Whether the process PID may do that."""
    result = inside(pid, call, *arguments)
    if not result.startswith("-"):
        assert inside(pid, "close", result) == "0"
        return True
    assert result in ("-EPERM", "-EACCES"), result
    return False


@NEEDS[0]
@NEEDS[1]
def test_servers_and_relays_are_confined(trio, keys):
    server, _, relay = trio
    database = os.path.join(server.node.directory, "..")  # of no process in particular
    key = f"{keys}/relay.example.org.key"
    for each, is_relay in ((server, False), (relay, True)):
        client, _ = greet(each, server_name="127.0.0.1" if each is server else
                          "relay.example.org")
        client.socket.close()
        pid = each.node.pids("directory")[0]
        opens = lambda path, flags=0: may(pid, "openat", -100, f"={path}", flags, 0o600)
        assert may(pid, "socket", socket.AF_INET, socket.SOCK_STREAM, 0) == is_relay
        assert may(pid, "socket", socket.AF_INET, socket.SOCK_DGRAM, 0) == is_relay
        assert not opens(key), "it is for the process keys alone"
        assert not opens(key[:-3] + "pem")
        assert not opens(f"{keys}/made", os.O_WRONLY | os.O_CREAT)
        assert not opens(each.node.conf)
        assert not opens("/etc/passwd")
        assert not opens(database, os.O_DIRECTORY)
        assert opens(server.database) == (not is_relay)


# --- where the keys are ---

def test_the_key_is_in_no_other_process(trio, keys):
    """Neither of a server nor of a relay, which shows its certificate on both sides. That "keys" is
    seen to have it shows that the search finds it."""
    server, _, relay = trio
    for number in range(extent(200, 50)):
        for each, name in ((server, "127.0.0.1"), (relay, "relay.example.org")):
            if number % 10 == 0:
                with pytest.raises((ssl.SSLError, ConnectionError, Closed)):
                    with each.client("stranger.example.org", server_name=name) as client:
                        client.receive()
            client, hello = greet(each, server_name=name)
            client.socket.close()
            assert hello[0] == "hello"
    for each, name in ((server, "loopback-dir1.example.org"), (relay, "relay.example.org")):
        needles = secret_of(f"{keys}/{name}.key")
        assert has_in_memory(each.node.pids("keys")[0], needles)
        for program in ("directory", "smtpd", "queue", "send", "remote"):
            for pid in each.node.pids(program):
                assert not has_in_memory(pid, needles), program


def test_keys_is_lost_during_handshakes(node, keys):
    """They fail at once, and the next ones do not; who is connected stays."""
    server = Server(node, keys)
    with server.client() as stays:
        assert stays.receive()[0] == "hello"
        for _ in range(3):
            mark = server.log.mark()
            server.node.kill("keys")
            server.log.wait("process_started", since=mark, program="keys")

            def passes():
                try:
                    with server.client() as client:
                        return client.receive()[0] == "hello"
                except (ssl.SSLError, ConnectionError, Closed):
                    return False

            wait_until(passes, "the keys are there again")
        assert stays.ask("get", "address", "nobody@example.org")[0] == "none"


# --- files ---

def test_new_certificates_are_taken(node, keys, ground):
    own = ground.directory("own")
    copy_all(keys, own)
    server = Server(node, own)
    with server.client() as client:
        assert client.receive()[0] == "hello"
    # an authority more
    with open(f"{own}/both.pem", "w", encoding="ascii") as both:
        for name in "authority", "foreign":
            with open(f"{own}/{name}.pem", encoding="ascii") as one:
                both.write(one.read())
    give_to_user(f"{own}/both.pem")
    os.rename(f"{own}/both.pem", f"{own}/authority.pem")  # without a word to it

    def is_taken():
        try:
            with server.client("foreign-reader.example.org") as client:
                return client.receive()[0] == "hello"
        except (ssl.SSLError, ConnectionError, Closed):
            return False

    wait_until(is_taken, "the new authority counts")


def copy_all(keys, folder):
    for name in os.listdir(keys):
        shutil.copy(os.path.join(keys, name), folder)
        give_to_user(os.path.join(folder, name))


def add_foreign_authority(folder):
    with open(f"{folder}/foreign.pem", encoding="ascii") as foreign, \
            open(f"{folder}/authority.pem", "a", encoding="ascii") as authority:
        authority.write(foreign.read())


def test_a_reload_may_name_files_elsewhere(node, keys, ground):
    """They come from a "keys" that is started again for them: until then it is no error that they are
    not there."""
    own, other = ground.directory("own"), ground.directory("other")
    copy_all(keys, own)
    copy_all(keys, other)
    add_foreign_authority(other)
    server = Server(node, own)
    with server.client() as client:
        assert client.receive()[0] == "hello"
    server.node.settings = server.node.settings.replace(own, other)
    server.node.write_configuration()
    server.node.reload()

    def is_taken():
        try:
            with server.client("foreign-reader.example.org") as client:
                return client.receive()[0] == "hello"
        except (ssl.SSLError, ConnectionError, Closed):
            return False

    wait_until(is_taken, "the new authority counts")
    assert not server.log.find("directory_error")
    assert not server.log.find("certificate_error")


def test_files_that_cannot_be_used_are_named(node, keys, ground):
    own = ground.directory("own")
    copy_all(keys, own)
    os.unlink(f"{own}/loopback-dir1.example.org.key")
    server = Server(node, own)  # this machine's own clients are served
    found = server.log.wait("certificate_error")
    assert found["file"] == f"{own}/loopback-dir1.example.org.key"
    assert found["text"] == "No such file or directory"
    found = server.log.wait("directory_error")
    assert found["reason"] == "there is no certificate that can be used"
    with pytest.raises((ssl.SSLError, ConnectionError, TimeoutError)):
        server.client(patience=1)
    path = os.path.join(own, "loopback-dir1.example.org.key")
    shutil.copy(os.path.join(keys, os.path.basename(path)), path + ".new")
    give_to_user(path + ".new")
    os.rename(path + ".new", path)
    with server.client() as client:  # without a word to it
        assert client.receive()[0] == "hello"
    assert len(server.log.find("directory_error")) == 1
    assert len(server.log.find("certificate_error")) == 1
