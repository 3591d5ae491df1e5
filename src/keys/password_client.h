// SPDX-License-Identifier: ISC
/*
 * keys/password_client.h - asks the process "keys" for passwords of logins to relays, by a
 * connection of its own that leaves none of them in memory. Only "remote" gets answers.
 */
#ifndef KEYS_PASSWORD_CLIENT_H
#define KEYS_PASSWORD_CLIENT_H

#include "base/timestamp.h"
#include "ipc/question.h"

/* So long a question waits for its answer, and for a connection. */
#define KEYS_PASSWORD_PATIENCE_US (60 * SECOND_US)

struct keys_passwords;

/* All zero at first. */
struct keys_password_question {
	/* Called once: with the PASSWORD; or with a PROBLEM, why there is none. */
	void (*answered)(void *context, struct str password, struct str problem);
	void *context;
	const char *relay; /* as smtproutes has it; valid until the answer */
	const char *user;  /* likewise */
	uint16_t port;
	struct ipc_question asked;
};

/* PATH: the socket of "keys". */
struct keys_passwords *keys_passwords_new(struct os_loop *loop, const char *path);
/* Questions are not answered any more. NULL is allowed. */
void keys_passwords_free(struct keys_passwords *passwords);

/* ANSWERED is not called before this returns, and at the latest after the patience. */
void keys_passwords_ask(struct keys_passwords *passwords, struct keys_password_question *question);
/* Does nothing if it is not asked. */
void keys_password_cancel(struct keys_password_question *question);

#endif
