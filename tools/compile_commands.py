# SPDX-License-Identifier: ISC
"""What a build compiles, and by which commands (compile_commands.json)."""
import json
import pathlib
import shlex

MADE = ("-o", "-MF", "-MQ")  # options with the name of a file that would be made


def described(build):
    """[{directory, command, file}]: one for each object."""
    return json.loads((pathlib.Path(build) / "compile_commands.json").read_text())


def without_output(command):
    """The words of COMMAND but for those that say what is made, and where."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        if word in MADE:
            next(words)
        elif word not in ("-MD", "-c"):
            kept.append(word)
    return kept
