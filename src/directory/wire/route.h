// SPDX-License-Identifier: ISC
/*
 * directory/wire/route.h - one thing that an address becomes: a RESULT of the table "route".
 *
 *   local SERVICE ADDRESS              mailboxes, programs
 *   server SERVICE HOST:PORT ADDRESS   mailboxes at a server that a record names
 *   remote ADDRESS                     not ours
 *   list ADDRESS owner OWNER           to its members, see table "member", as from OWNER; where
 *                                      each member has a sender of its own, " verp yes" follows,
 *                                      and where not everybody may post to it " post members" or
 *                                      " post owners" (directory/lookup/post.h)
 *   refuse STATUS ADDRESS TEXT         cannot be delivered there; TEXT for people
 *   elsewhere                          the address itself is of a domain that is not ours
 *
 * Addresses are in the form of directory/record/key.h, or plain ASCII as they were asked for: a
 * space in them stands between quotes. Only of a refused one anything may have been asked for.
 */
#ifndef DIRECTORY_WIRE_ROUTE_H
#define DIRECTORY_WIRE_ROUTE_H

#include "base/attributes.h"
#include "base/buffer.h"

enum directory_route_kind {
	DIRECTORY_ROUTE_LOCAL, /* SERVER is empty, or the one that a record names */
	DIRECTORY_ROUTE_REMOTE,
	DIRECTORY_ROUTE_LIST,
	DIRECTORY_ROUTE_REFUSE,
	DIRECTORY_ROUTE_ELSEWHERE,
	DIRECTORY_ROUTE_OTHER, /* none of these: TEXT is all of it; passed on as it is */
};

enum directory_post { /* who may post to a list */
		      DIRECTORY_POST_ANYONE,
		      DIRECTORY_POST_MEMBERS,
		      DIRECTORY_POST_OWNERS,
};

/* Texts are views that somebody else owns; those of other kinds are empty. */
struct directory_route {
	enum directory_route_kind kind;
	struct str address; /* of all but ELSEWHERE and OTHER */
	struct str service; /* of LOCAL */
	struct str server;
	struct str owner; /* of LIST; empty: none is named */
	bool verp;
	enum directory_post post;
	struct str status; /* of REFUSE: RFC 3463 */
	struct str text;   /* for people */
};

/* "anyone", "members", "owners" */
const char *directory_post_name(enum directory_post post);
/* TEXT's, which may be empty: ANYONE. What is no such word is OWNERS: somebody meant to keep others
 * out. */
enum directory_post directory_post_find(struct str text);

/* Appends ROUTE to OUT. A refused address that could not be read again is written as "-". */
void directory_route_write(const struct directory_route *route, struct buffer *out);
/* TEXT, of which it has views. That addresses are some, and that a status is one, is for the caller
 * to check. */
struct directory_route directory_route_read(struct str text);

/* Whether it refuses for good: with a status 5, or as elsewhere, for which a stranger's mail is
 * refused. Who cannot know whether that is still true must not say it. */
bool directory_route_is_negative(const struct directory_route *route);

#endif
