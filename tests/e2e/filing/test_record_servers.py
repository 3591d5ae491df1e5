# SPDX-License-Identifier: ISC
"""The record in MariaDB and PostgreSQL, with servers that must prove who they are, or cannot: TLS,
certificates, passwords, ways to log in, several hosts, and servers that never come to an end."""

import os
import shutil
import socket
import subprocess
import threading
import time

import mariadb
import postgresql
import pytest
from directory_tls import make_certificates
from filed import KEY, Boxes, message, tell
from stagepost import BUILD, PATIENCE, free_port, give_to_user, wait_until
from test_mailbox_servers import Site, keep  # noqa: F401 (a fixture)

HOST, CLIENT, OTHER, FOREIGN = ("loopback-localhost", "client.test", "elsewhere.test",
                                "foreign-localhost")
TRY_LATER = 75


@pytest.fixture(scope="module")
def certificates(ground):
    place = make_certificates(ground.directory("certificates"), HOST, CLIENT, OTHER, FOREIGN)
    with open(os.path.join(place, "password"), "w", encoding="ascii") as file:
        file.write(f"{KEY}\n")
    give_to_user(os.path.join(place, "password"))
    return place


def give(place, name, directory, owner):
    """The server's own copies: paths without an end."""
    path = os.path.join(directory, name)
    for end in "pem", "key":
        shutil.copyfile(os.path.join(place, f"{name}.{end}"), f"{path}.{end}")
        os.chmod(f"{path}.{end}", 0o600)
        if os.geteuid() == 0:
            shutil.chown(f"{path}.{end}", owner)
    return path


class Ended:
    def __init__(self, close):
        self.close = close


