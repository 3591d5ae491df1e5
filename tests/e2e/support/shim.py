# SPDX-License-Identifier: ISC
"""Calls of a node's processes that fail when a test says so, and their time of day: the
other side of tests/faults/shim.h."""

import collections
import ctypes
import errno
import mmap
import os
import shutil
import tempfile
import time

from stagepost import BUILD, wait_until

SHORT, LIE = -1, -2  # instead of an errno
OFF, RECORD, ARMED = 0, 1, 2
ENTRIES, NAME, STACK = 65536, 20, 14

_FILE = (errno.EIO, errno.EINTR)
_ROOM = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
_NAMES = (*_ROOM, errno.ENOMEM)
_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_PEER = (errno.ECONNRESET, errno.EINTR, errno.ENOMEM)
_LOOK = (errno.EIO, errno.ENOMEM)
_OPEN = (*_ROOM, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR)

# What a call can fail with, of the errors that the campaign knows: by its manual page or
# by POSIX, and EIO wherever a filesystem reads or writes its device. By the call, or by the
# call and what its descriptor is.
ERRORS = {
    "open": _OPEN, "open64": _OPEN, "openat": _OPEN, "openat64": _OPEN,
    "fopen": _DESCRIPTOR, "fopen64": _DESCRIPTOR,
    "read file": (*_FILE, SHORT), "read pipe": (*_FILE, SHORT), "read other": (errno.EINTR,),
    "pread64": (*_FILE, SHORT),
    "write file": (*_ROOM, errno.EINTR, SHORT), "write pipe": (errno.EIO, errno.EINTR, SHORT),
    "write other": (errno.EINTR,),
    "pwrite64": (*_ROOM, errno.EINTR, SHORT),
    "read stream": (*_PEER, SHORT), "write stream": (*_PEER, SHORT),
    "read pair": (errno.EINTR, SHORT), "write pair": (errno.EINTR, errno.ENOMEM, SHORT),
    "recv pair": (errno.EINTR, SHORT), "send pair": (errno.EINTR, errno.ENOMEM, SHORT),
    "ftruncate64": (errno.EIO, errno.EINTR), "fsync": (*_ROOM, errno.EINTR),
    "fdatasync": (*_ROOM, errno.EINTR), "syncfs": _ROOM,
    "sync_file_range": (*_ROOM[:2], errno.ENOMEM), "linkat": _NAMES, "renameat": _NAMES,
    "renameat2": _NAMES, "unlink": _LOOK, "unlinkat": _LOOK, "mkdirat": _NAMES,
    "mkfifoat": _NAMES, "utimensat": _LOOK, "chmod": _LOOK, "readlink": _LOOK,
    "fstat64": _LOOK, "fstatat64": _LOOK, "stat64": _LOOK, "lstat64": _LOOK,
    "fstatfs64": (*_FILE, errno.ENOMEM), "fstatvfs64": (*_FILE, errno.ENOMEM),
    "fdopendir": (errno.ENOMEM,), "readdir64": (errno.EIO,),
    "flock": (errno.EINTR, errno.ENOMEM), "dup": _DESCRIPTOR, "dup2": (errno.EINTR, errno.EMFILE),
    "close": (*_ROOM, errno.EINTR), "memfd_create": _DESCRIPTOR, "eventfd": _DESCRIPTOR,
    "pipe2": (errno.EMFILE, errno.ENFILE), "fork": (errno.ENOMEM,), "waitpid": (errno.EINTR,),
    "socket": _DESCRIPTOR, "socketpair": _DESCRIPTOR, "bind": (errno.ENOMEM,),
    "connect": (errno.ECONNRESET, errno.EINTR), "accept4": (*_DESCRIPTOR, errno.EINTR),
    "setsockopt": (errno.ENOMEM,), "send datagram": (errno.EINTR, errno.ENOMEM),
    "sendto datagram": (errno.EINTR, errno.ENOMEM), "recv datagram": (errno.EINTR, errno.ENOMEM),
    "send packet": _PEER, "send stream": (*_PEER, SHORT), "sendto stream": (*_PEER, SHORT),
    "recv packet": _PEER, "recv stream": (*_PEER, SHORT), "recvfrom stream": (*_PEER, SHORT),
    "recvfrom datagram": (errno.EINTR, errno.ENOMEM), "sendmsg": _PEER, "recvmsg": _PEER,
    "poll": (errno.EINTR, errno.ENOMEM), "epoll_create1": _DESCRIPTOR,
    "epoll_ctl": (errno.ENOMEM, errno.ENOSPC), "epoll_wait": (errno.EINTR,),
}
# have nothing of that to fail with
HARMLESS = {"listen", "getsockname", "getsockopt", "shutdown", "fcntl", "fcntl64"}


