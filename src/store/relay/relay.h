// SPDX-License-Identifier: ISC
/*
 * store/relay/relay.h - other directory servers in the place of a store (backend "servers").
 *
 * What is asked goes to the first of them that answers, or comes out of what it said
 * before, for as long as that is true: the client keeps it (directory/client/client.h). While none
 * answers, what is kept is all there is; the rest is -ENOTCONN. The identity and the versions are
 * those of the servers, and each change that they tell of is told on.
 *
 * Which keys have changed since a version it knows from a list of the newest changes that
 * were told, and so not for versions from before it came; then clients begin anew.
 *
 * Records are told on as they are. Addresses ("route") are expanded
 * by the servers. A change is sent on as it is, one at a time; -EACCES when the servers do
 * not take changes from us.
 */
#ifndef STORE_RELAY_RELAY_H
#define STORE_RELAY_RELAY_H

#include "directory/client/client.h"
#include "store/store.h"

enum {
	STORE_RELAY_CHANGES_MAX = 16384, /* that are remembered */
};

/* SERVERS and DIALER as for directory_client_new(). */
struct directory_store *store_relay_new(struct os_loop *loop, const char *const *servers,
					size_t server_count, const struct directory_dialer *dialer);

#endif
