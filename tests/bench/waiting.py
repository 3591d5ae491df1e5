# SPDX-License-Identifier: ISC
"""A queue full of waiting mail beside an empty one: start, memory, rate of new mail."""
import os
import statistics
import subprocess
import time

import measure
from cases import WARM_UP_MESSAGES, Case, finish_sources, run_once, start_source
from servers import DEAD, DEAD_PORT, Stagepost

GOAL_RATE = 0.9  # of the empty queue's
GOAL_START = 5  # seconds, of `send` with 100,000
GOAL_SEND_MIB = 100
DUE_SECONDS = "86400"
FALLBACK_MESSAGES = 5000  # accepted and tried one by one


def fill(directory, build, wanted):
    """Makes WANTED messages wait in the queue of a node that does not run: by the tool
    fill_queue where the build has it, else by sending some to a dead host. How many."""
    tool = os.path.join(build, "tests", "bench", "fill_queue")
    node = Stagepost(directory, build, DEAD_PORT)
    try:
        if not os.path.exists(tool):
            wanted = min(wanted, FALLBACK_MESSAGES)
            finish_sources([start_source(node.port, wanted, Case("relay", 20, 1024),
                                         "user@" + DEAD)])
            wait_for_rest(node)
    finally:
        node.stop()
    if os.path.exists(tool):
        subprocess.run([tool, node.queue, str(wanted), DEAD, DUE_SECONDS], check=True,
                       stdout=subprocess.DEVNULL, timeout=900)
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
