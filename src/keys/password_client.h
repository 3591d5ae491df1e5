// SPDX-License-Identifier: ISC
/*
 * keys/password_client.h - asks the process "keys" for passwords of logins to relays, by a
 * connection of its own that leaves none of them in memory. Only "remote" gets answers.
 */
#ifndef KEYS_PASSWORD_CLIENT_H
#define KEYS_PASSWORD_CLIENT_H

#include "base/str.h"
#include "os/loop.h"

struct keys_passwords;

/* All zero at first. */
struct keys_password_question {
	/* Called once: with the PASSWORD; or with a PROBLEM, why there is none. */
	void (*answered)(void *context, struct str password, struct str problem);
	void *context;
	const char *relay; /* as smtproutes has it; valid until the answer */
	const char *user;  /* likewise */
	uint16_t port;
	struct keys_passwords *passwords; /* NULL: it is not asked */
	uint32_t tag;                     /* 0: it waits for the connection */
	struct keys_password_question *next, *previous;
};

/* PATH: the socket of "keys". */
struct keys_passwords *keys_passwords_new(struct os_loop *loop, const char *path);
/* Questions are not answered any more. NULL is allowed. */
void keys_passwords_free(struct keys_passwords *passwords);

/* ANSWERED is not called before this returns; while there is no connection, it waits for one. */
void keys_passwords_ask(struct keys_passwords *passwords, struct keys_password_question *question);
/* Does nothing if it is not asked. */
void keys_password_cancel(struct keys_password_question *question);

#endif
