# SPDX-License-Identifier: ISC
"""Which sources a check has found good, so that it looks again only at what has changed since: at the
source, a header of ours that it includes, its command or the check itself."""
import functools
import hashlib
import os
import pathlib
import re
import threading

INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^"<>\n]+)[">]', re.M)


class Good:
    """The sums of what was found good, in a file that grows with each."""

    def __init__(self, path):
        self.path = path
        self.known = set(path.read_text().split()) if path.exists() else set()
        self.used = set()
        self.lock = threading.Lock()

    def has(self, total):
        if total in self.known:
            self.used.add(total)
        return total in self.known

    def add(self, totals):
        with self.lock, open(self.path, "a", encoding="ascii") as file:
            self.used.update(totals)
            file.writelines(f"{total}\n" for total in totals)

    def forget_others(self):
        """Of what is there no more."""
        new = self.path.with_suffix(".new")
        new.write_text("".join(f"{total}\n" for total in sorted(self.used)))
        new.rename(self.path)


@functools.cache
def read(path):
    """(sum, the names that it includes in quotes), None if there is no such file. Whether a condition leaves
    an include out does not matter: then too much is looked at again."""
    try:
        text = pathlib.Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return hashlib.sha256(text).hexdigest(), [name.decode() for name in INCLUDED.findall(text)]


@functools.cache
def included(path, folders):
    """The paths of what a file includes, which stand beside it or in one of FOLDERS; what is found nowhere
    is not ours."""
    places = (os.path.dirname(path), *folders)
    candidates = ([os.path.normpath(os.path.join(place, name)) for place in places] for name in read(path)[1])
    return [next(filter(read, ways)) for ways in candidates if any(map(read, ways))]


def files_of(source, folders):
    """The SOURCE and all that it includes, and what that includes."""
    seen, ahead = {source}, [source]
    while ahead:
        for path in included(ahead.pop(), folders):
            if path not in seen:
                seen.add(path)
                ahead.append(path)
    return sorted(seen)


def sum_of(directory, words, source, about):
    """Of a SOURCE that a command of WORDS compiles in DIRECTORY, and of what else the check is ABOUT (bytes)."""
    place = lambda name: os.path.normpath(os.path.join(directory, name))
    folders = tuple(place(word[2:]) for word in words if word.startswith("-I"))
    found = hashlib.sha256(about + repr(words).encode())
    for path in files_of(place(source), folders):
        found.update(f"\0{os.path.relpath(path, directory)} {read(path)[0]}".encode())
    return found.hexdigest()
