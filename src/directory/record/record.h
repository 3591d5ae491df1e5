// SPDX-License-Identifier: ISC
/*
 * directory/record/record.h - what the directory knows: records in tables.
 *
 * A record has a key and fields, each a name and a text. Which fields a table has,
 * which may come more than once and what may stand in them is one table in record.c;
 * backends, protocol, tools and manual go by it.
 *
 * Fields marked * are required, those with + may come more than once:
 *
 *   domain   DOMAIN
 *       kind* = local | relay | alias
 *       local: service, for its mailboxes; alias: target*, a domain of ours
 *   address  LOCAL@DOMAIN; or @DOMAIN, for all that have no record of their own
 *       kind* = mailbox | forward | alias | list | program | refused
 *       mailbox: service; or user, whose server then says; or neither: the domain's.
 *                mailbox: the address that the service is told; quota: mail/quota.h
 *       forward: target*+, addresses; its own: its mailbox, too
 *       alias:   target*, one address of ours
 *       list:    owner*, an address; verp = yes | no; post = anyone | members | owners
 *       program: service*, of kind pipe
 *       refused: text*; status, 5.x.x or 4.x.x, 5.7.1 at first
 *       all: source, a word of a-z, 0-9 and '-', at most 32: what made the record and
 *            may remove it again ("aliases": newaliases(1)); SQL column source
 *            state = active | deferred | disabled (enum directory_state)
 *   member   LIST MEMBER                none; two addresses and a space between
 *   (membership  MEMBER LIST            the same by member, to be listed)
 *   user     NAME                       password+, server, name, state as above
 *            password: crypt(5), "$ID$..."; or as RFC 5803 has it, "SCRAM-SHA-256$..." and
 *            "SCRAM-SHA-1$..." (directory/record/password.h)
 *   server   NAME                       service*, address
 *            address: HOST:PORT (mail/server.h), one that the service lists
 *
 * Keys are kept in one form (directory/record/key.h), so two ways to write an address are one
 * record. Plain values; texts are views that somebody else owns.
 */
#ifndef DIRECTORY_RECORD_RECORD_H
#define DIRECTORY_RECORD_RECORD_H

#include "base/arena.h"
#include "base/attributes.h"
#include "base/buffer.h"

enum directory_table {
	DIRECTORY_NO_TABLE,
	DIRECTORY_DOMAIN,
	DIRECTORY_ADDRESS,
	DIRECTORY_MEMBER,
	DIRECTORY_USER,
	DIRECTORY_SERVER,
	DIRECTORY_TABLES,
	/* The records of MEMBER by member: keys are "MEMBER LIST". It can only be listed. */
	DIRECTORY_MEMBERSHIP = DIRECTORY_TABLES,
	DIRECTORY_LISTED_TABLES,
};

enum {
	DIRECTORY_KEY_MAX = 768,     /* bytes: two addresses and a space */
	DIRECTORY_FIELD_MAX = 1024,  /* bytes of a value */
	DIRECTORY_FIELDS_MAX = 1000, /* of a record: bounds a forward's targets */
};

/* Field "state", of an address or user. An address of either in a state other than ACTIVE gets no
 * mail, and the catch-all has none of it; the passwords of such a user let nobody in. */
enum directory_state {
	DIRECTORY_ACTIVE,   /* also without the field */
	DIRECTORY_DEFERRED, /* 450 4.2.1: the mail waits where it is */
	DIRECTORY_DISABLED, /* 550 5.2.1 (RFC 3463 section 3.3) */
};

struct directory_key {
	enum directory_table table;
	struct str name;
};

struct directory_field {
	struct str name;
	struct str value;
};

struct directory_record {
	struct directory_key key;
	const struct directory_field *fields; /* in the order of the table; equal names together */
	size_t field_count;
};

/* What stands in the data and is no record. */
struct directory_malformed {
	struct str key; /* as it stands there, but cut at DIRECTORY_KEY_MAX */
	struct str reason;
};

/* What was listed: records in the order of their keys, and what is malformed before the last of
 * them, or, when they are fewer than were asked for, before the end; of that as many at most. */
struct directory_page {
	const struct directory_record *records;
	size_t count;
	const struct directory_malformed *malformed;
	size_t malformed_count;
};

const char *directory_table_name(enum directory_table table);
/* DIRECTORY_NO_TABLE when there is none of that NAME. */
enum directory_table directory_table_find(struct str name);
/* The same of a table that can be listed: MEMBERSHIP, too. */
enum directory_table directory_table_find_listed(struct str name);
/* Whether a key of TABLE is two addresses with a space between. */
static inline bool directory_table_has_pairs(enum directory_table table)
{
	return table == DIRECTORY_MEMBER || table == DIRECTORY_MEMBERSHIP;
}

/* The names of TABLE's fields, whatever the kind, in their order: POSITION from 0 on, NULL behind
 * the last. *IS_MANY_OUT may be NULL. */
const char *directory_table_field(enum directory_table table, size_t position, bool *is_many_out);
/* Whether it may come more than once in a record. */
bool directory_table_field_is_many(enum directory_table table, struct str name);

/* The first field called NAME; empty when there is none. */
struct str directory_record_find(const struct directory_record *record, struct str name);
static inline struct str directory_record_field(const struct directory_record *record,
						const char *name)
{
	return directory_record_find(record, str_from(name));
}
/* What is none of the known states is taken for DEFERRED: a later version may have more. */
enum directory_state directory_record_state(const struct directory_record *record);
/* A copy, whole, in ARENA. */
struct directory_record directory_record_copy(struct arena *arena,
					      const struct directory_record *record);

/* Checks INPUT as it came from outside and puts it into its one form: the key and every
 * address and domain in it (directory/record/key.h), fields in order. 0 and *RECORD_OUT with
 * memory of ARENA; or -EINVAL and *REASON_OUT, memory of ARENA too: one sentence that
 * names the field, what stands there and what is allowed. */
MUST_CHECK int directory_record_check(const struct directory_record *input, struct arena *arena,
				      struct directory_record *record_out, const char **reason_out);

/* Whether directory_record_check() certainly takes RECORD and leaves it as it is, found out
 * without memory but SCRATCH, whose bytes are lost. False: ask it. Backends read records
 * that were checked once, and cannot know. IS_KEY_IN_FORM: it is one that was asked for. */
bool directory_record_is_in_form(const struct directory_record *record, bool is_key_in_form,
				 struct buffer *scratch);

/* The table of fields, for help and manual: one line a field. */
void directory_record_describe(enum directory_table table, struct buffer *out);

#endif
