// SPDX-License-Identifier: ISC
/* auth/sasl/internal.h - shared by the mechanisms. */
#ifndef AUTH_SASL_INTERNAL_H
#define AUTH_SASL_INTERNAL_H

#include "auth/sasl/sasl.h"

/* A mechanism takes messages and answers one after the other; STEP counts the messages. Implemented
 * by auth/sasl/bearer.c, auth/sasl/clear.c and auth/sasl/scram.c. */
struct sasl_kind {
	/* Its first challenge, if the client has sent no initial response; NULL: an empty one. */
	const char *greeting;
	void (*take)(struct sasl *sasl, struct str message);
	void (*answer)(struct sasl *sasl, enum sasl_finding finding, struct str user,
		       const struct directory_scram *keys);
};

extern const struct sasl_kind sasl_plain;
extern const struct sasl_kind sasl_login;
extern const struct sasl_kind sasl_external;
extern const struct sasl_kind sasl_scram;
extern const struct sasl_kind sasl_oauthbearer;
extern const struct sasl_kind sasl_xoauth2;

struct sasl_scram_state {
	struct directory_scram keys;
	struct buffer header;       /* gs2-header, and the data of the binding */
	struct buffer nonce;        /* the client's and ours */
	struct buffer conversation; /* AuthMessage of RFC 5802 section 3, as far as it got */
	bool is_proven;
};

struct sasl {
	const struct sasl_mechanism *mechanism;
	struct sasl_peer peer;
	enum sasl_state state;
	unsigned step; /* messages that were taken */
	struct buffer message;
	struct buffer user;
	struct buffer secret;
	bool has_failed;
	enum auth_refusal refusal;
	const char *reason;
	struct sasl_scram_state scram;
};

void sasl_refuse(struct sasl *sasl, enum auth_refusal refusal, const char *reason);
/* MESSAGE is none of the mechanism. */
void sasl_refuse_malformed(struct sasl *sasl);
/* As FINDING, which is not RIGHT, means. */
void sasl_refuse_for(struct sasl *sasl, enum sasl_finding finding);
void sasl_accept(struct sasl *sasl);
/* Sends MESSAGE. */
void sasl_challenge(struct sasl *sasl, struct str message);
/* Asks about USER, as the client wrote it, and SECRET. If USER, or AS, who he wants to act as, is
 * not valid, or they differ, it is refused. */
void sasl_ask(struct sasl *sasl, enum sasl_state question, struct str as, struct str user,
	      struct str secret);
/* Accepts or refuses. */
void sasl_conclude(struct sasl *sasl, enum sasl_finding finding, struct str user,
		   const struct directory_scram *keys);

/* gs2-header of RFC 5801 section 4. */
struct sasl_gs2 {
	char flag;          /* 'n', 'y', 'p' */
	struct str binding; /* of 'p': its name */
	struct str as;      /* still escaped; empty: not given */
	struct str header;  /* all of it */
};

/* Takes the header off the front of *MESSAGE. False: malformed. */
MUST_CHECK bool sasl_gs2_take(struct str *message, struct sasl_gs2 *out);
/* Appends a saslname (RFC 5802 section 5.1) without its escapes. False: malformed. */
MUST_CHECK bool sasl_gs2_name(struct str text, struct buffer *out);

#endif
