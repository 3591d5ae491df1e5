// SPDX-License-Identifier: ISC
/*
 * limit/rate.h - rates of what clients do: sections rate of the configuration, judged by what all
 * processes of the node have counted.
 *
 * A rule counts one thing (connections, messages ...) for each class, client network, user or
 * sender's domain, in an interval that ends now (window.h). Each process counts in a table of its
 * own, and judges by the sum of all tables: two that judge at the same instant may each allow the
 * last one, so a rate can be exceeded by one for each process, but nothing is counted twice or
 * forgotten.
 *
 * Names are kept only as hashes under a secret key that the processes of a node share, so nobody
 * can choose names that collide.
 */
#ifndef LIMIT_RATE_H
#define LIMIT_RATE_H

#include "config/config.h"
#include "limit/keyed.h"
#include "limit/memory.h"

struct limit_rates;

/* How large the area of each process must be for CONFIG; 0: it has no rates. */
size_t limit_rates_area_size(const struct config *config);
/* Before each process that uses ROW, which must be writable: KEY is that of all rows. */
void limit_rates_prepare(const struct limit_memory *memory, size_t row, struct hash_key key);

/* By the rows of MEMORY, also those that are added later; it must outlive the rates, and so must
 * CONFIG. Rules that have the name and interval of an earlier one go on with what that counted in
 * the row. NULL: CONFIG has no rates, or MEMORY (which may be NULL) no area for
 * them. */
struct limit_rates *limit_rates_new(const struct limit_memory *memory, const struct config *config);
void limit_rates_free(struct limit_rates *rates);

/* Whom to count for. Empty: not known, then rules for such subjects do not apply. */
struct limit_subject {
	const char *class_mask;         /* of its class (limit/class.h); NULL: there are none */
	const struct in6_addr *address; /* IPv4 mapped; of IPv6, the network of 64 bits counts */
	struct str user;                /* who has authenticated */
	struct str sender_domain;       /* upper and lower case are the same */
};

enum limit_answer {
	LIMIT_PASS,
	LIMIT_SLOW,  /* after WAIT_US, it may */
	LIMIT_DEFER, /* 4yz; the session goes on */
	LIMIT_CLOSE, /* 421 */
};

struct limit_ruling {
	enum limit_answer answer;
	const struct config_rate *rule; /* that decided; NULL: passed. Of the configuration */
	int64_t wait_us;                /* until it would pass; LIMIT_SLOW: at most LIMIT_SLOW_US */
};

/* Whether ONE holds the client back more than OTHER. */
bool limit_ruling_is_stricter(const struct limit_ruling *one, const struct limit_ruling *other);

/* No reply is held back for longer. */
enum { LIMIT_SLOW_US = 30000000 };

/* Counts AMOUNT of COUNT for SUBJECT if all rules allow it or only slow it; else nothing is counted
 * and the strictest answer is returned. An AMOUNT of 0 is only judged. RATES may be NULL: passed.
 */
struct limit_ruling limit_rates_take(struct limit_rates *rates, enum config_rate_count count,
				     const struct limit_subject *subject, uint64_t amount,
				     int64_t now_us);
/* The same for what has happened already, which is counted in any case: how to go on. */
struct limit_ruling limit_rates_note(struct limit_rates *rates, enum config_rate_count count,
				     const struct limit_subject *subject, uint64_t amount,
				     int64_t now_us);

/* --- for people --- */

struct limit_rate_total {
	/* How many subjects of its kind the process remembers that remembers most: together with
	 * other rules for that kind, and until others need their places. */
	uint64_t keys;
	uint64_t exceeded; /* how often somebody was found above the limit, in all processes */
};

/* What the rows of MEMORY, which has rates, tell of RULE. KEY: that of limit_rates_prepare(). */
void limit_rate_total_of(const struct limit_memory *memory, struct hash_key key,
			 const struct config_rate *rule, struct limit_rate_total *total_out);

#endif
