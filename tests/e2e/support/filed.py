# SPDX-License-Identifier: ISC
"""Nodes with services that record what they file: the databases of the record, Dovecot with all its
ways in, and what is in the mailboxes."""

import contextlib
import email
import hashlib
import os
import sqlite3
import subprocess

import mariadb
import postgresql
from directory_tls import make_certificates
from dovecot import Dovecot
from smtp import Client
from stagepost import PATIENCE, free_port, give_to_user, wait_until

FILER, KEY = "filer", "key-to-all"  # the master's login; everybody has that password
HOST = "loopback-localhost"  # the certificate is for its name and 127.0.0.1
WAYS = """
auth_master_user_separator = *
passdb {{
  driver = passwd-file
  args = {place}/refused
  deny = yes
}}
passdb {{
  driver = passwd-file
  args = {place}/masters
  master = yes
}}
passdb {{
  driver = static
  args = password={key}
}}
userdb {{
  driver = static
  args = uid={owner} gid={group} home=/nonexistent
}}
ssl = yes
ssl_cert = <{place}/{host}.pem
ssl_key = <{place}/{host}.key
service imap-login {{
  inet_listener imaps {{
    address = 127.0.0.1
    port = {port}
    ssl = yes
  }}
}}
"""
LISA = (b"From: Lisa <lisa@gmail.test>\r\nTo: scuba@mail.test, doug@mail.test\r\n"
        b"Subject: Our next meeting\r\nMessage-ID: <%s@mail.gmail.test>\r\n"
        b"Date: Thu, 26 Nov 2026 09:00:00 +0000\r\n\r\nHey guys! Shall we meet tomorrow at 2 PM?\r\n%s")


def message(identity, more=b""):
    """With the Message-ID of that name."""
    return LISA % (identity.encode(), more)


def lock_digest(identity):
    return hashlib.sha256(f"<{identity}@mail.gmail.test>".encode()).digest()


def lock_number(identity):
    """As filing/lock/name.h has it for PostgreSQL."""
    return int.from_bytes(lock_digest(identity)[:8], "big", signed=True)


def lock_text(identity):
    """Likewise for MariaDB."""
    return f"stagepost/{lock_digest(identity).hex()[:48]}"


def identity_of(text):
    return email.message_from_bytes(text)["Message-ID"].partition("@")[0].lstrip("<")


