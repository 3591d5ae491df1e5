// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/follow/follow.h - the thread that follows LDAP servers and writes the copy.
 *
 * It tries the servers in order until it can follow one; while that is not the first, it checks
 * every minute whether an earlier one is available again. Only the loop's thread may write to the
 * log, so lines are queued for it.
 */
#ifndef DIRECTORY_STORE_LDAP_FOLLOW_FOLLOW_H
#define DIRECTORY_STORE_LDAP_FOLLOW_FOLLOW_H

#include "directory/store/ldap/copy/copy.h"
#include "directory/store/ldap/link/link.h"
#include "os/loop.h"

struct follower;

enum { FOLLOWER_PATIENCE_S = 8 };

struct follower_settings {
	const char *path; /* of the copy */
	struct link_server *servers;
	size_t server_count;
	struct link_login login;
	struct entry_map *map;
};

/* Calls MOVED in LOOP when a commit may have changed records, or the result of
 * follower_fresh_us(). SETTINGS belong to the caller and must outlive the follower. 0; or -errno of
 * the copy, and a sentence in WHY. */
MUST_CHECK int follower_new(struct os_loop *loop, const struct follower_settings *settings,
			    void (*moved)(void *context), void *context,
			    struct follower **follower_out, struct buffer *why);
void follower_start(struct follower *follower);
/* By os_clock_monotonic_us(): since when no server is being followed; 0: one is. */
int64_t follower_lost_us(struct follower *follower);
/* The URL of the server being followed, or NULL. */
const char *follower_server(struct follower *follower);
/* By os_clock_monotonic_us(): the copy has all that the server had then; INT64_MIN: never yet. */
int64_t follower_fresh_us(struct follower *follower);
/* The operator accepts the next load, however few entries it has. */
void follower_accept(struct follower *follower);
/* Waits for the thread. False if it has not ended in FOLLOWER_PATIENCE_S, because it waits for a
 * name server: then nothing is freed, the settings must stay, and the process must exit. */
bool follower_free(struct follower *follower);

#endif
