// SPDX-License-Identifier: ISC
/*
 * stage/resolve.h - the helper of the submit and arrive stages: says what becomes
 * of each recipient, by asking the directory. Many questions are under way; each is answered
 * when all of its recipients are known.
 */
#ifndef STAGE_RESOLVE_H
#define STAGE_RESOLVE_H

#include "directory/lookup/lookup.h"
#include "os/loop.h"

struct stage_resolve;

/* Connects to "send" at PATH, shows it TOKEN (ipc/token.h; copied) and answers until it is freed.
 * DIRECTORY is borrowed. */
struct stage_resolve *stage_resolve_new(struct os_loop *loop, const char *path, struct str token,
					struct directory *directory);
void stage_resolve_free(struct stage_resolve *resolve);

#endif
