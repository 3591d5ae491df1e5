// SPDX-License-Identifier: ISC
/*
 * os/sandbox_internal.h - the parts of a sandbox: each 0, -ENOSYS when the kernel
 * has no such thing, or -errno.
 */
#ifndef OS_SANDBOX_INTERNAL_H
#define OS_SANDBOX_INTERNAL_H

#include "os/sandbox.h"

/* sandbox_paths.c: Landlock; after PR_SET_NO_NEW_PRIVS. */
bool sandbox_has_landlock(void);
MUST_CHECK int sandbox_limit_paths(const struct os_sandbox *sandbox);
/* Whether it refuses to bind TCP ports, which all sandboxes want. */
bool sandbox_refuses_ports(void);

/* sandbox_calls.c, and sandbox_sockets.c for a part of it: seccomp; the last step, since it takes
 * the others away. */
bool sandbox_has_seccomp(void);
MUST_CHECK int sandbox_limit_calls(unsigned calls);
enum { SANDBOX_ALWAYS = 1 << 16 }; /* beside the bits of enum os_sandbox_calls */
struct scmp_arg_cmp;
/* sandbox_sockets.c: lets the call NAME through FILTER (an scmp_filter_ctx) where all CONDITIONS
 * hold. */
MUST_CHECK int sandbox_allow(void *filter, const char *name, unsigned count,
			     const struct scmp_arg_cmp *conditions);
MUST_CHECK int sandbox_allow_sockets(void *filter, unsigned calls);

#endif
