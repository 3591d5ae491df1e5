// SPDX-License-Identifier: ISC
/*
 * directory/record/rules.h - the table of all fields (see directory/record/record.h), and the
 * values that they may have.
 */
#ifndef DIRECTORY_RECORD_RULES_H
#define DIRECTORY_RECORD_RULES_H

#include "directory/record/record.h"

enum directory_value {
	DIRECTORY_NO_VALUE,   /* ends the rules of a table */
	DIRECTORY_VALUE_KIND, /* a kind for which the table has rules */
	DIRECTORY_VALUE_DOMAIN,
	DIRECTORY_VALUE_ADDRESS,
	DIRECTORY_VALUE_SENDERS, /* addresses and @DOMAINs, with a space between */
	DIRECTORY_VALUE_SERVICE,
	DIRECTORY_VALUE_NAME, /* of a user or server */
	DIRECTORY_VALUE_FLAG,
	DIRECTORY_VALUE_STATUS,
	DIRECTORY_VALUE_TEXT,
	DIRECTORY_VALUE_PASSWORD,
	DIRECTORY_VALUE_SOURCE,
	DIRECTORY_VALUE_SERVER, /* HOST:PORT */
	DIRECTORY_VALUE_QUOTA,  /* mail/mailbox/quota.h */
	DIRECTORY_VALUE_STATE,
	DIRECTORY_VALUE_POST,
	DIRECTORY_VALUE_GROUP,  /* of nodes */
	DIRECTORY_VALUE_WEIGHT, /* of a node among those of its group */
	DIRECTORY_VALUE_NODE_STATE,
};

enum { DIRECTORY_RULE_REQUIRED = 1 << 0, DIRECTORY_RULE_SEVERAL = 1 << 1 };

struct directory_rule {
	const char *kind; /* applies to records of that kind only; NULL: to all of the table */
	const char *name; /* NULL: a kind without fields */
	enum directory_value value;
	unsigned flags;
	const char *meaning;
};

/* The rules of each table, in the order of the fields in a record. */
extern const struct directory_rule *const directory_rules[DIRECTORY_LISTED_TABLES];

/* The kind with that name in TABLE's rules: equal kinds are equal pointers. NULL: there is none. */
const char *directory_kind_find(enum directory_table table, struct str kind);

/* What VALUE allows, for people. */
const char *directory_value_allowed(enum directory_value value);
/* Appends the canonical form of TEXT to OUT. -EINVAL: not allowed, OUT unchanged. Not for KIND. */
MUST_CHECK int directory_value_normalize(enum directory_value value, struct str text,
					 struct buffer *out);

#endif
