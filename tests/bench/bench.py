# SPDX-License-Identifier: ISC
"""Stagepost beside Postfix: the same load, by turns, on the same filesystem.

Single times mean little on a shared machine; the ratios of the medians do.
"""
import argparse
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import cases  # noqa: E402
import filing  # noqa: E402
import measure  # noqa: E402
import postfix  # noqa: E402
import report as reporting  # noqa: E402
from disk import Disk  # noqa: E402
from flood import measure_flood  # noqa: E402
from floor import commits, sink_rate  # noqa: E402
from idle import GOAL_SESSIONS, idle_memory, idle_tls_memory  # noqa: E402
from logins import measure_logins  # noqa: E402
from servers import DEAD_PORT, Sink, Stagepost, TlsSink, make_certificate  # noqa: E402
from waiting import measure_passes, measure_waiting  # noqa: E402

POSTFIX_SESSIONS = 80  # idle; each is a process
COUNTED_MESSAGES = 500
SIZE_MIB = 2048
MANY_MIB = 3072


def note(text):
    print(text, file=sys.stderr, flush=True)


def chosen(options, kind):
    return [case for case in cases.CASES if options.case in case.name and case.kind == kind]


def run_rounds(systems, sink, of_kind, options, floor):
    """Each system's runs of each case; into FLOOR, what the sink alone does in between."""
    runs = {case.name: {system.name: [] for system in systems} for case in of_kind}
    for system in systems:
        cases.run_once(system, sink, cases.warm_up(of_kind[0].kind),
                       min(cases.WARM_UP_MESSAGES, options.messages), options.build)
    for number in range(options.rounds):
        for case in of_kind:
            for system in systems[::-1] if number % 2 else systems:
                result = cases.run_once(system, sink, case, options.messages, options.build)
                runs[case.name][system.name].append(result)
                note(f"round {number + 1}: {case.name}: {system.name} {result['rate']:.0f}/s")
            if options.floor and case.has_floor:
                floor.setdefault(case.name, []).append(sink_rate(case, options.messages))
    return runs


def count_calls(system, sink, kind, directory, messages, build):
    """Of every process, for each message."""
    with measure.SystemCalls(system.pid, directory) as calls:
        cases.run_once(system, sink, cases.warm_up(kind), messages, build)
    return {process: {call: count / messages for call, count in of.items()}
            for process, of in calls.counts.items()}


def count_instructions(system, sink, kind, directory, messages, build):
    """Of all processes, for each message; None where they are not counted."""
    if not measure.Instructions.are_counted():
        return None
    with measure.Instructions(system.pid, directory) as instructions:
        cases.run_once(system, sink, cases.warm_up(kind), messages, build)
    return instructions.count / messages if instructions.count is not None else None


def start_sink(options, kind, certificate):
    if kind == "tls-relay":
        return TlsSink(options.build, certificate, cases.CIPHERS)
    return Sink("-L") if kind == "lmtp" else Sink()


def start_systems(options, disk, kind, sink, started, certificate):
    record = "sqlite" if kind == "mailbox" else ""
    tls = {"certificate": certificate if kind in ("tls", "submission") else None,
           "relays_by_tls": kind == "tls-relay", "submission": kind == "submission"}
    for build in [options.build] + options.against:
        is_ours = build == options.build
        name = "stagepost" if is_ours else build.strip("/")
        settings = options.config if is_ours else options.against_config or options.config
        started.append(Stagepost(disk.directory(f"stagepost{len(started)}-{kind}"), build,
                                 sink.port, name, settings, qmtp=kind == "qmtp", record=record,
                                 **tls))
    if kind == "qmtp":
        started.append(Stagepost(disk.directory("own-smtp"), options.build, sink.port,
                                 cases.OWN_SMTP, options.config))
    for name in cases.SYSTEMS[kind]:
        if name in (cases.OWN_POSTGRESQL, cases.OWN_MAILDIR):
            record = "postgresql" if name == cases.OWN_POSTGRESQL else ""
            started.append(Stagepost(disk.directory(name), options.build, sink.port, name,
                                     options.config, record=record))
        elif name != cases.OWN_SMTP and options.with_postfix:
            started.append(postfix.Postfix(disk.directory(f"{name}-{kind}"), sink.port, name,
                                           **tls))


