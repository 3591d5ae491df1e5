# SPDX-License-Identifier: ISC
"""Stagepost beside Postfix: the same load, by turns, on the same filesystem.

Single times mean little on a shared machine; the ratios of the medians do.
"""
import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time

import measure
from disk import Disk
from servers import HELD, LOCAL, MAILBOXES, REMOTE, Postfix, Sink, Stagepost, wait_until

SENDER = "sender@client.example"

# name, sessions, bytes, kept open, divisor of the number of messages, kind
CASES = (
    ("accept, 50 sessions, 10 KiB", 50, 10240, False, 1, "accept"),
    ("accept, 50 sessions, 1 KiB", 50, 1024, False, 1, "accept"),
    ("accept, 50 kept open, 10 KiB", 50, 10240, True, 1, "accept"),
    ("accept, 50 kept open, 1 KiB", 50, 1024, True, 1, "accept"),
    ("accept, 1 session, 10 KiB", 1, 10240, True, 8, "accept"),
    ("relay, 50 sessions, 10 KiB", 50, 10240, False, 1, "relay"),
    ("local, 50 sessions, 10 KiB", 50, 10240, False, 1, "local"),
)


def start_source(port, messages, sessions, size, recipient, keep):
    command = ["smtp-source", "-4", "-s", str(sessions), "-m", str(messages), "-l", str(size),
               "-f", SENDER, "-t", recipient]
    if keep:
        command.append("-d")
    return subprocess.Popen(command + [f"127.0.0.1:{port}"], stderr=subprocess.PIPE, text=True)


def finish_source(process):
    _, errors = process.communicate(timeout=300)
    if process.returncode != 0:
        raise RuntimeError("smtp-source: " + errors)


