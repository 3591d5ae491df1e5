// SPDX-License-Identifier: ISC
/*
 * stage/resolve.h - the helper of the submit and arrive stages: says what becomes
 * of each recipient, by asking the directory.
 */
#ifndef STAGE_RESOLVE_H
#define STAGE_RESOLVE_H

#include "config/config.h"
#include "os/loop.h"

struct stage_resolve;

/* Connects to "send" at PATH and answers until it is freed. */
struct stage_resolve *stage_resolve_new(struct os_loop *loop, const char *path,
					const struct config *config);
void stage_resolve_configure(struct stage_resolve *resolve, const struct config *config);
void stage_resolve_free(struct stage_resolve *resolve);

#endif
