#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Which tests "make check T=folder" runs, and in which order, in a small project.

usage: test_linked.py DIRECTORY     DIRECTORY: for what is built
"""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
sys.path.insert(0, str(TOOLS))
from testing import linked  # noqa: E402

TEST = "test('{0}', executable('{0}', '{0}.c', link_with: {1}), timeout: {2})\n"
FILES = {
    "meson.build": "project('small', 'c')\nsubdir('src')\n" + "".join(
        f"subdir('tests/unit/{name}')\n" for name in ("low", "high", "far")),
    "src/meson.build": "low = static_library('low', 'low/low.c', 'low/other.c')\n"
                       "high = static_library('high', 'high/high.c', link_with: low)\n",
    "src/low/low.c": "int low(void);\nint low(void) { return 1; }\n",
    "src/low/other.c": "int other(void);\nint other(void) { return 2; }\n",
    "src/high/high.c": "int low(void);\nint high(void);\nint high(void) { return low(); }\n",
    "tests/unit/low/meson.build": TEST.format("test_low", "low", 30) + TEST.format("test_other", "low", 30),
    "tests/unit/low/test_low.c": "int low(void);\nint main(void) { return low() - 1; }\n",
    "tests/unit/low/test_other.c": "int other(void);\nint main(void) { return other() - 2; }\n",
    "tests/unit/high/meson.build": TEST.format("test_high", "high", 30) + TEST.format("test_world", "high", 1800),
    "tests/unit/high/test_high.c": "int high(void);\nint main(void) { return high() - 1; }\n",
    "tests/unit/high/test_world.c": "int high(void);\nint main(void) { return high() - 1; }\n",
    "tests/unit/far/meson.build": TEST.format("test_far", "[]", 30),
    "tests/unit/far/test_far.c": "int main(void) { return 0; }\n",
}
DIRECTORY = pathlib.Path(".")


class Linked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(dir=DIRECTORY)
        cls.addClassCleanup(cls.folder.cleanup)
        top = pathlib.Path(cls.folder.name).resolve()
        for name, text in FILES.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text)
        cls.build = linked.Build(top / "build", top)
        for command in ("meson", "setup", cls.build.folder, top), ("ninja", "-C", cls.build.folder):
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    def linking(self, path):
        return set(self.build.linking(self.build.standing_on(path), path))

    def test_tests_stand_on_what_their_programs_link(self):
        self.assertEqual({"test_low", "test_other", "test_high", "test_world"}, set(self.build.standing_on("src/low")))
        self.assertEqual({"test_high", "test_world"}, set(self.build.standing_on("src/high")))
        self.assertEqual({}, self.build.standing_on("src/far"))

    def test_of_a_library_only_what_is_called_counts(self):
        self.assertEqual({"test_low", "test_high", "test_world"}, self.linking("src/low/low.c"))
        self.assertEqual({"test_other"}, self.linking("src/low/other.c"))

    def test_the_tests_of_the_folder_are_first_and_what_takes_long_is_left(self):
        kept = self.build.folder / "check-seconds.json"
        (self.build.folder / "meson-logs" / "testlog.json").unlink(missing_ok=True)
        kept.write_text('{"test_high": 3, "test_other": 30}')
        tests, seconds = self.build.standing_on("src/low"), linked.Seconds(self.build.folder)
        self.assertEqual({"home": ["test_low", "test_other"], "quick": [], "rest": ["test_high"], "long": ["test_world"]},
                         linked.in_order(tests, seconds, 1, 10))
        kept.write_text('{"test_world": 0.5}')
        self.assertEqual({"home": ["test_low", "test_other"], "quick": ["test_high", "test_world"], "rest": [], "long": []},
                         linked.in_order(tests, linked.Seconds(self.build.folder), 1, 10))

    def test_how_long_a_test_took_is_learnt(self):
        subprocess.run(["meson", "test", "-C", self.build.folder, "--no-rebuild", "test_low"], stdout=subprocess.DEVNULL,
                       check=True)
        self.assertLess(0, linked.Seconds(self.build.folder).of({"name": "test_low", "timeout": 30}))

    def test_subfolders_are_at_home_in_the_tests_of_the_folder(self):
        self.assertTrue(linked.is_home("unit/smtp", "smtp/server"))
        self.assertTrue(linked.is_home("unit/smtp/server", "smtp/server"))
        self.assertFalse(linked.is_home("unit/smtp/server", "smtp"))
        self.assertFalse(linked.is_home("transcript", "smtp"))


class Named(unittest.TestCase):
    def test_sources_are_named_by_path_or_by_a_name_that_no_other_has(self):
        loader = importlib.machinery.SourceFileLoader("check", str(TOOLS / "check"))
        check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
        sys.dont_write_bytecode = True
        loader.exec_module(check)
        for name, path in (("base", "src/base"), ("src/base/", "src/base"), ("base/heap.c", "src/base/heap.c"),
                           ("heap.c", "src/base/heap.c"), ("src/base/heap.h", "src/base/heap.c"), ("heap", None),
                           ("meson.build", None), ("tests/unit/base", None), ("test_dsn", None), ("../tools", None)):
            self.assertEqual(path and pathlib.Path(path), check.source_path(name), name)


if __name__ == "__main__":
    DIRECTORY = pathlib.Path(sys.argv.pop())
    unittest.main()
