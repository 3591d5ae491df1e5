// SPDX-License-Identifier: ISC
/*
 * manager/wait/share.h - how much memory messages that are awake may use, and how it is shared.
 *
 * The unit is 256 bytes, about what one delivery costs; a message costs UNITS_MESSAGE besides.
 * There is one pool without fixed shares: each user of it may hold as much as is still free outside
 * of what it holds, the rule of dynamic thresholds by which switches share their buffers (Choudhury
 * and Hahne, 1998). A single greedy user gets half; N greedy users get 1/(N+1) each, and as much
 * stays free for the next. A message without room sleeps, and needs 48 bytes.
 */
#ifndef MANAGER_WAIT_SHARE_H
#define MANAGER_WAIT_SHARE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	SHARE_UNITS = 160 * 1024, /* in all: 40 MiB */
	SHARE_UNITS_MESSAGE = 8,
};

struct share {
	size_t limit;   /* units in all */
	size_t used;    /* by all messages that are awake */
	size_t mapping; /* part of USED: messages whose recipients are not resolved yet */
};

static inline size_t share_of_message(size_t deliveries)
{
	return SHARE_UNITS_MESSAGE + deliveries;
}

static inline size_t share_free(const struct share *share)
{
	return share->used < share->limit ? share->limit - share->used : 0;
}

/* The limit for messages for which resolve has been asked. */
static inline size_t share_mapping(const struct share *share)
{
	return share->limit / 4;
}

/* Whether another message may be read or accepted, to be mapped. A new one that comes with its
 * envelope (IS_NEW) may use what those read from the disk leave. The first one is always
 * accepted, however large. */
static inline bool share_may_map(const struct share *share, bool is_new)
{
	size_t limit = is_new ? share_mapping(share) : share_mapping(share) / 2;

	return share->mapping < limit && (share_free(share) > 0 || share->mapping == 0);
}

#endif
