# SPDX-License-Identifier: ISC
"""What was measured, beside what it was to be."""
import os
import statistics

import flood
import idle
import logins
import waiting
from cases import CASES, OWN_SMTP

MIB = 1 << 20
SYNCS = ("fsync", "fdatasync", "syncfs")


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


def judge(what, figure, goal, unit="", at_most=False):
    met = figure <= goal if at_most else figure >= goal
    return {"what": what, "figure": figure, "unit": unit, "goal": goal,
            "sense": "at most" if at_most else "at least", "met": met,
            "missed_by": None if met else abs(figure - goal) / goal}


def verdict(one):
    return "met" if one["met"] else f"missed by {one['missed_by'] * 100:.0f} %"


def rate_goals(entries):
    goals = {case.name: case.goal for case in CASES}
    return [judge(f"{case}, rate / {name}", ratios["rate"], goals[case])
            for case, entry in entries.items() for name, ratios in entry["ratios"].items()
            if name.startswith(("postfix", OWN_SMTP)) and goals.get(case)]


def idle_goals(ours, what, goal_mib):
    if ours is None or ours["wanted"] < idle.GOAL_SESSIONS:
        return []
    goal = judge(f"{what} with {ours['sessions']} idle sessions", ours["total"] / MIB,
                 goal_mib, "MiB", at_most=True)
    if ours["sessions"] < idle.GOAL_SESSIONS:
        goal["what"] += f" (descriptors did not allow {ours['wanted']})"
    return [goal]


def waiting_goals(result):
    if not result:
        return []
    full, count = result["full"], f"{result['messages']} waiting"
    return [judge(f"{count}: accept rate / empty queue", full["rate"] / result["empty"]["rate"],
                  waiting.GOAL_RATE),
            judge(f"{count}: start", full["start"], waiting.GOAL_START, "s", at_most=True),
            judge(f"{count}: memory of send", full["send"] / MIB, waiting.GOAL_SEND_MIB, "MiB",
                  at_most=True)]


def pass_goals(passes):
    return [judge(f"retry pass, all {outcome}: accept rate / empty queue",
                  of["due"] / of["empty"], waiting.GOAL_RATE) for outcome, of in passes.items()]


def login_goals(result):
    """Also beside as many sessions that fail at nothing: what the failures themselves do."""
    return [judge(f"p99 of users' sessions beside failures / {name}",
                  result["beside failures"]["p99"] / result[name]["p99"], logins.GOAL,
                  at_most=True) for name in ("alone", "beside NOOPs") if result]


def finish(report):
    """Adds what follows from the runs."""
    report["medians"] = medians(report["runs"])
    report["goals"] = (rate_goals(report["medians"]) + idle_goals(report.get("idle", {}).get("stagepost"), "all processes", idle.GOAL_MIB)
                       + idle_goals(report.get("idle_tls"), "with TLS: smtpd and keys",
                                    idle.GOAL_TLS_MIB)
                       + waiting_goals(report.get("waiting"))
                       + pass_goals(report.get("passes", {}))
                       + login_goals(report.get("logins")))
    rates = {case: statistics.median(of) for case, of in report["floor"]["sink"].items()}
    report["floor"]["reached"] = {
        case: {"rate": rate,
               "part": next(iter(report["medians"][case]["systems"].values()))["rate"] / rate}
        for case, rate in rates.items()}


def number(value):
    return f"{value:13.{0 if value > 100 else 2}f}"


def print_table(title, key, report):
    header = None
    for case, entry in report["medians"].items():
        columns = (list(entry["systems"]), list(entry["ratios"]))
        if columns != header:
            header = columns
            print(f"\n{title:32}" + "".join(f"{name[-13:]:>14}" for name in columns[0])
                  + "".join(f"{'/ ' + name[-13:]:>16}" for name in columns[1]))
        print(f"{case:32}" + "".join(" " + number(of[key]) for of in entry["systems"].values())
              + "".join(f"{of.get(key, 0):16.2f}" for of in entry["ratios"].values()))


def print_idle_tls(memory):
    if memory:
        print(f"\nwith TLS: {memory['each'] / 1024:.1f} KiB for each of {memory['sessions']} idle "
              f"sessions; smtpd and keys {memory['total'] / MIB:.1f} MiB")


