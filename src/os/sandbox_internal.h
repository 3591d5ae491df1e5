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

/* sandbox_calls.c: seccomp; the last step, since it takes the others away. */
bool sandbox_has_seccomp(void);
MUST_CHECK int sandbox_limit_calls(unsigned calls);

#endif
