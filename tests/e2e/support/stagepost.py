# SPDX-License-Identifier: ISC
"""A Stagepost node for tests: its configuration, processes, log and mailboxes.

Tests wait for events of the log and for files, always with a deadline."""

import contextlib
import datetime
import glob
import grp
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
import checksums  # noqa: E402
import log_rows  # noqa: E402
from common.net import (PATIENCE, POLL, SLOWNESS, ThreadServer, free_port,  # noqa: E402,F401
                        listening, pause_since, wait_until)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.path.abspath(os.environ.get("STAGEPOST_BUILD", os.path.join(ROOT, "build")))
AS_USER = os.path.join(BUILD, "tests/e2e/as_user")
PROGRAMS = ("stagepost", "smtpd", "qmtpd", "queue", "send", "resolve", "names", "remote", "lmtp", "local", "pipe",
            "launch")
# run only with a section or a setting for it
FOR_SECTIONS = ("keys", "handover", "noded", "policy", "decode", "auth", "auth-ldap", "list", "mailbox", "mailbox-postgresql", "mailbox-mariadb", "mailbox-command",
                "mailbox-command-postgresql", "mailbox-command-mariadb", "directory", "directory-command", "directory-ldap", "directory-postgresql")
USER = "nobody"
STOP_PATIENCE = 45 * SLOWNESS  # the supervisor's own patience is 35


def is_root():
    """Whether we may become other users: not so for the root of a user namespace."""
    if os.geteuid() != 0:
        return False
    with open("/proc/self/uid_map", encoding="ascii") as uids:
        return int(uids.readline().split()[2]) > 1


def come_first(pid):
    """The rest of what this process does goes before what other sessions of the machine do: for a test of how
    fast it is. Only root can; others are as fast as they are."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as group:
        group.write("-15")


def is_alive(pid):
    """A zombie is not: whoever inherited it may take a while to see."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def install_programs(directory):
    """Copies what was built to where the unprivileged user may execute it."""
    for name in PROGRAMS + FOR_SECTIONS:
        shutil.copy2(os.path.join(BUILD, name), os.path.join(directory, name))
        os.chmod(os.path.join(directory, name), 0o755)
    return directory


def as_user(user=USER):
    """The start of a command line that runs the rest without root's rights."""
    if not is_root():
        return []
    return [AS_USER, str(pwd.getpwnam(user).pw_uid), str(grp.getgrnam("nogroup").gr_gid)]


def give_to_user(path, user=USER):
    if is_root():
        shutil.chown(path, user, "nogroup")


def services_for_helpers(user=""):
    """Settings for "pipe", "launch" and "lmtp" to run, too. USER: of the program, where the node changes its
    own. Nobody listens at the address."""
    program_user = f"user = {user}" if user else ""
    return (f'service box {{ kind = pipe command = "/bin/true" {program_user} }}\n'
            'service hop { kind = lmtp address = "127.0.0.1:9" }\n')


# --- the log ---

FIELD = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^ "]*)(?: |$)')
ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|.)")


def unescape(match):
    code = match.group(1)
    if code[0] == "x" and len(code) == 3:
        return chr(int(code[1:], 16))
    return {"n": "\n", "r": "\r", "t": "\t"}.get(code, code)


def parse_logfmt(line):
    """{"event": "delivered", ...}; {} for a line that is no logfmt."""
    fields = {}
    end = 0
    for match in FIELD.finditer(line):
        if match.start() != end:
            return {}
        value = match.group(2)
        if value.startswith('"'):
            value = ESCAPE.sub(unescape, value[1:-1])
        fields[match.group(1)] = value
        end = match.end()
    return fields if end == len(line) and "event" in fields else {}


