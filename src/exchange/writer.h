// SPDX-License-Identifier: ISC
/*
 * exchange/writer.h - records in the forms that exchange/reader.h reads.
 *
 * json and csv say everything of every record, and what is read again is the same. The others say
 * what they can: "source" is lost, and an alias comes back as the forward that it is there.
 */
#ifndef EXCHANGE_WRITER_H
#define EXCHANGE_WRITER_H

#include "base/buffer.h"
#include "exchange/reader.h"

/* RECORD as one object of JSON, without a newline. Fields that may come more than once are lists.
 */
void exchange_json_append(const struct directory_record *record, struct buffer *out);

/* What stands in front of all records; of csv the names of the columns. */
void exchange_write_head(enum exchange_format format, struct buffer *out);

/* Appends RECORD. Of SETTINGS the domain (aliases: only its addresses are written) and the service
 * (mailboxes, domains: the one that need not be said) count. NULL; or why this form cannot say it,
 * "is a list", and OUT is unchanged. A list in aliases is its name only: exchange_write_member()
 * has to follow for each of its members, and then exchange_write_list_end(). */
const char *exchange_write(enum exchange_format format, const struct directory_record *record,
			   const struct exchange_settings *settings, struct buffer *out);
bool exchange_write_is_list(enum exchange_format format, const struct directory_record *record);
void exchange_write_member(struct str member, bool is_first, struct buffer *out);
void exchange_write_list_end(struct buffer *out);

#endif
