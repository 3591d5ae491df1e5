// SPDX-License-Identifier: ISC
/*
 * queue/control/checksum.h - the checksums of format 2.
 *
 * The envelope is followed by one record for it and for the data:
 *
 *   sum: 2a5b90c1 77e01d3f
 *
 * The first is the CRC-32C of the message's data, the second that of the envelope, from
 * "stagepost 2" to "end:" and its newline, and of "sum: " with the first. Each later record ends
 * with its own:
 *
 *   done: 1 2026-11-20T08:33:11Z 2.0.0 stored #1f0c33a2
 *
 * This is the CRC-32C of the message's birth, in hexadecimal as in its id, and the line before "
 * #": so the record of another message, which a disk may have put here, is not one of this message.
 * The records in bounce/ have none, because only people read them. In format 1 there are no
 * checksums.
 */
#ifndef QUEUE_CONTROL_CHECKSUM_H
#define QUEUE_CONTROL_CHECKSUM_H

#include "base/attributes.h"
#include "base/buffer.h"

/* A checksum as it was written, and that of what is there. */
struct queue_checksums {
	uint32_t expected;
	uint32_t found;
};

enum {
	QUEUE_CHECKSUM_SIZE = sizeof " #00000000" - 1, /* bytes, of a record */
	QUEUE_CHECKSUM_HEAD_SIZE =
		sizeof "sum: 00000000 00000000\n" - 1, /* bytes, of the envelope */
};

/* Whether TEXT begins an envelope of format 2. */
bool queue_checksum_is_used(struct str text);

/* Appends the sum record of the envelope ENVELOPE, whose data have the checksum DATA. ENVELOPE may
 * be a view of OUT. */
void queue_checksum_add_head(struct buffer *out, struct str envelope, uint32_t data);
/* LINE is the sum record after ENVELOPE: whether it is one, and right; the checksum of the data. */
bool queue_checksum_read_head(struct str line, struct str envelope, uint32_t *data_out);

/* The same: whether it has the form of one, right or not; what it says of itself and of ENVELOPE.
 */
bool queue_checksum_compare_head(struct str line, struct str envelope,
				 struct queue_checksums *sums_out);

/* What the checksums of a message's records begin with. */
uint32_t queue_checksum_of_birth(int64_t born_us);
/* Gives each line of TEXT from byte FROM on, which end with newlines, its checksum. */
void queue_checksum_add_records(struct buffer *text, size_t from, int64_t born_us);
/* Whether *LINE ends with its checksum, which is then taken off. */
bool queue_checksum_take(struct str *line, uint32_t of_birth);
/* Whether any line of TEXT is a record of the message that was born at BORN_US. */
bool queue_checksum_has_record(struct str text, int64_t born_us);
/* Whether LINE ends with a checksum, right or not. */
bool queue_checksum_compare(struct str line, uint32_t of_birth, struct queue_checksums *sums_out);

#endif
