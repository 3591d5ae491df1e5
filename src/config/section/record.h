// SPDX-License-Identifier: ISC
/*
 * config/section/record.h - sections record and rule: what is recorded of messages, and where they
 * are filed.
 */
#ifndef CONFIG_SECTION_RECORD_H
#define CONFIG_SECTION_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_record_backend {
	CONFIG_RECORD_NONE, /* nothing is recorded */
	CONFIG_RECORD_SQLITE,
	CONFIG_RECORD_POSTGRESQL,
	CONFIG_RECORD_MARIADB,
};

struct config_record { /* record { ... } */
	enum config_record_backend backend;
	const char *path;               /* sqlite: the database file */
	const char *database;           /* postgresql: connection string; mariadb: name */
	const char *servers;            /* mariadb, as the following: "HOST:PORT,..." or "" */
	const char *socket;             /* "": the library's */
	const char *user;               /* "": the process's */
	const char *password_file;      /* "": none */
	const char *authority;          /* "": no TLS */
	const char *client_certificate; /* "": none */
	const char *client_key;         /* of that */
	uint32_t connections;
	uint32_t lock_timeout; /* seconds */
	uint32_t timeout;      /* seconds, of each call */
	int64_t keep_us;       /* 0: for ever */
};

enum config_rule_automatic {
	CONFIG_RULE_ANY,
	CONFIG_RULE_AUTOMATIC, /* filing/decode/identity.h */
	CONFIG_RULE_NOT_AUTOMATIC,
};

enum {
	CONFIG_RULES_MAX = 100,
	CONFIG_RULE_MASKS_MAX = 500, /* of all rules together: what a message can cost */
	CONFIG_RULE_FIELDS_MAX = 32, /* different names of header fields, likewise */
};

struct config_header_test {
	const char *name; /* of a field, in lower case */
	const char *mask; /* of its value (base/text/mask.h); "*": the field is there */
};

struct config_rule { /* rule NAME { ... } */
	const char *name;
	const char *service; /* "": all that record */
	/* All that are set must hold; of a list, one is enough. */
	struct config_header_test *headers;
	size_t header_count;
	const char **senders; /* masks of an address, or of its domain; "<>": the null sender */
	size_t sender_count;
	const char **recipients; /* likewise, without the detail */
	size_t recipient_count;
	const char **details; /* masks */
	size_t detail_count;
	uint64_t larger;  /* than so many bytes; 0: any */
	uint64_t smaller; /* likewise */
	enum config_rule_automatic automatic;
	/* What is done: */
	const char *folder; /* with %x, %%; "": as without the rule */
	const char **flags; /* "none" alone: without; none: as without the rule */
	size_t flag_count;
	bool sent; /* the sender's copy is kept, if it would be without the rule */
};

#endif
