# SPDX-License-Identifier: ISC
"""What ends a show."""


class Failed(Exception):
    """What is said before the exit status is 1."""
