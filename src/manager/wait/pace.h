// SPDX-License-Identifier: ISC
/*
 * manager/wait/pace.h - how many retries a second are woken while new mail comes.
 *
 * What is scarce is shared: the processors, and the disk's commits. While neither is, the rate
 * of retries grows until one of them is; then it shrinks, to a floor that is always
 * granted. So retries have what new mail leaves, whatever that is, and new mail keeps its
 * pace. Without new mail there is no limit. Pure: times and loads in, decisions out.
 */
#ifndef MANAGER_WAIT_PACE_H
#define MANAGER_WAIT_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PACE_FLOOR = 250, /* retries a second, at least: a twentieth of what a machine accepts */
	PACE_CEILING = 100000, /* and at most */
	PACE_STEP_US = 50000,  /* between two looks at the loads */
};

/* Storage of the caller, zeroed at first. */
struct pace {
	int64_t new_mail_us; /* monotonic, as all times here; 0: none came yet */
	int64_t stepped_us;  /* the last look at the loads */
	int64_t credited_us; /* CREDIT is right for that time */
	double rate;         /* retries a second */
	double credit;       /* that may be woken now */
	bool was_short;      /* somebody had to wait since the last look */
};

/* New mail came. */
void pace_new_mail(struct pace *pace, int64_t now_us);
/* Whether none has for a while. */
bool pace_is_quiet(const struct pace *pace, int64_t now_us);
/* Whether the loads are to be told now. */
bool pace_wants_load(const struct pace *pace, int64_t now_us);
/* In thousandths: how busy the processors and the queue's disk were since the last time. */
void pace_load(struct pace *pace, int64_t now_us, unsigned processors, unsigned disk);
/* Whether a retry may be woken now; it is counted. */
bool pace_take(struct pace *pace, int64_t now_us);
/* In how many microseconds that is worth to be asked again. */
int64_t pace_wait_us(const struct pace *pace, int64_t now_us);

#endif
