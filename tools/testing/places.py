# SPDX-License-Identifier: ISC
"""Who changes what the whole machine shares while tests run."""
import os
import stat
import threading
import time

from testing.commands import RUNNING

# Places of the whole machine, which no test changes: it would be felt far from there.
PLACES = "/", "/etc", "/tmp", "/var/tmp", "/dev/shm"
LOOK = 0.2  # seconds between two looks at them


def look_at(place):
    """Who may do what there."""
    try:
        status = os.stat(place)
    except FileNotFoundError:
        return "gone"
    return f"{stat.filemode(status.st_mode)} of {status.st_uid}:{status.st_gid}"


class Places:
    """Sees from here to the end when somebody changes a place's mode or owner, and beside what."""

    def __init__(self):
        self.now = {place: look_at(place) for place in PLACES if os.path.isdir(place)}
        self.changes = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        if not os.stat("/tmp").st_mode & stat.S_IWOTH:
            print(f"/tmp is {self.now['/tmp']} already: other users cannot make files there")

    def _watch(self):
        while not self.over.wait(LOOK):
            for place, before in self.now.items():
                after = look_at(place)
                if after != before:
                    self.now[place] = after
                    self.changes.append(f"{time.strftime('%H:%M:%S')}: {place} was {before}, is {after}, "
                                        f"beside: {', '.join(sorted(RUNNING))}")

    def end(self):
        self.over.set()
        self.thread.join()
        return self.changes
