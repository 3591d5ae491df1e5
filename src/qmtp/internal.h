// SPDX-License-Identifier: ISC
/*
 * qmtp/internal.h - what the files of the server engine share.
 */
#ifndef QMTP_INTERNAL_H
#define QMTP_INTERNAL_H

#include "qmtp/netstring.h"
#include "qmtp/server.h"
#include "smtp/server/recipients.h"
#include "smtp/text.h"

/* What comes next from the client. */
enum qmtp_state {
	QMTP_STATE_NEW,            /* nothing: the session has not begun */
	QMTP_STATE_WHOLE_LENGTH,   /* QMQP: the length of all that follows */
	QMTP_STATE_MESSAGE_LENGTH, /* the package begins with it; QMQP: after WHOLE_LENGTH */
	QMTP_STATE_CODING,         /* QMTP: how lines end */
	QMTP_STATE_TEXT,
	QMTP_STATE_TEXT_END, /* a comma, as all that end in END */
	QMTP_STATE_SENDER_LENGTH,
	QMTP_STATE_SENDER,
	QMTP_STATE_SENDER_END,
	QMTP_STATE_LIST_LENGTH, /* QMTP */
	QMTP_STATE_RECIPIENT_LENGTH,
	QMTP_STATE_RECIPIENT,
	QMTP_STATE_RECIPIENT_END,
	QMTP_STATE_PACKAGE_END,
	QMTP_STATE_CLOSED,
};

enum qmtp_phase {
	QMTP_PHASE_RECEIVING,
	QMTP_PHASE_COMPLETE,
	QMTP_PHASE_COMMITTING,
	QMTP_PHASE_DECIDED,
};

struct qmtp_package {
	enum qmtp_phase phase;
	struct mail_envelope *envelope; /* owned; NULL: DECIDED */
	struct smtp_text text;
	struct buffer body;
	struct smtp_recipients recipients;
	uint64_t trace_size;
	size_t envelope_size; /* bytes that the recipients take */
	size_t weight;        /* bytes in flight; 0: it is not complete */
	bool is_open;         /* the driver has a file for it */
	bool is_bad_sender;   /* then every recipient is refused */
	bool has_refusal;     /* the message is refused, whatever its text is */
	struct mail_verdict refusal;
	size_t recipient_count;      /* those that were named */
	size_t accepted_count;       /* those whose answer is the message's */
	struct buffer lengths;       /* uint16_t of each recipient: of its answer in ANSWERS; 0: the
				      * answer is the message's */
	struct buffer answers;       /* netstrings, of the recipients that were refused */
	struct mail_verdict verdict; /* DECIDED: the message's */
};

struct qmtp_server {
	struct smtp_server_head head; /* its texts are always NULL: no client says them */
	const struct smtp_service *service;
	struct smtp_tls tls; /* no version: none */
	enum qmtp_state state;
	bool is_asking;
	bool is_stopping;          /* close after this package */
	bool is_cut;               /* the address on its way in was longer than is kept */
	uint32_t errors;           /* recipients and messages refused since the last one accepted */
	uint32_t in_vain;          /* packages since then */
	struct qmtp_length length; /* on its way in */
	uint64_t left;             /* of the netstring that is being received */
	uint64_t list_left;        /* of the recipients' list; QMQP: of all */
	struct buffer address;     /* on its way in, up to QMTP_SERVER_ADDRESS_MAX bytes */
	struct buffer completed;   /* the same, if it is not as the client wrote it */
	struct qmtp_question question;
	size_t flight_bytes;     /* of the packages that are complete and not answered */
	unsigned first;          /* the oldest package in flight */
	unsigned count;          /* in flight, with the one being received */
	unsigned complete_count; /* whose commits were not taken yet */
	unsigned commit_count;   /* those that were taken */
	struct qmtp_package *packages[QMTP_SERVER_SLOTS]; /* owned; NULL: the slot is free */
};

static inline bool qmtp_is_qmqp(const struct qmtp_server *s)
{
	return s->service->protocol == SMTP_PROTOCOL_QMQP;
}

/* slot.c: the package at PLACE, counted from the oldest. */
struct qmtp_package *qmtp_package_at(const struct qmtp_server *s, unsigned place);
/* The one that is being received, or was last; there must be one. */
struct qmtp_package *qmtp_package_current(const struct qmtp_server *s);
unsigned qmtp_package_slot(const struct qmtp_server *s);
/* NULL is allowed. */
void qmtp_package_free(struct qmtp_package *p);
/* SLOT is free again: that of the oldest or of the current package. */
void qmtp_package_leave(struct qmtp_server *s, unsigned slot);
/* The current one is dropped without an answer. */
void qmtp_package_drop(struct qmtp_server *s);
/* The message is of no use any more. */
void qmtp_package_discard(struct qmtp_package *p);
/* Refuses the message; the rest of it is not kept. The first reason counts. */
void qmtp_package_refuse(struct qmtp_package *p, const struct mail_verdict *verdict);
/* Nothing more is read; once the pending question is answered. */
void qmtp_server_end(struct qmtp_server *s);

/* answer.c: the refusal of the recipient that came last. */
void qmtp_answer_recipient(struct qmtp_server *s, const struct mail_verdict *verdict);
/* All answers of a package, which is the oldest. */
void qmtp_answer_package(struct qmtp_server *s, struct qmtp_package *p);

/* package.c: a new one. There must be a free slot. */
void qmtp_package_begin(struct qmtp_server *s);
/* The driver has a file: writes our trace to it. */
void qmtp_package_open(struct qmtp_server *s, struct mail_id id);
/* Bytes of the message came. */
void qmtp_package_text(struct qmtp_package *p, const char *data, size_t length);
/* All of it did. */
void qmtp_package_text_end(struct qmtp_package *p);
/* It is complete: to be committed, or decided. */
void qmtp_package_end(struct qmtp_server *s);
/* Decides it, and gives the answers that can be given now. */
void qmtp_package_decide(struct qmtp_server *s, struct qmtp_package *p,
			 const struct mail_verdict *verdict);

/* envelope.c: s->address is the sender. */
void qmtp_envelope_sender(struct qmtp_server *s, bool is_cut);
/* It is a recipient: asks about it, or answers. */
void qmtp_envelope_recipient(struct qmtp_server *s, bool is_cut);
/* The answer to the question. */
void qmtp_envelope_answer(struct qmtp_server *s, const struct mail_verdict *verdict);

#endif
