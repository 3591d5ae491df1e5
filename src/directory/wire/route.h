// SPDX-License-Identifier: ISC
/*
 * directory/wire/route.h - one target of an address: a RESULT of the table "route".
 *
 *   local SERVICE ADDRESS              mailboxes, programs
 *   server SERVICE HOST:PORT ADDRESS   mailboxes at a server that a record names
 *   remote ADDRESS                     of a domain that is not ours
 *   list ADDRESS owner OWNER           to its members, see table "member", with OWNER as sender;
 *                                      followed by " verp yes" if each member gets a sender address
 *                                      of its own, and by " post members" or " post owners" if
 *                                      not everybody may post (directory/lookup/post.h)
 *   refuse STATUS ADDRESS TEXT         cannot be delivered there; TEXT for people
 *   elsewhere                          the address asked for is of a domain that is not ours
 *
 * Addresses are in canonical form (directory/record/key.h), or as they were asked for if that is
 * plain ASCII: a space in them is within quotes. Only a refused address may be any text.
 */
#ifndef DIRECTORY_WIRE_ROUTE_H
#define DIRECTORY_WIRE_ROUTE_H

#include "base/attributes.h"
#include "base/buffer.h"

enum directory_route_kind {
	DIRECTORY_ROUTE_LOCAL, /* SERVER is empty, or named by a record */
	DIRECTORY_ROUTE_REMOTE,
	DIRECTORY_ROUTE_LIST,
	DIRECTORY_ROUTE_REFUSE,
	DIRECTORY_ROUTE_ELSEWHERE,
	DIRECTORY_ROUTE_OTHER, /* unknown kind: TEXT is the whole result, passed on unchanged */
};

enum directory_post { /* who may post to a list */
		      DIRECTORY_POST_ANYONE,
		      DIRECTORY_POST_MEMBERS,
		      DIRECTORY_POST_OWNERS,
};

/* Texts are views of memory that somebody else owns; those that KIND does not use are empty. */
struct directory_route {
	enum directory_route_kind kind;
	struct str address; /* of all kinds but ELSEWHERE and OTHER */
	struct str service; /* of LOCAL */
	struct str server;
	struct str owner; /* of LIST; empty: none */
	bool verp;
	enum directory_post post;
	struct str status; /* of REFUSE: RFC 3463 */
	struct str text;   /* for people */
};

/* "anyone", "members", "owners" */
const char *directory_post_name(enum directory_post post);
/* ANYONE if TEXT is empty; OWNERS if it is not a known word: somebody meant to keep others out. */
enum directory_post directory_post_find(struct str text);

/* Appends ROUTE to OUT. A refused address that could not be parsed again is written as "-". */
void directory_route_write(const struct directory_route *route, struct buffer *out);
/* Parses TEXT; the route has views of it. The caller must check addresses and status. */
struct directory_route directory_route_read(struct str text);

/* Whether ROUTE rejects mail permanently: with a status 5.x.x, or as elsewhere, since a stranger's
 * mail there is rejected. Do not report it if it may be outdated. */
bool directory_route_is_negative(const struct directory_route *route);

#endif
