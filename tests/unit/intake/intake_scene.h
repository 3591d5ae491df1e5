// SPDX-License-Identifier: ISC
/*
 * tests/unit/intake/intake_scene.h - whom a client's session asks: a directory and a queue that
 * answer when a test wants it, at random good or bad (fake_loop.h) or friendly; and that a session
 * has ended.
 */
#ifndef TESTS_UNIT_INTAKE_SCENE_H
#define TESTS_UNIT_INTAKE_SCENE_H

#include "auth/login.h"
#include "directory/lookup/post.h"
#include "directory/lookup/sender.h"
#include "dns/names/client.h"
#include "queue/client/client.h"

enum pending {
	PENDING_NONE,
	PENDING_RECIPIENT,
	PENDING_POST,
	PENDING_AUTH,
	PENDING_LOGIN,
	PENDING_SENDERS,
	PENDING_OPEN,
	PENDING_SHARE,
	PENDING_COMMIT
};
enum answers { ANSWERS_AT_ONCE, ANSWERS_LATE, ANSWERS_NEVER };

struct intake_scene {
	enum answers answers;
	enum pending pending;              /* the question that waits for its answer */
	const void *asker;                 /* whose it is: the request, or the message */
	bool is_friendly;                  /* every answer is good */
	bool may_relay;                    /* every client */
	bool has_stamps;                   /* logins are followed */
	bool has_last_word;                /* a friendly login, which the client has to answer */
	enum auth_login_state login_state; /* the friendly answer */
	bool has_lists;   /* some recipients are lists to which not everybody may post */
	size_t posts;     /* senders that were asked about */
	bool has_ended;   /* some session */
	size_t refusals;  /* of commands, lines of the log */
	int64_t withheld; /* as the log tells last */

	directory_found *found; /* whom the answer is for */
	void *found_context;
	directory_post_judged *judged;
	void *judged_context;
	enum mail_verdict_class recipient; /* the last answer about one */
	struct auth_exchange *exchange;    /* the open one */
	size_t users;                      /* that were accepted */
	auth_login_notify *told;           /* of the login that is followed; NULL: none is */
	void *told_context;
	size_t logins; /* that were asked about */
	directory_sender_judged *senders_judged;
	void *senders_context;
	size_t senders; /* that were asked about */
	size_t lookups; /* of the client's name */
	struct queue_client_message *message;
	struct names_request *name; /* that waits for the client's name */
	bool has_slow_names;
	bool has_keys;       /* a process that has no certificate yet; else nobody asks for any */
	uint64_t free_bytes; /* on the queue's disk */
};

extern struct intake_scene intake_scene;

/* All is zero. */
void intake_scene_begin(void);
/* Answers what is pending. */
void intake_scene_answer(void);
/* The user whose login is followed may not log in any more. */
void intake_scene_end_login(void);
/* Says the client's name, or that it has none. */
void intake_scene_say_name(void);
/* That of a listener without TLS. */
struct intake_security *intake_scene_plain(void);
/* For struct intake. */
void intake_scene_ended(void *context);

#endif
