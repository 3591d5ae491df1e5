// SPDX-License-Identifier: ISC
/*
 * mail/envelope.h - sender, recipients and origin of a message.
 */
#ifndef MAIL_ENVELOPE_H
#define MAIL_ENVELOPE_H

#include "base/arena.h"
#include "base/attributes.h"
#include "base/timestamp.h"
#include "mail/deadline.h"

/* A message's identifier: the inode number of its data file, which is reused after the message is
 * gone, and the time of its birth, which makes it globally unique. */
struct mail_id {
	uint64_t number;
	int64_t born_us;
};

enum { MAIL_ID_SIZE = 40 }; /* "457-63f1a2b3c4d5e" and a NUL */

/* NUMBER in decimal, '-', the birth time in microseconds in hexadecimal. */
void mail_id_format(struct mail_id id, char text[MAIL_ID_SIZE]);
bool mail_id_parse(struct str text, struct mail_id *id_out);

enum mail_stage {
	MAIL_STAGE_SUBMIT, /* submission, the sendmail command, bounces */
	MAIL_STAGE_ARRIVE, /* SMTP, QMTP, QMQP from outside */
	MAIL_STAGE_COUNT,
};

/* "submit", "arrive" */
const char *mail_stage_name(enum mail_stage stage);
bool mail_stage_parse(struct str name, enum mail_stage *stage_out);

enum {
	MAIL_ENVID_MAX = 100, /* RFC 3461 section 4.4 */
	MAIL_ORCPT_MAX = 500, /* section 4.2 */
	MAIL_PRIORITY_MAX = 9 /* and the least is -9, RFC 6710 section 3 */
};

enum mail_notify { /* RFC 3461 section 4.1; none set: the default, failure and delay */
		   MAIL_NOTIFY_SUCCESS = 1 << 0,
		   MAIL_NOTIFY_FAILURE = 1 << 1,
		   MAIL_NOTIFY_DELAY = 1 << 2,
		   MAIL_NOTIFY_NEVER = 1 << 3,
};

enum mail_ret { /* RFC 3461 section 4.3 */
		MAIL_RET_NONE,
		MAIL_RET_FULL,
		MAIL_RET_HEADERS,
};

struct mail_recipient {
	uint32_t number;     /* 1 for the first; unique in the message */
	unsigned notify;     /* enum mail_notify */
	struct str address;  /* LOCAL@DOMAIN */
	struct str original; /* ORCPT, "rfc822;" and xtext; UTF-8 only with SMTPUTF8; empty: none */
};

struct mail_envelope {
	struct mail_id id;
	enum mail_stage stage;
	enum mail_ret ret;
	bool require_tls;  /* REQUIRETLS (RFC 8689): it is sent only to hosts that are verified and
			    * ask the same of the next one */
	bool binary;       /* BINARYMIME (RFC 3030): its body may have any bytes, and no lines; it
			    * is sent only by BDAT, to hosts that support this */
	bool utf8;         /* SMTPUTF8 (RFC 6531): it can be sent only to hosts that support this */
	struct str sender; /* LOCAL@DOMAIN, "" for the null sender, "#@[]" for a double bounce,
			    * LOCAL@DOMAIN-@[] for VERP (mail/verp.h) */
	struct str envid;  /* as xtext; empty: none */
	struct str
		received;   /* "smtp 192.0.2.7:53112 name=mail.example.com helo=mail.example.com" */
	struct str trigger; /* no delivery is attempted while it is set; empty: none */
	uint64_t size;      /* bytes of the data file */
	int priority;       /* MT-PRIORITY (RFC 6710); 0: that of ordinary mail */
	int64_t release_us; /* no delivery is attempted before this whole second, which the sender
			     * has asked for (RFC 4865); 0: at once */
	struct mail_deadline deadline;
	/* Of a message that another node handed over; empty and 0: none did (mail/package.h). */
	struct str handed; /* NODE/PACKAGE: who handed it over, and the name of its package */
	struct str origin; /* NODE/ID: the node where it was queued first, and its id there */
	unsigned via;      /* hops between nodes so far */
	bool is_held;      /* it was held where it was handed over from: it is held here, too */
	struct mail_recipient *recipients;
	size_t recipient_count;
	size_t recipient_capacity;
	struct arena *arena; /* owns all of the above */
};

/* An empty envelope with an arena of its own. */
struct mail_envelope *mail_envelope_new(void);
void mail_envelope_free(struct mail_envelope *envelope);

/* When its first attempt is due: at its birth, or at the later time that its sender has asked for.
 * Its age for retries, reports of delay and its end counts from here. */
int64_t mail_envelope_start_us(const struct mail_envelope *envelope);

/* "-9" to "9" (RFC 6710 section 3). */
bool mail_priority_parse(struct str text, int *priority_out);

/* Copies ADDRESS; gives the recipient the number after the last one's. The
 * pointer is valid until the next recipient is added. */
struct mail_recipient *mail_envelope_add(struct mail_envelope *envelope, struct str address);

/* The recipient with that number, or NULL. Numbers ascend. */
const struct mail_recipient *mail_envelope_find(const struct mail_envelope *envelope,
						uint32_t number);

#endif
