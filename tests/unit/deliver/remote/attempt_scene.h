// SPDX-License-Identifier: ISC
/*
 * tests/unit/deliver/remote/attempt_scene.h - attempts at one server, which speaks as the test
 * says, and what came of them.
 */
#ifndef TESTS_UNIT_ATTEMPT_SCENE_H
#define TESTS_UNIT_ATTEMPT_SCENE_H

#include "deliver/remote/attempt/attempt.h"
#include "unit/limit/limit_scene.h"

enum { PEERS_MAX = 24, JOBS_MAX = 64, ROOM = 4000, RECIPIENTS_MAX = 8, SCENE_SERVERS_MAX = 8 };

struct peer { /* the server's end of a connection */
	int socket;
	char heard[ROOM];
	size_t heard_length;
	bool is_in_data;
	bool is_over, is_closed;        /* by the server, once it has said what it has to */
	unsigned messages;              /* whose end came */
	char sender[64], recipient[64]; /* of the current one, the last */
};

/* What PEER says to LINE, which is empty at the connection; NULL: as always. After 421, and after a
 * greeting that is none, it closes the connection. */
typedef const char *answer_t(struct peer *peer, struct str line);

struct attempt_scene {
	struct limit_scene limits;
	struct limit_classes *classes;
	struct config *config;
	struct remote_client client;
	struct dns_server server;
	size_t servers;              /* as many, with addresses one after the other; 0: one */
	enum config_tls_level level; /* of its policy */
	const struct mail_verdict *refusal; /* by it; NULL: none */
	bool is_away;                       /* it cannot be connected to */
	bool is_slow;                       /* it does not answer to a message */
	answer_t *answer;                   /* NULL: it takes everything */
	struct peer peers[PEERS_MAX];
	size_t peer_count;
	size_t recipients; /* of the next job; 0: one */
	size_t started;
	char reports[JOBS_MAX]
		    [64]; /* "4.4.5 class.[any]", "busy"; "": none; of the last recipient */
	bool is_finished[JOBS_MAX];
	uint32_t busy_flags[JOBS_MAX];
	unsigned fallen_back;
	unsigned said[IPC_JOB_SAID_KINDS]; /* how often that was told */
};

extern struct attempt_scene scene;

/* Its number; jobs with the same KEY share connections. Each has another sender ("s0@us.test") and
 * other recipients ("r0@d.test", "r0-1@d.test"). */
size_t scene_start(const char *key);
void scene_say(const struct peer *peer, const char *text);
/* Until nothing happens any more. */
void scene_play(void);

#endif
