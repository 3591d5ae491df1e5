#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Tests that failed beside others are found again by the names that their reports have, and judged by the repetition.

usage: test_again.py DIRECTORY     DIRECTORY: for reports
"""
import pathlib
import sys
import unittest
import xml.etree.ElementTree as xml
from unittest import mock

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
sys.path.insert(0, str(TOOLS))
from testing import again, e2e  # noqa: E402

DIRECTORY = pathlib.Path(".")
ONE_FILE = "machine.test_first_day"
ONE = (ONE_FILE, "test_users")
OTHER = ("test_tools", "test_b")  # in no folder
OF_CLASS = ("queue.test_power.TestCuts", "test_a[1]")
MANY = [(ONE_FILE, f"test_{number}") for number in range(e2e.MANY)]


class Repetition:
    """Stands for the command that repeats: it writes a report of what RAN, {(class, name): whether it passes}."""

    def __init__(self, ran):
        self.ran = ran
        self.paths = []

    def __call__(self, *command, environment):
        self.paths = [str(argument) for argument in command[2:]]
        suite = xml.Element("testsuite")
        for (place, name), passes in self.ran.items():
            case = xml.SubElement(suite, "testcase", classname=place, name=name)
            if not passes:
                xml.SubElement(case, "failure")
        xml.ElementTree(suite).write(e2e.REPORT_AGAIN)
        return 0 if all(self.ran.values()) else 1


class Again(unittest.TestCase):
    def setUp(self):
        report = mock.patch.object(e2e, "REPORT_AGAIN", DIRECTORY / "test_again.junit.xml")
        report.start()
        self.addCleanup(report.stop)

    def repeat(self, failed, ran):
        """(paths that are asked for, what failed again)."""
        repetition = Repetition(ran)
        with mock.patch.object(again, "run", repetition):
            wrong = e2e.repeat([("e2e", *one) for one in e2e.gather(failed)])
        return repetition.paths, [one[1:] for one in wrong]

    def test_single_tests(self):
        paths, wrong = self.repeat([ONE, OF_CLASS], {ONE: True, OF_CLASS: True})
        self.assertEqual([f"{e2e.FILES_BY_NAME['test_first_day']}::test_users",
                          f"{e2e.FILES_BY_NAME['test_power']}::TestCuts::test_a[1]"], paths)
        self.assertEqual([], wrong)
        self.assertEqual([ONE], self.repeat([ONE, OF_CLASS], {ONE: False, OF_CLASS: True})[1])

    def test_who_does_not_run_has_failed(self):
        self.assertEqual([OF_CLASS], self.repeat([ONE, OF_CLASS], {ONE: True})[1])
        self.assertEqual([("test_first_day", None)], self.repeat(MANY, {OTHER: True})[1])

    def test_a_file_of_which_many_failed(self):
        paths, wrong = self.repeat(MANY, dict.fromkeys(MANY, True))
        self.assertEqual([str(e2e.FILES_BY_NAME["test_first_day"])], paths)
        self.assertEqual([], wrong)
        self.assertEqual([("test_first_day", None)], self.repeat(MANY, dict.fromkeys(MANY, True) | {MANY[1]: False})[1])
        self.assertEqual(e2e.MANY - 1, len(self.repeat(MANY[1:], dict.fromkeys(MANY, True))[0]))

    def test_a_run_that_ended_without_a_report(self):
        files = ("test_first_day test_power", None)
        paths, wrong = self.repeat([files, OF_CLASS], dict.fromkeys(MANY, True) | {OF_CLASS: True})
        self.assertEqual(3, len(paths))
        self.assertEqual([], wrong)
        self.assertEqual([files, OF_CLASS], self.repeat([files, OF_CLASS], dict.fromkeys(MANY, True))[1])


if __name__ == "__main__":
    DIRECTORY = pathlib.Path(sys.argv.pop(1))
    unittest.main()
