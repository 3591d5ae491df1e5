# SPDX-License-Identifier: ISC
"""What may break. A scene says which kinds, and how many in all."""
from itertools import product

from sender import live_connection, lose_connection
from world import RECEIVERS, OldProcess, after_power_cut, next_faults, seen, with_receiver

KINDS = frozenset(("break", "kill sender", "cut sender", "stop sender", "kill receiver",
                   "cut receiver", "sync", "away"))  # and "map": see rule "numbers"


def after_receiver_start(scene, package):
    """queue/handed/load.c: everything is synced, and what is alone in handed/ is removed."""
    if "start-receiver" in scene.rules:
        package = package._replace(names=seen(package), pending=())
    package = package._replace(step="", serial=(), is_begun=bool(package.is_begun))
    if seen(package) == (0, "NAME"):
        package = package._replace(pending=package.pending + ("-handed",))
    return package


def restart_receiver(scene, world, index, packages):
    packages = [after_receiver_start(scene, package) for package in packages]
    packages = [package for package in packages if package.names != (0, "") or package.pending]
    return with_receiver(lose_connection(scene, world, index), index, highest=(0, 0), connections=(),
                         packages=tuple(sorted(packages)))


def receiver_faults(scene, world, index):
    kinds = next_faults(scene, world)
    name, receiver = RECEIVERS[index], world.receivers[index]
    if "kill receiver" in kinds:
        yield f"!{name} is killed", restart_receiver(scene, world, index, receiver.packages)
    if "cut receiver" in kinds:
        outcomes = [sorted(after_power_cut(package, scene.is_ordered)) for package in receiver.packages]
        for packages in product(*outcomes):
            names = ", ".join(f"{package.name} {package.names}" for package in packages)
            yield (f"!{name} loses power: {names or 'nothing'} is there",
                   restart_receiver(scene, world, index, packages))
    if "break" in kinds and live_connection(world, index) is not None:
        yield f"!the connection to {name} breaks", lose_connection(scene, world, index)
    if "away" in kinds and not receiver.is_away:
        yield (f"!{name} cannot be reached",
               with_receiver(lose_connection(scene, world, index), index, is_away=True))


def restart_sender(scene, world, message):
    """MESSAGE is what processes see of its disk from now on."""
    for index, receiver in enumerate(world.receivers):
        world = with_receiver(world, index, connections=tuple(
            connection._replace(is_lost=True, is_ready=False, answers=())
            for connection in receiver.connections))
    sender = world.sender
    must_answer = "peers" in scene.rules
    has_run = "run" in scene.rules
    has_synced = "start-sender" in scene.rules
    return world._replace(sender=sender._replace(
        seen=message, durable=(message if has_synced else sender.durable), known=message,
        peers=tuple(peer._replace(sent=(), must_answer=must_answer and peer.is_recorded, connections=0)
                    for peer in sender.peers),
        run=sender.run + has_run))


def stop_sender(scene, world):
    """Its process stands still, with a package for a node that it is about to connect to again;
    another process is started."""
    sender = world.sender
    for index, peer in enumerate(sender.peers):
        for sent in peer.sent:
            if sent.state == "QUEUED" and sender.old is None:
                serial = (sender.run, peer.connections + 1)
                other = restart_sender(scene, world, sender.seen)
                old = OldProcess(serial, index, sent)
                yield (f"!the process of a1 stands still with {sent.name} for {RECEIVERS[index]}",
                       other._replace(sender=other.sender._replace(old=old)))


def sender_faults(scene, world):
    kinds = next_faults(scene, world)
    sender = world.sender
    if "kill sender" in kinds:
        yield "!a1 is killed", restart_sender(scene, world, sender.seen)
    if "cut sender" in kinds:
        world = world._replace(sender=sender._replace(seen=sender.durable))
        yield "!a1 loses power", restart_sender(scene, world, sender.durable)
    if "stop sender" in kinds:
        yield from stop_sender(scene, world)
    if "map" in kinds and sender.seen.place == "S4" and not sender.is_renumbered:
        other = restart_sender(scene, world, sender.seen)
        yield ("!a1 is killed, and the map is made anew",
               other._replace(sender=other.sender._replace(is_renumbered=True)))


def steps(scene, world):
    if world.faults == len(scene.faults):
        return
    others = [step for index in range(scene.receivers) for step in receiver_faults(scene, world, index)]
    for label, other in [*others, *sender_faults(scene, world)]:
        yield label, other._replace(faults=world.faults + 1)
