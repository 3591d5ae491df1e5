# SPDX-License-Identifier: ISC
"""What a receiver does: src/node/receive/ ("noded") and src/queue/handed/ ("queue")."""
import tables
from sender import lose_connection, with_connection
from world import RECEIVERS, Package, next_faults, numbers_in, seen, with_package, with_receiver


def answer(world, index, serial, *word):
    """On the connection SERIAL, if it is not lost."""
    for place, connection in enumerate(world.receivers[index].connections):
        if connection.serial == serial and not connection.is_lost:
            return with_connection(world, index, place, answers=connection.answers + (word,))
    return world


def end_connection(scene, world, index, serial):
    for connection in world.receivers[index].connections:
        if connection.serial == serial and not connection.is_lost:
            return lose_connection(scene, world, index)
    return world


def without_connection(world, index, serial):
    connections = world.receivers[index].connections
    return with_receiver(world, index, connections=tuple(
        connection for connection in connections if connection.serial != serial))


# --- a connection begins: receive.c, queue/handed/greet.c ---

def kept(receiver):
    """All packages that are not settled."""
    return tuple((package.name, package.numbers) for package in receiver.packages if seen(package)[1])


def greet(scene, world, index, connection):
    receiver = world.receivers[index]
    name, serial = RECEIVERS[index], connection.serial
    if any(package.step for package in receiver.packages):
        return  # what is being committed, or undone, is awaited
    if "number" in scene.rules and serial <= max(receiver.highest, (receiver.durable_run, 0)):
        yield (f"{name} refuses the connection {serial}", without_connection(
            end_connection(scene, world, index, serial), index, serial))
        return
    for other in receiver.connections:
        is_older = other.serial < serial if "number" in scene.rules else other.is_greeted
        if other.serial != serial and is_older:
            world = end_connection(scene, world, index, other.serial)
    durable_run = max(receiver.durable_run, serial[0]) if "run-durable" in scene.rules else 0
    world = with_receiver(world, index, highest=serial, durable_run=durable_run)
    place = [other.serial for other in receiver.connections].index(serial)
    world = with_connection(world, index, place, is_greeted=True, words=connection.words[1:])
    listed = kept(receiver) if "kept" in scene.rules else ()
    yield f"{name} greets the connection {serial}", answer(world, index, serial, "ready", listed)


# --- packages: package.c, queue/handed/commit.c ---

def take(scene, world, index, connection, name, numbers, deliveries):
    receiver = world.receivers[index]
    found = next((package for package in receiver.packages if package.name == name), None)
    if "commit" in scene.rules and connection.serial != receiver.highest:
        yield f"{RECEIVERS[index]} ignores {name} of an older connection", world
    elif found and seen(found)[1]:
        tables.action("COMMITTING", "it is queued")
        yield (f"{RECEIVERS[index]} has {name} already",
               answer(world, index, connection.serial, "took", name))
    else:
        tables.action("OPEN", "end")
        new = found._replace(numbers=numbers, rest=deliveries) if found else Package(
            name, numbers, deliveries)
        new = new._replace(pending=new.pending + ("+handed",), step="linked",
                           serial=connection.serial, is_begun=False)
        yield (f"{RECEIVERS[index]} makes the name {name} in handed/",
               with_package(world, index, found, new))
        if scene.has_later:
            word = tables.action("REFUSED", "end")
            yield (f"{RECEIVERS[index]} says {word} {name}",
                   answer(world, index, connection.serial, word, name))


def commit(scene, world, index, package):
    """The steps of a commit; its sync may fail."""
    name = f"{package.name} at {RECEIVERS[index]}"
    must_sync = not scene.is_ordered and "order-handed" in scene.rules
    if package.step == "linked" and must_sync and package.pending:
        yield (f"{name}: sync of handed/", with_package(
            world, index, package, package._replace(names=seen(package), pending=())))
    elif package.step == "linked":
        new = package._replace(pending=package.pending + ("+todo",), step="named")
        yield f"{name}: its name in todo/", with_package(world, index, package, new)
    elif package.step == "named":
        new = package._replace(names=seen(package), pending=(), step="", serial=())
        word = tables.action("COMMITTING", "it is queued")
        yield (f"{name}: committed", answer(with_package(world, index, package, new), index,
                                            package.serial, word, package.name))
        if "sync" in next_faults(scene, world):
            yield from fail_commit(scene, world, index, package)


