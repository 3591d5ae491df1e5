// SPDX-License-Identifier: ISC
/*
 * world/logins.h - users with passwords, who submit mail, and what people do to them.
 *
 * People give a user one of two passwords, disable him, or remove him (changes.h); the first user
 * is never without one. Those who submit say a password of some user that may be right, or is
 * wrong. Who has not said the right one may not send, and who has is not refused for good.
 */
#ifndef WORLD_LOGINS_H
#define WORLD_LOGINS_H

#include "kernel.h"

enum { LOGINS = 6, LOGINS_WORDS = 3 };

void logins_begin(void);
void logins_end(void);

/* For people, as of lists.h: one change of a user. */
void logins_change(struct machine *node, void (*done)(bool is_good));
bool logins_have_failed(void);

/* The name of USER, and the text of WORD. */
const char *logins_name(size_t user);
const char *logins_word(size_t word);
/* Whether user USER with the word WORD may be accepted, and refused for good, by who is asked at
 * SINCE_US. The last word is nobody's password. */
bool logins_may_accept(size_t user, size_t word, int64_t since_us);
bool logins_may_refuse(size_t user, size_t word, int64_t since_us);

#endif
