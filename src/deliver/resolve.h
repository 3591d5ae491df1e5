// SPDX-License-Identifier: ISC
/*
 * deliver/resolve.h - the helper for the submit and arrive stages: finds where each recipient goes,
 * by asking the directory. Many questions may be open; each is answered when all of its recipients
 * are known.
 */
#ifndef DELIVER_RESOLVE_H
#define DELIVER_RESOLVE_H

#include "directory/lookup/lookup.h"
#include "os/loop.h"

struct deliver_resolve;

/* Connects to "send" at PATH, presents TOKEN (ipc/token.h; copied) and answers until it is
 * freed. DIRECTORY is borrowed. */
struct deliver_resolve *deliver_resolve_new(struct os_loop *loop, const char *path,
					    struct str token, struct directory *directory);
void deliver_resolve_free(struct deliver_resolve *resolve);

#endif