class Command:
    """Files one message by the command, with the record SETTINGS."""

    def __init__(self, ground):
        self.place = ground.directory("command")
        self.number = 0

    def __call__(self, settings, timeout=60, traced=()):
        """Its exit status, what it said and how many seconds it took. TRACED: options of strace."""
        self.number += 1
        path = os.path.join(self.place, "configuration")
        with open(path, "w", encoding="ascii") as file:
            file.write(f'hostname = mx.test\nqueue = {self.place}/queue\nrun = {self.place}/run\n'
                       f'user = ""\nservice box {{ kind = mailbox path = "{self.place}/%d/%u" }}\n'
                       f'record {{ {settings} }}\n')
        begun = time.monotonic()
        ours, theirs = os.openpty()  # a person is told what is wrong
        tracer = ["strace", "-qq", "-f", "-o", "/dev/null", *traced] if traced else []
        process = subprocess.Popen(
            [*tracer, os.path.join(BUILD, "mailbox-command"), "-c", path, "-r", "scuba@mail.test"],
            stdin=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        process.communicate(message(f"n{self.number}"), timeout=timeout)
        said = os.read(ours, 8192).decode() if process.returncode else ""
        os.close(ours)
        return process.returncode, said, time.monotonic() - begun


class Maria:
    """With TLS by CERTIFICATE, if there is one; MORE are settings of the server."""

    def __init__(self, ground, place, certificate=None, more=""):
        directory = ground.directory("mariadb")
        self.place = place
        self.port = free_port()
        tls = ""
        if certificate:
            path = give(place, certificate, directory, mariadb.OWNER)
            tls = (f"ssl-ca = {place}/authority.pem\nssl-cert = {path}.pem\n"
                   f"ssl-key = {path}.key\n")
        self.server = mariadb.Server(
            directory, f"bind-address = 127.0.0.1\nport = {self.port}\nskip-networking = 0\n"
            f"skip-name-resolve = 1\n{tls}{more}")
        self.server.sql("CREATE DATABASE mail")

    def user(self, how):
        self.server.sql(f"DROP USER IF EXISTS filer; CREATE USER filer {how};"
                        " GRANT ALL ON mail.* TO filer")

    def settings(self, tls="", servers=None, timeout=4):
        return (f'backend = mariadb database = mail user = filer '
                f'servers = "{servers or self.address()}" password_file = "{self.place}/password" '
                f'timeout = {timeout} lock_timeout = 4 {tls}')

    def address(self, host="127.0.0.1"):
        return f"{host}:{self.port}"

    def authority(self, name="authority"):
        return f'authority = "{self.place}/{name}.pem" '

    def certificate(self, name=CLIENT):
        return (f'client_certificate = "{self.place}/{name}.pem" '
                f'client_key = "{self.place}/{name}.key" ')

    def close(self):
        self.server.stop()


@pytest.fixture(scope="module")
def secure(ground, certificates):
    made = Maria(ground, certificates, HOST)
    yield made
    made.close()


@pytest.fixture
def command(ground):
    return Command(ground)


# --- MariaDB, by TLS ---

def test_a_client_certificate(secure, command):
    """The server demands one of its authority."""
    secure.user(f"IDENTIFIED BY '{KEY}' REQUIRE SUBJECT '/O=Tests/CN={CLIENT}'")
    tls = secure.authority() + secure.certificate()
    assert command(secure.settings(tls))[0] == 0
    assert command(secure.settings(tls, secure.address("localhost")))[0] == 0
    status, said, _ = command(secure.settings(secure.authority()))
    assert status == TRY_LATER and "Access denied" in said
    status, said, _ = command(secure.settings(secure.authority() + secure.certificate(OTHER)))
    assert status == TRY_LATER and "Access denied" in said


def test_a_server_of_another_authority_is_refused(secure, command):
    secure.user(f"IDENTIFIED BY '{KEY}'")
    status, said, _ = command(secure.settings(secure.authority("foreign")))
    assert status == TRY_LATER and "certificate" in said, said
    assert command(secure.settings(secure.authority()))[0] == 0


@pytest.mark.parametrize("certificate", [OTHER, None])
def test_a_server_of_another_name_or_without_tls_is_refused(ground, certificates, command, keep,  # noqa: F811
                                                             certificate):
    made = keep(Maria(ground, certificates, certificate))
    made.user(f"IDENTIFIED BY '{KEY}'")
    status, said, _ = command(made.settings(made.authority()))
    assert status == TRY_LATER and ("SSL" in said or "TLS" in said), said
    assert made.server.sql("SHOW TABLES", database="mail") == ""
    assert command(made.settings())[0] == 0  # it is only that


def test_a_node_in_its_sandbox(node, ground, certificates, secure, keep):  # noqa: F811
    """It can read the certificate's files, and log in by what is beside the library."""
    secure.server.sql("INSTALL SONAME 'auth_ed25519'")
    secure.user(f"IDENTIFIED VIA ed25519 USING PASSWORD('{KEY}') REQUIRE X509")
    keep(Ended(lambda: secure.server.sql("UNINSTALL SONAME 'auth_ed25519'")))

    class Record:
        @staticmethod
        def settings(more=""):
            tls = secure.authority() + secure.certificate()
            return f"record {{ {secure.settings(tls)} {more} }}\n"

    own = Site(node, Record, keep(Boxes(ground)))
    own.story("first")
    own.mx.restart()
    own.story("first")
    assert not own.mx.log.find("sandbox_lacks")


# --- passwords ---

class Asker:
    """A server that only asks for a way to log in, by its first packets (MariaDB's protocol), and
    keeps what it is answered."""

    GREETING = (b"\x0a5.5.5-10.11.0-test\x00" + b"\x01\x00\x00\x00" + b"12345678\x00"
                b"\xff\xf7" b"\x2d" b"\x02\x00" b"\xff\x81" b"\x15" + bytes(10) +
                b"123456789012\x00" b"mysql_native_password\x00")

    def __init__(self, way):
        self.way, self.answers = way, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    @staticmethod
    def _packet(number, body):
        return len(body).to_bytes(3, "little") + bytes([number]) + body

    def _serve(self):
        connection, _ = self.listener.accept()
        connection.settimeout(PATIENCE)
        connection.sendall(self._packet(0, self.GREETING))
        connection.recv(4096)
        connection.sendall(self._packet(2, b"\xfe" + self.way.encode() + b"\x00" +
                                        b"12345678901234567890\x00"))
        while part := connection.recv(4096):
            self.answers.append(part)
        connection.close()

    def close(self):
        self.thread.join(PATIENCE)
        self.listener.close()


@pytest.mark.parametrize("way", ["mysql_clear_password", "dialog", "mysql_old_password",
                                 "caching_sha2_password", "sha256_password"])
def test_nobody_gets_the_password_itself(secure, command, keep, way):  # noqa: F811
    asker = keep(Asker(way))
    status, said, _ = command(secure.settings(servers=f"127.0.0.1:{asker.port}"))
    assert status == TRY_LATER and "an authentication method that discloses the password" in said, said
    asker.close()
    assert asker.answers == []


def test_a_proof_by_ed25519(secure, command):
    """The server asks for it after it has asked for something else."""
    secure.server.sql("INSTALL SONAME 'auth_ed25519'")
    secure.user(f"IDENTIFIED VIA ed25519 USING PASSWORD('{KEY}')")
    status, said, _ = command(secure.settings())
    secure.server.sql("UNINSTALL SONAME 'auth_ed25519'")
    assert status == 0, said


def test_a_password_that_is_wrong_or_missing(secure, command, certificates):
    secure.user("IDENTIFIED BY 'another'")
    status, said, _ = command(secure.settings())
    assert status == TRY_LATER and "Access denied" in said
    assert KEY not in said
    missing = secure.settings().replace("/password", "/missing")
    status, said, _ = command(missing)
    assert status == TRY_LATER and f"{certificates}/missing" in said


# --- several hosts, and slow ones ---

def test_the_first_that_can_be_written(ground, certificates, secure, command, keep):  # noqa: F811
    standby = keep(Maria(ground, certificates))
    for each in standby, secure:
        each.user(f"IDENTIFIED BY '{KEY}'")
    standby.server.sql("SET GLOBAL read_only = 1")
    nobody = f"127.0.0.1:{free_port()}"
    servers = ", ".join([nobody, standby.address(), secure.address()])
    assert command(secure.settings(servers=servers))[0] == 0
    assert standby.server.sql("SHOW TABLES", database="mail") == ""
    secure.server.sql("SET GLOBAL read_only = 1")
    try:
        status, said, _ = command(secure.settings(servers=servers))
        assert status == TRY_LATER and "read-only" in said
        standby.server.sql("SET GLOBAL read_only = 0")  # it has taken over
        assert command(secure.settings(servers=servers))[0] == 0
        assert standby.server.sql("SELECT count(*) FROM filing", database="mail") == "1"
    finally:
        secure.server.sql("SET GLOBAL read_only = 0")


class Drip:
    """Between a client and the server at PORT: from the server's answer LIMIT on, a byte a second."""

    def __init__(self, port, limit):
        self.port_there, self.left = port, limit
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = [self.listener]
        self.is_over = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.port_there))
            except OSError:
                return
            self.sockets += client, server
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source, target, is_slow):
        try:
            while data := source.recv(65536):
                self.left -= is_slow
                if self.left >= 0 or not is_slow:
                    target.sendall(data)
                    continue
                for byte in data:
                    target.sendall(bytes([byte]))
                    self.is_over.wait(1)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.is_over.set()
        for each in self.sockets:
            each.close()


