// SPDX-License-Identifier: ISC
/*
 * bounce/report.h - the message that tells a sender what was not delivered.
 *
 * An RFC 3464 report whose part for people is in QSBMF, the format of the
 * sources: "Hi. This is the", a paragraph "<ADDRESS>:" for each recipient, a
 * paragraph that begins with '-', then the original. Pure: values in, bytes out.
 */
#ifndef BOUNCE_REPORT_H
#define BOUNCE_REPORT_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "config/config.h"
#include "mail/envelope.h"

/* The sender of a double bounce; one that fails again is dropped. */
#define BOUNCE_SENDER_DOUBLE "#@[]"

enum bounce_decision { BOUNCE_SEND, BOUNCE_DROP };

/* To whom a failure of a message from ORIGINAL_SENDER is reported, and as whom:
 * an ordinary sender by the null sender; of the null sender (a bounce) to
 * doublebounceto, by "#@[]"; of "#@[]" to nobody. The views live as long as
 * their sources. Outputs are set only with BOUNCE_SEND. */
enum bounce_decision bounce_route(struct str original_sender, const struct config *config,
				  struct str *sender_out, struct str *recipient_out);

/* Whether a recipient with these enum mail_notify wants to hear of a failure. */
bool bounce_is_wanted(unsigned notify);

struct bounce_failure {
	struct str address;  /* final recipient */
	struct str original; /* ORCPT as xtext, "rfc822;..."; empty: none */
	struct str status;   /* "5.1.1"; anything else becomes 5.0.0 */
	struct str text;     /* "no such user"; "mx.example.edu: 550 no such user" is taken as
			      * what that host replied */
	int64_t failed_us;   /* 0: not known */
};

struct bounce_report {
	struct str recipient; /* of the report, from bounce_route() */
	struct str hostname;  /* of this system */
	struct str from;      /* local part of its From: bouncefrom */
	struct mail_id id;    /* of the original: names report and boundary */
	int64_t now_us;
	struct str envid; /* as xtext; empty: none */
	enum mail_ret ret;
	const struct bounce_failure *failures;
	size_t failure_count;
	struct str message;    /* the original, CRLF lines; may be cut at the end */
	uint64_t message_size; /* of all of it */
	uint64_t max_bytes;    /* of it that are returned: bouncemaxbytes; 0: no bound */
};

/* Appends the whole report, header first, CRLF lines. Nothing that came from
 * outside can add a header line, a MIME part, or a field. Of a message over
 * max_bytes whole lines are returned, and it is said; of one whose header alone
 * is over that, the first lines of the header. */
void bounce_report_write(const struct bounce_report *report, struct buffer *out);

#endif