def name_of(action):
    return {SHORT: "short", LIE: "lie"}.get(action) or errno.errorcode[action]


class Call(collections.namedtuple("Call", "program name kind")):
    """A call of a program on a descriptor of that kind."""

    def actions(self):
        """What it can fail with."""
        for key in f"{self.name} {self.kind}", self.name:
            if key in ERRORS:
                return ERRORS[key]
        assert self.name in HARMLESS, f"what can it fail with? {self}"
        return ()

    def __str__(self):
        return f"{self.program}: {self.name}({self.kind})"


class _Call(ctypes.Structure):
    _fields_ = [("program", ctypes.c_char * NAME), ("name", ctypes.c_char * NAME),
                ("kind", ctypes.c_char * NAME)]


class Trace(ctypes.Structure):
    _fields_ = [("process", ctypes.c_int64), ("result", ctypes.c_int64), ("stack", ctypes.c_uint64 * STACK)]


class _Memory(ctypes.Structure):
    _fields_ = [("mode", ctypes.c_uint32), ("recorded", ctypes.c_uint32),
                ("seen", ctypes.c_uint32), ("fired", ctypes.c_uint32),
                ("number", ctypes.c_uint32), ("action", ctypes.c_int32),
                ("clock_us", ctypes.c_int64), ("passed_us", ctypes.c_int64),
                ("wait_ms", ctypes.c_int32), ("load", ctypes.c_uint32), ("call", _Call), ("entries", _Call * ENTRIES),
                ("is_traced", ctypes.c_uint32), ("traces", Trace * ENTRIES)]


class Shim:
    """Its files are not on the disk of the nodes: they are mapped until we end."""

    def __init__(self, wait_ms=0):
        """Nobody waits longer than WAIT_MS for an event: who waits sees that time passes."""
        directory = tempfile.mkdtemp(prefix="stagepost-shim-")
        os.chmod(directory, 0o755)
        with open(os.path.join(BUILD, "tests/faults/shim.so"), "rb") as file:
            library = file.read()
        self.library = os.path.join(directory, "shim.so")
        with open(self.library, "wb") as file:
            file.write(library)
        os.chmod(self.library, 0o755)
        self.path = os.path.join(directory, "shim")
        handle = os.open(self.path, os.O_CREAT | os.O_RDWR)
        os.fchmod(handle, 0o666)
        os.ftruncate(handle, ctypes.sizeof(_Memory))
        self.memory = _Memory.from_buffer(mmap.mmap(handle, ctypes.sizeof(_Memory)))
        os.close(handle)
        self.memory.wait_ms = wait_ms

    def close(self):
        shutil.rmtree(os.path.dirname(self.path))

    @property
    def environment(self):
        return {"LD_PRELOAD": self.library, "STAGEPOST_SHIM": self.path}

    @property
    def prefix(self):
        """The start of a command line whose processes are in our hands."""
        return ["env", *(f"{name}={value}" for name, value in self.environment.items())]

    def record(self):
        self.off()
        ctypes.memset(ctypes.byref(self.memory.entries), 0, ctypes.sizeof(self.memory.entries))
        self.memory.recorded = 0
        self.memory.mode = RECORD

    def recorded(self):
        """All calls since record(), in their order."""
        assert self.memory.recorded <= ENTRIES, "more calls than were written down"
        return [Call(entry.program.decode(), entry.name.decode(), entry.kind.decode())
                for entry in self.memory.entries[:self.memory.recorded]]

    def clear_traces(self, count):
        """Those of the first COUNT calls."""
        ctypes.memset(ctypes.byref(self.memory.traces), 0, count * ctypes.sizeof(Trace))

    def arm(self, call, number, action):
        """The NUMBERth such call from now on becomes that ACTION."""
        self.off()
        self.memory.call = _Call(*(word.encode() for word in call))
        self.memory.number = number
        self.memory.action = action
        self.memory.seen = self.memory.fired = 0
        self.memory.mode = ARMED

    def off(self):
        self.memory.mode = OFF

    @property
    def fired(self):
        return self.memory.fired > 0

    def wait_fired(self, timeout):
        try:
            return wait_until(lambda: self.fired, "the call is made", timeout)
        except AssertionError:
            return False

    def jump(self, seconds):
        """The time of day of all processes is that far from the true one."""
        self.memory.clock_us = seconds * 1000000

    def pass_time(self, seconds, step=60):
        """It passes for all processes, faster than for us."""
        while seconds > 0:
            self.memory.passed_us += min(step, seconds) * 1000000
            seconds -= step
            time.sleep(0.03)
