// SPDX-License-Identifier: ISC
/* exchange/internal.h - between the parts of exchange/. */
#ifndef EXCHANGE_INTERNAL_H
#define EXCHANGE_INTERNAL_H

#include "base/arena.h"
#include "exchange/lines.h"
#include "exchange/reader.h"

struct exchange_names;
struct exchange_values;
struct exchange_columns;

struct exchange_reader {
	enum exchange_format format;
	const struct exchange_settings *settings;
	const char *file;
	struct exchange_lines lines;
	struct arena *arena; /* of the entry that is given out */
	struct buffer problem;
	struct directory_field *fields; /* DIRECTORY_FIELDS_MAX, of the record that is made */
	size_t field_count;
	struct exchange_names *names;    /* of aliases: lists; of postfix: alias domains; or NULL */
	struct exchange_values *members; /* aliases: of the list that is being read; or NULL */
	struct exchange_columns *columns; /* csv: NULL before the first line */
};

/* The formats: as exchange_reader_next(), but that it has reset arena and problem. */
MUST_CHECK int exchange_json_next(struct exchange_reader *reader, struct exchange_entry *entry);
MUST_CHECK int exchange_csv_next(struct exchange_reader *reader, struct exchange_entry *entry);
MUST_CHECK int exchange_aliases_next(struct exchange_reader *reader, struct exchange_entry *entry);
MUST_CHECK int exchange_postfix_next(struct exchange_reader *reader, struct exchange_entry *entry);

/* entry.c: makes ENTRY one of a wrong line; -EBADMSG. */
int exchange_problem(struct exchange_reader *reader, struct exchange_entry *entry,
		     const char *format, ...) PRINTF_LIKE(3, 4);
/* There is no TABLE of that name. */
int exchange_table_problem(struct exchange_reader *reader, struct exchange_entry *entry,
			   struct str table);
/* The line of LINES that exchange_lines_next() has refused: as a problem where it is one. */
int exchange_line_problem(struct exchange_reader *reader, struct exchange_entry *entry, int error);

/* Adds a field to the record that is made; VALUE outlives it. -E2BIG over
 * DIRECTORY_FIELDS_MAX. */
MUST_CHECK int exchange_add_field(struct exchange_reader *reader, const char *name,
				  struct str value);
MUST_CHECK int exchange_add_named(struct exchange_reader *reader, struct str name,
				  struct str value);
/* The key of ENTRY's record, for what may turn out to be wrong with the rest. */
void exchange_set_key(struct exchange_reader *reader, struct exchange_entry *entry,
		      enum directory_table table, struct str key);
/* Checks what was made and gives it out: 1, or -EBADMSG. */
MUST_CHECK int exchange_finish(struct exchange_reader *reader, struct exchange_entry *entry,
			       enum directory_table table, struct str key);

/* One address of TEXT: what stands between < and > where there is such, without comments, and
 * with the domain of the settings where it has none. NULL, or what is wrong with it. */
const char *exchange_address(struct exchange_reader *reader, struct str text,
			     struct str *address_out);
/* Cuts the text up to the first comma off *REST that is not in quotes, comments or angle
 * brackets; false when nothing is left. */
bool exchange_split(struct str *rest, struct str *piece_out);
/* The position of the first byte of SET outside of quotes, or -1. */
ptrdiff_t exchange_find_bare(struct str text, const char *set);

/* A set of names, of what all logical lines of READER's file have, which is read from its beginning
 * afterwards: exchange/names.c. READER's arena is reset after each line. */
MUST_CHECK int exchange_names_read(struct exchange_reader *reader,
				   void (*take_line)(struct exchange_reader *reader,
						     struct exchange_names *names, struct str line),
				   struct exchange_names **names_out);
void exchange_names_add(struct exchange_names *names, struct str text);
bool exchange_names_have(const struct exchange_names *names, struct str text);
void exchange_names_free(struct exchange_names *names);

/* Whose owner-NAME is in the file: exchange/owners.c. Lists are addresses, as keys. */
MUST_CHECK int exchange_owners_read(struct exchange_reader *reader,
				    struct exchange_names **lists_out);
/* Which domains are another one's in the file ("@a.example @b.example"), as keys. (postfix.c) */
MUST_CHECK int exchange_alias_domains_read(struct exchange_reader *reader,
					   struct exchange_names **domains_out);

/* Appends the owner that LIST has by its name, as a key: owner-LIST. -EINVAL when it is too long.
 */
MUST_CHECK int exchange_owner_address(struct str list, struct buffer *out);

/* The values of an alias, those of included files too: exchange/values.c. */
enum exchange_value_kind { EXCHANGE_VALUE_ADDRESS, EXCHANGE_VALUE_SELF };
struct exchange_value {
	enum exchange_value_kind kind;
	struct str text; /* an address, whole; until the next call */
	const char *file;
	unsigned line;
};
/* Of the alias called NAME, whose values are TEXT; both are copied. */
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
