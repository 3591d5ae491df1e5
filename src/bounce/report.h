// SPDX-License-Identifier: ISC
/*
 * bounce/report.h - the message that tells a sender what became of a message.
 *
 * An RFC 3464 report whose part for people is in QSBMF, the format of the
 * sources: "Hi. This is the", a paragraph "<ADDRESS>:" for each recipient, a
 * paragraph that begins with '-', then the original. Recipients without a failure
 * are in none of those paragraphs, and a report without failures is no QSBMF, so
 * that no reader of that takes it for a bounce. Or QSBMF to the letter
 * (https://cr.yp.to/proto/qsbmf.txt): that text is the body, and after it comes the
 * original after its Return-Path. Pure: values in, bytes out.
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
 * doublebounceto, by "#@[]"; of "#@[]" to nobody; of LOCAL@DOMAIN-@[] (mail/verp.h) to
 * LOCAL@DOMAIN. The views live as long as their sources. Outputs are set only with BOUNCE_SEND. */
enum bounce_decision bounce_route(struct str original_sender, const struct config *config,
				  struct str *sender_out, struct str *recipient_out);

/* Whether a recipient with these enum mail_notify wants to hear of a failure. */
bool bounce_is_wanted(unsigned notify);

/* The same for the success that a recipient has explicitly asked for. */
bool bounce_is_success_wanted(unsigned notify);
/* The same for a delay; BY_DEFAULT: of those who have asked for nothing. */
bool bounce_is_delay_wanted(unsigned notify, bool by_default);

enum bounce_action { /* RFC 3464 section 2.3.3 */
		     BOUNCE_FAILED,
		     BOUNCE_DELAYED,
		     BOUNCE_DELIVERED,
		     BOUNCE_RELAYED, /* to a host that will not report the delivery */
};

struct bounce_outcome {
	enum bounce_action action;
	struct str address;  /* final recipient */
	struct str original; /* ORCPT as xtext, "rfc822;..."; empty: none */
	struct str status;   /* "5.1.1"; anything else becomes X.0.0 */
	struct str text;     /* "no such user"; "mx.example.edu: 550 no such user" is taken as
			      * what that host replied */
	int64_t changed_us;  /* 0: not known */
};

struct bounce_report {
	struct str recipient; /* of the report, from bounce_route() */
	struct str hostname;  /* of this system */
	struct str from;      /* local part of its From: bouncefrom */
	struct mail_id id;    /* of the original: names report and boundary */
	int64_t now_us;
	int64_t retry_until_us; /* of delays */
	struct str envid;       /* as xtext; empty: none */
	enum mail_ret ret;
	bool is_utf8; /* the original came with SMTPUTF8 (RFC 6531): its sender takes that */
	const struct bounce_outcome *outcomes;
	size_t outcome_count;
	struct str message;        /* the original, CRLF lines; may be cut at the end */
	uint64_t message_size;     /* of all of it */
	uint64_t max_bytes;        /* of the whole report: bouncemaxbytes; 0: no bound */
	struct str sender;         /* of the original, as mail_verp_whole() has it: Return-Path */
	enum config_bounce format; /* of a failure; anything else is an RFC 3464 report */
};

/* Appends the whole report, header first, CRLF lines. Nothing that came from
 * outside can add a header line, a MIME part, or a field. Of a message that does not fit
 * into max_bytes the first lines are returned, and it is said; where the report is over that
 * without any, reasons are cut; each recipient is named, even where that alone is
 * more. Without a failure only the header is
 * returned (RFC 3461 section 4.3). A body that is cut is no message/rfc822 any more.
 * True: the report is message/global and what belongs to it (RFC 6533), as addresses or the
 * original's header are not ASCII; it is to be sent with SMTPUTF8. */
bool bounce_report_write(const struct bounce_report *report, struct buffer *out);

#endif
