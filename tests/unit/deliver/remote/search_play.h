// SPDX-License-Identifier: ISC
/* tests/unit/deliver/remote/search_play.h - what is around deliver/remote/search.c, which says what
 * it is asked, and answers as the test wants. */
#ifndef TESTS_UNIT_SEARCH_PLAY_H
#define TESTS_UNIT_SEARCH_PLAY_H

#include "deliver/remote/attempt/internal.h"
#include "deliver/remote/search.h"

struct search_play {
	char said[1000]; /* "WHAT; WHAT; " */
	struct remote_hop hop;
	bool has_no_route, is_fallback_address, can_demand, waives_tls, is_policy_late;
	enum dns_target target; /* of all addresses */
	struct remote_policy policy;
	const struct config_source *source_of_mail, *source_of_server;
	int open_searches, open_policies;
};

extern struct search_play play;
extern struct remote_attempt some_attempt;

/* What was said since the last call. */
void check_said(const char *wanted);
/* The DNS has found "HOST PORT", one or two; or nothing. */
void answer(const char *first, const char *second, bool is_backup);
/* The policy that was asked for. */
void tell_policy(void);

#endif
