// SPDX-License-Identifier: ISC
/*
 * exchange/reader.h - records out of the text forms in which other systems keep them.
 *
 *   json       one object a line: {"table":"address","key":"ann@example.org","kind":"forward",
 *              "target":["a@example.net","b@example.net"]}; a field is a text, or a list of them
 *   csv        RFC 4180; the first line names the columns: table, key, and fields. A field that
 *              may come more than once has a line for each value in its cell, or several columns
 *   aliases    sendmail's aliases(5): "name: address, address". Forwards; where owner-NAME
 *              is in the same file, NAME is a list, of that owner. "\name" is a mailbox
 *   postfix    virtual(5): "address address, address" is a forward, "@domain address" a
 *              catch-all, "domain anything" a local domain, "@domain @domain" an alias domain
 *   mailboxes  Postfix's virtual_mailbox_maps: "address anything" is a mailbox
 *
 * Whatever is read is in the form that directory_record_check() gives it. Memory does not
 * grow with the input, but for the names of aliases' owners.
 */
#ifndef EXCHANGE_READER_H
#define EXCHANGE_READER_H

#include "directory/record/record.h"

enum exchange_format {
	EXCHANGE_JSON,
	EXCHANGE_CSV,
	EXCHANGE_ALIASES,
	EXCHANGE_POSTFIX,
	EXCHANGE_MAILBOXES,
	EXCHANGE_FORMATS,
};

/* "json", "csv", "aliases", "postfix", "mailboxes" */
const char *exchange_format_name(enum exchange_format format);
/* EXCHANGE_FORMATS when there is none of that NAME. */
enum exchange_format exchange_format_find(struct str name);

/* All may be NULL. The texts outlive the reader. */
struct exchange_settings {
	const char *domain;  /* of names without one */
	const char *service; /* of mailboxes and local domains */
	const char *source;  /* field "source" of addresses that have none */
	const char *table;   /* csv, json: of lines that name none */
	bool include;        /* aliases: files that ":include:" names are read */
};

struct exchange_entry {
	const char *file; /* where it stands; another one than the reader's by :include: */
	unsigned line;
	/* Checked; until the next call. With a problem only its key, where that is known; else
	 * its table is DIRECTORY_NO_TABLE. */
	struct directory_record record;
	struct str problem; /* what is wrong and what is allowed; until the next call */
};

struct exchange_reader;

/* Reads DESCRIPTOR, a file from its start, not owned; FILE is what it is called in problems.
 * Aliases are read over for their owners before this returns, and have to be a file for that: 0, or
 * -errno. */
MUST_CHECK int exchange_reader_new(enum exchange_format format, const char *file, int descriptor,
				   const struct exchange_settings *settings,
				   struct exchange_reader **reader_out);
/* 1: the next record; 0: there are no more; -EBADMSG: a line is wrong, its record is not
 * there, and ENTRY has file, line and problem: go on with the next call; or -errno of the
 * reading. */
MUST_CHECK int exchange_reader_next(struct exchange_reader *reader,
				    struct exchange_entry *entry_out);
/* Lines that were read; of the first file. */
unsigned exchange_reader_lines(const struct exchange_reader *reader);
void exchange_reader_free(struct exchange_reader *reader);

#endif
