// SPDX-License-Identifier: ISC
/*
 * directory/bulk/writer.h - writes records in the formats that directory/bulk/reader.h
 * reads.
 *
 * json and csv express every record completely. The others express what they can: "source" is
 * lost, and an alias is read back as a forward, which it is there.
 */
#ifndef DIRECTORY_BULK_WRITER_H
#define DIRECTORY_BULK_WRITER_H

#include "base/buffer.h"
#include "directory/bulk/reader.h"

/* Appends RECORD as a JSON object, without a newline. Fields that may be repeated are lists. */
void bulk_json_append(const struct directory_record *record, struct buffer *out);

/* Appends what precedes all records; for csv the column names. */
void bulk_write_head(enum bulk_format format, struct buffer *out);

/* Appends RECORD. Uses the domain of SETTINGS (aliases: only its addresses are written) and the
 * service (mailboxes, domains: the default, which is omitted). NULL; or why the format cannot
 * express it, "is a list", and OUT is unchanged. A list in aliases is only its name:
 * bulk_write_member() must follow for each of its members, and then
 * bulk_write_list_end(). */
const char *bulk_write(enum bulk_format format, const struct directory_record *record,
		       const struct bulk_settings *settings, struct buffer *out);
bool bulk_write_is_list(enum bulk_format format, const struct directory_record *record);
/* Whether aliases have RECORD as a name with targets. */
bool bulk_write_is_forward(const struct directory_record *record);
void bulk_write_member(struct str member, bool is_first, struct buffer *out);
void bulk_write_list_end(struct buffer *out);

#endif
