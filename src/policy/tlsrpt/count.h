// SPDX-License-Identifier: ISC
/*
 * policy/tlsrpt/count.h - the results of one domain on one day (UTC), as a value: counted, written
 * as a file, read again, and told as a report of RFC 8460 section 4.4.
 *
 * A file:
 *
 *   policy: sts 12
 *   string: version: STSv1
 *   string: mode: enforce
 *   mx: mx.example.net
 *   greeting: mail.example.net
 *   failure: 3 certificate-expired mx.example.net 192.0.2.1 198.51.100.7 the certificate has
 * expired
 *
 * Policies are those that were applied that day, each with its successful sessions; "-" stands for
 * what is not known. A greeting is what the server of the next failure calls itself.
 */
#ifndef POLICY_TLSRPT_COUNT_H
#define POLICY_TLSRPT_COUNT_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "policy/tlsrpt/session.h"

enum {
	TLSRPT_DAY_POLICIES_MAX = 8,
	TLSRPT_DAY_FAILURES_MAX = 100, /* of a policy; further ones are counted by result only */
	TLSRPT_DAY_FILE_MAX = 1 << 20, /* bytes of a file */
};

struct tlsrpt_day;

struct tlsrpt_day *tlsrpt_day_new(void);
/* NULL is allowed. */
void tlsrpt_day_free(struct tlsrpt_day *day);

/* Counts SESSION. POLICY: the lines of the policy that was applied, '\n' between them; HOSTS: its
 * patterns, ' ' between them. Text that does not fit a line loses what does not. */
void tlsrpt_day_count(struct tlsrpt_day *day, const struct tlsrpt_session *session,
		      struct str policy, struct str hosts);

struct tlsrpt_totals {
	uint64_t successes;
	uint64_t failures;
};

struct tlsrpt_totals tlsrpt_day_totals(const struct tlsrpt_day *day);

/* Appends the file. */
void tlsrpt_day_format(const struct tlsrpt_day *day, struct buffer *out);
/* The day in FILE; NULL: it is malformed. */
struct tlsrpt_day *tlsrpt_day_parse(struct str file);

/* Who reports, and what. */
struct tlsrpt_head {
	const char *organization;
	const char *contact;
	const char *id;
	const char *domain;
	int64_t begin_us; /* of the day */
};

/* Appends the report, as JSON. */
void tlsrpt_day_report(const struct tlsrpt_day *day, const struct tlsrpt_head *head,
		       struct buffer *out);

/* "certificate-expired"; not for TLSRPT_SUCCESS */
const char *tlsrpt_result_name(enum tlsrpt_result result);

#endif
