// SPDX-License-Identifier: ISC
/*
 * config/section/auth.h - section auth: who checks logins.
 */
#ifndef CONFIG_SECTION_AUTH_H
#define CONFIG_SECTION_AUTH_H

#include "config/section/address.h"
#include <stddef.h>
#include <stdint.h>

enum config_auth_users {                   /* who knows the passwords */
			 CONFIG_AUTH_NONE, /* nobody is authenticated */
			 CONFIG_AUTH_DIRECTORY,
			 CONFIG_AUTH_DOVECOT,
			 CONFIG_AUTH_LDAP,
};

struct config_auth { /* auth { ... } */
	enum config_auth_users users;
	const char **mechanisms; /* those that are offered; none: all that are possible */
	size_t mechanism_count;
	const char *socket;     /* dovecot: path */
	uint32_t threads;       /* for checks of passwords */
	uint32_t failure_limit; /* of a client; 0: none */
	struct config_network *failure_exempt;
	size_t failure_exempt_count;
	int64_t failure_memory_us;
	const char **token_keys; /* PEM files */
	size_t token_key_count;
	const char *token_issuer; /* "": any */
	const char *token_audience;
	const char *token_claim;               /* that names the user */
	const char *token_scope;               /* "": any */
	const char *introspection_url;         /* "": none */
	const char *introspection_user;        /* "": none */
	const char *introspection_secret_file; /* "": none */
};

#endif
