// SPDX-License-Identifier: ISC
#include "queue/control/checksum.h"
#include "base/checksum.h"
#include "mail/envelope.h"

enum {
	DIGITS = 8,
	HEAD_COVERED = sizeof "sum: " - 1 + DIGITS, /* bytes of the sum record that its second
						     * checksum covers */
};

static void append_checksum(struct buffer *out, uint32_t checksum)
{
	static const char digits[] = "0123456789abcdef";
	char text[DIGITS];

	for (unsigned i = 0; i < DIGITS; i++)
		text[i] = digits[checksum >> 4 * (DIGITS - 1 - i) & 0xf];
	buffer_append(out, text, sizeof text);
}

/* Exactly as it is written: upper case is damage. */
static bool read_checksum(const char *text, uint32_t *checksum_out)
{
	uint32_t checksum = 0;

	for (unsigned i = 0; i < DIGITS; i++) {
		char c = text[i];

		if (c >= '0' && c <= '9')
			checksum = checksum << 4 | (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			checksum = checksum << 4 | (uint32_t)(c - 'a' + 10);
		else
			return false;
	}
	*checksum_out = checksum;
	return true;
}

bool queue_checksum_is_used(struct str text)
{
	return str_starts_with(text, STR("stagepost 2\n"));
}

/* --- of the envelope and the data --- */

void queue_checksum_add_head(struct buffer *out, struct str envelope, uint32_t data)
{
	uint32_t checksum = checksum_extend(0, envelope.data, envelope.length);
	size_t begin = out->length;

	buffer_append_string(out, "sum: ");
	append_checksum(out, data);
	checksum = checksum_extend(checksum, buffer_data(out) + begin, out->length - begin);
	buffer_append_byte(out, ' ');
	append_checksum(out, checksum);
	buffer_append_byte(out, '\n');
}

bool queue_checksum_compare_head(struct str line, struct str envelope,
				 struct queue_checksums *sums_out)
{
	uint32_t checksum = checksum_extend(0, envelope.data, envelope.length);

	if (line.length != QUEUE_CHECKSUM_HEAD_SIZE - 1 || !str_starts_with(line, STR("sum: ")) ||
	    line.data[HEAD_COVERED] != ' ' ||
	    !read_checksum(line.data + HEAD_COVERED + 1, &sums_out->expected))
		return false;
	sums_out->found = checksum_extend(checksum, line.data, HEAD_COVERED);
	return true;
}

bool queue_checksum_read_head(struct str line, struct str envelope, uint32_t *data_out)
{
	struct queue_checksums sums;
	uint32_t data;

	if (!queue_checksum_compare_head(line, envelope, &sums) || sums.expected != sums.found ||
	    !read_checksum(line.data + HEAD_COVERED - DIGITS, &data))
		return false;
	*data_out = data;
	return true;
}

/* --- of records --- */

uint32_t queue_checksum_of_birth(int64_t born_us)
{
	char id[MAIL_ID_SIZE];
	struct str birth;
	struct str number;

	mail_id_format((struct mail_id){0, born_us}, id);
	birth = str_from(id);
	(void)str_split(&birth, '-', &number);
	return checksum_extend(0, birth.data, birth.length);
}

void queue_checksum_add_records(struct buffer *text, size_t from, int64_t born_us)
{
	uint32_t of_birth = queue_checksum_of_birth(born_us);
	struct buffer plain CLEANUP(buffer_clear) = {0};
	struct str rest;
	struct str line;

	if (text->length == from)
		return;
	buffer_append(&plain, buffer_data(text) + from, text->length - from);
	buffer_truncate(text, from);
	rest = buffer_view(&plain);
	while (rest.length > 0 && str_split(&rest, '\n', &line)) {
		buffer_append_str(text, line);
		buffer_append_string(text, " #");
		append_checksum(text, checksum_extend(of_birth, line.data, line.length));
		buffer_append_byte(text, '\n');
	}
}

bool queue_checksum_compare(struct str line, uint32_t of_birth, struct queue_checksums *sums_out)
{
	struct str record;

	if (line.length < QUEUE_CHECKSUM_SIZE)
		return false;
	record = str_slice(line.data, line.length - QUEUE_CHECKSUM_SIZE);
	if (record.data[record.length] != ' ' || record.data[record.length + 1] != '#' ||
	    !read_checksum(record.data + record.length + 2, &sums_out->expected))
		return false;
	sums_out->found = checksum_extend(of_birth, record.data, record.length);
	return true;
}

bool queue_checksum_take(struct str *line, uint32_t of_birth)
{
	struct queue_checksums sums;

	if (!queue_checksum_compare(*line, of_birth, &sums) || sums.expected != sums.found)
		return false;
	line->length -= QUEUE_CHECKSUM_SIZE;
	return true;
}

bool queue_checksum_has_record(struct str text, int64_t born_us)
{
	uint32_t of_birth = queue_checksum_of_birth(born_us);
	struct str line;

	while (text.length > 0 && str_split(&text, '\n', &line))
		if (queue_checksum_take(&line, of_birth))
			return true;
	return false;
}