def stamp(text):
    """A time in the log, as time.time() has it."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Log:
    """The events in a growing file."""

    def __init__(self, path):
        self.path = path
        self.events = []
        self.strange = []  # lines that are no events, a sanitizer's or a panic's; or not as their event should be
        self._position = 0
        self._rest = b""
        self._lock = threading.Lock()

    def read(self):
        with self._lock:
            with open(self.path, "rb") as log:
                log.seek(self._position)
                text = log.read()
            self._position += len(text)
            lines = (self._rest + text).split(b"\n")
            self._rest = lines.pop()
            for line in lines:
                fields = parse_logfmt(line.decode("ascii", "replace"))
                if fields:
                    self.events.append(fields)
                fault = log_rows.fault_of(fields) if fields else ""
                if fault is not None or fields["event"] == "process_said":
                    self.strange.append(line.decode("ascii", "replace") + (f"  ({fault})" if fault else ""))
            return self.events

    def mark(self):
        """A place in the log: events from now on are behind it."""
        return len(self.read())

    def find(self, name, since=0, **fields):
        return [e for e in self.read()[since:]
                if e["event"] == name and all(e.get(k, "") == str(v) for k, v in fields.items())]

    def wait(self, name, since=0, count=1, timeout=PATIENCE, **fields):
        """The first (or COUNT first) events of that NAME and those FIELDS."""
        begin = time.monotonic()
        while True:
            found = self.find(name, since, **fields)
            if len(found) >= count:
                return found[0] if count == 1 else found[:count]
            if time.monotonic() > begin + timeout:
                raise AssertionError(
                    f"{len(found)} of {count} events {name} {fields} within {timeout} s; "
                    f"the log ends:\n{self.tail()}")
            pause_since(begin)

    def tail(self, count=25):
        with open(self.path, "rb") as log:
            return b"\n".join(log.read().split(b"\n")[-count:]).decode("ascii", "replace")


# --- what was delivered ---

TRACE = re.compile(rb"(?:(?:Return-Path|Delivered-To|X-Original-To|Received):"
                   rb"[^\n]*\n(?:[ \t][^\n]*\n)*)*")
MARK = re.compile(rb"^X-Stagepost-Loop: v1 [0-9a-f]{16}\n", re.M)  # against loops (header/loop.h)


def split_trace(stored, original):
    """What servers put above ORIGINAL, without marks, or AssertionError. Both with LF lines."""
    assert stored.endswith(original), "the message was changed"
    trace = MARK.sub(b"", stored[:len(stored) - len(original)])
    assert TRACE.fullmatch(trace), f"more than trace headers were added: {trace[:500]!r}"
    return trace


class Maildir:
    def __init__(self, path):
        self.path = path

    def files(self):
        try:
            return sorted(os.path.join(self.path, "new", name)
                          for name in os.listdir(os.path.join(self.path, "new")))
        except FileNotFoundError:
            return []

    def messages(self):
        texts = []
        for path in self.files():
            with open(path, "rb") as file:
                texts.append(file.read())
        return texts

    def wait(self, count=1, timeout=PATIENCE):
        """The messages once COUNT of them are there."""
        wait_until(lambda: len(self.files()) >= count, f"{count} messages in {self.path}", timeout)
        return self.messages()


# --- the node ---

CONFIGURATION = """hostname = "{hostname}"
queue = "{queue}"
run = "{run}"
user = "{user}"
queue_unsafe = {unsafe}
{split}listen smtp {{ address = {{ "{address}:{port}" }} stage = arrive {listen} }}
service maildir {{ kind = maildir path = "{mail}/%d/%u" }}
{relay_from}{smtproutes}{domains}{settings}
"""


def envelope_of(text):
    """What follows the data of a queued message; a control file as it is."""
    found = re.search(rb"^at: (\d{20})\n\Z", text[-25:])
    return text[int(found.group(1)):-25] if found else text


def files_below(folder):
    """An os.DirEntry for each, none if there is no such FOLDER; with fewer calls than os.walk() makes for
    a queue's many folders."""
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(entry.path)
            else:
                yield entry


def read_data(path, control):
    """The message that a data file begins with."""
    size = int(re.search(r"^size: (\d+)$", control, re.M).group(1))
    with open(path, "rb") as file:
        return file.read(size)


ALL_USERS = "uid_min = 1\nuid_max = 65534\n"  # a test's users are accounts of the system

SPLIT = 3  # of a queue, where a test does not say another one: few folders are soon made and looked through


