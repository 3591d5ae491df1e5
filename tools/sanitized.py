# SPDX-License-Identifier: ISC
"""The build whose tests find errors of memory: its options, and how it runs."""

OPTIONS = ("-Dbuildtype=debugoptimized", "-Db_sanitize=address,undefined")
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
