# SPDX-License-Identifier: ISC
"""A copy of the project in build-drawn/ in which slips are switched on by their number, and its build."""
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

from . import schemata, syntax

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
PLACE = ROOT / "build-drawn"
TREE = PLACE / "tree"
BUILD = PLACE / "build"
ORIGINALS = PLACE / "originals"  # of the files that are rewritten in the tree
FOUND = PLACE / "found"  # the slips of each file, by its contents
COPIED = ("src", "tests", "tools", "dist", "doc", "README.md", "meson.build", "meson_options.txt")
SLIPS_MAX = 65536  # of slips.h
SUITES = {"unit", "transcript", "fuzz", "crash"}
ABSENT = {"release", "lint"}  # suites
# Address alone: the other sanitizer compiles as long again and notices little that no test does. What a slip
# leaves without a value has the same one in each run.
SETUP = ("-Dbuildtype=debugoptimized", "-Ddebug=false", "-Doptimization=1", "-Dwerror=false", "-Db_sanitize=address",
         "-Dc_args=-w -ftrivial-auto-var-init=pattern", "-Dc_link_args=-fuse-ld=gold")

sys.path.insert(0, str(ROOT / "tools"))
import compile_commands  # noqa: E402


class Broken(Exception):
    """The tree does not build, or its tests fail without a slip."""


def run_quietly(*command, environment=None):
    environment = os.environ | (environment or {})
    if shutil.which("ccache"):
        environment.setdefault("CC", "ccache gcc")
    done = subprocess.run([str(word) for word in command], cwd=PLACE, env=environment, capture_output=True, text=True,
                          errors="replace", check=False)
    if done.returncode != 0:
        raise Broken("\n".join((done.stdout + done.stderr).splitlines()[-30:]))
    return done.stdout


def source_files():
    """All that may be drawn from, below the project."""
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.c"))


def write_new(path, data):
    """False if that is in it already."""
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return True


def write_tree(texts):
    """The tree has the project's files, but TEXTS {file: text}; only what is new has a new time."""
    TREE.mkdir(parents=True, exist_ok=True)
    wanted = {path.relative_to(ROOT) for name in COPIED for path in [ROOT / name, *(ROOT / name).rglob("*")]
              if path.is_file() and "__pycache__" not in path.parts}
    for name in sorted(wanted):
        data = (ROOT / name).read_bytes()
        if text := texts.get(str(name)):
            write_new(ORIGINALS / name, data)
            data = text.encode(errors="surrogateescape")
        if write_new(TREE / name, data):
            shutil.copymode(ROOT / name, TREE / name)
    for copy in TREE.rglob("*"):
        if copy.is_file() and copy.relative_to(TREE) not in wanted:
            copy.unlink()


def set_up_build():
    if not (BUILD / "build.ninja").exists():
        run_quietly("meson", "setup", BUILD, TREE, *SETUP, f"-Dc_args=-I{pathlib.Path(__file__).parent} " +
                    next(option for option in SETUP if "c_args" in option).partition("=")[2])
    else:  # it may know of new tests
        run_quietly("ninja", "-C", BUILD, "build.ninja")


def compiler_arguments(build, top):
    """{file below TOP, the folder of which BUILD is one: what of its command says how it is to be understood}."""
    found = {}
    for entry in compile_commands.described(build):
        path = pathlib.Path(os.path.normpath(build / entry["file"]))
        if top / "src" in path.parents:
            words = [word for word in shlex.split(entry["command"]) if word.startswith(("-I", "-D", "-std=", "-isystem"))]
            found[str(path.relative_to(top))] = [
                f"-I{os.path.normpath(build / word[2:])}" if word.startswith("-I") else word for word in words]
    return found


