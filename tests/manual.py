# SPDX-License-Identifier: ISC
"""Every command has a manual page, which names each option that --help names; every page is
clean and its references lead somewhere.

usage: manual.py STAGEPOST PAGE...
"""
import pathlib
import re
import subprocess
import sys

SUBCOMMANDS = ("queue", "trigger", "directory")
# Pages by other names than their own, and pages of others.
KNOWN = {"mailq.1", "sendmail.8", "bash.1", "cat.1", "cp.1", "cron.8", "fcntl.2", "getpwnam.3", "rsync.1", "tar.1", "glob.7", "mandoc.1", "syslog.3",
         "systemd.1", "newaliases.1", "sqlite3.1", "sysexits.3", "virtual.5",
         "socketmap_table.5", "qmail-queue.8"}


def text_of(page):
    """What a reader sees."""
    shown = subprocess.check_output(["mandoc", "-Tascii", page], text=True)
    return re.sub(r".\x08", "", shown)


def help_of(stagepost, *words):
    return subprocess.check_output([stagepost, *words, "--help"], text=True)


def commands_of(stagepost):
    """("queue", "list"), ("serve",) ..."""
    for name in re.findall(r"^  ([a-z]+) ", help_of(stagepost), re.M):
        told = help_of(stagepost, name)
        yield (name,)
        if name in SUBCOMMANDS:
            subs = re.findall(rf"^  {name} ([a-z]+) ", told, re.M)
            assert len(subs) >= 3, told
            yield from ((name, sub) for sub in subs)


def options_of(told):
    """["-c FILE", "--json"]"""
    part = re.search(r"^Options:\n(.*?)^Exit status:", told, re.M | re.S)
    names = []
    for line in part[1].splitlines() if part else []:
        if line.startswith("  -"):
            names += re.split(r", ", line[2:].split("   ")[0].rstrip(" ,"))
    return [re.split(r"  ", name)[0] for name in names]


def section_of(text, words):
    """What the page says of a subcommand; the whole page for a command."""
    if len(words) == 1:
        return text
    found = re.search(rf"^   {' '.join(words)}\n(.*?)(?=^   \S|^\S|\Z)", text, re.M | re.S)
    assert found, f"the page has nothing on {' '.join(words)}"
    return found[1]


def check_command(stagepost, pages, words):
    """How many options were looked for."""
    page = pages.get(f"stagepost-{words[0]}.8")
    assert page, f"{words[0]} has no page"
    told = help_of(stagepost, *words)
    text = re.sub(r"\s+", " ", section_of(text_of(page), words))
    options = options_of(told)
    for option in options:
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), \
            f"{page.name}: {' '.join(words)}: {option} is missing"
    return len(options)


def check_references(pages):
    for page in pages.values():
        for name, section in re.findall(r"^\.Xr (\S+) (\d)", page.read_text(), re.M):
            reference = f"{name}.{section}"
            assert reference in pages or reference in KNOWN, f"{page.name}: no {reference}"


def main():
    stagepost = sys.argv[1]
    pages = {path.name: path for path in map(pathlib.Path, sys.argv[2:])}
    subprocess.check_call(["mandoc", "-Tlint", "-Wwarning", *pages.values()])
    subprocess.check_call(["mandoc", "-Tlint", "-Wstyle", pages["stagepost.conf.5"]])
    counts = [check_command(stagepost, pages, words) for words in commands_of(stagepost)]
    assert len(counts) > 20 and sum(counts) > 100, counts
    check_references(pages)
    print(f"{len(pages)} pages, {len(counts)} commands, {sum(counts)} options")


main()
