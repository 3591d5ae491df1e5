# SPDX-License-Identifier: ISC
"""Which tests a change of a source can break: those whose programs have an object of it."""
import json
import os
import pathlib
import subprocess

import compile_commands

QUERY_MAX = 500  # names in a command
PATIENT = 300  # seconds: a test that is given more takes long, if nobody knows how long


class Build:
    def __init__(self, folder, top):
        self.folder, self.top = pathlib.Path(folder), pathlib.Path(top)

    def described(self, what):
        return json.loads((self.folder / "meson-info" / f"intro-{what}.json").read_text())

    def objects_of(self, path):
        """Of a source below TOP, or of all in a folder and those below it."""
        wanted = self.top / path
        found = {}
        for entry in compile_commands.described(self.folder):
            source = pathlib.Path(os.path.normpath(self.folder / entry["file"]))
            if source == wanted or wanted in source.parents:
                found[entry["output"]] = source
        return found

    def made_of(self, files):
        """All that is made of what is made of FILES, with them."""
        found, new = set(files), sorted(files)
        while new:
            made = set()
            for first in range(0, len(new), QUERY_MAX):
                output = subprocess.check_output(["ninja", "-C", self.folder, "-t", "query", *new[first:first + QUERY_MAX]],
                                                 text=True)
                made |= outputs_of(output)
            new = sorted(made - found)
            found |= made
        return found

    def programs_of(self, test, names):
        """The executables that TEST depends on; NAMES: {id of a target: its files}."""
        return [file for target in test["depends"] for file in names.get(target, [])]

    def standing_on(self, path):
        """{name of a test: (test, its programs, is it at home: in the folder of tests/ that mirrors the source's)} of the
        tests with a program of which an object of PATH may be a part."""
        objects = self.objects_of(path)
        made = self.made_of(objects)
        targets = {target["id"]: target for target in self.described("targets")}
        names = {key: [os.path.relpath(file, self.folder) for file in target["filename"]]
                 for key, target in targets.items() if target["type"] == "executable"}
        homes = {os.path.dirname(os.path.relpath(source, self.top / "src")) for source in objects.values()}
        found = {}
        for test in self.described("tests"):
            programs = [file for file in self.programs_of(test, names) if file in made]
            if programs:
                where = {os.path.relpath(os.path.dirname(targets[key]["defined_in"]), self.top / "tests")
                         for key in test["depends"] if key in names}
                found[test["name"]] = test, programs, any(is_home(folder, home) for folder in where for home in homes)
        return found

    def has(self, program, words):
        return not words or not words.isdisjoint(symbols([self.folder / program], "--defined-only"))

    def linking(self, tests, path):
        """Those of TESTS, as standing_on() gives them, whose programs are built and have an object of PATH: of a library the
        linker takes only what is called."""
        words = symbols([self.folder / name for name in self.objects_of(path) if (self.folder / name).exists()],
                        "--defined-only", "--extern-only")
        has = {program: self.has(program, words) for _, programs, _ in tests.values() for program in programs}
        return {name: entry for name, entry in tests.items() if any(has[program] for program in entry[1])}


def is_home(folder, home):
    """FOLDER of tests/ mirrors HOME of src/, as tests/unit/smtp does smtp and smtp/server."""
    words = folder.split(os.sep)[1:]
    return bool(words) and words == home.split(os.sep)[:len(words)]


def outputs_of(text):
    """What "ninja -t query" says is made of each name."""
    found, is_output = set(), False
    for line in text.splitlines():
        if line.startswith("    ") and is_output:
            found.add(line.strip().split(" ", 1)[-1] if line.strip().startswith("|") else line.strip())
        else:
            is_output = line.strip() == "outputs:"
    return found


def symbols(files, *options):
    """The names of functions and variables."""
    output = subprocess.run(["nm", "--format=posix", *options, *files], capture_output=True, text=True, check=False).stdout
    return {line.split(" ", 1)[0] for line in output.splitlines() if " " in line}


class Seconds:
    """How long each test took, as Meson's last runs in this build say."""

    def __init__(self, build):
        self.kept = pathlib.Path(build) / "check-seconds.json"
        self.log = pathlib.Path(build) / "meson-logs" / "testlog.json"
        self.known = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        self.learn()

    def learn(self):
        if self.log.exists():
            for line in self.log.read_text().splitlines():
                entry = json.loads(line)
                if entry["result"] == "OK":
                    self.known[entry["name"].split(" / ")[-1]] = entry["duration"]
            self.kept.write_text(json.dumps(self.known, indent="\t", sort_keys=True))

    def of(self, test):
        return self.known.get(test["name"], 0.0 if test["timeout"] <= PATIENT else float("inf"))


def in_order(tests, seconds, quick, long):
    """The names of TESTS as "home", "quick", "rest" and "long": those that take long and are not at home. The fastest are
    first."""
    groups = {"home": [], "quick": [], "rest": [], "long": []}
    for took, name, at_home in sorted((seconds.of(test), name, at_home) for name, (test, _, at_home) in tests.items()):
        groups["home" if at_home else "long" if took > long else "quick" if took <= quick else "rest"].append(name)
    return groups
