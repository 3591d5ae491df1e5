// SPDX-License-Identifier: ISC
/*
 * manager/wait/schedule.h - when a delivery is tried again.
 *
 * The quadratic schedule of the sources: next = birth + (sqrt(age) + skip)^2, in seconds, skip 20
 * for other hosts and 10 for local services. Remote attempts come at an age of 400 s, 1600 s, 3600
 * s, ...
 */
#ifndef MANAGER_WAIT_SCHEDULE_H
#define MANAGER_WAIT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum { SCHEDULE_SKIP_REMOTE = 20, SCHEDULE_SKIP_LOCAL = 10 };

/* The next time after NOW_US for a message born at BORN_US. RANDOM (any value) spreads it over
 * the last tenth of the wait, so that a burst does not come back as a burst. If the clock was
 * set back to before the message's birth, the waits are those after that many ATTEMPTS. */
int64_t schedule_next(int64_t born_us, int64_t now_us, unsigned skip, uint32_t attempts,
		      uint64_t random);
/* Whether a delivery that is not due at NOW_US (at CHANGED_US it was deferred until UNTIL_US)
 * may go together with one that is: if at most an eighth of its wait is left, so that deliveries
 * deferred together are tried together in spite of the spread. */
bool schedule_may_join(int64_t changed_us, int64_t until_us, int64_t now_us);
/* The longest wait of a message whose age is limited to LIFETIME_US. */
int64_t schedule_longest_us(int64_t lifetime_us);
/* When to try a delivery that at CHANGED_US was deferred until UNTIL_US: by the present clock
 * NOW_US, which may have been set back since. */
int64_t schedule_until(int64_t changed_us, int64_t until_us, int64_t now_us);

/* Whether a wait until UNTIL_US, which was noted at NOTED_US, is one by another clock than that of
 * NOW_US: it was noted in the future, or no message waits so long (LONGEST_US). */
bool schedule_is_by_other_clock(int64_t noted_us, int64_t until_us, int64_t now_us,
				int64_t longest_us);

#endif
