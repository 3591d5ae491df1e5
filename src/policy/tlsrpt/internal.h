// SPDX-License-Identifier: ISC
/* policy/tlsrpt/internal.h - the results of a day, for the files that count, keep and report them.
 */
#ifndef POLICY_TLSRPT_INTERNAL_H
#define POLICY_TLSRPT_INTERNAL_H

#include "policy/tlsrpt/count.h"

enum {
	TLSRPT_LINES_MAX = 16 * 1024, /* bytes of a policy's text, or of its hosts */
	TLSRPT_WORD_MAX = 255,
};

/* Texts are owned: one line each, words without spaces ("-": not known). */
struct tlsrpt_failure {
	enum tlsrpt_result result;
	char *host;
	char *greeting;
	char *server_address;
	char *own_address;
	char *reason;
	uint64_t count;
	struct tlsrpt_failure *next;
};

struct tlsrpt_applied {
	enum tlsrpt_policy kind;
	char *text;  /* lines */
	char *hosts; /* words */
	uint64_t successes;
	struct tlsrpt_failure *failures;
	unsigned failure_count;
	struct tlsrpt_applied *next;
};

struct tlsrpt_day {
	struct tlsrpt_applied *policies;
	unsigned policy_count;
};

extern const char *const tlsrpt_policy_names[TLSRPT_POLICIES];

bool tlsrpt_result_find(struct str name, enum tlsrpt_result *result_out);
/* The policy with this text, or a new one; NULL: there are too many. */
struct tlsrpt_applied *tlsrpt_day_find(struct tlsrpt_day *day, enum tlsrpt_policy kind,
				       struct str text, struct str hosts);
void tlsrpt_applied_fail(struct tlsrpt_applied *policy, const struct tlsrpt_session *session,
			 uint64_t count);
uint64_t tlsrpt_applied_failures(const struct tlsrpt_applied *policy);

#endif
