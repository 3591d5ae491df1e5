// SPDX-License-Identifier: ISC
#include "bounce/report.h"
#include "base/panic.h"
#include "bounce/internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOUNDARY_SIZE = 80 };

/* Chooses a boundary that does not occur in the parts: their senders cannot know it, but one of
 * the parts may be a bounce of ours. */
static void choose_boundary(const struct bounce_report *report, const struct bounce_copy *copy,
			    struct str text, char boundary[BOUNDARY_SIZE])
{
	unsigned attempt = 0;

	do
		snprintf(boundary, BOUNDARY_SIZE, "=_%" PRIu64 "-%" PRIx64 "-%" PRIx64 "-%u",
			 report->id.number, (uint64_t)report->id.born_us, (uint64_t)report->now_us,
			 attempt++);
	while (memmem(copy->text.data, copy->text.length, boundary, strlen(boundary)) != NULL ||
	       memmem(text.data, text.length, boundary, strlen(boundary)) != NULL);
}

static void append_report_header(const struct bounce_report *report, const char *boundary,
				 bool is_utf8, bool eight, struct buffer *out)
{
	bounce_addressing_write(report, is_utf8, out);
	bounce_header(out, "MIME-Version", STR("1.0"));
	buffer_append_format(out,
			     "Content-Type: multipart/report; report-type=delivery-status;\r\n"
			     " boundary=\"%s\"\r\n",
			     boundary);
	if (eight)
		bounce_header(out, "Content-Transfer-Encoding", STR("8bit"));
	buffer_append_string(out, "\r\n");
}

static void append_text_part(struct str text, struct buffer *out)
{
	buffer_append_string(out, "Content-Type: text/plain; charset=utf-8\r\n");
	if (bounce_is_8bit(text))
		buffer_append_string(out, "Content-Transfer-Encoding: 8bit\r\n");
	buffer_append_string(out, "\r\n");
	buffer_append_str(out, text);
}

static void write_report_parts(const struct bounce_report *report, const struct bounce_copy *copy,
			       struct str text, struct buffer *out)
{
	char boundary[BOUNDARY_SIZE];

	choose_boundary(report, copy, text, boundary);
	append_report_header(
		report, boundary, copy->is_utf8,
		bounce_is_8bit(text) || copy->is_utf8 || (copy->is_8bit && !copy->is_header), out);
	buffer_append_format(out, "--%s\r\n", boundary);
	append_text_part(text, out);
	buffer_append_format(out, "\r\n--%s\r\nContent-Type: message/%sdelivery-status\r\n%s\r\n",
			     boundary, copy->is_utf8 ? "global-" : "",
			     copy->is_utf8 ? "Content-Transfer-Encoding: 8bit\r\n" : "");
	bounce_status_write(report, copy->is_utf8, out);
	buffer_append_format(out, "\r\n--%s\r\n", boundary);
	bounce_copy_write(copy, out);
	buffer_append_format(out, "\r\n--%s--\r\n", boundary);
}

static void write_report_with_copy(const struct bounce_report *report,
				   const struct bounce_copy *copy, struct buffer *out)
{
	struct buffer text = {0};

	bounce_text_write(report, copy, &text);
	if (bounce_is_qsbmf(report))
		bounce_qsbmf_write(report, copy, buffer_view(&text), out);
	else
		write_report_parts(report, copy, buffer_view(&text), out);
	buffer_clear(&text);
}

/* Writes the report with as much of the message as fits; returns whether it fits with part or
 * none of it. A note that the message is cut makes the rest of the report longer, so it is cut
 * again until it fits. */
static bool write_bounded(const struct bounce_report *report, struct buffer *out, bool *is_utf8)
{
	uint64_t max = report->max_bytes != 0 ? report->max_bytes : UINT64_MAX;
	uint64_t bound = max;
	size_t start = out->length;

	for (;;) {
		struct bounce_copy copy = bounce_copy_choose(report, bound);
		uint64_t excess;

		buffer_truncate(out, start);
		write_report_with_copy(report, &copy, out);
		*is_utf8 = copy.is_utf8;
		if (out->length - start <= max)
			return true;
		if (copy.text.length == 0)
			return false;
		excess = out->length - start - max;
		bound = copy.text.length > excess ? copy.text.length - excess : 0;
	}
}

/* TEXT's first LENGTH bytes, without a UTF-8 character that would be cut. */
static struct str cut_text(struct str text, size_t length)
{
	if (text.length <= length)
		return text;
	while (length > 0 && ((unsigned char)text.data[length] & 0xc0) == 0x80)
		length--;
	return str_slice(text.data, length);
}

bool bounce_report_write(const struct bounce_report *report, struct buffer *out)
{
	static const size_t lengths[] = {200, 60}; /* limits for reasons */
	struct bounce_report shorter = *report;
	struct bounce_outcome *outcomes = NULL;
	size_t start = out->length;
	bool is_utf8;
	bool fits = write_bounded(report, out, &is_utf8);

	for (size_t i = 0; !fits && i < COUNT_OF(lengths); i++) {
		if (outcomes == NULL)
			outcomes = memory_alloc_zero(report->outcome_count, sizeof *outcomes);
		for (size_t j = 0; j < report->outcome_count; j++) {
			outcomes[j] = report->outcomes[j];
			outcomes[j].text = cut_text(outcomes[j].text, lengths[i]);
		}
		shorter.outcomes = outcomes;
		buffer_truncate(out, start);
		fits = write_bounded(&shorter, out, &is_utf8);
	}
	free(outcomes);
	return is_utf8;
}
