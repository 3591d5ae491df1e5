// SPDX-License-Identifier: ISC
/*
 * confine/internal.h - what the files of the sandbox share.
 */
#ifndef CONFINE_INTERNAL_H
#define CONFINE_INTERNAL_H

#include "base/arena.h"
#include "confine/sandbox.h"
#include "os/sandbox/sandbox.h"

enum { SANDBOX_PLACES_MAX = 16 };

/* Where a path of a profile begins. */
enum sandbox_base {
	SANDBOX_IN_SYSTEM = 1,
	SANDBOX_IN_QUEUE,
	SANDBOX_IN_MAILBOXES,
	SANDBOX_IN_DATABASE,
	SANDBOX_IN_RECORD,         /* of the messages that are filed once, and what it needs */
	SANDBOX_IN_LDAP_AUTHORITY, /* of the directory's LDAP servers */
	SANDBOX_IN_AUTHORITIES,    /* of servers */
	SANDBOX_IN_POLICIES,
	SANDBOX_IN_CONNINFO, /* files named in the directory's connection strings */
	SANDBOX_IN_RESOLVER, /* files of the system's resolver, getaddrinfo(3) */
	SANDBOX_IN_SECRETS,  /* of sections certificate and listen, of the directory's TLS, and
				passwords */
	SANDBOX_IN_TOKENS,   /* of section auth; and the authorities of issuers of tokens */
};

/* What one process needs. */
struct sandbox_profile {
	const char *program;
	unsigned calls;
	struct sandbox_tree {
		enum sandbox_base base; /* 0: end of the list */
		const char *path;
		unsigned access;
	} trees[SANDBOX_PLACES_MAX];
	unsigned (*more)(const struct config *config); /* calls that settings need; may be NULL */
	bool is_bound_to_backend; /* another source of data needs another process */
};

struct sandbox {
	const struct sandbox_profile *profile;
	struct arena *arena;
	unsigned calls;
	struct os_sandbox_path *paths;
	struct os_sandbox_file *files; /* where the paths led at that time */
	size_t count, capacity;
	struct str backend; /* the directory's source of data, and its user there */
};

/* table.c: panics if there is none. */
const struct sandbox_profile *sandbox_profile_find(const char *program);

/* Whether the library of the record's database looks up the name of a server. */
bool sandbox_looks_up_record(const struct config_record *record);

/* paths.c: sets what its profile allows of the file system, by CONFIG. */
void sandbox_add_places(struct sandbox *sandbox, const struct config *config);

#endif
