# SPDX-License-Identifier: ISC
"""Directories that take long to fill, such as the data of a new database server: each is filled once for
a build, and copied from then on."""

import os
import shutil
import subprocess
import tempfile

from stagepost import BUILD


def fill(directory, name, program, make):
    """DIRECTORY, which is there and empty, has what MAKE() puts into it. NAME says what that is; with another
    PROGRAM, or for another user, it is something else."""
    places = os.path.join(BUILD, "templates")
    template = os.path.join(places, f"{name}-{os.stat(program).st_mtime_ns}-{os.geteuid()}")
    if os.path.isdir(template):
        copy(template, directory)
        return
    make()
    os.makedirs(places, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=places) as begun:
        made = os.path.join(begun, "made")
        os.mkdir(made)
        copy(directory, made)
        try:
            os.rename(made, template)
        except OSError:
            if not os.path.isdir(template):
                raise
            # somebody else was faster


def copy(source, target):
    """All that is in it, with owners and modes."""
    subprocess.run(["cp", "--archive", f"{source}/.", target], check=True, timeout=120)
    shutil.copystat(source, target)
