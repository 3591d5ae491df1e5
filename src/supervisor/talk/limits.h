// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/limits.h - the protocol of "stagepost limits" and the supervisor, at RUN/limits:
 * messages of ipc/channel.h. The command may ask as often as it likes.
 */
#ifndef SUPERVISOR_TALK_LIMITS_H
#define SUPERVISOR_TALK_LIMITS_H

#include "ipc/pack.h"
#include "limit/count.h"
#include "limit/rate.h"

enum limits_talk {
	LIMITS_TALK_ASK = 1,
	LIMITS_TALK_CLASSES, /* each class, in the order of the configuration */
	LIMITS_TALK_END,     /* that is all */
	LIMITS_TALK_RATES,   /* each section rate, in that order, before END */
};

struct limits_talk_class {
	struct str mask;
	uint32_t queue;
	uint32_t refuse;
	struct limit_total total;
};

static inline void limits_talk_pack(struct buffer *out, const struct limits_talk_class *class)
{
	pack_str(out, class->mask);
	pack_u32(out, class->queue);
	pack_u32(out, class->refuse);
	pack_u64(out, class->total.in);
	pack_u64(out, class->total.out);
	pack_u64(out, class->total.slowed);
	pack_u64(out, class->total.waiting);
	pack_u64(out, class->total.refused);
	pack_u64(out, class->total.held);
}

/* Ask IN then whether it has failed. */
static inline struct limits_talk_class limits_talk_unpack(struct unpack *in)
{
	struct limits_talk_class class = {.mask = unpack_str(in)};

	class.queue = unpack_u32(in);
	class.refuse = unpack_u32(in);
	class.total.in = unpack_u64(in);
	class.total.out = unpack_u64(in);
	class.total.slowed = unpack_u64(in);
	class.total.waiting = unpack_u64(in);
	class.total.refused = unpack_u64(in);
	class.total.held = unpack_u64(in);
	return class;
}

struct limits_talk_rate {
	struct str name;
	struct str count; /* words of the configuration */
	struct str per;
	uint64_t limit;
	uint64_t interval; /* seconds */
	struct limit_rate_total total;
};

static inline void limits_talk_pack_rate(struct buffer *out, const struct limits_talk_rate *rate)
{
	pack_str(out, rate->name);
	pack_str(out, rate->count);
	pack_str(out, rate->per);
	pack_u64(out, rate->limit);
	pack_u64(out, rate->interval);
	pack_u64(out, rate->total.keys);
	pack_u64(out, rate->total.exceeded);
}

/* Ask IN then whether it has failed. */
static inline struct limits_talk_rate limits_talk_unpack_rate(struct unpack *in)
{
	struct limits_talk_rate rate = {.name = unpack_str(in)};

	rate.count = unpack_str(in);
	rate.per = unpack_str(in);
	rate.limit = unpack_u64(in);
	rate.interval = unpack_u64(in);
	rate.total.keys = unpack_u64(in);
	rate.total.exceeded = unpack_u64(in);
	return rate;
}

#endif
