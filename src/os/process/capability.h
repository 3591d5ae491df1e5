// SPDX-License-Identifier: ISC
/*
 * os/process/capability.h - which capabilities a process keeps: bits 1 << CAP_..., as in
 * <linux/capability.h>.
 */
#ifndef OS_PROCESS_CAPABILITY_H
#define OS_PROCESS_CAPABILITY_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stdint.h>

/* Drops all capabilities of this process but KEPT, permanently. Programs that it runs get none, or
 * KEPT if BY_PROGRAMS. Safe after fork(). */
MUST_CHECK int os_capability_keep(uint64_t kept, bool by_programs);

#endif
