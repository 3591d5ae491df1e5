// SPDX-License-Identifier: ISC
/* directory/bulk/format/internal.h - shared by the parts of directory/bulk/. */
#ifndef DIRECTORY_BULK_FORMAT_INTERNAL_H
#define DIRECTORY_BULK_FORMAT_INTERNAL_H

#include "base/arena.h"
#include "directory/bulk/format/lines.h"
#include "directory/bulk/reader.h"

struct bulk_names;
struct bulk_values;
struct bulk_columns;

struct bulk_reader {
	enum bulk_format format;
	const struct bulk_settings *settings;
	const char *file;
	struct bulk_lines lines;
	struct arena *arena; /* of the present entry */
	struct buffer problem;
	struct directory_field *fields; /* DIRECTORY_FIELDS_MAX, of the record being built */
	size_t field_count;
	struct bulk_names *names;     /* of aliases: lists; of postfix: alias domains; or NULL */
	struct bulk_values *members;  /* aliases: of the list being read; or NULL */
	struct bulk_columns *columns; /* csv: NULL before the first line */
};

/* The formats: as bulk_reader_next(), which has reset arena and problem. */
MUST_CHECK int bulk_json_next(struct bulk_reader *reader, struct bulk_entry *entry);
MUST_CHECK int bulk_csv_next(struct bulk_reader *reader, struct bulk_entry *entry);
MUST_CHECK int bulk_aliases_next(struct bulk_reader *reader, struct bulk_entry *entry);
MUST_CHECK int bulk_postfix_next(struct bulk_reader *reader, struct bulk_entry *entry);

/* entry.c: turns ENTRY into a problem; returns -EBADMSG. */
int bulk_problem(struct bulk_reader *reader, struct bulk_entry *entry, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* Reports that there is no table of that name. */
int bulk_table_problem(struct bulk_reader *reader, struct bulk_entry *entry, struct str table);
/* For an error of bulk_lines_next(): reports a problem if it is one, or returns it. */
int bulk_line_problem(struct bulk_reader *reader, struct bulk_entry *entry, int error);

/* Adds a field to the record being built; VALUE must outlive it. -E2BIG: more than
 * DIRECTORY_FIELDS_MAX. */
MUST_CHECK int bulk_add_field(struct bulk_reader *reader, const char *name, struct str value);
MUST_CHECK int bulk_add_named(struct bulk_reader *reader, struct str name, struct str value);
/* Sets the key of ENTRY's record, in case there is a problem with the rest. */
void bulk_set_key(struct bulk_reader *reader, struct bulk_entry *entry, enum directory_table table,
		  struct str key);
/* Checks the record and makes it the entry: 1, or -EBADMSG. */
MUST_CHECK int bulk_finish(struct bulk_reader *reader, struct bulk_entry *entry,
			   enum directory_table table, struct str key);

/* Parses one address: what is within angle brackets, if there are any, without comments, and with
 * the domain of the settings if it has none. Returns NULL, or what is wrong. */
const char *bulk_address(struct bulk_reader *reader, struct str text, struct str *address_out);
/* Takes the text before the first comma that is not within quotes, comments or angle brackets off
 * *REST; false if nothing is left. */
bool bulk_split(struct str *rest, struct str *piece_out);
/* The position of the first byte of SET outside of quotes, or -1. */
ptrdiff_t bulk_find_bare(struct str text, const char *set);

/* names.c: collects a set of names from all logical lines of READER's file, and rewinds the file.
 * Resets READER's arena after each line. */
MUST_CHECK int bulk_names_read(struct bulk_reader *reader,
			       void (*take_line)(struct bulk_reader *reader,
						 struct bulk_names *names, struct str line),
			       struct bulk_names **names_out);
struct bulk_names *bulk_names_new(void);
void bulk_names_add(struct bulk_names *names, struct str text);
bool bulk_names_have(const struct bulk_names *names, struct str text);
void bulk_names_free(struct bulk_names *names);

/* owners.c: the aliases that have an owner-NAME in the file. Lists are addresses, as keys. */
MUST_CHECK int bulk_owners_read(struct bulk_reader *reader, struct bulk_names **lists_out);
/* postfix.c: domains that the file maps to another one ("@a.example @b.example"), as keys. */
MUST_CHECK int bulk_alias_domains_read(struct bulk_reader *reader, struct bulk_names **domains_out);

/* Appends the owner's address that belongs to LIST by name, as a key: owner-LIST. -EINVAL: too
 * long. */
MUST_CHECK int bulk_owner_address(struct str list, struct buffer *out);

/* values.c: the values of an alias, with those of included files. */
enum bulk_value_kind { BULK_VALUE_ADDRESS, BULK_VALUE_SELF };
struct bulk_value {
	enum bulk_value_kind kind;
	struct str text; /* a complete address; until the next call */
	const char *file;
	unsigned line;
};
/* For the alias NAME with the values TEXT; copies both. */
struct bulk_values *bulk_values_new(struct bulk_reader *reader, struct str name, struct str text);
struct str bulk_values_name(const struct bulk_values *values);
/* As bulk_reader_next(). */
MUST_CHECK int bulk_values_next(struct bulk_values *values, struct bulk_entry *entry,
				struct bulk_value *value_out);
/* NULL is allowed. */
void bulk_values_free(struct bulk_values *values);

void bulk_columns_free(struct bulk_columns *columns);

#endif
