# SPDX-License-Identifier: ISC
"""A queue is filled under load, stopped or killed, damaged, and drained; rounds of that, each judged."""

import concurrent.futures
import contextlib
import glob
import json
import os
import random
import re
import signal
import subprocess
import time

import lmtp
from common.burst import Wire
from damage.damages import Damager, read
from damage.ledger import Ledger
from stagepost import SPLIT, as_user, envelope_of, give_to_user, wait_until

MESSAGES = 240  # in a round
DAMAGED = 0.55  # of them
SENDERS = 6     # connections
HELD = "damaged the message"


class Wrong(AssertionError):
    """What should never be."""


class Campaign:
    """On MX, a node whose routes for b.test lead to hop.address; SEED decides what is done."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.seed = seed
        self.ledger = Ledger()
        self.hop = lmtp.Server(recipient=self.ledger.answer, taken=self.ledger.taken)
        self.yesterday = {}
        self.serial = 0
        self.rounds = 0
        self.ways = {}
        self.counts = dict.fromkeys((
            "damages", "rounds", "messages", "messages damaged", "repaired before the start", "delivered whole",
            "held", "moved out of the queue", "reported to the sender", "left in the queue, damaged",
            "emptied, and cleaned away", "put back by a restore, and not to be told", "delivered though damaged",
            "held though whole", "silently removed"), 0)
        self.failures = []

    def close(self):
        self.hop.close()

    # --- the queue ---

    def _run(self, *words, text=b""):
        return subprocess.run(
            [*as_user(), f"{self.mx.programs}/stagepost", *words], check=False, timeout=120, capture_output=True,
            env={**os.environ, "STAGEPOST_CONF": self.mx.conf}, input=text)

    def command(self, *words, status=(0,), text=b""):
        ended = self._run(*words, text=text)
        if ended.returncode not in status:
            raise Wrong(f"{' '.join(words)} exits with {ended.returncode}: {ended.stdout} {ended.stderr}")
        return ended.stdout.decode()

    def listing(self):
        return [json.loads(line) for line in self.command("queue", "list", "--json").splitlines()]

    def _text(self, token):
        size = self.chance.choice((0, 40, 40, 800, 800, 6000, 70000))
        line = bytes(self.chance.choices(b"abcdefghijklmnopqrstuvwxyz ", k=62)) + b"\r\n"
        return (b"Date: Fri, 20 Nov 2026 08:33:11 +0000\r\nFrom: <s-%s@b.test>\r\nTo: <r@b.test>\r\n"
                b"Message-ID: <%s@b.test>\r\nSubject: damage\r\nX-Token: %s\r\n\r\n" % ((token.encode(),) * 3)
                + line * (size // 64 + 1))

    def _next(self):
        self.serial += 1
        token = f"{self.serial:06d}"
        kinds = self.chance.choice(("r", "r", "rr", "rd", "rn", "rrd", "rdn"))
        recipients = [f"{kind}-{token}x{i}@b.test" for i, kind in enumerate(kinds)]
        return self.ledger.add(token, recipients, self._text(token))

    def _send(self, batch):
        """Each is answered with 250."""
        def send_some(first):
            with Wire(self.mx.port) as wire:
                for sent in batch[first::SENDERS]:
                    wire.send(sent.sender, sorted(sent.recipients), sent.text)

        with concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(send_some, range(SENDERS)))

    def _fill(self):
        """Two thirds are at S5, the others at S4: "send" stands still while they come; then all is killed. Or fewer
        of them, by a command while nothing runs."""
        self.ledger.is_open = False
        self.mx.start()
        first = [self._next() for _ in range(MESSAGES * 2 // 3)]
        self._send(first)
        wait_until(lambda: not glob.glob(self.mx.queue + "/todo/*/*/*") and all(
            not address.startswith("d-") or address in sent.delivered
            for sent in first for address in sent.recipients), "they wait at S5", timeout=60)
        second = [self._next() for _ in range(MESSAGES // 3 if self.rounds % 2 else 8)]
        if self.rounds % 2:
            self._kill_after(second)
        else:
            self.mx.stop()
            for sent in second:
                self.command("sendmail", "-f", sent.sender, *sorted(sent.recipients),
                             text=sent.text.replace(b"\r\n", b"\n"))
        self.batch = first + second
        self.counts["messages"] += len(self.batch)

    def _kill_after(self, batch):
        pids = self.mx.pids()
        for pid in self.mx.pids("send"):
            os.kill(pid, signal.SIGSTOP)
        self._send(batch)
        self.mx.process.kill()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.mx.kill_supervisor()

    # --- damage ---

    def _look(self):
        """{token: {place: [paths of one file]}} of what is queued, and their numbers."""
        self.files, self.numbers = {}, {}
        queue = self.mx.queue
        for path in glob.glob(queue + "/todo/*/*/*") + glob.glob(queue + "/mess/*/*"):
            token = re.search(rb"^X-Token: (\w+)\r?$", read(path), re.M).group(1).decode()
            number = os.path.basename(path)
            self.numbers[token] = number
            places = self.files.setdefault(token, {})
            if "/todo/" in path:
                places["todo"] = [path]
                continue
            places["mess"] = [path]
            places["info"] = glob.glob(f"{queue}/info/*/{number}") + glob.glob(f"{queue}/remote/*/{number}")
            if bounce := glob.glob(f"{queue}/bounce/*/{number}"):
                places["bounce"] = bounce

    def _damage(self):
        """Some files, in one to three ways each; what was changed is noted by token."""
        damager = Damager(self.chance, self.yesterday)
        of_path = {path: token for token, places in self.files.items() for paths in places.values() for path in paths}
        kinds = {}
        for places in self.files.values():
            for kind, paths in places.items():
                kinds.setdefault(kind, []).append(paths[0])
        self.before = {paths[0]: read(paths[0]) for places in self.files.values() for paths in places.values()}
        chosen = self.chance.sample(sorted(self.files), int(len(self.files) * DAMAGED))
        self.unlinked = set()
        for token in chosen:
            for _ in range(self.chance.choice((1, 1, 2, 3))):
                kind = self.chance.choice(sorted(self.files[token]))
                if self.chance.random() < 0.15:
                    self._unlink(damager, token)
                elif self.files[token][kind]:
                    damager.damage(self.files[token][kind][0],
                                   [path for path in kinds[kind] if os.path.exists(path)])
        for path in glob.glob(self.mx.queue + "/intd/due") + glob.glob(self.mx.queue + "/trigger/*"):
            if self.chance.random() < 0.3:
                damager.damage(path, [path])
        self.restored = damager.restored
        self.changed = {path for path, data in self.before.items()
                        if path not in self.unlinked and read(path) != data}
        self.touched = {of_path[path] for path in self.changed | self.unlinked}
        for name, count in damager.counts.items():
            self.ways[name] = self.ways.get(name, 0) + count
            self.counts["damages"] += count
        self.counts["messages damaged"] += len(self.touched)
        self.yesterday = {path: data for path, data in self.before.items()}

    def _unlink(self, damager, token):
        """But not the only name, nor those of both files: of that nothing is left."""
        places = self.files[token]
        if "todo" in places:
            return
        kind = self.chance.choice(("mess", "info"))
        if not places["mess"] or not places["info"]:
            return
        names = places[kind]
        gone = names if kind == "mess" else names[:self.chance.randrange(1, len(names) + 1)]
        damager.unlink(gone)
        self.unlinked |= set(gone)
        places[kind] = [name for name in names if name not in gone]
        if places[kind]:
            self.before[places[kind][0]] = self.before[names[0]]

    # --- what is left is whole ---

    def _kept(self, path, data):
        return path not in self.unlinked and path not in self.changed and os.path.exists(path) and read(path) == data

    def _must_arrive(self, token, first):
        """Whether its data are as they were, and one of its envelopes. FIRST: its places before."""
        if "todo" in first:
            return self._kept(first["todo"][0], self.before[first["todo"][0]])
        (mess,), info = first["mess"], first["info"][0]
        data = self.before[mess][:-len(envelope_of(self.before[mess])) - 25]
        return self._kept(mess, self.before[mess]) or (
            mess not in self.unlinked and read(mess).startswith(data) and self._kept(info, self.before[info]))

    # --- the end ---

    def _settled(self):
        """Only what is held, or cannot be read, is left; the listing then."""
        left = self.listing()
        for message in left + self.listing():  # twice: what is queued meanwhile may be where the first has looked
            if message["state"] == "damaged":
                continue
            texts = [delivery.get("text", "") for delivery in message["deliveries"]
                     if delivery["state"] not in ("done", "failed")]
            if message["state"] == "queued" or not texts or not all(HELD in text for text in texts):
                return None
        return left or [None]

    def _drain(self):
        self.ledger.is_open = True
        self.mark = self.mx.log.mark()
        litter = f"{self.mx.queue}/intd/{SPLIT - 1}/{SPLIT - 1}"
        with open(litter, "wb"):
            give_to_user(litter)
        self.mx.start()
        self.mx.log.wait("queue_cleaned", since=self.mark, path=os.path.relpath(litter, self.mx.queue))  # the last
        begin = time.monotonic()
        while (left := self._settled()) is None:
            if time.monotonic() > begin + 60:
                raise Wrong(f"round {self.rounds} of seed {self.seed} does not end: {self.listing()[:5]}")
            self.command("queue", "retry", "--all", "--yes", status=(0, 1))
            time.sleep(0.05)
        return [message for message in left if message is not None]

    def _events(self):
        """The messages that the log has said are lost, litter or not to be read: ids' numbers, and (from, to)."""
        numbers, pairs = set(), set()
        for name in "message_lost", "message_litter", "message_damaged":
            for event in self.mx.log.find(name, since=self.mark):
                numbers.add(event.get("number") or event.get("id", "").partition("-")[0])
                numbers.add(re.sub(r"(\.\d+)?$", "", event.get("path", "")).rpartition("_")[2])
                pairs.add((event.get("from"), event.get("to")))
        return numbers, pairs

    def _judge(self, held, first, set_aside):
        numbers, pairs = self._events()
        held_of = {message["sender"]: message for message in held if message["state"] != "damaged"}
        unreadable = {str(message["number"]) for message in held if message["state"] == "damaged"}
        self.counts["held"] += len(held_of)
        self.counts["left in the queue, damaged"] += len(unreadable)
        for sent in self.batch:
            number = self.numbers.get(sent.token)
            missing = self.ledger.missing(sent)
            if not missing:
                self.counts["delivered whole"] += 1
                continue
            place = first.get(sent.token)
            if place is None or sent.token not in self.touched or self._is_whole.get(sent.token):
                self._fail("held though whole", sent, missing)
            elif sent.sender in held_of:
                continue
            elif number in numbers or number in set_aside or number in unreadable or all(
                    (sent.sender, address) in pairs for address in missing):
                self.counts["moved out of the queue"] += 1
            elif self._is_empty(first[sent.token]):
                self.counts["emptied, and cleaned away"] += 1
            elif self._was_restored(sent.token, first):
                self.counts["put back by a restore, and not to be told"] += 1
            else:
                self._fail("silently removed", sent, missing)
        for wrong in self.ledger.wrong:
            self.failures.append(f"round {self.rounds} of seed {self.seed}: {wrong}")
            self.counts["delivered though damaged"] += 1
        self.ledger.wrong.clear()

    def _fail(self, name, sent, missing):
        self.counts[name] += 1
        number = self.numbers[sent.token]
        sizes = {path: len(self.after.get(path, b"")) for path in self.changed if path.endswith(f"/{number}")}
        unlinked = [path for path in self.unlinked if path.endswith(f"/{number}")]
        listed = [message for message in self.listing() if message["number"] == int(number)]
        self.failures.append(
            f"round {self.rounds} of seed {self.seed}: {name}: {sent.token}, number {number}, missing "
            f"{sorted(missing)}, changed {sizes}, unlinked {unlinked}, listed {listed}, log {self._said_of(number)}")

    def _said_of(self, *words):
        """The last events with one of the WORDS."""
        return [event for event in self.mx.log.read()[self.mark:] if any(
            word in str(value).replace("-", "/").split("/") or word == value
            for word in words for value in event.values())][-8:]

    def _was_restored(self, token, first):
        """A file of an earlier message is in the place of one of its own, and of its own envelopes, or of the lines in
        them that say when it was born, none is whole: nothing says so."""
        places = first[token]
        data = places.get("todo", places.get("mess"))[0]
        if self._is_older(data) and "todo" in places:
            return True
        if "todo" in places or not any(self._is_older(path) for path in (data, places["info"][0])):
            return False
        return not self._has_birth(places["info"][0]) and not self._has_envelope(data)

    def _is_empty(self, places):
        """What a failed sync leaves looks like that, too."""
        (path,) = places.get("todo", ("",))
        return self.after.get(path) == b"" and bool(self.mx.log.find(
            "queue_cleaned", since=self.mark, path=os.path.relpath(path, self.mx.queue)))

    def _is_older(self, path):
        return path in self.restored and path in self.after

    def _has_birth(self, path):
        told = [line for line in self.before[path].splitlines() if line.startswith((b"id: ", b"born: "))]
        return all(line in self.after.get(path, b"").splitlines() for line in told)

    def _has_envelope(self, path):
        return self.after.get(path, b"").endswith(envelope_of(self.before[path]) + self.before[path][-25:])

    # --- a repair ---

    def _repair_once(self):
        """What it says, and how many of each; its exit status must be the documented one."""
        ended = self._run("queue", "repair", "--json")
        *lines, total = map(json.loads, ended.stdout.splitlines())
        counts = {"damage": sum("damage" in line for line in lines), "renumbered": 0, "dry_run": False,
                  "set_aside": sum("set_aside" in line or "lost" in line for line in lines)}
        if total["sum"] != counts or ended.returncode != bool(counts["damage"] or counts["set_aside"]):
            raise Wrong(f"repair exits with {ended.returncode}: {total}, but {counts}")
        return lines, counts

    def _repair(self):
        """Numbers of what was moved to damaged/; a second repair has nothing left to move."""
        lines, _ = self._repair_once()
        moved = [line["set_aside"] for line in lines if "set_aside" in line]
        lost = [line for line in lines if "lost" in line]
        if any(os.path.exists(f"{self.mx.queue}/{path}") for path in moved):
            raise Wrong(f"repair has not moved all of {moved}")
        if not all(os.path.exists(f"{self.mx.queue}/{line['path']}") for line in lost):
            raise Wrong(f"repair has lost some of {lost}")
        _, again = self._repair_once()
        if again["set_aside"]:
            raise Wrong(f"a second repair moves more: {again}")
        return {os.path.basename(path) for path in moved} | {str(line["lost"]) for line in lost}

    # --- a round ---

    def play(self, mx):
        self.mx = mx
        self.rounds += 1
        self.counts["rounds"] += 1
        self._fill()
        self._look()
        first = {token: {kind: list(paths) for kind, paths in places.items()} for token, places in self.files.items()}
        self._damage()
        self._is_whole = {token: self._must_arrive(token, places) for token, places in first.items()}
        self.after = {path: read(path) for path in self.before if os.path.exists(path)}
        set_aside = set()
        if self.rounds % 3 == 0:
            set_aside = self._repair()
            self.counts["repaired before the start"] += 1
        held = self._drain()
        self._judge(held, first, set_aside)
        if self.failures:
            raise Wrong("\n".join(self.failures[:20]))
        self._finish(held)

    def _finish(self, held):
        """The senders of what is held are told, if an operator says so; then nothing is left, but for what cannot
        be read, which a repair takes away."""
        self.command("queue", "bounce", "--all", "--yes", status=(0, 1))
        # twice: what is queued meanwhile may be where the first one has looked
        wait_until(lambda: all(message["state"] == "damaged" for message in self.listing() + self.listing()),
                   "all others are returned")
        self.mx.stop()
        for message in held:
            sent = self.ledger.sent.get(message.get("sender", "")[2:].partition("@")[0])
            if sent is not None and self.ledger.missing(sent):
                raise Wrong(f"{sent.sender} is not told of {sorted(self.ledger.missing(sent))}: {message}, log "
                            f"{self._said_of(str(message['number']), sent.sender)}")
            self.counts["reported to the sender"] += sent is not None
        self._repair()
        if self.listing():
            raise Wrong(f"a repair leaves {self.listing()[:3]}")
        for path in glob.glob(self.mx.queue + "/damaged/*") + glob.glob(self.mx.queue + "/litter/*"):
            os.unlink(path)
        self.ledger.earlier, self.ledger.sent = self.ledger.sent, {}
        self.mx.forget_past()
