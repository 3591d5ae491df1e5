// SPDX-License-Identifier: ISC
/*
 * tests/unit/deliver/remote/remote_scene.h - servers for the attempts of
 * deliver/remote/attempt/attempt.h, and the message that is sent to them: what each does is
 * planned, and that it is told the right thing is seen to.
 */
#ifndef TESTS_UNIT_REMOTE_SCENE_H
#define TESTS_UNIT_REMOTE_SCENE_H

#include "deliver/remote/attempt/attempt.h"

enum {
	CANDIDATES_MAX = 6,
	RECIPIENTS_MAX = 250,
	PEERS_MAX = 256,
	FIRST_SOCKET = 1000, /* as fake_connect() counts */
};

enum kind {
	KIND_GOOD,
	KIND_REFUSES_NOW,
	KIND_NO_DESCRIPTOR, /* ours */
	KIND_REFUSES_LATER,
	KIND_MUTE_TO_CONNECT,
	KIND_LAST_UNREACHED = KIND_MUTE_TO_CONNECT,
	KIND_MUTE,
	KIND_CLOSES,
	KIND_GREETS_421,
	KIND_GREETS_521,
	KINDS,
};

struct peer { /* one connection, the server's end */
	enum kind kind;
	size_t candidate;
	struct buffer input, output;
	bool is_in_data, is_over;
	unsigned messages;
	unsigned transactions;         /* begun */
	unsigned transactions_max;     /* that an outdated connection may carry; 0: any */
	size_t asked;                  /* how many recipients its transaction has */
	bool is_asked[RECIPIENTS_MAX]; /* in it */
	bool is_accepted[RECIPIENTS_MAX];
};

/* All of a play: first what its seed planned, then what came of it. */
struct remote_scene {
	enum kind kinds[CANDIDATES_MAX];
	size_t candidate_count;
	size_t recipient_count;
	unsigned rcpt[CANDIDATES_MAX][RECIPIENTS_MAX];
	unsigned final[CANDIDATES_MAX][RECIPIENTS_MAX]; /* by SMTP the first is for all */
	unsigned room[CANDIDATES_MAX]; /* recipients of a transaction; more get 452 */
	bool is_lmtp, has_pipelining, finds_late;
	bool hears_one_by_one; /* nothing more before its replies are taken */
	unsigned messages_max; /* of a connection; 0: any */
	uint64_t size;
	uint64_t high; /* position of a byte over 127 in the message; none after its end */
	bool has_extensions;
	bool is_utf8;
	unsigned sender;

	struct remote_client client;
	struct dns_server servers[CANDIDATES_MAX];
	struct peer peers[PEERS_MAX];
	size_t peer_count;
	struct buffer text; /* as the servers are to get it */
	size_t tried;       /* since the servers were found */
	int64_t begin_us;
	struct deliver_helper_job *job;
	struct mail_verdict verdicts[RECIPIENTS_MAX];
	const char *triggers[RECIPIENTS_MAX];
	bool is_taken[RECIPIENTS_MAX];
	bool is_given_up;              /* the job may be finished without reports */
	bool is_outdated;              /* the job began by an earlier configuration */
	struct remote_attempt *wanted; /* the servers are still searched */
};

extern struct remote_scene scene;
/* By scene.sender: what the job says, of which only the first is told to a server. */
extern const char *const scene_senders[3];

/* When the plan is complete. */
void scene_plan_text(void);

/* Whether PEER would read what it was sent; it does, and answers. */
bool scene_may_hear(size_t peer);
void scene_hear(size_t peer);
/* It says a part of what it has to say. */
void scene_say(size_t peer);

#endif
