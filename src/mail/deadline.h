// SPDX-License-Identifier: ISC
/*
 * mail/deadline.h - the time by which a sender wants a message delivered (DELIVERBY, RFC 2852), and
 * what is to happen if it is not.
 */
#ifndef MAIL_DEADLINE_H
#define MAIL_DEADLINE_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "base/timestamp.h"

enum {
	MAIL_DEADLINE_SECONDS_MAX = 999999999, /* of a by-time, RFC 2852 */
	MAIL_DEADLINE_SIZE = TIMESTAMP_SIZE + 8,
};

enum mail_deadline_mode {
	MAIL_DEADLINE_NONE,
	MAIL_DEADLINE_NOTIFY, /* by-mode N: the delay is reported, and delivery tried further on */
	MAIL_DEADLINE_RETURN, /* by-mode R: the message is returned, and not delivered any more */
};

struct mail_deadline {
	enum mail_deadline_mode mode;
	bool is_traced; /* by-trace: each host that sends it on reports that */
	bool is_told;   /* it had passed when the message came: another host has reported that */
	int64_t at_us;  /* a whole second */
};

/* "600;R", "-5;NT": *SECONDS_OUT, and DEADLINE_OUT without its time. False: malformed. */
MUST_CHECK bool mail_deadline_parse_by(struct str value, int64_t *seconds_out,
				       struct mail_deadline *deadline_out);
/* The deadline that is SECONDS after NOW_US, not before that. */
void mail_deadline_set(struct mail_deadline *deadline, int64_t seconds, int64_t now_us);
/* Whether it has one, and that has passed. */
bool mail_deadline_has_passed(const struct mail_deadline *deadline, int64_t now_us);
/* The whole seconds that are left, for a message that was born at BORN_US: never more than it had
 * then, even if the clock was put back, and perhaps negative. */
int64_t mail_deadline_left(const struct mail_deadline *deadline, int64_t born_us, int64_t now_us);

/* "2026-11-20T08:33:11Z;rt": the time, 'n' or 'r', then perhaps 't' (is_traced) and 'd' (is_told).
 * Only of one that has a mode. */
void mail_deadline_format(const struct mail_deadline *deadline, char text[MAIL_DEADLINE_SIZE]);
MUST_CHECK bool mail_deadline_parse(struct str text, struct mail_deadline *deadline_out);

#endif
