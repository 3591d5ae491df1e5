// SPDX-License-Identifier: ISC
/*
 * directory/record/record.h - the contents of the directory: records in tables.
 *
 * A record has a key and fields; each field is a name and a text. The table in rules.c says
 * which fields a record may have, which may be repeated and which values are allowed;
 * backends, protocol, tools and manual derive from it.
 *
 * Fields marked * are required, those with + may be repeated:
 *
 *   domain   DOMAIN
 *       kind* = local | relay | alias
 *       local: service, for its mailboxes; alias: target*, another domain of ours
 *   address  LOCAL@DOMAIN; or @DOMAIN, the catch-all for addresses without a record
 *       kind* = mailbox | forward | alias | list | program | refused
 *       mailbox: service; or user, whose server decides; or neither: the domain's service.
 *                mailbox: the address that the service gets; quota: mail/mailbox/quota.h
 *       forward: target*+, addresses; its own address as a target: its mailbox, too
 *       alias:   target*, one address of ours
 *       list:    owner*, an address; verp = yes | no; post = anyone | members | owners
 *       program: service*, of kind pipe
 *       refused: text*; status, 5.x.x or 4.x.x, 5.7.1 by default
 *       all: source, a word of a-z, 0-9 and '-', at most 32: what created the record and
 *            may remove it again ("aliases": newaliases(1)); SQL column source
 *            state = active | deferred | disabled (enum directory_state)
 *   member   LIST MEMBER                no fields; the key is two addresses and a space between
 *   (membership  MEMBER LIST            the same records by member, only to be listed)
 *   user     NAME                       password+, server, name, send_as, state as above
 *            send_as: addresses and @DOMAINs, with spaces between (directory/lookup/sender.h)
 *            password: crypt(5), "$ID$..."; or in the format of RFC 5803, "SCRAM-SHA-256$..." and
 *            "SCRAM-SHA-1$..." (directory/record/password.h)
 *   server   NAME                       service*, address
 *            address: HOST:PORT (mail/server.h), one that the service lists
 *   node     NAME, as of a host         address*, group+, weight, state
 *            address: HOST:PORT, where the node takes mail of other nodes; weight: 1 to 100;
 *            state = active | draining | away
 *
 * Keys are in canonical form (directory/record/key.h), so two ways to write an address are one
 * record. These are plain values: texts are views of memory that somebody else owns.
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
	DIRECTORY_NODE,
	DIRECTORY_TABLES,
	/* The records of MEMBER by member: keys are "MEMBER LIST". It can only be listed. */
	DIRECTORY_MEMBERSHIP = DIRECTORY_TABLES,
	DIRECTORY_LISTED_TABLES,
};

enum {
	DIRECTORY_KEY_MAX = 768,      /* bytes: two addresses and a space */
	DIRECTORY_FIELD_MAX = 1024,   /* bytes of a value */
	DIRECTORY_FIELDS_MAX = 1000,  /* of a record; so many targets can a forward have at most */
	DIRECTORY_NODE_NAME_MAX = 64, /* bytes: it is the name of a file in the queue, too */
	DIRECTORY_NODE_WEIGHT_MAX = 100,
};

/* Field "state" of an address or user. An address gets no mail, not even through the catch-all, if
 * it or its user is not ACTIVE; the password of a user who is not ACTIVE is not accepted. */
enum directory_state {
	DIRECTORY_ACTIVE,   /* the default */
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
	const struct directory_field *fields; /* in the table's order, repeats adjacent */
	size_t field_count;
};

/* An entry of a store that is not a valid record. */
struct directory_malformed {
	struct str key; /* as the store has it, but cut at DIRECTORY_KEY_MAX */
	struct str reason;
};

/* A page of a list: records ordered by key, and the malformed entries before the last of them, or,
 * if the page has fewer records than requested, before the end; at most as many as requested. */
struct directory_page {
	const struct directory_record *records;
	size_t count;
	const struct directory_malformed *malformed;
	size_t malformed_count;
};

const char *directory_table_name(enum directory_table table);
/* DIRECTORY_NO_TABLE if no table has that NAME. */
enum directory_table directory_table_find(struct str name);
/* The same of a table that can be listed: MEMBERSHIP, too. */
enum directory_table directory_table_find_listed(struct str name);
/* Whether a key of TABLE is two addresses with a space between. */
static inline bool directory_table_has_pairs(enum directory_table table)
{
	return table == DIRECTORY_MEMBER || table == DIRECTORY_MEMBERSHIP;
}

/* The names of the fields that TABLE has for any kind, in their order, by POSITION from 0; NULL
 * after the last. *IS_MANY_OUT, whether the field may be repeated, may be NULL. */
const char *directory_table_field(enum directory_table table, size_t position, bool *is_many_out);
/* Whether the field may be repeated in a record. */
bool directory_table_field_is_many(enum directory_table table, struct str name);

/* The first field called NAME; empty if there is none. */
struct str directory_record_find(const struct directory_record *record, struct str name);
static inline struct str directory_record_field(const struct directory_record *record,
						const char *name)
{
	return directory_record_find(record, str_from(name));
}
/* An unknown state counts as DEFERRED: a later version may have more of them. */
enum directory_state directory_record_state(const struct directory_record *record);
/* A deep copy in ARENA. */
struct directory_record directory_record_copy(struct arena *arena,
					      const struct directory_record *record);

/* Checks INPUT, which came from outside, and brings it into canonical form: the key, every
 * address and domain (directory/record/key.h), and the order of the fields. On success 0 and
 * *RECORD_OUT in ARENA; else -EINVAL and *REASON_OUT, also in ARENA: one sentence that names
 * the field, its value and what is allowed. */
MUST_CHECK int directory_record_check(const struct directory_record *input, struct arena *arena,
				      struct directory_record *record_out, const char **reason_out);

/* Whether directory_record_check() would certainly accept RECORD and leave it unchanged; uses no
 * memory but SCRATCH, which it overwrites. If false, call directory_record_check(). For backends,
 * whose records were normally checked when they were written. IS_KEY_IN_FORM: the key was asked
 * for, and so is canonical. */
bool directory_record_is_in_form(const struct directory_record *record, bool is_key_in_form,
				 struct buffer *scratch);

/* Appends the table of fields for help and manual: one line a field. */
void directory_record_describe(enum directory_table table, struct buffer *out);

#endif
