// SPDX-License-Identifier: ISC
/*
 * manager/wait/schedule.h - when a delivery is tried again.
 *
 * The sources' quadratic schedule: next = birth + (sqrt(age) + skip)^2, in
 * seconds, skip 20 for other hosts and 10 for local services. Remote attempts
 * come after 400 s, 1600 s, 3600 s, ... of age.
 */
#ifndef MANAGER_WAIT_SCHEDULE_H
#define MANAGER_WAIT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum { SCHEDULE_SKIP_REMOTE = 20, SCHEDULE_SKIP_LOCAL = 10 };

/* The next time after NOW_US for a message born at BORN_US. RANDOM (any value)
 * spreads it over the tenth of the wait before it, so that a burst does not come
 * back as a burst. Where the clock was set back so far that the message is not born
 * yet, the waits are those after as many ATTEMPTS. */
int64_t schedule_next(int64_t born_us, int64_t now_us, unsigned skip, uint32_t attempts,
		      uint64_t random);
/* Whether a delivery that CHANGED_US said to wait until UNTIL_US, and that is not due at NOW_US,
 * may go with one that is: when an eighth of its wait or less is left, so that those that were
 * deferred together come together in spite of the spread. */
bool schedule_may_join(int64_t changed_us, int64_t until_us, int64_t now_us);
/* The longest wait of a message that may not become older than LIFETIME_US. */
int64_t schedule_longest_us(int64_t lifetime_us);
/* When a delivery is to be tried of which CHANGED_US, earlier by the clock, said to wait
 * until UNTIL_US: by the clock's present time NOW_US, which may have been set back since. */
int64_t schedule_until(int64_t changed_us, int64_t until_us, int64_t now_us);

#endif
