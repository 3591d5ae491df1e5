# SPDX-License-Identifier: ISC
"""A queue full of waiting mail beside an empty one: start, memory, rate of new mail, while the
others sleep and while they are tried again."""
import contextlib
import os
import signal
import statistics
import subprocess
import time

import measure
from cases import WARM_UP_MESSAGES, Case, finish_sources, load, run_once, start_source
from servers import DEAD, DEAD_PORT, REMOTE, Sink, Stagepost

GOAL_RATE = 0.9  # of the empty queue's
GOAL_START = 5  # seconds, of `send` with 100,000
GOAL_SEND_MIB = 100
DUE_SECONDS = "25000"  # less than the longest wait: what is due later is looked at as late
FALLBACK_MESSAGES = 5000  # accepted and tried one by one
PASS_LENGTH = 4  # times as many new messages in a round: seconds of a retry pass, not its start
PASSES = {"deferred": ("-r", "rcpt"), "delivered": ()}  # options of smtp-sink


def tool_of(build):
    return os.path.join(build, "tests", "bench", "fill_queue")


def run_tool(build, queue, count, domain, seconds):
    subprocess.run([tool_of(build), queue, str(count), domain, seconds], check=True,
                   stdout=subprocess.DEVNULL, timeout=900)


def fill(directory, build, wanted):
    """Makes WANTED messages wait in the queue of a node that does not run: by the tool
    fill_queue where the build has it, else by sending some to a dead host. How many."""
    node = Stagepost(directory, build, DEAD_PORT)
    try:
        if not os.path.exists(tool_of(build)):
            wanted = min(wanted, FALLBACK_MESSAGES)
            finish_sources([start_source(node.port, wanted, Case("relay", 20, 1024),
                                         "user@" + DEAD)])
            wait_for_rest(node)
    finally:
        node.stop()
    if os.path.exists(tool_of(build)):
        run_tool(build, node.queue, wanted, DEAD, DUE_SECONDS)
    return wanted


def wait_for_rest(node):
    """Until the node does nothing any more."""
    used = -1
    while used != (now := measure.processor_seconds(node.pid)):
        used = now
        time.sleep(1)


def start(directory, build, name):
    begin = time.monotonic()
    node = Stagepost(directory, build, DEAD_PORT, name)
    return node, time.monotonic() - begin


def send_bytes(node):
    return sum(measure.pss_of(pid) for pid in measure.tree(node.pid)
               if measure.name_of(pid) == "send")


def measure_waiting(options, disk, note):
    """Both nodes by turns."""
    case = Case("accept", 50, 10240)
    folders = {name: disk.directory("waiting-" + name) for name in ("empty", "full")}
    note(f"filling a queue with {options.waiting} waiting messages")
    result = {"wanted": options.waiting,
              "messages": fill(folders["full"], options.build, options.waiting)}
    nodes = []
    try:
        for name, folder in folders.items():
            node, seconds = start(folder, options.build, name)
            nodes.append(node)
            result[name] = {"start": seconds, "rates": []}
            run_once(node, None, case, min(WARM_UP_MESSAGES, options.messages))
        for number in range(options.rounds):
            for node in nodes[::-1] if number % 2 else nodes:
                rate = run_once(node, None, case, options.messages)["rate"]
                result[node.name]["rates"].append(rate)
                note(f"round {number + 1}: {node.name} queue: {rate:.0f}/s")
        for node in nodes:
            result[node.name]["rate"] = statistics.median(result[node.name]["rates"])
            result[node.name]["send"] = send_bytes(node)
    finally:
        for node in reversed(nodes):
            node.stop()
    return result


# --- a retry pass ---


@contextlib.contextmanager
def standing_still(node):
    """A node with much to do takes nothing from the other one meanwhile."""
    for pid in measure.tree(node.pid):
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in measure.tree(node.pid):
            os.kill(pid, signal.SIGCONT)


def attempts(node, outcome):
    """Of the messages that were there: new ones wait for a paused stage."""
    with open(node.log, "rb") as log:
        return log.read().count(b"event=" + outcome.encode())


def accept(node, due, case, options, outcome):
    """What NODE takes in, and meanwhile DUE tries again, a second."""
    before, begin = attempts(due, outcome), time.monotonic()
    sent = load(node, case, PASS_LENGTH * options.messages)
    seconds = time.monotonic() - begin
    return sent / seconds, (attempts(due, outcome) - before) / seconds


def run_pass(nodes, case, options, outcome, note):
    """By turns; of the due one also how many retries a second it made meanwhile."""
    empty, due = nodes
    result = {"empty": [], "due": [], "retries": []}
    for number in range(options.rounds):
        for node in nodes[::-1] if number % 2 else nodes:
            with standing_still(due) if node is empty else contextlib.nullcontext():
                rate, retries = accept(node, due, case, options, outcome)
            result[node.name].append(rate)
            if node is due:
                if retries == 0:
                    raise RuntimeError("nothing was tried again: no retry pass was measured")
                result["retries"].append(retries)
                note(f"round {number + 1}: {outcome} retries: {retries:.0f}/s")
            note(f"round {number + 1}: {node.name} queue: {rate:.0f}/s")
    return {name: statistics.median(of) for name, of in result.items()}


def measure_pass(options, disk, outcome, note):
    """The same load on an empty queue and on one whose waiting messages are all due."""
    case = Case("accept", 50, 10240)
    folders = [disk.directory(f"{outcome}-{name}") for name in ("empty", "due")]
    note(f"filling a queue with {options.waiting} due messages")
    with contextlib.ExitStack() as started:
        sink = Sink(*PASSES[outcome])
        started.callback(sink.stop)
        for folder in folders:
            Stagepost(folder, options.build, sink.port).stop()  # makes the queue
        run_tool(options.build, os.path.join(folders[1], "queue"), options.waiting, REMOTE, "-1")
        nodes = []
        for name, folder in zip(("empty", "due"), folders):
            nodes.append(Stagepost(folder, options.build, sink.port, name))
            started.callback(nodes[-1].stop)
            run_once(nodes[-1], None, case, min(WARM_UP_MESSAGES, options.messages))
        result = run_pass(nodes, case, options, outcome, note)
        result["left"] = options.waiting - attempts(nodes[1], outcome)
        if result["left"] <= 0:
            raise RuntimeError("the pass was over before it was measured: too few messages")
    return result


def measure_passes(options, disk, note):
    result = {}
    for outcome in PASSES:
        disk.clear()
        result[outcome] = measure_pass(options, disk, outcome, note)
    return result
