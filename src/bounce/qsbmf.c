// SPDX-License-Identifier: ISC
/*
 * QSBMF exactly as specified: https://cr.yp.to/proto/qsbmf.txt. The body begins with the text for
 * people, followed by the original, unchanged.
 */
#include "bounce/internal.h"
#include "mail/text/text.h"

/* Parsers of QSBMF read the body without decoding, so MIME may only declare which bytes are in
 * it. */
static void append_type(const struct bounce_copy *copy, struct buffer *out)
{
	bounce_header(out, "MIME-Version", STR("1.0"));
	buffer_append_format(out, "Content-Type: text/plain; charset=%s\r\n",
			     copy->is_8bit ? "unknown-8bit" : "utf-8");
	bounce_header(out, "Content-Transfer-Encoding", STR("8bit"));
}

void bounce_qsbmf_write(const struct bounce_report *report, const struct bounce_copy *copy,
			struct str text, struct buffer *out)
{
	bounce_addressing_write(report, copy->is_utf8, out);
	if (copy->is_8bit || bounce_is_8bit(text) || bounce_is_8bit(report->sender))
		append_type(copy, out);
	buffer_append_string(out, "\r\n");
	buffer_append_str(out, text);
	buffer_append_string(out, "Return-Path: <");
	mail_text_append(out, report->sender, MAIL_TEXT_8BIT);
	buffer_append_string(out, ">\r\n");
	buffer_append_str(out, copy->text);
	if (copy->text.length > 0 && copy->text.data[copy->text.length - 1] != '\n')
		buffer_append_string(out, "\r\n");
}
