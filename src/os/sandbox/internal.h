// SPDX-License-Identifier: ISC
/*
 * os/sandbox/internal.h - the parts of a sandbox. Each returns 0, -ENOSYS if the kernel
 * does not support it, or -errno.
 */
#ifndef OS_SANDBOX_INTERNAL_H
#define OS_SANDBOX_INTERNAL_H

#include "os/sandbox/sandbox.h"

/* paths.c: Landlock; requires PR_SET_NO_NEW_PRIVS. */
bool sandbox_has_landlock(void);
MUST_CHECK int sandbox_limit_paths(const struct os_sandbox *sandbox);
/* Whether Landlock can forbid to bind TCP ports, as all sandboxes do. */
bool sandbox_refuses_ports(void);

/* calls.c, partly in sockets.c: seccomp; the last step, since it forbids the
 * others. */
bool sandbox_has_seccomp(void);
MUST_CHECK int sandbox_limit_calls(unsigned calls);
enum { SANDBOX_ALWAYS = 1 << 30 }; /* in addition to the bits of enum os_sandbox_calls */
struct scmp_arg_cmp;
/* sockets.c: allows the call NAME in FILTER (an scmp_filter_ctx) if all CONDITIONS
 * are true. */
MUST_CHECK int sandbox_allow(void *filter, const char *name, unsigned count,
			     const struct scmp_arg_cmp *conditions);
MUST_CHECK int sandbox_allow_sockets(void *filter, unsigned calls);

#endif
