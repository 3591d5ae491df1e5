// SPDX-License-Identifier: ISC
/*
 * directory/store/relay/relay.h - other directory servers as a store (backend "servers").
 *
 * A question goes to the first server that answers, unless the client has the answer in its cache
 * (directory/client/client.h). While no server answers, only cached answers are given; all others
 * are -ENOTCONN. Identity and versions are those of the servers, and each change that they report
 * is passed on.
 *
 * The keys that changed since a version are taken from a list of the latest reported changes; for
 * versions before its beginning, clients must start over.
 *
 * Records are passed on unchanged, with unknown fields. The servers expand addresses ("route").
 * Changes are passed on, too, one at a time; -EACCES if the servers do not accept changes from us.
 */
#ifndef DIRECTORY_STORE_RELAY_RELAY_H
#define DIRECTORY_STORE_RELAY_RELAY_H

#include "directory/client/client.h"
#include "directory/store/store.h"

enum {
	STORE_RELAY_CHANGES_MAX = 16384, /* remembered */
};

/* SERVERS and DIALER as for directory_client_new(). */
struct directory_store *store_relay_new(struct os_loop *loop, const char *const *servers,
					size_t server_count, const struct directory_dialer *dialer);

#endif
