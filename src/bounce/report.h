// SPDX-License-Identifier: ISC
/*
 * bounce/report.h - the message that tells a sender what became of a message.
 *
 * An RFC 3464 report whose part for people is in QSBMF, the format of the sources: "Hi. This is
 * the", a paragraph "<ADDRESS>:" for each recipient, a paragraph that begins with '-', then the
 * original. These paragraphs contain only failed recipients, and a report without failures is not
 * QSBMF, so that no parser of QSBMF takes it for a bounce. Or exactly QSBMF
 * (https://cr.yp.to/proto/qsbmf.txt): then that text is the body, followed by the original with its
 * Return-Path. Pure: values in, bytes out.
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

/* The recipient and the sender of a failure report for a message from ORIGINAL_SENDER. For an
 * ordinary sender: to it, from the null sender; for the null sender (a bounce): to
 * doublebounceto, from "#@[]"; for "#@[]": to nobody; for LOCAL@DOMAIN-@[] (mail/verp.h): to
 * LOCAL@DOMAIN. The views live as long as their sources. Outputs are set only with BOUNCE_SEND. */
enum bounce_decision bounce_route(struct str original_sender, const struct config *config,
				  struct str *sender_out, struct str *recipient_out);

/* Whether a recipient with this enum mail_notify requests a report of failure. */
bool bounce_is_wanted(unsigned notify);

/* The same for success, which must be requested explicitly. */
bool bounce_is_success_wanted(unsigned notify);
/* The same for delay; BY_DEFAULT: also for recipients that have requested nothing. */
bool bounce_is_delay_wanted(unsigned notify, bool by_default);

enum bounce_action { /* RFC 3464 section 2.3.3 */
		     BOUNCE_FAILED,
		     BOUNCE_DELAYED,
		     BOUNCE_DELIVERED,
		     BOUNCE_RELAYED, /* to a host that will not report success */
};

struct bounce_outcome {
	enum bounce_action action;
	struct str address;  /* final recipient */
	struct str original; /* ORCPT as xtext, "rfc822;..."; empty: none */
	struct str status;   /* "5.1.1"; anything else becomes X.0.0 */
	struct str text;     /* "no such user"; "mx.example.edu: 550 no such user" is parsed as
			      * the reply of that host */
	int64_t changed_us;  /* 0: unknown */
};

struct bounce_report {
	struct str recipient; /* of the report, from bounce_route() */
	struct str hostname;  /* of this system */
	struct str from;      /* local part of its From address: bouncefrom */
	struct mail_id id;    /* of the original: used in the report's id and boundary */
	int64_t now_us;
	int64_t retry_until_us;        /* of delayed recipients */
	int64_t release_us;            /* that the sender asked for (RFC 4865); 0: none */
	struct mail_deadline deadline; /* that the sender has set (RFC 2852) */
	struct str envid;              /* as xtext; empty: none */
	enum mail_ret ret;
	bool is_utf8; /* the original came with SMTPUTF8 (RFC 6531), so its sender can receive it */
	const struct bounce_outcome *outcomes;
	size_t outcome_count;
	struct str message;        /* the original, CRLF lines; may be cut at the end */
	uint64_t message_size;     /* of the complete original */
	uint64_t max_bytes;        /* of the whole report: bouncemaxbytes; 0: no limit */
	struct str sender;         /* of the original, as mail_verp_whole() has it: Return-Path */
	enum config_bounce format; /* for failures; every other report is RFC 3464 */
};

/* Appends the whole report, header first, CRLF lines. No text from outside can add a header
 * line, a MIME part, or a field. If a message does not fit into max_bytes its first lines are
 * returned, with a note; if the report exceeds the limit even without the message, reasons are
 * cut; each recipient is always named, even if that alone exceeds the limit. Without a failure
 * only the header is returned (RFC 3461 section 4.3). A truncated body is not declared as
 * message/rfc822. True: the report is message/global with its companions (RFC 6533), because
 * addresses or the original's header are not ASCII; it must be sent with SMTPUTF8. */
bool bounce_report_write(const struct bounce_report *report, struct buffer *out);

#endif
