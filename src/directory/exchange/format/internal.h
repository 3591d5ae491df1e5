// SPDX-License-Identifier: ISC
/* directory/exchange/format/internal.h - shared by the parts of directory/exchange/. */
#ifndef DIRECTORY_EXCHANGE_FORMAT_INTERNAL_H
#define DIRECTORY_EXCHANGE_FORMAT_INTERNAL_H

#include "base/arena.h"
#include "directory/exchange/format/lines.h"
#include "directory/exchange/reader.h"

struct exchange_names;
struct exchange_values;
struct exchange_columns;

struct exchange_reader {
	enum exchange_format format;
	const struct exchange_settings *settings;
	const char *file;
	struct exchange_lines lines;
	struct arena *arena; /* of the present entry */
	struct buffer problem;
	struct directory_field *fields; /* DIRECTORY_FIELDS_MAX, of the record being built */
	size_t field_count;
	struct exchange_names *names;    /* of aliases: lists; of postfix: alias domains; or NULL */
	struct exchange_values *members; /* aliases: of the list being read; or NULL */
	struct exchange_columns *columns; /* csv: NULL before the first line */
};

/* The formats: as exchange_reader_next(), which has reset arena and problem. */
MUST_CHECK int exchange_json_next(struct exchange_reader *reader, struct exchange_entry *entry);
MUST_CHECK int exchange_csv_next(struct exchange_reader *reader, struct exchange_entry *entry);
MUST_CHECK int exchange_aliases_next(struct exchange_reader *reader, struct exchange_entry *entry);
MUST_CHECK int exchange_postfix_next(struct exchange_reader *reader, struct exchange_entry *entry);

/* entry.c: turns ENTRY into a problem; returns -EBADMSG. */
int exchange_problem(struct exchange_reader *reader, struct exchange_entry *entry,
		     const char *format, ...) PRINTF_LIKE(3, 4);
/* Reports that there is no table of that name. */
int exchange_table_problem(struct exchange_reader *reader, struct exchange_entry *entry,
			   struct str table);
/* For an error of exchange_lines_next(): reports a problem if it is one, or returns it. */
int exchange_line_problem(struct exchange_reader *reader, struct exchange_entry *entry, int error);

/* Adds a field to the record being built; VALUE must outlive it. -E2BIG: more than
 * DIRECTORY_FIELDS_MAX. */
MUST_CHECK int exchange_add_field(struct exchange_reader *reader, const char *name,
				  struct str value);
MUST_CHECK int exchange_add_named(struct exchange_reader *reader, struct str name,
				  struct str value);
/* Sets the key of ENTRY's record, in case there is a problem with the rest. */
void exchange_set_key(struct exchange_reader *reader, struct exchange_entry *entry,
		      enum directory_table table, struct str key);
/* Checks the record and makes it the entry: 1, or -EBADMSG. */
MUST_CHECK int exchange_finish(struct exchange_reader *reader, struct exchange_entry *entry,
			       enum directory_table table, struct str key);

/* Parses one address: what is within angle brackets, if there are any, without comments, and with
 * the domain of the settings if it has none. Returns NULL, or what is wrong. */
const char *exchange_address(struct exchange_reader *reader, struct str text,
			     struct str *address_out);
/* Takes the text before the first comma that is not within quotes, comments or angle brackets off
 * *REST; false if nothing is left. */
bool exchange_split(struct str *rest, struct str *piece_out);
/* The position of the first byte of SET outside of quotes, or -1. */
ptrdiff_t exchange_find_bare(struct str text, const char *set);

/* names.c: collects a set of names from all logical lines of READER's file, and rewinds the file.
 * Resets READER's arena after each line. */
MUST_CHECK int exchange_names_read(struct exchange_reader *reader,
				   void (*take_line)(struct exchange_reader *reader,
						     struct exchange_names *names, struct str line),
				   struct exchange_names **names_out);
struct exchange_names *exchange_names_new(void);
void exchange_names_add(struct exchange_names *names, struct str text);
bool exchange_names_have(const struct exchange_names *names, struct str text);
void exchange_names_free(struct exchange_names *names);

/* owners.c: the aliases that have an owner-NAME in the file. Lists are addresses, as keys. */
MUST_CHECK int exchange_owners_read(struct exchange_reader *reader,
				    struct exchange_names **lists_out);
/* postfix.c: domains that the file maps to another one ("@a.example @b.example"), as keys. */
MUST_CHECK int exchange_alias_domains_read(struct exchange_reader *reader,
					   struct exchange_names **domains_out);

/* Appends the owner's address that belongs to LIST by name, as a key: owner-LIST. -EINVAL: too
 * long. */
MUST_CHECK int exchange_owner_address(struct str list, struct buffer *out);

/* values.c: the values of an alias, with those of included files. */
enum exchange_value_kind { EXCHANGE_VALUE_ADDRESS, EXCHANGE_VALUE_SELF };
struct exchange_value {
	enum exchange_value_kind kind;
	struct str text; /* a complete address; until the next call */
	const char *file;
	unsigned line;
};
/* For the alias NAME with the values TEXT; copies both. */
struct exchange_values *exchange_values_new(struct exchange_reader *reader, struct str name,
					    struct str text);
struct str exchange_values_name(const struct exchange_values *values);
/* As exchange_reader_next(). */
MUST_CHECK int exchange_values_next(struct exchange_values *values, struct exchange_entry *entry,
				    struct exchange_value *value_out);
/* NULL is allowed. */
void exchange_values_free(struct exchange_values *values);

void exchange_columns_free(struct exchange_columns *columns);

#endif
