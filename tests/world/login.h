// SPDX-License-Identifier: ISC
/*
 * world/login.h - a client says who it is (logins.h).
 */
#ifndef WORLD_LOGIN_H
#define WORLD_LOGIN_H

#include "talk.h"

/* Says some user and a password that is mostly his: whether that was accepted. Before that it may
 * try to send without. What is no right answer is told to the ledger. REPLY hears the replies. */
bool login_say(struct talk *talk, int (*reply)(struct talk *talk));

#endif
