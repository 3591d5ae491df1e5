// SPDX-License-Identifier: ISC
/*
 * directory/record/rules.h - the table of all fields (see directory/record/record.h), and what may
 * stand in them.
 */
#ifndef DIRECTORY_RECORD_RULES_H
#define DIRECTORY_RECORD_RULES_H

#include "directory/record/record.h"

enum directory_value {
	DIRECTORY_NO_VALUE,   /* after the last rule of a table */
	DIRECTORY_VALUE_KIND, /* one of those for which the table has rules */
	DIRECTORY_VALUE_DOMAIN,
	DIRECTORY_VALUE_ADDRESS,
	DIRECTORY_VALUE_SERVICE,
	DIRECTORY_VALUE_NAME, /* of a user or server */
	DIRECTORY_VALUE_FLAG,
	DIRECTORY_VALUE_STATUS,
	DIRECTORY_VALUE_TEXT,
	DIRECTORY_VALUE_PASSWORD,
	DIRECTORY_VALUE_SOURCE,
	DIRECTORY_VALUE_SERVER, /* HOST:PORT */
	DIRECTORY_VALUE_QUOTA,  /* mail/quota.h */
	DIRECTORY_VALUE_STATE,
	DIRECTORY_VALUE_POST,
};

enum { DIRECTORY_RULE_REQUIRED = 1 << 0, DIRECTORY_RULE_SEVERAL = 1 << 1 };

struct directory_rule {
	const char *kind; /* only in records of that kind; NULL: in all of the table */
	const char *name; /* NULL: the kind has no fields */
	enum directory_value value;
	unsigned flags;
	const char *meaning;
};

/* Of each table, in the order that fields have within a record. */
extern const struct directory_rule *const directory_rules[DIRECTORY_LISTED_TABLES];

/* The kind of that name as TABLE's rules have it: equal kinds are equal pointers. NULL: there is
 * none. */
const char *directory_kind_find(enum directory_table table, struct str kind);

/* What is allowed, for people. */
const char *directory_value_allowed(enum directory_value value);
/* Appends TEXT's one form to OUT: 0; or -EINVAL, OUT unchanged. Not for KIND. */
MUST_CHECK int directory_value_normalize(enum directory_value value, struct str text,
					 struct buffer *out);

#endif