def found_in_file(name, arguments):
    """All slips and entries of a file, from the last time if it is the same."""
    data = (ROOT / name).read_bytes()
    key = syntax.content_digest(name, data)
    kept = FOUND / f"{key}.json"
    if kept.exists():
        return [[syntax.Slip(**entry) for entry in some] for some in json.loads(kept.read_text())]
    found = syntax.find_slips(name, ROOT / name, data, arguments)
    FOUND.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps([[vars(slip) for slip in some] for some in found]))
    part.rename(kept)
    return found


def found_in_files(names, arguments, jobs):
    """(slips, entries) of all of them that are compiled, in the order of the names; ARGUMENTS: as compiler_arguments()
    returns them."""
    known = [name for name in names if name in arguments]
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        found = list(pool.map(found_in_file, known, (arguments[name] for name in known), chunksize=8))
    return tuple([slip for both in found for slip in both[i]] for i in (0, 1))


def compiling(name, numbered, arguments):
    """Those of {number: slip} with which the file compiles."""
    data = (ROOT / name).read_bytes()

    def is_right(some):
        text = schemata.rewritten(data, some, name)
        return not syntax.errors(syntax.parse(TREE / name, text.encode(errors="surrogateescape"), arguments))

    if is_right(numbered):
        return numbered
    kept = {}
    for number, slip in numbered.items():
        if is_right(kept | {number: slip}):
            kept[number] = slip
    return kept


def build_slips(slips, jobs):
    """Makes the tree with SLIPS, and with a mark where each function begins; returns the slips that compile as {number:
    slip}, and {number: entry}."""
    arguments, by_file = compiler_arguments(BUILD, TREE), {}
    for number, slip in enumerate(slips, start=1):
        by_file.setdefault(slip.file, {})[number] = slip
    numbered, texts = {}, {}
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for some in pool.map(compiling, by_file, by_file.values(), (arguments[name] for name in by_file)):
            numbered |= some
    entries = {SLIPS_MAX - number: entry for number, entry in
               enumerate(found_in_files(source_files(), arguments, jobs)[1], start=1)}
    marked = {}
    for number, slip in (entries | numbered).items():
        marked.setdefault(slip.file, {})[number] = slip
    for name, some in marked.items():
        texts[name] = schemata.rewritten((ROOT / name).read_bytes(), some, name)
    write_tree(texts)
    set_up_build()
    return numbered, entries


def described(what):
    return json.loads((BUILD / "meson-info" / f"intro-{what}.json").read_text())


def tests_by_link(files):
    """The tests whose programs link an object of one of FILES: [{name, command, home, sources, programs}]."""
    targets = {target["id"]: target for target in described("targets")}
    wanted = {os.path.relpath(TREE / name, BUILD) for name in files}
    linked, found = {}, []
    for test in described("tests"):
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        programs = [os.path.relpath(file, BUILD) for target in test["depends"] for file in targets[target]["filename"]
                    if targets[target]["type"] == "executable"]
        if not suites & SUITES or suites & ABSENT or not programs or not pathlib.Path(test["cmd"][0]).is_relative_to(BUILD):
            continue
        for program in set(programs) - linked.keys():
            linked[program] = set(run_quietly("ninja", "-C", BUILD, "-t", "inputs", program).split("\n"))
        if any(wanted & linked[program] for program in programs):
            homes = [pathlib.Path(targets[target]["defined_in"]).parent for target in test["depends"]]
            sources = {file for target in test["depends"] if targets[target]["type"] == "executable"
                       for part in targets[target]["target_sources"] for file in part.get("sources", [])}
            found.append({"name": test["name"], "command": test["cmd"], "environment": test["env"], "programs": programs,
                          "folders": [str(home.relative_to(TREE)) for home in homes if home.is_relative_to(TREE / "tests")],
                          "sources": sorted(sources | {word for word in test["cmd"] if word.startswith(str(TREE))})})
    return found


def compile_tests(tests):
    programs = sorted({program for test in tests for program in test["programs"]})
    run_quietly("ninja", "-C", BUILD, *programs)
