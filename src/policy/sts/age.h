// SPDX-License-Identifier: ISC
/*
 * policy/sts/age.h - how old a policy is, whatever the wall clock does meanwhile.
 *
 * The wall clock counts only when a policy is learnt, that is fetched or read from disk; from then
 * on it is the boot clock. A policy that had ended when it was read, as the wall clock said, is
 * kept for STS_AGE_DOUBT_US: if that clock was wrong, and is set back, the policy is valid again.
 */
#ifndef POLICY_STS_AGE_H
#define POLICY_STS_AGE_H

#include "base/timestamp.h"
#include <stdbool.h>

#define STS_AGE_DOUBT_US DAY_US

struct sts_age {
	int64_t fetched_us; /* wall clock */
	int64_t length_us;  /* how long it is valid: a minute at least, or one of 0 never was */
	int64_t begin_us;   /* boot clock: its fetch */
	int64_t learnt_us;  /* boot clock */
	bool is_doubted;    /* it had ended when it was read */
};

/* A policy is learnt that was fetched at FETCHED_US, as the wall clock said, for MAX_AGE_US. */
void sts_age_begin(struct sts_age *age, int64_t fetched_us, int64_t max_age_us);
/* To be called now and then: a doubt may have been dispelled. */
void sts_age_settle(struct sts_age *age);

bool sts_age_is_over(const struct sts_age *age);
/* And no change of the wall clock brings it back. */
bool sts_age_is_over_for_good(const struct sts_age *age);
/* Whether it is PAUSE_US old; or it was fetched while the clock was wrong, so that nobody knows. */
bool sts_age_is_due(const struct sts_age *age, int64_t pause_us);
/* Wall clock, as it is now: when it is over. */
int64_t sts_age_end_us(const struct sts_age *age);

#endif
