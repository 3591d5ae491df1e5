# SPDX-License-Identifier: ISC
"""A collector in place of the system's: whoever runs after its prefix() finds it at /dev/log."""

import os
import re
import socket
import threading

from stagepost import POLL

LINE = re.compile(rb"<(\d+)>(\w{3} [ \d]\d \d\d:\d\d:\d\d) stagepost\[(\d+)\]: (.*)", re.S)

# A /dev of its own, in a mount namespace of its own.
NEW_DEV = """set -e
dev=$1 log=$2
shift 2
mount -t tmpfs -o mode=755 dev "$dev"
for name in null zero full random urandom; do
	: > "$dev/$name"
	mount --bind "/dev/$name" "$dev/$name"
done
ln -s /proc/self/fd "$dev/fd"
ln -s "$log" "$dev/log"
mount --move "$dev" /dev
exec "$@"
"""


def make_room():
    """What is not taken at once waits, as many messages as systemd lets wait; not ten, which is the
    kernel's own. In namespaces of ours."""
    if os.geteuid() == 0 and "E2E_KEEP" not in os.environ:
        with open("/proc/sys/net/unix/max_dgram_qlen", "w", encoding="ascii") as most:
            most.write("512")


class SystemLog:
    """Appends what is said to the file PATH, as a collector that keeps only the text."""

    def __init__(self, directory, path):
        self.path = path
        self.messages = []  # (priority, pid, text)
        self.strange = []
        self._dev = os.path.join(directory, "dev")
        os.mkdir(self._dev)
        self._name = os.path.join(directory, "log.socket")
        make_room()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self._name)
        os.chmod(self._name, 0o666)
        self._socket.settimeout(POLL)
        self.resume()

    def prefix(self):
        """The start of a command line for root."""
        return ["unshare", "--mount", "--propagation=private", "sh", "-c", NEW_DEV, "sh",
                self._dev, self._name]

    def _take(self, datagram):
        match = LINE.fullmatch(datagram)
        if match is None:
            self.strange.append(datagram)
            return
        self.messages.append((int(match[1]), int(match[3]), match[4]))
        with open(self.path, "ab") as log:
            log.write(match[4] + b"\n")

    def _collect(self):
        while self._is_open:
            try:
                self._take(self._socket.recv(65536))
            except TimeoutError:
                continue

    def pause(self):
        """Reads nothing until resume()."""
        self._is_open = False
        self._thread.join()

    def resume(self):
        self._is_open = True
        self._thread = threading.Thread(target=self._collect)
        self._thread.start()

    def close(self):
        self.pause()
        self._socket.close()
