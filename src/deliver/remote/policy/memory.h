// SPDX-License-Identifier: ISC
/*
 * deliver/remote/policy/memory.h - what is remembered of servers, or of messages, for a while: a
 * table of keys with a bound, from which the oldest are dropped.
 */
#ifndef DELIVER_REMOTE_POLICY_MEMORY_H
#define DELIVER_REMOTE_POLICY_MEMORY_H

#include "base/attributes.h"
#include "os/socket/socket.h"
#include <stdbool.h>

enum { REMOTE_MEMORY_KEY_SIZE = OS_SOCKET_TEXT_SIZE + 48 };

struct remote_memory;

struct remote_memory_entry {
	int64_t until_us; /* monotonic */
	unsigned count;   /* the caller's, 0 at first */
};

/* MAX: of keys. */
struct remote_memory *remote_memory_new(unsigned max);
/* NULL is allowed. */
void remote_memory_free(struct remote_memory *memory);

/* Whether nothing is found: a caller need not make a key. */
bool remote_memory_is_empty(const struct remote_memory *memory);
/* The entry of KEY, if its time is not over; otherwise NULL. Valid until the next call. */
struct remote_memory_entry *remote_memory_find(struct remote_memory *memory, const char *key);
/* The same, or else a new one; it is the latest now, and kept for so long. */
struct remote_memory_entry *remote_memory_keep(struct remote_memory *memory, const char *key,
					       int64_t kept_us);
void remote_memory_drop(struct remote_memory *memory, const char *key);

#endif