class Imap:
    """Dovecot, whose users are whoever comes, by TLS or without; a master may log in for them."""

    def __init__(self, ground):
        self.place = ground.directory("imap")
        make_certificates(self.place, HOST)
        for name, text in (("masters", f"{FILER}:{{PLAIN}}{KEY}\n"), ("password", f"{KEY}\n"),
                           ("refused", "")):
            path = os.path.join(self.place, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(path, 0o644)
        self.secure = free_port()
        owner, group = ("nobody", "nogroup") if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        self.server = Dovecot([], settings=WAYS.format(
            place=self.place, host=HOST, port=self.secure, key=KEY, owner=owner,
            group=group))

    def settings(self, security="starttls", login=f"%a*{FILER}", more=""):
        """Of a service of kind imap."""
        port = self.secure if security == "implicit" else self.server.port
        tls = "" if security == "plain" else (f'authority = "{self.place}/authority.pem" '
                                               'server_name = "localhost" ')
        return (f'kind = imap address = "127.0.0.1:{port}" security = {security} login = "{login}" '
                f'password_file = "{self.place}/password" {tls}{more}')

    def refuse(self, address):
        """Whoever logs in as that user."""
        with open(os.path.join(self.place, "refused"), "w", encoding="ascii") as file:
            file.write(f"{address}:\n")

    def texts(self, address, folder="INBOX"):
        """What is in a folder, as it is on the disk."""
        path = os.path.join(self.server.base, "mail", address)
        return texts_of(path if folder == "INBOX" else os.path.join(path, "." + folder))

    def close(self):
        self.server.close()


def texts_of(maildir):
    found = []
    for part in ("new", "cur"):
        path = os.path.join(maildir, part)
        for name in os.listdir(path) if os.path.isdir(path) else []:
            with open(os.path.join(path, name), "rb") as file:
                found.append(file.read())
    return found


class Boxes:
    """Maildirs of services of kind mailbox."""

    def __init__(self, ground):
        self.root = ground.directory("once")

    def settings(self, more=""):
        return f'kind = mailbox path = "{self.root}/%d/%u" {more}'

    def texts(self, address, folder="INBOX"):
        local, _, domain = address.partition("@")
        path = os.path.join(self.root, domain, local)
        return texts_of(path if folder == "INBOX" else os.path.join(path, "." + folder))

    def close(self):
        pass


# --- the record ---

class Sqlite:
    """In DIRECTORY, if it is not to be one of its own."""

    def __init__(self, ground, directory=None):
        self.path = os.path.join(directory or ground.directory("record"), "record.db")

    def settings(self, more=""):
        return f'record {{ path = "{self.path}" {more} }}\n'

    def wait_recorded(self, count):
        def recorded():
            with contextlib.closing(sqlite3.connect(self.path)) as tables:
                return tables.execute("SELECT count(*) FROM message").fetchone()[0]
        wait_until(lambda: recorded() == count, f"{count} messages are recorded")

    def close(self):
        pass


class Postgresql:
    """By WAY: "socket", "address" or "name"; in DIRECTORY likewise."""

    timeout = 5  # seconds that it may be silent

    def __init__(self, ground, way="socket", directory=None, settings=""):
        self.server = postgresql.Server(directory or ground.directory("postgresql"), fsync="on",
                                        settings=settings)
        self.way = way

    def settings(self, more=""):
        host = {"socket": self.server.sockets, "address": "127.0.0.1", "name": "localhost"}[self.way]
        return (f'record {{ backend = postgresql database = "{self.server.conninfo(host=host)}" '
                f'timeout = {self.timeout} {more} }}\n')

    @contextlib.contextmanager
    def locked(self, identity):
        """Another session has the lock of that message."""
        session = self.server.session()
        session.run("BEGIN")
        session.run(f"SELECT pg_advisory_xact_lock({lock_number(identity)})")
        yield
        session.run("ROLLBACK")
        session.close()

    def age_attempts(self):
        """As if an hour had passed: what an IMAP server could append yet, it has."""
        # not row by row, beside transactions that have some of them
        self.server.sql("BEGIN; LOCK TABLE attempt IN EXCLUSIVE MODE;"
                        " UPDATE attempt SET began_us = began_us - 3600000000; COMMIT")

    def wait_connected(self, count):
        """The node has so many connections."""
        wait_until(lambda: int(self.server.sql(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle' AND"
            " application_name = 'stagepost-mailbox'")) >= count, f"{count} connections")

    def start(self):
        self.server.start()

    def kill(self):
        self.server.kill()

    def close(self):
        self.server.stop()


NETWORK = """bind-address = 127.0.0.1
port = {port}
skip-networking = 0
skip-name-resolve = 1
"""
USER = """CREATE DATABASE mail;
CREATE USER filer@'%' IDENTIFIED BY 'key-to-all';
CREATE USER filer@localhost IDENTIFIED BY 'key-to-all';
GRANT ALL ON mail.* TO filer@'%';
GRANT ALL ON mail.* TO filer@localhost;
"""


class Mariadb:
    """By WAY: "socket", "address" or "name"; in DIRECTORY likewise."""

    timeout = 5  # seconds that it may be silent

    def __init__(self, ground, way="socket", directory=None, settings=""):
        self.port = free_port()
        self.server = mariadb.Server(directory or ground.directory("mariadb"),
                                     NETWORK.format(port=self.port) + settings)
        self.server.sql(USER)
        self.password = os.path.join(ground.directory("password"), "password")
        with open(self.password, "w", encoding="ascii") as file:
            file.write(f"{KEY}\n")
        give_to_user(self.password)
        self.way = way

    def settings(self, more=""):
        where = {"socket": f'socket = "{self.server.socket}"',
                 "address": f'servers = "127.0.0.1:{self.port}"',
                 "name": f'servers = "localhost:{self.port}"'}[self.way]
        return (f'record {{ backend = mariadb {where} database = "mail" user = "{FILER}" '
                f'password_file = "{self.password}" timeout = {self.timeout} {more} }}\n')

    @contextlib.contextmanager
    def locked(self, identity):
        """Another connection has the lock of that message."""
        session = subprocess.Popen(
            ["mariadb", "--no-defaults", "-S", self.server.socket, "-u", "root", "-N", "-B", "-n",
             "mysql"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        session.stdin.write(f"SELECT GET_LOCK('{lock_text(identity)}', 0);\n")
        session.stdin.flush()
        assert session.stdout.readline() == "1\n"
        yield
        session.stdin.close()
        session.wait(PATIENCE)
        session.stdout.close()

    def start(self):
        self.server.start()

    def kill(self):
        self.server.kill()

    def close(self):
        self.server.stop()


# --- a node ---

def tell(mx, recipients, text, sender="lisa@gmail.test"):
    """One delivery for each recipient, as the source has it."""
    with Client(mx) as client:
        for recipient in recipients:
            reply = client.deliver(sender, [recipient], text)
            assert reply.startswith("250 "), reply


def lacking(store, address, identities, folder="INBOX"):
    """How often each of IDENTITIES is there, but for those that are there once."""
    found = [identity_of(text) for text in store.texts(address, folder)]
    return {name: found.count(name) for name in {*identities, *found}
            if found.count(name) != 1 or name not in identities}


@contextlib.contextmanager
def imap_site(node, ground, more, settings=""):
    """A started node and the server with the mailboxes of its domain mail.test; the service has MORE."""
    imap = Imap(ground)
    try:
        mx = node(start=False, domains=["domain mail.test { service = once }"])
        record = os.path.join(mx.directory, "record")
        os.mkdir(record)
        give_to_user(record)
        mx.settings = (f"service once {{ {imap.settings(more=more)} }}\n"
                       f'record {{ path = "{record}/record.db" }}\n{settings}')
        mx.write_configuration()
        mx.start()
        yield mx, imap
        mx.stop()
    finally:
        imap.close()
