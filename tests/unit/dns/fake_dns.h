// SPDX-License-Identifier: ISC
/*
 * tests/unit/dns/fake_dns.h - the DNS played from a table, in the place of dns/resolver.h. A
 * question is answered when the test wants.
 */
#ifndef TESTS_UNIT_FAKE_DNS_H
#define TESTS_UNIT_FAKE_DNS_H

#include "dns/resolver.h"

/* The answer to a question: COUNT times DATA. */
struct dns_record {
	const char *name;
	enum dns_type type;
	enum dns_status status; /* DNS_FAILED: "bogus: signature expired" */
	bool is_secure;
	const char *canonical; /* NULL: no alias */
	const char *data;
	size_t length;
	size_t count; /* 0: one */
};

/* DATA and LENGTH of a literal. */
#define DATA(text) (text), sizeof(text) - 1

/* From now on RECORDS are known, the last of which has no name. All else does not exist, securely.
 */
void fake_dns_play(const struct dns_record *records);
void fake_dns_end(void);
/* Answers all questions, and those that follow. */
void fake_dns_answer_all(void);
/* Answers the newest question with this. */
void fake_dns_answer(const struct dns_answer *answer);
/* What was asked since fake_dns_play(): "NAME/TYPE NAME/TYPE "; and no question is left. */
void fake_dns_check_asked(const char *expected);

#endif