def fail_commit(scene, world, index, package):
    """queue/intake/aside.c: nobody knows what is durable. The name in todo/ goes first."""
    world = world._replace(faults=world.faults + 1)
    name = f"!the sync of {package.name} at {RECEIVERS[index]} fails"
    if "later" in scene.rules:
        tables.action("COMMITTING", "who knows")
        new = package._replace(pending=package.pending + ("-todo",), step="undone", serial=())
        yield name, end_connection(scene, with_package(world, index, package, new), index,
                                   package.serial)
    else:
        word = tables.action("COMMITTING", "it is not")
        new = package._replace(pending=package.pending + ("-todo", "-handed"), step="", serial=())
        yield (f"{name}: undone, and {word} is said",
               answer(with_package(world, index, package, new), index, package.serial, word,
                      package.name))


def undo(world, index, package):
    """remove_undone(): the name in handed/ goes after the removal of that in todo/ is durable."""
    name = f"{package.name} at {RECEIVERS[index]}"
    if package.pending:
        new = package._replace(names=seen(package), pending=())
        yield f"{name}: its removal is durable", with_package(world, index, package, new)
    else:
        new = package._replace(pending=("-handed",), step="")
        yield f"{name}: undone", with_package(world, index, package, new)


# --- the life of a message: its manager, queue/handed/settle.c ---

def live(scene, world, index, package):
    name = f"{package.name} at {RECEIVERS[index]}"
    todo, handed = seen(package)
    is_waiting = (not scene.is_ordered and "order-done" in scene.rules and "done" in package.pending)
    if package.is_other:
        return
    if todo and package.rest:
        for number in numbers_in(package.rest):
            new = package._replace(rest=package.rest & ~(1 << number), is_begun=True)
            count = min(3, world.delivered[number] + 1)
            delivered = world.delivered[:number] + (count,) + world.delivered[number + 1:]
            yield (f"{name}: delivery {number + 1} is made",
                   with_package(world, index, package, new)._replace(delivered=delivered))
    elif todo and handed == "NAME":
        new = package._replace(pending=package.pending + ("done",))
        yield f"{name}: NAME.done", with_package(world, index, package, new)
    elif todo and not is_waiting:
        new = package._replace(pending=package.pending + ("-todo",))
        yield f"{name}: its name in todo/ goes", with_package(world, index, package, new)
    if package.pending:
        new = package._replace(names=seen(package), pending=())
        yield f"{name}: sync", with_package(world, index, package, new)
    yield from reuse(scene, world, index, package)


def reuse(scene, world, index, package):
    """Another message is queued in the file of one that is not in todo/ any more."""
    is_free = seen(package) == (0, "") and "spare" not in scene.rules
    if scene.has_spares and is_free and package.names[1] == "NAME":
        new = package._replace(names=(1, "NAME"), is_other=True)
        yield (f"{RECEIVERS[index]}: another message is queued in the file of {package.name}",
               with_package(world, index, package, new))


def settle(world, index, verb, name):
    found = next((package for package in world.receivers[index].packages if package.name == name), None)
    label = f"{RECEIVERS[index]} forgets {name}"
    if found is None or not seen(found)[1]:
        return label, world
    pending = found.pending + ("-handed",)
    if verb == "drop" and seen(found)[0] and not found.is_begun:
        label, pending = f"{RECEIVERS[index]} drops {name}", pending + ("-todo",)
    return label, with_package(world, index, found, found._replace(pending=pending))


# --- all ---

def read(scene, world, index, place):
    """The next word of a connection: the bytes of each are read at any time."""
    connection = world.receivers[index].connections[place]
    if not connection.words:
        return
    verb, *rest = connection.words[0]
    if verb == "hello":
        yield from greet(scene, world, index, connection)
        return
    if any(package.step and package.name == rest[0] for package in world.receivers[index].packages):
        return
    world = with_connection(world, index, place, words=connection.words[1:])
    if verb == "take":
        yield from take(scene, world, index, connection, *rest)
    elif "commit" not in scene.rules or connection.serial == world.receivers[index].highest:
        yield settle(world, index, verb, rest[0])
    else:
        yield f"{RECEIVERS[index]} ignores {verb} of an older connection", world


def steps(scene, world):
    for index, receiver in enumerate(world.receivers):
        for place in range(len(receiver.connections)):
            yield from read(scene, world, index, place)
        for package in receiver.packages:
            if package.step == "undone":
                yield from undo(world, index, package)
            elif package.step:
                yield from commit(scene, world, index, package)
            else:
                yield from live(scene, world, index, package)
        if receiver.is_away:
            yield f"{RECEIVERS[index]} is back", with_receiver(world, index, is_away=False)
