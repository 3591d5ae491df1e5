// SPDX-License-Identifier: ISC
/*
 * directory/bulk/reader.h - reads records from the text formats of other systems.
 *
 *   json       one object a line: {"table":"address","key":"ann@example.org","kind":"forward",
 *              "target":["a@example.net","b@example.net"]}; a field is a text, or a list of them
 *   csv        RFC 4180; the first line names the columns: table, key, and fields. A field that
 *              may be repeated has one value on each line of its cell, or several columns
 *   aliases    sendmail's aliases(5): "name: address, address". Forwards; but if owner-NAME
 *              is in the same file, NAME is a list with that owner. "\name" is a mailbox
 *   postfix    virtual(5): "address address, address" is a forward, "@domain address" a
 *              catch-all, "domain anything" a local domain, "@domain @domain" an alias domain
 *   mailboxes  Postfix's virtual_mailbox_maps: "address anything" is a mailbox
 *
 * Records are in the form of directory_record_check(). Memory does not grow with the input, except
 * for the names of owners in aliases.
 */
#ifndef DIRECTORY_BULK_READER_H
#define DIRECTORY_BULK_READER_H

#include "directory/record/record.h"

enum bulk_format {
	BULK_JSON,
	BULK_CSV,
	BULK_ALIASES,
	BULK_POSTFIX,
	BULK_MAILBOXES,
	BULK_FORMATS,
};

/* "json", "csv", "aliases", "postfix", "mailboxes" */
const char *bulk_format_name(enum bulk_format format);
/* BULK_FORMATS if no format has that NAME. */
enum bulk_format bulk_format_find(struct str name);

/* All may be NULL. The texts must outlive the reader. */
struct bulk_settings {
	const char *domain;  /* for names without one */
	const char *service; /* for mailboxes and local domains */
	const char *source;  /* field "source" for addresses that have none */
	const char *table;   /* csv, json: for lines that name none */
	bool include;        /* aliases: read the files of ":include:" */
};

struct bulk_entry {
	const char *file; /* of the line; may differ from the reader's by :include: */
	unsigned line;
	/* Checked; valid until the next call. With a problem only its key, if that is known; else
	 * its table is DIRECTORY_NO_TABLE. */
	struct directory_record record;
	bool may_be_alias;  /* a forward to one address, of a format that has no aliases */
	struct str problem; /* what is wrong and what is allowed; valid until the next call */
};

struct bulk_reader;

/* Reads DESCRIPTOR, which is not owned, from the start of the file; FILE is its name in problems.
 * For aliases, first collects the owners, so that it must be a regular file. 0, or -errno. */
MUST_CHECK int bulk_reader_new(enum bulk_format format, const char *file, int descriptor,
			       const struct bulk_settings *settings,
			       struct bulk_reader **reader_out);
/* 1: the next record; 0: no more; -EBADMSG: a malformed line without a record, with file, line and
 * problem in ENTRY: continue with the next call; or -errno if reading fails. */
MUST_CHECK int bulk_reader_next(struct bulk_reader *reader, struct bulk_entry *entry_out);
/* The number of lines read of the first file. */
unsigned bulk_reader_lines(const struct bulk_reader *reader);
void bulk_reader_free(struct bulk_reader *reader);

#endif
