# SPDX-License-Identifier: ISC
"""The end-to-end tests, some files in each of several runs beside each other."""
import collections
import concurrent.futures
import os
import subprocess
import sys

from testing import again, commands, pace, reports
from testing.commands import PART, ROOT

RELEASE = ROOT / "build"
REPORT_AGAIN = RELEASE / "again.junit.xml"

FILES = 4  # of tests that one run has
AT_ONCE = 12  # such runs: one takes a fifth of a processor, the rest of its time it waits
AT_ONCE_MIN = 3
LONG = 10  # seconds
MANY = 4  # failures of one file
ALONE = 24  # of LONG_FILES: each begins a Python and a disk of its own, which takes most of a second
# wait for the small Debians
WITH_MACHINE = ("test_first_day", "test_machine", "test_machine_access", "test_machine_commands", "test_machine_nodes",
                "test_machine_upgrade", "test_machine_users", "test_mistakes", "test_package")
# those that take longer, the longest first: what runs last is short, and no worker is left with a long
# one while the others have ended
LONG_FILES = (
    "test_package", "test_first_day", "test_handover", "test_node_drain", "test_handover_calls", "test_machines", "test_throttling_recovery", "test_mailbox_damage", "test_errors", "test_tls_out", "test_throttling", "test_kill_syscalls",
    "test_mailstore_hostile", "test_submission_auth", "test_lying_directory", "test_limits_out", "test_burst",
    "test_submission_defaults", "test_backup", "test_once", "test_mailbox_servers", "test_directory_mail", "test_postgresql_store", "test_taken_over",
    "test_directory_guard", "test_mailbox_service", "test_auth", "test_testssl", "test_power", "test_machine",
    "test_ldap_store", "test_sandbox", "test_faults", "test_manual_recipes", "test_check_running", "test_make_run",
    "test_machine_access", "test_names_change", "test_machine_users", "test_mbox", "test_sources", "test_record_servers", "test_mailbox_owners", "test_slow_readers", "test_mailbox_refusals",
    "test_directory_tls", "test_tls_in", "test_shaping", "test_login", "test_mta_sts", "test_processes",
    "test_directory_postgresql", "test_kill_limits", "test_freeze", "test_dsn", "test_many",
    "test_hostile_listeners", "test_record", "test_mailbox_away", "test_kill", "test_lmtp", "test_mailbox_waiting",
    "test_directory_partition", "test_stop", "test_soak", "test_deliver_by", "test_rates",
    "test_mailbox_folders", "test_never_bounced", "test_sqlite_damage", "test_damage", "test_tls_strength", "test_machine_commands", "test_directory_bulk", "test_nodes", "test_node_status", "test_machine_nodes", "test_orcpt", "test_certificate_files", "test_login_ends", "test_clock", "test_hostile_clients", "test_repair", "test_hostile_processes",
    "test_delivery", "test_published_flaws_commands", "test_tls_report", "test_hostile_servers",
    "test_directory", "test_corpus", "test_session_flood", "test_frozen", "test_limits",
    "test_lying_dns", "test_directory_ldap", "test_operator", "test_sandbox_sockets", "test_auth_backends",
    "test_smuggling", "test_xforward_out", "test_exim_policies", "test_mailbox_repair",
    "test_directory_failover", "test_mailstore", "test_sandbox_life", "test_directory_command",
    "test_descriptors", "test_submit_group", "test_future_release", "test_lmtp_in", "test_login_binding",
    "test_seven_bits", "test_intake", "test_tls_in_peers", "test_tls_reload", "test_log_walls", "test_pipe",
    "test_client_names", "test_limits_hold", "test_mailbox_peers", "test_dane", "test_dns", "test_limits_names",
    "test_mta_sts_mail", "test_slow_hop", "test_qmtp", "test_mailbox_command", "test_commands",
    "test_local_users", "test_cost", "test_full_disk", "test_published_flaws", "test_bad_load", "test_control_growth",
    "test_usability", "test_imap", "test_machine_upgrade", "test_upgrade_serving", "test_upgrade_gap", "test_mistakes")

# The campaigns' short forms, unless the environment says something else.
SHORT = {"BURST_SCALE": "0.1", "CORPUS": "150", "E2E_SHORT": "1", "FAULTS": "2", "FLOOD_SECONDS": "2", "FREEZE_SECONDS": "12",
         "INSIDE_SECONDS": "1", "KILL_CALLS": "1", "KILL_SECONDS": "12", "MACHINES_SECONDS": "12",
         "MANY": "10000", "SOAK_SECONDS": "10", "STORIES": "12", "UPGRADES": "2", "WAITING_SCALE": "0.25"}

