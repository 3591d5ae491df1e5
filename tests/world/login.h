// SPDX-License-Identifier: ISC
/*
 * world/login.h - a client says who it is (logins.h), and its session lasts as long as that user.
 *
 * When the user is disabled or removed, or gets another password, the session ends within a second;
 * at each MAIL that is asked, too; and not between the final dot and its reply.
 */
#ifndef WORLD_LOGIN_H
#define WORLD_LOGIN_H

#include "talk.h"
#include <stdint.h>

/* Who has logged in. */
struct login {
	size_t user;
	size_t word;
};

/* Says some user and a password that is mostly his: whether that was accepted. Before that it may
 * try to send without. What is no right answer is told to the ledger. REPLY hears the replies. */
bool login_say(struct talk *talk, int (*reply)(struct talk *talk), struct login *login_out);
/* Sometimes nothing is said for a while: a session whose user is gone has ended then. */
void login_pause(struct talk *talk, const struct login *login);
/* IS_SILENT: in that session nothing has come, and it is there still. */
void login_check_pause(const struct login *login, bool is_silent);
/* CODE is the reply to MAIL, which was said at ASKED_US. */
void login_check_mail(const struct login *login, int code, int64_t asked_us);
/* CODE is the reply to the final dot. */
void login_check_text(const struct login *login, int code);

#endif
