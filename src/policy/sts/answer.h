// SPDX-License-Identifier: ISC
/*
 * policy/sts/answer.h - what is known of a domain's policy, as a value.
 */
#ifndef POLICY_STS_ANSWER_H
#define POLICY_STS_ANSWER_H

#include "policy/sts/policy.h"
#include "policy/sts/protocol.h"

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