def print_goals(goals):
    if goals:
        print(f"\n{'goals':58}{'figure':>10}{'goal':>20}")
    for one in goals:
        goal = f"{one['sense']} {one['goal']:g} {one['unit']}".rstrip()
        print(f"{one['what']:58}{one['figure']:10.2f}{goal:>20}  {verdict(one)}")


def print_calls(calls):
    for kind, processes in calls.items():
        total = sum(sum(of.values()) for of in processes.values())
        syncs = sum(count for of in processes.values() for call, count in of.items()
                    if call in SYNCS)
        print(f"\nsystem calls for each message, {kind}: {total:.1f}, of them syncs {syncs:.3f}")
        for process, of in processes.items():
            if sum(of.values()) >= 0.05:
                most = sorted(of.items(), key=lambda item: -item[1])[:14]
                print(f"  {process:10} {sum(of.values()):6.1f}  "
                      + " ".join(f"{call} {count:.2f}" for call, count in most))


def print_instructions(counts):
    if not counts:
        return
    text = ", ".join(f"{kind} {count:,.0f}" if count is not None else
                     f"{kind}: not supported here" for kind, count in counts.items())
    print(f"\ninstructions for each message: {text}")


def print_floor(floor):
    if floor["reached"]:
        print(f"\n{'floor: smtp-source into smtp-sink':34}{'messages a second':>20}"
              f"{'stagepost reaches':>20}")
    for case, of in floor["reached"].items():
        print(f"{case:34}{of['rate']:20.0f}{of['part'] * 100:18.0f} %")
    for files, seconds in floor["commit"].items():
        print(f"floor: {files} new files of 10 KiB and one fsync of their directory: "
              f"{seconds * 1000:.2f} ms, {files / seconds:.0f} messages a second")
    for backend, rate in floor["rows"].items():
        print(f"floor: rows of {rate:.0f} copies a second in {backend}, in groups of 64")


def print_waiting(result):
    if not result:
        return
    if result["messages"] < result["wanted"]:
        print(f"\n{result['messages']} waiting messages instead of {result['wanted']}: "
              "the build has no tests/bench/fill_queue")
    for name in ("empty", "full"):
        of = result[name]
        print(f"{name + ' queue':14} start {of['start']:.2f} s, accept {of['rate']:.0f} messages "
              f"a second, memory of send {of['send'] / MIB:.1f} MiB")


def print_passes(passes):
    for outcome, of in passes.items():
        print(f"{'retry pass':14} all {outcome}: accept {of['due']:.0f} messages a second beside "
              f"{of['retries']:.0f} retries a second, {of['left']} left; {of['empty']:.0f} with an "
              "empty queue")


def print_logins(result):
    if result:
        print(f"\n{logins.USERS_RATE} sessions of users a second, in ms; "
              f"{logins.FLOOD_RATE} others beside them")
    for name, of in (result or {}).items():
        print(f"{name:32}" + ", ".join(f"{key} {value:.2f}" for key, value in of.items()))


def print_report(report):
    print(f"filesystem: {report['filesystem']}")
    print(f"{report['messages']} messages a run, {report['rounds']} rounds, medians and their "
          f"ratios; {os.cpu_count()} processors")
    names = {name for entry in report["medians"].values() for name in entry["systems"]}
    for name, settings in report["settings"].items():
        if name in names:
            print(f"{name}: {settings}")
    print_table("messages a second", "rate", report)
    print_table("processor seconds for 10,000", "processor_10000", report)
    print_floor(report["floor"])
    for name, memory in report.get("idle", {}).items():
        print(f"\n{name}: {memory['each'] / 1024:.1f} KiB for each of {memory['sessions']} idle "
              f"sessions; all processes {memory['total'] / MIB:.1f} MiB")
    print_idle_tls(report.get("idle_tls"))
    print_waiting(report.get("waiting"))
    print_passes(report.get("passes", {}))
    print_logins(report.get("logins"))
    flood.print_flood(report.get("flood"))
    print_calls(report["calls"])
    print_instructions(report["instructions"])
    print_goals(report["goals"])