def load(system, kind, messages, sessions, size, keep):
    """Sends; how many were sent. Local mail goes to several mailboxes at once."""
    if kind == "local":
        share = messages // MAILBOXES
        sources = [start_source(system.port, share, max(1, sessions // MAILBOXES), size,
                                f"user{i}@{LOCAL}", keep) for i in range(MAILBOXES)]
        messages = share * MAILBOXES
    else:
        recipient = "user@" + (HELD if kind == "accept" else REMOTE)
        sources = [start_source(system.port, messages, sessions, size, recipient, keep)]
    try:
        for source in sources:
            finish_source(source)
    finally:
        for source in sources:
            source.kill()
    return messages


def run_once(system, sink, case, messages):
    _, sessions, size, keep, divisor, kind = case
    count = {"accept": lambda: 0, "relay": lambda: sink.count, "local": system.delivered}[kind]
    before = count()
    processor = measure.processor_seconds(system.pid)
    begin = time.monotonic()
    sent = load(system, kind, max(1, messages // divisor), sessions, size, keep)
    accepted = time.monotonic() - begin
    if kind != "accept":
        wait_until(lambda: count() - before >= sent, 120, f"{system.name}: {case[0]}")
    seconds = time.monotonic() - begin
    time.sleep(0.3)
    return {"rate": sent / seconds, "accept_rate": sent / accepted,
            "processor_10000": (measure.processor_seconds(system.pid) - processor) * 10000 / sent}


def run_rounds(systems, sink, cases, options):
    runs = {case[0]: {system.name: [] for system in systems} for case in cases}
    for system in systems:
        run_once(system, sink, ("warm-up", 50, 10240, False, 1, cases[0][5]),
                 min(300, options.messages))
    for number in range(options.rounds):
        for case in cases:
            for system in systems[::-1] if number % 2 else systems:
                result = run_once(system, sink, case, options.messages)
                runs[case[0]][system.name].append(result)
                note(f"round {number + 1}: {case[0]}: {system.name} {result['rate']:.0f}/s")
    return runs


def medians(runs):
    """Of each system; and the first one's divided by each other's."""
    result = {}
    for case, by_system in runs.items():
        entry = {name: {key: statistics.median(run[key] for run in of) for key in of[0]}
                 for name, of in by_system.items()}
        first, *others = entry
        result[case] = {"systems": entry, "ratios": {
            name: {key: entry[first][key] / value for key, value in entry[name].items() if value}
            for name in others}}
    return result


def system_calls(system, sink, kind, directory, messages):
    """Of every process, for each message."""
    with measure.SystemCalls(system.pid, directory) as calls:
        run_once(system, sink, (kind, 50, 10240, False, 1, kind), messages)
    return {process: {call: count / messages for call, count in of.items()}
            for process, of in calls.counts.items()}


def idle_memory(system, sessions):
    """PSS that one more idle session costs, after its EHLO."""
    before = measure.pss_bytes(system.pid)
    connections = []
    try:
        for _ in range(sessions):
            connection = socket.create_connection(("127.0.0.1", system.port), 30)
            connection.recv(512)
            connection.sendall(b"EHLO client.example\r\n")
            connection.recv(4096)
            connections.append(connection)
        return {"sessions": sessions,
                "bytes": (measure.pss_bytes(system.pid) - before) / sessions}
    finally:
        for connection in connections:
            connection.close()


def note(text):
    print(text, file=sys.stderr, flush=True)


def print_calls(calls):
    for kind, processes in calls.items():
        total = sum(sum(of.values()) for of in processes.values())
        syncs = sum(count for of in processes.values() for call, count in of.items()
                    if call in ("fsync", "fdatasync", "syncfs"))
        print(f"\nsystem calls for each message, {kind}: {total:.1f}, of them syncs {syncs:.3f}")
        for process, of in processes.items():
            if sum(of.values()) >= 0.05:
                most = sorted(of.items(), key=lambda item: -item[1])[:14]
                print(f"  {process:10} {sum(of.values()):6.1f}  "
                      + " ".join(f"{call} {count:.2f}" for call, count in most))


def print_table(title, key, report):
    for number, (case, entry) in enumerate(report["medians"].items()):
        if number == 0:
            print(f"\n{title:32}" + "".join(f"{name[-12:]:>13}" for name in entry["systems"])
                  + "".join(f"{'/ ' + name[-12:]:>15}" for name in entry["ratios"]))
        print(f"{case:32}" + "".join(f"{of[key]:13.{0 if of[key] > 100 else 2}f}"
                                     for of in entry["systems"].values())
              + "".join(f"{of.get(key, 0):15.2f}" for of in entry["ratios"].values()))


def print_report(report):
    print(f"filesystem: {report['filesystem']}")
    print(f"{report['messages']} messages a run, {report['rounds']} rounds, medians and their "
          f"ratios; {os.cpu_count()} processors")
    print_table("messages a second", "rate", report)
    print_table("processor seconds for 10,000", "processor_10000", report)
    for name, memory in report.get("idle", {}).items():
        print(f"\n{name}: {memory['bytes'] / 1024:.1f} KiB for each of "
              f"{memory['sessions']} idle sessions")
    print_calls(report["calls"])


def measure_kind(options, disk, kind, report):
    """Both systems anew, with empty queues: what is held by one kind of load does
    not weigh on the next."""
    cases = [case for case in CASES if options.case in case[0] and case[5] == kind]
    started = []
    if not cases:
        return
    try:
        sink = Sink()
        started.append(sink)
        for build in [options.build] + options.against:
            name = "stagepost" if build == options.build else build.strip("/")
            started.append(Stagepost(disk.directory(f"stagepost{len(started)}-{kind}"), build,
                                     sink.port, name, options.config if build == options.build
                                     else options.against_config or options.config))
        if options.with_postfix:
            started.append(Postfix(disk.directory("postfix-" + kind), sink.port))
        systems = started[1:]
        if options.counts and "idle" not in report:
            # first, before there is memory from other work to use again
            report["idle"] = {system.name: idle_memory(
                system, 80 if system.name == "postfix" else options.idle) for system in systems}
        report["runs"].update(run_rounds(systems, sink, cases, options))
        if options.counts:
            report["calls"][kind] = system_calls(systems[0], sink, kind, disk.base,
                                                 min(500, options.messages))
    finally:
        for one in reversed(started):
            one.stop()


def measure_all(options, disk):
    report = {"filesystem": disk.description, "messages": options.messages,
              "rounds": options.rounds, "runs": {}, "calls": {}}
    alone = options.alone or options.against
    options.with_postfix = not alone and os.geteuid() == 0
    if not alone and not options.with_postfix:
        note("Postfix needs root: measuring Stagepost alone")
    for kind in ("accept", "relay", "local"):
        measure_kind(options, disk, kind, report)
    report["medians"] = medians(report["runs"])
    return report


def stop_on_signal(number, _):
    raise SystemExit(128 + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="where the programs are")
    parser.add_argument("--messages", type=int, default=int(os.environ.get("BENCH_MESSAGES", 3000)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", default="", help="only cases with this in their name")
    parser.add_argument("--alone", action="store_true", help="without Postfix")
    parser.add_argument("--against", action="append", default=[], metavar="BUILD",
                        help="instead of Postfix: programs of another build")
    parser.add_argument("--plain", action="store_true", help="no image, a plain directory")
    parser.add_argument("--no-counts", dest="counts", action="store_false",
                        help="no system calls, no memory")
    parser.add_argument("--idle", type=int, default=2000, help="idle sessions")
    parser.add_argument("--config", default="", help="more lines for stagepost.conf")
    parser.add_argument("--against-config", default="", help="the same for the other builds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop_on_signal)
    disk = Disk(options.plain)
    try:
        report = measure_all(options, disk)
    except KeyboardInterrupt:
        return 130
    finally:
        disk.remove()
    if options.json:
        json.dump(report, sys.stdout, indent=1)
        print()
    else:
        print_report(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
