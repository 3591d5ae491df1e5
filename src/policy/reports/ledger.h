// SPDX-License-Identifier: ISC
/*
 * policy/reports/ledger.h - how TLS went with each domain on each day (UTC), in memory and on disk,
 * until its report is sent.
 *
 * Counts are written once a minute, so a crash loses those of a minute. Reports are sent on the
 * next day, within the first four hours, or soon after a start; if none of a domain's places can be
 * reached, once an hour again for two days. What was sent, or is not wanted, is removed.
 *
 * At most REPORTS_DOMAINS_MAX domains of each day: sessions with further ones are not counted, but
 * those of the next day are, however many reports of the one before cannot be sent. There are at
 * most REPORTS_DAYS_MAX days, today and those that are sent yet: only if the clock is set there may
 * be more, and then those farthest from today are dropped.
 */
#ifndef POLICY_REPORTS_LEDGER_H
#define POLICY_REPORTS_LEDGER_H

#include "policy/reports/post.h"

enum { REPORTS_DOMAINS_MAX = 10000, REPORTS_DAYS_MAX = 4 };

struct reports_ledger;

/* PATH: the directory of the results; if it cannot be used, they are only in memory, and that is
 * logged. WAYS is copied. */
struct reports_ledger *reports_ledger_new(const struct reports_ways *ways, const char *path);
/* Copies WAYS, which apply from now on. */
void reports_ledger_configure(struct reports_ledger *ledger, const struct reports_ways *ways);
/* Writes what was counted. NULL is allowed. */
void reports_ledger_free(struct reports_ledger *ledger);

/* Counts SESSION for today: tlsrpt_day_count(). */
void reports_ledger_count(struct reports_ledger *ledger, const struct tlsrpt_session *session,
			  struct str policy, struct str hosts);

/* What is counted of a domain on a day, "2026-11-25". */
struct reports_row {
	struct str day;
	struct str domain;
	struct tlsrpt_totals totals;
};

/* Calls EACH for all that is counted. */
void reports_ledger_each(const struct reports_ledger *ledger,
			 void (*each)(void *context, const struct reports_row *row), void *context);

#endif
