# SPDX-License-Identifier: ISC
"""PostgreSQL servers for tests, each in a directory and at a port of its own, and a store
that is driven by lines (postgresql_store.c)."""

import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess

import store_lines
import templates
from stagepost import PATIENCE, ROOT, free_port, is_alive, is_root, wait_until

OWNER = "postgres"  # it does not run as root
DATABASE = "mail"
SCHEMA = os.path.join(ROOT, "build", "src", "directory", "store",
                      "postgresql_schema.sql")
SETTINGS = """listen_addresses = '{address}'
port = {port}
unix_socket_directories = '{sockets}'
max_connections = 60
shared_buffers = 64MB
fsync = {fsync}
wal_level = replica
max_wal_senders = 5
max_replication_slots = 5
hot_standby = on
hot_standby_feedback = on
wal_retrieve_retry_interval = 200ms
log_min_messages = warning
lc_messages = 'C'
"""


def programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    assert found, "PostgreSQL is not installed"
    return os.path.dirname(found[-1])


def psql():
    """Debian's own is a script that looks for this one, which takes three times as long."""
    return os.path.join(programs(), "psql")


def as_owner():
    if not is_root():
        return []
    return ["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--init-groups", "--"]


class Server:
    """In DIRECTORY, which is made. A standby of STANDBY_OF streams from it as NAME. MACHINE is
    the network namespace that it runs in and its address there, NETWORK those who may come,
    WAY (host, port) where the standby finds the other."""

    def __init__(self, directory, name="a", standby_of=None, fsync="off", settings="",
                 machine=(None, "127.0.0.1"), network="127.0.0.1/32", way=None, port=None):
        self.directory = os.path.join(directory, name)
        self.sockets = directory
        self.name = name
        namespace, self.address = machine
        self.inside = ["ip", "netns", "exec", namespace] if namespace else []
        self.port = port or free_port()
        self.process = None
        os.chmod(directory, 0o777)
        os.mkdir(self.directory, 0o700)
        if is_root():
            shutil.chown(self.directory, OWNER, OWNER)
        if standby_of is None:
            templates.fill(self.directory, "postgresql", os.path.join(programs(), "initdb"), self._make)
        else:
            self._run("pg_basebackup", "-D", self.directory, "-R", "-X", "stream", "--no-sync",
                      "-c", "fast", "-d",
                      f"{standby_of.conninfo(database=None, way=way)} application_name={name}")
        with open(os.path.join(self.directory, "postgresql.conf"), "a", encoding="ascii") as conf:
            conf.write(SETTINGS.format(address=self.address, port=self.port,
                                       sockets=self.sockets, fsync=fsync))
            conf.write(settings)
        with open(os.path.join(self.directory, "pg_hba.conf"), "a", encoding="ascii") as access:
            for database in "all", "replication":
                access.write(f"host {database} all {network} trust\n")
        self.start()

    def _make(self):
        self._run("initdb", "-D", self.directory, "-U", OWNER, "-A", "trust", "-E", "UTF8",
                  "--locale=C.UTF-8", "--no-sync", "--wal-segsize=1")
        self._run("postgres", "--single", "-F", "-D", self.directory, OWNER, said=f"CREATE DATABASE {DATABASE};\n")

    def _run(self, program, *words, said=None):
        ended = subprocess.run([*self.inside, *as_owner(), os.path.join(programs(), program), *words],
                               cwd=self.sockets, capture_output=True, text=True, check=False,
                               input=said, timeout=120)
        assert ended.returncode == 0, ended.stdout + ended.stderr

    def conninfo(self, database=DATABASE, user=OWNER, host=None, way=None):
        """By TCP; HOST may be sockets."""
        host, port = way or (host or self.address, self.port)
        text = f"host={host} port={port} user={user}"
        return f"{text} dbname={database}" if database else text

    def start(self):
        with open(os.path.join(self.sockets, f"{self.name}.log"), "ab") as log:
            self.process = subprocess.Popen(
                [*self.inside, *as_owner(), os.path.join(programs(), "postgres"), "-D", self.directory],
                cwd=self.sockets, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        wait_until(lambda: self.process.poll() is not None or self.answers(),
                   "PostgreSQL answers", 60)
        assert self.process.poll() is None, self.log()

    def answers(self):
        return subprocess.run(
            [os.path.join(programs(), "pg_isready"), "-q", "-h", self.sockets, "-p",
             str(self.port)], check=False, timeout=PATIENCE).returncode == 0

    def log(self):
        with open(os.path.join(self.sockets, f"{self.name}.log"), encoding="utf-8") as log:
            return log.read()

    def sql(self, text, database=DATABASE, user=OWNER, timeout=120):
        """Runs TEXT, all of it in one transaction where it is no single statement."""
        ended = subprocess.run(
            [psql(), "-XqAt", "-v", "ON_ERROR_STOP=1", "-d",
             self.conninfo(database, user=user, host=self.sockets), "-c", text],
            capture_output=True, text=True, check=False, timeout=timeout)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    @contextlib.contextmanager
    def unchecked(self):
        """Without constraints, as tables of version 2 had hardly any; then they become new ones."""
        self.sql("""DO $$ DECLARE found record; BEGIN
            FOR found IN SELECT conrelid::regclass AS table_name, conname FROM pg_constraint
                    WHERE contype = 'c' AND NOT convalidated LOOP
                EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', found.table_name,
                    found.conname);
            END LOOP;
            UPDATE directory_data SET schema = 2; END $$""")
        yield
        with open(SCHEMA, encoding="utf-8") as schema:
            self.sql(schema.read())

    def session(self, **words):
        return Session(self.conninfo(**words))

    def pids(self):
        """The postmaster first, and what it started."""
        found = [self.process.pid]
        for stat in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(stat, encoding="latin-1") as file:
                    words = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(words[1]) == self.process.pid:
                found.append(int(stat.split("/")[2]))
        return found

    def signal(self, number):
        for pid in self.pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def kill(self):
        """kill -9, all of it at once."""
        pids = self.pids()
        self.signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        wait_until(lambda: not any(is_alive(pid) for pid in pids), "its processes are gone")

    def promote(self):
        self._run("pg_ctl", "promote", "-D", self.directory, "-W")

    def replayed(self, version, timeout=PATIENCE):
        wait_until(lambda: int(self.sql("SELECT version FROM meta")) >= version,
                   f"the standby has version {version}", timeout)

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()


@contextlib.contextmanager
def several(ground):
    """make(NAME, ...): a server as Server() makes it, until the end."""
    path = ground.directory("servers")
    made = []

    def make(name, **words):
        made.append(Server(path, name, **words))
        return made[-1]

    try:
        yield make
    finally:  # or a failed test leaves them, and the disk cannot be unmounted
        for server in made:
            server.stop()
        shutil.rmtree(path, ignore_errors=True)


def judge_pushes(measure):
    """MEASURE() gives milliseconds from commits to pushes, and those of questions beside them, which
    tell how busy the machine is. What is polled for, or seen by accident only, takes hundreds."""
    for _ in range(3):
        took, others = (sorted(each) for each in measure())
        half, most = len(took) // 2, len(took) * 99 // 100 - 1
        print(f"commit to push: median {took[half]:.1f} ms, p99 {took[most]:.1f} ms; "
              f"questions: median {others[half]:.1f} ms, p99 {others[most]:.1f} ms")
        if took[half] < max(25, 4 * others[half]) and took[most] < max(50, 4 * others[most]):
            return
    raise AssertionError(f"99 of 100 pushes take {took[most]:.1f} ms, questions {others[most]:.1f} ms")


class Session:
    """One psql that goes on: what is run in it is committed when run() returns."""

    def __init__(self, conninfo):
        self.process = subprocess.Popen(
            [psql(), "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", conninfo], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)

    def send(self, text):
        self.process.stdin.write(f"{text};\n\\echo .done\n")
        self.process.stdin.flush()

    def receive(self):
        lines = []
        for line in self.process.stdout:
            if line == ".done\n":
                return "\n".join(lines)
            lines.append(line.rstrip("\n"))
        raise AssertionError(self.process.stderr.read())

    def run(self, text):
        self.send(text)
        return self.receive()

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()


class Store(store_lines.Store):
    """DATABASES are connection strings."""

    def __init__(self, directory, *databases, wait=True):
        super().__init__(directory, "postgresql_store", *databases, wait=wait)


assert pwd.getpwnam(OWNER), "PostgreSQL is not installed"
