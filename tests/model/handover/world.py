# SPDX-License-Identifier: ISC
"""The state of a hand-over: the sender a1, the receivers b2 and c3, and what is on its way.

A set of deliveries is a number, with a bit for each: 5 is the first and the third.
"""
from itertools import product
from typing import NamedTuple

RECEIVERS = ("b2", "c3")


class Sent(NamedTuple):
    """Something of the message at a node (struct node_sent)."""
    name: str  # "ID", or "ID.FIRST"
    numbers: int
    state: str
    is_twice: bool = False  # another node has it, too: it is to be dropped


class Peer(NamedTuple):
    """A receiver, as the sender knows it (struct node_peer)."""
    sent: tuple = ()
    is_recorded: bool = False  # in peers/, durably
    must_answer: bool = False
    connections: int = 0  # so far; only their order at this receiver matters


class Message(NamedTuple):
    """On the sender's disk. PLACE: "S4", "S5" (its numbers are on the disk), "gone"."""
    place: str
    open: int


class OldProcess(NamedTuple):
    """One of the sender that was stopped, and may go on at any time: it hands SENT over."""
    serial: tuple
    receiver: int
    sent: Sent


class Sender(NamedTuple):
    seen: Message     # by processes
    durable: Message  # after a power cut
    known: Message    # what its process takes for durable
    peers: tuple
    run: int = 1
    is_renumbered: bool = False
    old: OldProcess = None


class Connection(NamedTuple):
    serial: tuple  # run and number
    is_greeted: bool = False
    is_ready: bool = False  # the sender knows what is there
    is_lost: bool = False   # for the sender: what it has sent may still be read
    words: tuple = ()       # to the receiver
    answers: tuple = ()


class Package(NamedTuple):
    """At a receiver (queue/handed.h)."""
    name: str
    numbers: int
    rest: int      # deliveries that are not made
    names: tuple = (0, "")  # durable: whether it is in todo/; "", "NAME" or "NAME.done" in handed/
    pending: tuple = ()     # changes of names that are not durable
    step: str = ""          # "linked", "named": it is being committed; "undone": that failed
    serial: tuple = ()      # who handed it over
    is_begun: bool = False
    is_other: bool = False  # the name in todo/ is that of another message


class Receiver(NamedTuple):
    highest: tuple = (0, 0)  # serial
    durable_run: int = 0
    connections: tuple = ()
    packages: tuple = ()
    is_away: bool = False


class World(NamedTuple):
    sender: Sender
    receivers: tuple
    delivered: tuple  # how many times each delivery was made
    excused: int      # deliveries that may be made twice, which was logged
    faults: int       # that have happened


class Scene(NamedTuple):
    """What may happen."""
    rules: frozenset
    faults: tuple  # of sets of kinds: what may break first, then, ...
    deliveries: int = 1
    receivers: int = 2
    is_ordered: bool = True
    has_parts: bool = False  # the message may be split
    place: str = "S4"        # at the beginning
    has_later: bool = False
    has_spares: bool = False


def next_faults(scene, world):
    """The kinds of which one may happen."""
    return scene.faults[world.faults] if world.faults < len(scene.faults) else frozenset()


def start(scene):
    everything = Message(scene.place, (1 << scene.deliveries) - 1)
    return World(Sender(everything, everything, everything, (Peer(),) * scene.receivers),
                 (Receiver(),) * scene.receivers, (0,) * scene.deliveries, 0, 0)


def replaced(items, index, item):
    return items[:index] + (item,) + items[index + 1:]


def with_receiver(world, index, **fields):
    receiver = world.receivers[index]._replace(**fields)
    return world._replace(receivers=replaced(world.receivers, index, receiver))


def with_peer(world, index, **fields):
    peers = world.sender.peers
    return world._replace(sender=world.sender._replace(
        peers=replaced(peers, index, peers[index]._replace(**fields))))


def with_sent(world, index, old, new):
    """OLD becomes NEW; None: there is none."""
    sent = [item for item in world.sender.peers[index].sent if item != old]
    return with_peer(world, index, sent=tuple(sorted(sent + [new] if new else sent)))


def without_ended(world):
    """Connections of which nothing more will be read are gone."""
    for index, receiver in enumerate(world.receivers):
        rest = tuple(connection for connection in receiver.connections
                     if connection.words or not connection.is_lost)
        if rest != receiver.connections:
            world = with_receiver(world, index, connections=rest)
    return world


def numbers_in(mask):
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


def with_package(world, index, old, new):
    """OLD becomes NEW (None: there is none), unless nothing is left of it."""
    packages = [item for item in world.receivers[index].packages if item != old]
    if new and (new.names != (0, "") or new.pending or new.step):
        packages.append(new)
    return with_receiver(world, index, packages=tuple(sorted(packages)))


def changed(names, change):
    todo, handed = names
    if change == "+handed":
        return todo, "NAME"
    if change == "+todo":
        return 1, handed
    if change == "done":
        return todo, "NAME.done" if handed else ""
    return (0, handed) if change == "-todo" else (todo, "")


def seen(package):
    """Its names, as processes see them."""
    names = package.names
    for change in package.pending:
        names = changed(names, change)
    return names


def after_power_cut(package, is_ordered):
    """Each state of PACKAGE's names that a power cut may leave."""
    count = len(package.pending)
    if is_ordered:
        kept = [package.pending[:length] for length in range(count + 1)]
    else:
        kept = [tuple(change for change, is_kept in zip(package.pending, chosen) if is_kept)
                for chosen in product((False, True), repeat=count)]
    return {package._replace(names=seen(package._replace(pending=changes)), pending=())
            for changes in kept}


def verdict(world):
    """What is wrong: "lost", "twice", or nothing."""
    sender = world.sender
    held = 0
    for receiver in world.receivers:
        for package in receiver.packages:
            if not package.is_other and seen(package)[0]:
                held |= package.rest
    for number, count in enumerate(world.delivered):
        bit = 1 << number
        if count > 1 and not world.excused & bit:
            return "twice"
        if not count and not (sender.seen.open | sender.durable.open | held) & bit:
            return "lost"
    return None


def is_finished(world):
    """Everything is delivered, and nothing is left."""
    sender = world.sender
    return (sender.seen.place == sender.durable.place == "gone" and all(world.delivered)
            and not any(receiver.packages for receiver in world.receivers))
