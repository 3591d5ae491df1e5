// SPDX-License-Identifier: ISC
/*
 * manager/wait/pace.h - how many retries a second are woken while new mail comes.
 *
 * Processors and the disk's commits are the scarce resources. While neither is busy, the rate of
 * retries grows until one of them is; then it shrinks, down to a floor that is always granted. So
 * retries get what new mail leaves, however much that is, and new mail keeps its pace. Without new
 * mail there is no limit. Pure: times and loads in, decisions out.
 */
#ifndef MANAGER_WAIT_PACE_H
#define MANAGER_WAIT_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PACE_FLOOR = 250, /* minimum, retries a second: a twentieth of what a machine accepts */
	PACE_CEILING = 100000, /* maximum */
	PACE_STEP_US = 50000,  /* between two measurements of the loads */
};

/* Storage of the caller, zeroed at first. */
struct pace {
	int64_t new_mail_us; /* monotonic, as all times here; 0: none has come yet */
	int64_t stepped_us;  /* the last measurement of the loads */
	int64_t credited_us; /* the time for which CREDIT is right */
	double rate;         /* retries a second */
	double credit;       /* retries that may be woken now */
	bool was_short;      /* a retry had to wait since the last measurement */
};

/* New mail came. */
void pace_new_mail(struct pace *pace, int64_t now_us);
/* Whether no new mail has come for a while. */
bool pace_is_quiet(const struct pace *pace, int64_t now_us);
/* Whether pace_load() should be called now. */
bool pace_wants_load(const struct pace *pace, int64_t now_us);
/* How busy the processors and the queue's disk were since the last call, in thousandths. */
void pace_load(struct pace *pace, int64_t now_us, unsigned processors, unsigned disk);
/* Whether a retry may be woken now; it is counted. */
bool pace_take(struct pace *pace, int64_t now_us);
/* After how many microseconds to ask again. */
int64_t pace_wait_us(const struct pace *pace, int64_t now_us);

#endif