def measure_kind(options, disk, kind, report):
    """All systems anew, with empty queues: what is held by one kind of load does not
    weigh on the next."""
    of_kind = chosen(options, kind)
    started = []
    if not of_kind:
        return
    try:
        certificate = make_certificate(disk.directory("certificate"))
        sink = start_sink(options, kind, certificate)
        started.append(sink)
        start_systems(options, disk, kind, sink, started, certificate)
        systems = started[1:]
        report["runs"].update(run_rounds(systems, sink, of_kind, options,
                                         report["floor"]["sink"]))
        for system in systems[:2 if kind == "qmtp" else 1] if options.counts else []:
            what = kind if system is systems[0] else f"{kind}, {system.name}"
            counted = (system, sink, kind, disk.base, min(COUNTED_MESSAGES, options.messages),
                       options.build)
            report["calls"][what] = count_calls(*counted)
            report["instructions"][what] = count_instructions(*counted)
    finally:
        for one in reversed(started):
            one.stop()


def measure_idle(options, disk):
    """Each system anew, so that there is no memory from other work to use again."""
    makers = {"stagepost": lambda folder: Stagepost(folder, options.build, DEAD_PORT)}
    if options.with_postfix:
        makers["postfix"] = lambda folder: postfix.Postfix(folder, DEAD_PORT)
    result = {}
    for name, make in makers.items():
        note(f"idle sessions: {name}")
        system = make(disk.directory("idle-" + name))
        try:
            result[name] = idle_memory(
                system, min(POSTFIX_SESSIONS, options.idle) if name == "postfix" else options.idle)
        finally:
            system.stop()
    return result


def measure_idle_tls(options, disk):
    note("idle sessions with TLS")
    certificate = make_certificate(disk.directory("idle-certificate"))
    system = Stagepost(disk.directory("idle-tls"), options.build, DEAD_PORT,
                       certificate=certificate)
    try:
        return idle_tls_memory(system, options.idle, options.build)
    finally:
        system.stop()


def is_wanted(options, name):
    return options.case in name


def measure_all(options, disk):
    report = {"filesystem": disk.description, "messages": options.messages,
              "rounds": options.rounds, "settings": {}, "runs": {}, "calls": {},
              "instructions": {}, "floor": {"sink": {}, "commit": {}, "rows": {}}}
    alone = options.alone or options.against
    options.with_postfix = not alone and os.geteuid() == 0
    if options.with_postfix:
        report["settings"] = postfix.SETTINGS
    elif not alone:
        note("Postfix needs root: measuring Stagepost alone")
    if options.floor:
        report["floor"]["commit"] = commits(disk)
    if options.floor and chosen(options, "mailbox"):
        report["floor"]["rows"] = filing.rows_alone(options.build, disk.directory("rows"))
    if options.idle and is_wanted(options, "idle"):
        report["idle"] = measure_idle(options, disk)
    if options.idle and is_wanted(options, "idle, tls"):
        report["idle_tls"] = measure_idle_tls(options, disk)
    for kind in cases.SYSTEMS:
        disk.clear()
        measure_kind(options, disk, kind, report)
    if options.waiting and is_wanted(options, "waiting"):
        disk.clear()
        report["waiting"] = measure_waiting(options, disk, note)
    if options.waiting and is_wanted(options, "waiting, due"):
        report["passes"] = measure_passes(options, disk, note)
    if not options.against and is_wanted(options, "logins, failing"):
        disk.clear()
        report["logins"] = measure_logins(options, disk, note)
    if not options.against and is_wanted(options, "flood"):
        disk.clear()
        report["flood"] = measure_flood(options, disk, note)
    reporting.finish(report)
    return report


def stop_on_signal(number, _):
    raise SystemExit(128 + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="where the programs are")
    parser.add_argument("--messages", type=int, default=int(os.environ.get("BENCH_MESSAGES", 3000)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", default="",
                        help="only cases with this in their name; also: idle; idle, tls; waiting; due; "
                        "logins; flood")
    parser.add_argument("--alone", action="store_true", help="without Postfix")
    parser.add_argument("--against", action="append", default=[], metavar="BUILD",
                        help="instead of Postfix: programs of another build")
    parser.add_argument("--plain", action="store_true", help="no image, a plain directory")
    parser.add_argument("--no-counts", dest="counts", action="store_false",
                        help="no system calls, no instructions")
    parser.add_argument("--no-floor", dest="floor", action="store_false")
    parser.add_argument("--idle", type=int, default=GOAL_SESSIONS, help="sessions; 0: none")
    parser.add_argument("--waiting", type=int, default=100000, help="messages; 0: none")
    parser.add_argument("--config", default="", help="more lines for stagepost.conf")
    parser.add_argument("--against-config", default="", help="the same for the other builds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop_on_signal)
    disk = Disk(options.plain, SIZE_MIB + (MANY_MIB if options.waiting else 0))
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
        reporting.print_report(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