class Node:
    """DIRECTORY is new and reachable for the unprivileged user; DOMAINS are local;
    ROUTES are smtproutes; SETTINGS is text for the end of stagepost.conf, LISTEN for the
    end of its section listen."""

    def __init__(self, programs, directory, *, hostname="mx.stagepost.test",
                 domains=("a.test",), routes=(), relay_from=("127.0.0.0/8",), settings="",
                 queue=None, mail=None, unsafe=False, address="127.0.0.1", port=None,
                 switch_user=False, listen=""):
        self.programs = programs
        self.directory = directory
        self.hostname = hostname
        self.domains = list(domains)
        self.routes = list(routes)
        self.relay_from = list(relay_from)
        self.settings = settings
        self.listen = listen
        self.queue = queue or os.path.join(directory, "queue")
        self.mail = mail or os.path.join(directory, "mail")
        self.run = os.path.join(directory, "run")
        self.unsafe = unsafe
        self.address = address
        self.port = port or free_port(address)
        self.prefix = []  # of the command line that starts it
        self.inherited = []  # descriptors that it has from its caller
        self.switch_user = switch_user  # started as root, the node changes it itself
        self.conf = os.path.join(directory, "stagepost.conf")
        self.process = None
        for path in (directory, self.mail):
            os.makedirs(path, exist_ok=True)
            give_to_user(path)
        log = os.path.join(directory, "log")
        with open(log, "ab"):
            pass
        self.log = Log(log)
        self.write_configuration()

    def write_configuration(self):
        setting = lambda name, words: words and (
            f"{name} = {{ " + ", ".join(f'"{word}"' for word in words) + " }\n") or ""
        domains = "".join(
            domain + "\n" if domain.startswith("domain ")
            else f'domain "{domain}" {{ service = maildir }}\n' for domain in self.domains)
        text = CONFIGURATION.format(
            hostname=self.hostname, queue=self.queue, run=self.run, address=self.address,
            port=self.port, mail=self.mail,
            relay_from=setting("relay_from", self.relay_from),
            smtproutes=setting("smtproutes", self.routes), domains=domains, settings=self.settings,
            split="" if re.search(r"^split *=", self.settings, re.M) else f"split = {SPLIT}\n",
            listen=self.listen, unsafe="yes" if self.unsafe else "no",
            user=USER if self.switch_user else "")
        with open(self.conf, "w", encoding="utf-8") as conf:
            conf.write(text)

    # --- life ---

    def start(self, timeout=PATIENCE, until="serve_ready"):
        command = self.prefix + ([] if self.switch_user else as_user())
        mark = self.log.mark()
        with open(self.log.path, "ab") as log:
            self.process = subprocess.Popen(
                command + [os.path.join(self.programs, "stagepost"), "serve", "-c", self.conf],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                cwd=self.directory, pass_fds=self.inherited)
        process = self.process
        wait_until(lambda: self.log.find(until, since=mark) or process.poll() is not None,
                   f"{until} in {self.log.path}", timeout)
        if not self.log.find(until, since=mark):
            self.process = None
            raise AssertionError(f"exit status {process.returncode}:\n{self.log.tail()}")
        return self

    def pids(self, program=None):
        """Of the running processes that the supervisor says it started."""
        found = []
        for event in self.log.read():
            if event["event"] == "process_started" and program in (None, event["program"]):
                pid = int(event["pid"])
                if pid not in found and self._is_ours(pid):
                    found.append(pid)
        return found

    def has_logins(self):
        """Whether it has run a process that learns passwords."""
        return any(self.log.find("process_started", program=name) for name in ("auth", "keys"))

    def forget_past(self):
        """What the log has said, but for which processes run: to look through it all takes
        longer with each start. No mark of before is one afterwards."""
        pids = self.pids()
        self.log.events = [event for event in self.log.events
                           if event["event"] == "process_started" and int(event["pid"]) in pids]

    def _is_ours(self, pid):
        """Numbers are used again: it must run one of our programs."""
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                return b"--supervised" in line.read() and is_alive(pid)
        except OSError:
            return False

    def kill(self, program, number=0):
        """kill -9; the pid that was killed."""
        pids = self.pids(program)
        assert pids, f"no {program} runs"
        pid = pids[number % len(pids)]
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_and_wait(self, program):
        """kill -9, and the supervisor has started another one."""
        mark = self.log.mark()
        pid = self.kill(program)
        self.log.wait("process_ended", since=mark, program=program, pid=pid, status="signal 9")
        started = int(self.log.wait("process_started", since=mark, program=program)["pid"])
        wait_until(lambda: self._is_ours(started), f"{program} is a program of ours", PATIENCE)
        return started

    def kill_supervisor(self):
        """kill -9 of the supervisor: all others must end by themselves."""
        pids = self.pids()
        self.process.kill()
        self.process.wait(PATIENCE)
        wait_until(lambda: not any(is_alive(pid) for pid in pids),
                   "processes end when their supervisor has", STOP_PATIENCE)
        self.process = None

    def reload(self, event="config_reloaded"):
        mark = self.log.mark()
        self.process.send_signal(signal.SIGHUP)
        return self.log.wait(event, since=mark)

    def stop(self, timeout=STOP_PATIENCE, may_say=lambda line: False):
        """A clean stop: exit status 0, nothing left, nothing strange in the log but what it
        MAY_SAY."""
        if self.process is None:
            return
        pids = self.pids()
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.abandon()
            raise AssertionError(f"did not stop in {timeout} s:\n{self.log.tail()}") from None
        self.process = None
        left = [pid for pid in pids if is_alive(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert status == 0, f"exit status {status}:\n{self.log.tail()}"
        assert not left, f"processes are left: {left}"
        self.log.read()
        strange = [line for line in self.log.strange if not may_say(line)]
        assert not strange, "\n".join(strange[:50])

    def abandon(self):
        """Ends what runs, whatever its state; for failed tests."""
        if self.process is None:
            return
        pids = self.pids()
        self.process.kill()
        self.process.wait()
        self.process = None
        for pid in pids:
            if self._is_ours(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def restart(self):
        self.stop()
        return self.start()

    # --- what it holds ---

    def maildir(self, address):
        local, _, domain = address.partition("@")
        return Maildir(os.path.join(self.mail, domain, local))

    def trigger_files(self):
        """{name: text} of what is waited for."""
        folder = os.path.join(self.queue, "trigger")
        found = {}
        for name in os.listdir(folder):
            with (contextlib.suppress(FileNotFoundError),  # it is over, or written anew
                  open(os.path.join(folder, name), encoding="utf-8") as file):
                found[name] = file.read()
        return found

    def control_files(self):
        """{message number: its envelope or control file} of all that are queued. While it is
        in todo/, a power cut may have left less of the control file than the envelope."""
        found = {}
        for top in ("todo", "info"):
            for entry in files_below(os.path.join(self.queue, top)):
                try:
                    with open(entry.path, "rb") as file:
                        text = envelope_of(file.read()).decode("ascii", "replace")
                except FileNotFoundError:
                    continue  # it was finished meanwhile
                number = int(entry.name)
                if text.startswith(found.get(number, "")):
                    found[number] = text
        return found

    def queued_message(self, number):
        """The bytes of a queued message, trace headers first."""
        return read_data(self.data_files()[number], self.control_files()[number])

    def queued_messages(self):
        """(envelope or control file, bytes) of all that are queued."""
        controls = self.control_files()
        files = self.data_files()
        for number, control in controls.items():
            yield control, read_data(files[number], control)

    def data_files(self):
        """{message number: path} of all that are queued."""
        return {int(os.path.basename(path)): path
                for place in ("mess/*/*", "todo/*/*/*")
                for path in glob.glob(os.path.join(self.queue, place))}

    def is_empty(self):
        """Nothing is queued. Twice: between the folders a bounce may be queued and its cause removed."""
        return not any(names for top in ("todo", "info") * 2
                       for _, _, names in os.walk(os.path.join(self.queue, top)))

    def wait_empty(self, timeout=PATIENCE):
        wait_until(self.is_empty, "the queue is empty", timeout)

    def make_due(self):
        """Makes every waiting delivery due. The node is stopped."""
        assert self.process is None
        for folder, _, names in os.walk(os.path.join(self.queue, "info")):
            for name in names:
                with open(os.path.join(folder, name), "r+b") as file:
                    text = file.read()
                    waits = re.findall(rb"^wait: (\d+) (\S+) until=\S+", text, re.M)
                    for delivery, when in dict(waits).items():
                        file.write(checksums.with_checksum(
                            text, b"wait: %s %s until=%s 4.0.0 made due" % (delivery, when, when)))

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.stop()
        else:
            self.abandon()
