// SPDX-License-Identifier: ISC
/*
 * manager/wait/share.h - how much memory messages that are awake may use, and who gets it.
 *
 * The unit is 256 bytes, about what one delivery costs; a message costs UNITS_MESSAGE besides.
 * There is one pool. Nobody has a fixed part of it: whoever wants more may hold as much as is still
 * free outside of what he holds, the rule of dynamic thresholds that switches share their buffers
 * by (Choudhury and Hahne, 1998). One who wants everything gets half; N such get 1/(N+1) each, and
 * as much as that stays free for who comes next. What has no room sleeps, for 48 bytes.
 */
#ifndef MANAGER_WAIT_SHARE_H
#define MANAGER_WAIT_SHARE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	SHARE_UNITS = 160 * 1024, /* a process has in all: 40 MiB */
	SHARE_UNITS_MESSAGE = 8,
};

struct share {
	size_t limit;   /* units in all */
	size_t used;    /* by all that are awake */
	size_t mapping; /* of these by those whose recipients are not known yet */
};

static inline size_t share_of_message(size_t deliveries)
{
	return SHARE_UNITS_MESSAGE + deliveries;
}

static inline size_t share_free(const struct share *share)
{
	return share->used < share->limit ? share->limit - share->used : 0;
}

/* What those for which resolve has been asked may hold. */
static inline size_t share_mapping(const struct share *share)
{
	return share->limit / 4;
}

/* Whether another message may be read or taken in, to be mapped. What comes with its envelope
 * (IS_NEW) may use what those that are read from the disk leave. One that is alone is let in
 * however large it is. */
static inline bool share_may_map(const struct share *share, bool is_new)
{
	size_t limit = is_new ? share_mapping(share) : share_mapping(share) / 2;

	return share->mapping < limit && (share_free(share) > 0 || share->mapping == 0);
}

#endif
