# SPDX-License-Identifier: ISC
"""The filesystem that both systems' queues are on."""
import os
import shutil
import subprocess
import tempfile

from common.net import wait_until


class Disk:
    """A temporary directory: on an ext4 image of its own where root may mount
    one, else wherever temporary files are. Gone at the end, however it comes."""

    def __init__(self, plain, size_mib):
        self.base = tempfile.mkdtemp(prefix="stagepost-bench-", dir=os.environ.get("BENCH_DIR"))
        os.chmod(self.base, 0o755)
        self.path = os.path.join(self.base, "disk")
        os.mkdir(self.path)
        self.is_mounted = False
        if not plain:
            self._mount(size_mib)
        self.description = self._describe()

    def _mount(self, size_mib):
        image = os.path.join(self.base, "image")
        # written, not sparse: the filesystem below must not have to find blocks while we measure
        with open(image, "wb") as file:
            for _ in range(size_mib):
                file.write(bytes(1 << 20))
            os.fsync(file.fileno())
        self._format(image)
        if not self.is_mounted:
            os.unlink(image)

    def _format(self, image):
        commands = (["mkfs.ext4", "-q", "-F", "-i", "2048", "-E",
                     "nodiscard,lazy_itable_init=0,lazy_journal_init=0", image],
                    ["mount", "-o", "loop", image, self.path])
        try:
            for command in commands:
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            return
        self.is_mounted = True
        os.chmod(self.path, 0o755)

    def clear(self):
        """As new: what one measurement left neither fills the disk of the next nor ages it."""
        if not self.is_mounted:
            shutil.rmtree(self.path)
            os.mkdir(self.path)
            return
        # what a server started may outlive it for a moment
        wait_until(lambda: subprocess.run(["umount", self.path], stderr=subprocess.DEVNULL,
                                          check=False).returncode == 0, "the disk is at rest", 30)
        self.is_mounted = False
        self._format(os.path.join(self.base, "image"))
        if not self.is_mounted:
            raise RuntimeError("the disk image cannot be made anew")

    def _describe(self):
        answer = subprocess.run(["findmnt", "-no", "FSTYPE,OPTIONS", "-T", self.path],
                                capture_output=True, text=True, check=False).stdout.split()
        kind = " ".join(answer[:2]) if answer else "unknown"
        if self.is_mounted:
            return kind + ", journal, on a loop device (an image file)"
        return kind + ", a plain directory shared with everything else"

    def directory(self, name):
        path = os.path.join(self.path, name)
        os.makedirs(path)
        return path

    def remove(self):
        if self.is_mounted:
            subprocess.run(["umount", self.path], check=False) \
                .returncode and subprocess.run(["umount", "-l", self.path], check=False)
            self.is_mounted = False
        shutil.rmtree(self.base, ignore_errors=True)
