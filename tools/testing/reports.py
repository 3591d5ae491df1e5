# SPDX-License-Identifier: ISC
"""What the reports of tests say."""
import collections
import xml.etree.ElementTree as xml

from testing.commands import Failed

# names of tests
SKIPPED = []
REASONS = collections.defaultdict(list)  # by name: what each failure said


def cases(path):
    """Each a test that ran, or was skipped."""
    return xml.parse(path).getroot().iter("testcase")


def name_of(case):
    return case.get("classname"), case.get("name")


def count_junit(path):
    """(passed, names of failed) of a JUnit report. What was skipped counts as neither, but
    is named: only root can mount disks and become other users."""
    if not path.exists():
        raise Failed(f"no report {path.name}")
    passed, failed = 0, []
    for case in cases(path):
        name = name_of(case)
        fault = case.find("failure") if case.find("failure") is not None else case.find("error")
        if fault is not None:
            failed.append(name)
            if fault.get("message"):
                REASONS[" ".join(filter(None, name))].append(fault.get("message"))
        elif case.find("skipped") is None:
            passed += 1
        else:
            SKIPPED.append(" ".join(name))
    return passed, failed


def judge(status, path):
    passed, failed = count_junit(path)
    if status != 0 and not failed:
        raise Failed(f"exit status {status}, though no test failed")
    return passed, failed
