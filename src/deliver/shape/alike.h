// SPDX-License-Identifier: ISC
/*
 * deliver/shape/alike.h - whether a server tells different senders the same, and takes nothing in
 * between: then what it says is not about their messages (smtp/client/scope.h). Pure; times are
 * monotonic.
 *
 * The last few refusals are kept, for five minutes.
 */
#ifndef DELIVER_SHAPE_ALIKE_H
#define DELIVER_SHAPE_ALIKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHAPE_ALIKE_MAX = 4 };

/* Numbers that stand for texts. */
struct shape_told {
	uint64_t reply; /* where it came, its code and status */
	uint64_t sender;
	uint64_t recipient; /* 0: it came before any was named */
};

enum shape_told_whom {
	SHAPE_TOLD_ONE,    /* nobody else, as far as is known */
	SHAPE_TOLD_OTHERS, /* another sender too, of another recipient; nothing was taken since */
	SHAPE_TOLD_ONLY,   /* this sender before; others were taken since */
};

/* Zeros: nothing was refused. */
struct shape_alike {
	struct {
		struct shape_told told;
		int64_t at_us;
		bool is_over;    /* something was taken since */
	} last[SHAPE_ALIKE_MAX]; /* the latest first */
	size_t count;
};

/* TOLD was refused. */
enum shape_told_whom shape_alike_refused(struct shape_alike *alike, const struct shape_told *told,
					 int64_t now_us);
/* A message was taken. */
void shape_alike_taken(struct shape_alike *alike);

#endif
