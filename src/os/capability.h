// SPDX-License-Identifier: ISC
/*
 * os/capability.h - which of root's powers a process keeps: bits 1 << CAP_..., as of
 * <linux/capability.h>.
 */
#ifndef OS_CAPABILITY_H
#define OS_CAPABILITY_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stdint.h>

/* Gives up all but KEPT of what this process has, for good, and what it would hand to programs
 * that it runs, unless BY_PROGRAMS: then these begin with the same. Safe after fork(). */
MUST_CHECK int os_capability_keep(uint64_t kept, bool by_programs);

#endif
