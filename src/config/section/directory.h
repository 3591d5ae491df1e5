// SPDX-License-Identifier: ISC
/*
 * config/section/directory.h - section directory: where its data is, and who may ask.
 */
#ifndef CONFIG_SECTION_DIRECTORY_H
#define CONFIG_SECTION_DIRECTORY_H

#include "config/section/address.h"
#include <stddef.h>
#include <stdint.h>

enum config_backend {
	CONFIG_BACKEND_NONE, /* no section directory */
	CONFIG_BACKEND_SQLITE,
	CONFIG_BACKEND_POSTGRESQL,
	CONFIG_BACKEND_LDAP,
	CONFIG_BACKEND_SERVERS, /* other directory servers */
};

struct config_directory { /* directory { ... } */
	enum config_backend backend;
	const char *path;      /* sqlite, ldap: the database file */
	const char **database; /* postgresql: connection strings of libpq */
	size_t database_count;
	const char **urls; /* ldap: "ldap://HOST" and similar */
	size_t url_count;
	const char *bind_dn;       /* ldap: "": anonymous */
	const char *base;          /* ldap: DN of the subtree */
	const char *password_file; /* ldap: "": none */
	const char **map;          /* ldap: "FIELD=ATTRIBUTE"; see config/map.h */
	size_t map_count;
	const char **servers; /* servers: "HOST:PORT", "unix:/PATH" */
	size_t server_count;
	struct config_endpoint *listens; /* mutual TLS */
	size_t listen_count;
	struct config_endpoint *socketmaps;
	size_t socketmap_count;
	const char *certificate; /* PEM files; "": none */
	const char *key;
	const char *authority;
	const char **readers; /* names in certificates */
	size_t reader_count;
	const char **changers;
	size_t changer_count;
	const char **aliases; /* files for newaliases(1) */
	size_t alias_count;
	int64_t ttl_us;
	int64_t negative_ttl_us; /* of negative answers */
};

#endif