@pytest.mark.parametrize("limit, is_by_tls", [(0, False), (1, False), (3, False), (8, False),
                                              (14, False), (1, True), (3, True), (10, True)])
def test_a_server_that_says_a_byte_now_and_then(secure, command, keep, limit, is_by_tls):  # noqa: F811
    """While it connects, and later: a call ends in time, and nothing more is asked there."""
    secure.user(f"IDENTIFIED BY '{KEY}'")
    assert command(secure.settings())[0] == 0  # and the tables are there
    drip = keep(Drip(secure.port, limit))
    tls = secure.authority() if is_by_tls else ""
    status, _, took = command(secure.settings(tls, f"127.0.0.1:{drip.port}", timeout=2))
    assert status == TRY_LATER
    assert took < 2 * 2 + 10  # the call, and whether the server can be reached


def test_a_byte_now_and_then_after_a_greeting_that_is_there_at_once(secure, command, keep):  # noqa: F811
    """The library goes on to TLS without a wait of ours, and waits in it as long as the server likes."""
    secure.user(f"IDENTIFIED BY '{KEY}'")
    assert command(secure.settings())[0] == 0
    drip = keep(Drip(secure.port, 1))
    status, _, took = command(secure.settings(secure.authority(), f"127.0.0.1:{drip.port}", timeout=2),
                              traced=("-e", "inject=connect:delay_exit=500000"))
    assert status == TRY_LATER
    assert took < 2 * 2 + 10


