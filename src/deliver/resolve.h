// SPDX-License-Identifier: ISC
/*
 * deliver/resolve.h - the helper of the submit and arrive stages: says what becomes
 * of each recipient, by asking the directory. Many questions are under way; each is answered
 * when all of its recipients are known.
 */
#ifndef DELIVER_RESOLVE_H
#define DELIVER_RESOLVE_H

#include "directory/lookup/lookup.h"
#include "os/loop.h"

struct deliver_resolve;

/* Connects to "send" at PATH, shows it TOKEN (ipc/token.h; copied) and answers until it is freed.
 * DIRECTORY is borrowed. */
struct deliver_resolve *deliver_resolve_new(struct os_loop *loop, const char *path,
					    struct str token, struct directory *directory);
void deliver_resolve_free(struct deliver_resolve *resolve);

#endif
