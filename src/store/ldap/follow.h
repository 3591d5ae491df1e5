// SPDX-License-Identifier: ISC
/*
 * store/ldap/follow.h - the thread that follows LDAP servers and writes the copy.
 *
 * It tries the servers in their order until one is followed; while it is not the first, it
 * looks every minute whether one before it can be gone back to. Lines for the log are
 * kept for the loop's thread, which alone may write it.
 */
#ifndef STORE_LDAP_FOLLOW_H
#define STORE_LDAP_FOLLOW_H

#include "os/loop.h"
#include "store/ldap/copy.h"
#include "store/ldap/link.h"

struct follower;

enum { FOLLOWER_PATIENCE_S = 8 };

struct follower_settings {
	const char *path; /* of the copy */
	struct link_server *servers;
	size_t server_count;
	struct link_login login;
	struct entry_map *map;
};

/* MOVED is called in LOOP when a commit may have changed records, or what
 * follower_fresh_us() says. What is in SETTINGS stays the caller's and must outlive the follower.
 * 0; or -errno of the copy, and a sentence in WHY. */
MUST_CHECK int follower_new(struct os_loop *loop, const struct follower_settings *settings,
			    void (*moved)(void *context), void *context,
			    struct follower **follower_out, struct buffer *why);
void follower_start(struct follower *follower);
/* By os_clock_monotonic_us(): since when no server is followed; 0: one is. */
int64_t follower_lost_us(struct follower *follower);
/* Its URL; NULL: none is followed. */
const char *follower_server(struct follower *follower);
/* By os_clock_monotonic_us(): all that the server had then is in the copy; INT64_MIN: never yet. */
int64_t follower_fresh_us(struct follower *follower);
/* The operator means what the next load shows, however little it is. */
void follower_accept(struct follower *follower);
/* Waits for the thread. False when that does not end in FOLLOWER_PATIENCE_S, because it waits for a
 * name server: then nothing is freed, what is in the settings must stay, and the process has to
 * end. */
bool follower_free(struct follower *follower);

#endif
