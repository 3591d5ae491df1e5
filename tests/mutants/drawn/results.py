# SPDX-License-Identifier: ISC
"""What became of each slip, kept in the build tree; which slips change nothing; and the score."""
import functools
import hashlib
import json
import pathlib

from . import tree

KEPT = tree.PLACE / "results.jsonl"
EQUIVALENT = pathlib.Path(__file__).with_name("equivalent.txt")


@functools.cache
def text_digest(path):
    """Of a file, or of all that are in a folder; "" if there is none."""
    if not path.exists():
        return ""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Results:
    """By identity; a result holds while the file and the tests that it hangs on are the same: the test that noticed, or
    all that ran. What only the tests of its own folder did not notice (HOME), or none but end-to-end tests (INNER), is
    known only where just these are asked."""

    def __init__(self, home=False, inner=False, again=False):
        lines = KEPT.read_text().splitlines() if KEPT.exists() else []
        self.entries = {entry["slip"]: entry for entry in map(json.loads, lines)}
        self.home, self.inner = home, inner
        self.tried_again = set() if again else None

    def keep(self, slip, word, seconds, ran, sources, inner=False):
        """WORD: how it was noticed, or "survived"; RAN: the names of the tests; SOURCES: their files in the tree that
        was built, while somebody may have gone on with the project's own; INNER: no end-to-end test was asked."""
        paths = [pathlib.Path(path) for path in sorted(sources) if pathlib.Path(path).is_relative_to(tree.TREE)]
        entry = {"slip": slip.identity, "digest": slip.digest, "file": slip.file, "line": slip.line,
                 "function": slip.function, "kind": slip.kind, "result": word, "seconds": round(seconds, 1), "tests": ran, "home": self.home, "inner": inner,
                 "state": {slip.file: text_digest(tree.ORIGINALS / slip.file)} |
                 {str(path.relative_to(tree.TREE)): text_digest(path) for path in paths}}
        self.entries[slip.identity] = entry
        if self.tried_again is not None:
            self.tried_again.add(slip.identity)
        with KEPT.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        return entry

    def left_of(self, slip):
        """Of one that survived: seconds, names of tests and their files."""
        entry = self.entries[slip.identity]
        return entry["seconds"], entry["tests"], [str(tree.TREE / name) for name in entry["state"] if name != slip.file]

    def of(self, slip):
        """What is known, None if nothing holds any more, or only end-to-end tests can say more."""
        entry = self.inside_of(slip)
        return None if entry and entry["result"] == "survived" and entry["inner"] and not self.inner else entry

    def inside_of(self, slip):
        """The same, without asking end-to-end tests."""
        entry = self.entries.get(slip.identity)
        if not entry or (entry["result"] == "survived" and self.is_to_be_tried_again(entry)):
            return None
        is_same = all(text_digest(tree.ROOT / name) == digest for name, digest in entry["state"].items())
        return entry if is_same else None

    def is_to_be_tried_again(self, entry):
        if entry["home"] and not self.home:
            return True
        return self.tried_again is not None and entry["slip"] not in self.tried_again


def read_equivalents(path=EQUIVALENT):
    """{identity: reason}. ValueError: what is not understood."""
    found, reason = {}, ""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("because "):
            reason = line.partition(" ")[2]
        elif not reason or " => " not in line:
            raise ValueError(f"{path.name}:{number}: neither a reason (\"because ...\") nor a slip below one: {line}")
        elif line in found:
            raise ValueError(f"{path.name}:{number}: is there twice: {line}")
        else:
            found[line] = reason
    return found


def table(slips, results, equivalents):
    """{folder: (noticed, judged, reached by no test)} of what is known about SLIPS, without those that change nothing."""
    scores = {}
    for slip in slips:
        entry = results.of(slip)
        if entry and entry["result"] != "does not compile" and slip.identity not in equivalents:
            noticed, judged, unreached = scores.get(slip.folder, (0, 0, 0))
            survived = entry["result"] == "survived"
            scores[slip.folder] = (noticed + (not survived), judged + 1, unreached + (survived and not entry["tests"]))
    return scores
