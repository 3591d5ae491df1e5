// SPDX-License-Identifier: ISC
/*
 * sts/answer.h - what is known of a domain's policy, as a value.
 */
#ifndef STS_ANSWER_H
#define STS_ANSWER_H

#include "sts/policy.h"
#include "sts/protocol.h"

struct sts_answer {
	enum sts_kind kind;
	enum sts_problem problem; /* also of a policy that could not be refreshed */
	/* STS_FOUND: */
	enum sts_mode mode;
	int64_t until_us; /* of the wall clock: the policy's end */
	struct str id;
	struct str patterns; /* as in struct sts_policy */
};

#endif