ENVIRONMENT = {name: os.environ.get(name, value) for name, value in SHORT.items()} | {
    "STAGEPOST_DNS_SEARCH": str(RELEASE / "tests/e2e/dns_search"),
    "STAGEPOST_DNS_TLSA": str(RELEASE / "tests/e2e/dns_tlsa")}



def files_by_name():
    """pytest tells files apart by their names alone: of two with the same one would not be run."""
    found = {}
    for path in sorted((ROOT / "tests/e2e").rglob("test_*.py")):
        if path.stem in found:
            sys.exit(f"{path} and {found[path.stem]} have the same name")
        found[path.stem] = path
    return found


FILES_BY_NAME = files_by_name()
LATE = []  # files: they take long and are not in LONG_FILES


def run_files(number, files, machine):
    """A share of the tests: their output at once when they are over, and (passed, names of failed).
    MACHINE(): waits for the small Debian."""
    PART.name = "e2e"
    if any(file.stem in WITH_MACHINE for file in files):
        machine()
    report = RELEASE / f"e2e-{number}.junit.xml"
    report.unlink(missing_ok=True)
    names = " ".join(file.stem for file in files)
    with commands.running(names):
        status, output = commands.call(
            [ROOT / "tests/e2e/run", f"--junit-xml={report}", *files], names, env=os.environ | ENVIRONMENT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    commands.print_whole(output)
    LATE.extend(late_files(report, len(files)))
    try:
        return reports.judge(status, report)
    except commands.Failed as failure:
        commands.print_whole(f"{names}: {failure}\n".encode())
        return 0, [(names, None)]


def late_files(report, count):
    """Those of a share of COUNT files that belong in LONG_FILES."""
    seconds = collections.Counter()
    if count > 1 and report.exists():
        for case in reports.cases(report):
            seconds[split_class_name(reports.name_of(case)[0])[0]] += float(case.get("time"))
    return [f"{name}: {took:.0f} s, and not in LONG_FILES" for name, took in seconds.items()
            if took > 2 * LONG and name not in LONG_FILES]


def split_class_name(name):
    """("test_x", [class]) of "folder.test_x.class", as a report names the place of a test."""
    parts = name.split(".")
    at = next(i for i, part in enumerate(parts) if part.startswith("test_"))
    return parts[at], parts[at + 1:]


def shares():
    """Lists of files; those that take long come first, most of them each by itself."""
    files = FILES_BY_NAME
    gone = [name for name in LONG_FILES if name not in files]
    if gone:
        raise commands.Failed(f"LONG_FILES names what is not there: {' '.join(gone)}")
    rest = [files[name] for name in LONG_FILES[ALONE:]] + [
        path for name, path in files.items() if name not in LONG_FILES]
    return [[files[name]] for name in LONG_FILES[:ALONE]] + [
        rest[first:first + FILES] for first in range(0, len(rest), FILES)]


def at_once():
    """Root's tests have namespaces of their own and mostly wait: some shares go side by side."""
    return max(int(AT_ONCE / pace.slowness()), AT_ONCE_MIN) if os.geteuid() == 0 else 1


def run_all(machine):
    """(passed, names of failed)."""
    with concurrent.futures.ThreadPoolExecutor(at_once()) as pool:
        counts = list(pool.map(lambda share: run_files(*share, machine), enumerate(shares())))
    return sum(passed for passed, _ in counts), gather([name for _, failed in counts for name in failed])


def gather(failed):
    """Of a file of which MANY failed, the whole instead: they have a cause in common."""
    files = {(files, name): files if name is None else split_class_name(files)[0] for files, name in failed}
    counts = collections.Counter(files.values())
    alone = [one for one, file in files.items() if counts[file] < MANY]
    return alone + [(file, None) for file, count in counts.items() if count >= MANY]


def repeat(tests):
    """Those of TESTS, (kind, class, name) or (kind, files, None), that failed again."""
    paths = []
    for _, files, name in tests:
        if name is None:
            paths += [FILES_BY_NAME[file] for file in files.split()]
        else:
            file, classes = split_class_name(files)
            paths.append("::".join([str(FILES_BY_NAME[file]), *classes, name]))
    return again.repeated(tests, [ROOT / "tests/e2e/run", f"--junit-xml={REPORT_AGAIN}", *paths], REPORT_AGAIN,
                          ENVIRONMENT)