# --- PostgreSQL ---

def test_postgresql_by_tls_and_a_node(node, ground, certificates, keep):  # noqa: F811
    """sslmode=verify-full with a client certificate and a password file, from the sandbox."""
    server = postgresql.Server(ground.directory("postgresql"), fsync="on")
    try:
        path = give(certificates, HOST, server.directory, postgresql.OWNER)
        for name, value in {"ssl_cert_file": f"{path}.pem", "ssl_key_file": f"{path}.key",
                            "ssl_ca_file": f"{certificates}/authority.pem", "ssl": "on"}.items():
            server.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        server.sql(f"CREATE ROLE filer LOGIN PASSWORD '{KEY}'")
        server.sql(f"ALTER DATABASE {postgresql.DATABASE} OWNER TO filer")
        server.sql("ALTER SCHEMA public OWNER TO filer")
        with open(os.path.join(server.directory, "pg_hba.conf"), "r+", encoding="ascii") as file:
            rest = file.read()
            file.seek(0)
            file.write("hostssl all filer all scram-sha-256 clientcert=verify-ca\n"
                       "host all filer all reject\n" + rest)
        server.sql("SELECT pg_reload_conf()")
        secret = os.path.join(ground.directory("secret"), "pass")
        with open(secret, "w", encoding="ascii") as file:
            file.write(f"*:*:*:*:{KEY}\n")
        os.chmod(secret, 0o600)
        give_to_user(secret)
        os.chmod(f"{certificates}/{CLIENT}.key", 0o600)

        class Record:
            authority = "authority"

            @classmethod
            def settings(cls, more=""):
                return (f'record {{ backend = postgresql database = "host=localhost '
                        f'port={server.port} dbname={postgresql.DATABASE} user=filer '
                        f'sslmode=verify-full sslrootcert={certificates}/{cls.authority}.pem '
                        f'sslcert={certificates}/{CLIENT}.pem sslkey={certificates}/{CLIENT}.key '
                        f'passfile={secret}" timeout = 5 {more} }}\n')

        own = Site(node, Record, keep(Boxes(ground)), settings="probe_delay = 1\n")
        own.story("first")
        assert server.sql("SELECT bool_and(ssl AND client_dn IS NOT NULL) FROM pg_stat_ssl"
                          " JOIN pg_stat_activity USING (pid) WHERE usename = 'filer'") == "t"
        assert not own.mx.log.find("sandbox_lacks")
        Record.authority = "foreign"  # the server is another one's
        own.write()
        own.mx.restart()
        mark = own.mx.log.mark()
        tell(own.mx, ["scuba@mail.test"], message("second"))
        failed = own.mx.log.wait("filing_failed", since=mark)
        assert "certificate verify failed" in failed["text"]
        Record.authority = "authority"
        own.write()
        own.mx.restart()
        wait_until(lambda: not own.mx.control_files(), "it is filed", 40)
    finally:
        server.stop()
