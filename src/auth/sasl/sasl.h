// SPDX-License-Identifier: ISC
/*
 * auth/sasl/sasl.h - the server's side of SASL mechanisms (RFC 4422) as engines without I/O:
 * messages in, messages out, at most one question pending.
 *
 *   sasl_new(), then by sasl_state():
 *     SASL_WANTS_MESSAGE    send sasl_message(), then sasl_take() what the client answers
 *     SASL_ASKS_PASSWORD    is this the password of this user?        sasl_answer()
 *     SASL_ASKS_KEYS        the user's SCRAM keys                     sasl_answer()
 *     SASL_ASKS_TOKEN       whose is this token?                      sasl_answer()
 *     SASL_ASKS_CERTIFICATE is the owner of the certificate a user?   sasl_answer()
 *     SASL_ACCEPTED         sasl_user() is who it says
 *     SASL_REFUSED          sasl_refusal()
 *
 * A user acts for himself only: an authorization identity that differs from the one that was
 * authenticated is refused. Names are in canonical form (directory/record/key.h). What a mechanism
 * says with success is sent as a challenge before it, because SMTP's 235 has no room for it (RFC
 * 4954 section 4). Everything that was secret is erased when an engine ends.
 */
#ifndef AUTH_SASL_SASL_H
#define AUTH_SASL_SASL_H

#include "auth/client.h"
#include "base/buffer.h"
#include "directory/record/password.h"

enum {
	SASL_NONCE_MAX = 64,          /* bytes of the server's part */
	SASL_CLIENT_NONCE_MAX = 1024, /* of the client's */
};

enum sasl_state {
	SASL_WANTS_MESSAGE,
	SASL_ASKS_PASSWORD,
	SASL_ASKS_KEYS,
	SASL_ASKS_TOKEN,
	SASL_ASKS_CERTIFICATE,
	SASL_ACCEPTED,
	SASL_REFUSED,
};

struct sasl_mechanism {
	const char *name;
	unsigned needs; /* enum auth_need */
	const struct sasl_kind *kind;
	enum directory_password_method keys; /* of SCRAM */
	bool is_binding;                     /* SCRAM with -PLUS */
};

/* All that exist, best first. */
extern const struct sasl_mechanism sasl_mechanisms[];
extern const size_t sasl_mechanism_count;
/* NULL: there is none called NAME, in upper case. */
const struct sasl_mechanism *sasl_mechanism_find(struct str name);

/* What the engine may know of the client's connection; views that outlive it. */
struct sasl_peer {
	struct str exporter;         /* channel bindings; empty: none */
	struct str end_point;        /* likewise */
	struct str certificate_name; /* of a verified certificate; empty: none */
	bool is_binding_offered;     /* a mechanism with -PLUS was offered to this client */
	struct str nonce; /* printable, no comma: unpredictable, at most SASL_NONCE_MAX */
};

enum sasl_finding {
	SASL_RIGHT,
	SASL_WRONG,    /* also: there is no such user */
	SASL_LATER,    /* nobody can say now */
	SASL_TOO_WEAK, /* the user has no credentials that this mechanism could use */
};

struct sasl;

/* MECHANISM and PEER's texts must outlive it. */
struct sasl *sasl_new(const struct sasl_mechanism *mechanism, const struct sasl_peer *peer);
/* NULL is allowed. */
void sasl_free(struct sasl *sasl);
enum sasl_state sasl_state(const struct sasl *sasl);
/* What to send; may be empty. Valid until the next sasl_take(). */
struct str sasl_message(const struct sasl *sasl);
/* A message of the client: also the initial response. Only while it wants one. */
void sasl_take(struct sasl *sasl, struct str message);

/* Of a question, or at the end: who the client says that it is, in canonical form; of a token it
 * may be empty, or what the client says outside of it. */
struct str sasl_user(const struct sasl *sasl);
/* Of ASKS_PASSWORD and ASKS_TOKEN. */
struct str sasl_secret(const struct sasl *sasl);
/* USER: of a token whose it is, else empty. KEYS: of ASKS_KEYS, if it is RIGHT; for a user who does
 * not exist, invented ones: WRONG would tell that. */
void sasl_answer(struct sasl *sasl, enum sasl_finding finding, struct str user,
		 const struct directory_scram *keys);
/* Whether the client has failed. If a message is wanted all the same, the mechanism tells why in
 * the challenge, and refuses whatever the client answers. */
bool sasl_has_failed(const struct sasl *sasl);
/* Whether the client has learnt of a user's keys, and has not proven anything yet: if it stops now,
 * it wanted no more than that, or cannot go on. */
bool sasl_has_told(const struct sasl *sasl);
/* Appends who the client claims to be, in canonical form; nothing if it has not said, or it is no
 * valid name. */
void sasl_claimed(const struct sasl *sasl, struct buffer *out);
enum auth_refusal sasl_refusal(const struct sasl *sasl);
/* Why it has failed, or is refused, for the log: says nothing that is secret. */
const char *sasl_reason(const struct sasl *sasl);

#endif
