// SPDX-License-Identifier: ISC
#include "smtp/text.h"
#include "smtp/header.h"
#include <string.h>

enum { PIECE_MAX = 65536, EDITED_PIECE_MAX = 16384 };

static bool is_counted_text(const struct smtp_text *t)
{
	return t->rules.form != SMTP_TEXT_STUFFED;
}

static void end_header_line(struct smtp_text *t)
{
	smtp_header_end_line(t);
	if (t->header.hops > t->rules.hops)
		t->is_kept = false;
}

static void keep_text(struct smtp_text *t, const char *data, size_t length)
{
	uint64_t bound = t->rules.size;
	size_t before;

	t->size += length;
	if (bound > 0 && t->size > bound)
		t->is_kept = false;
	if (!t->is_kept)
		return;
	before = t->body->length;
	if (t->edit != NULL)
		header_edit_take(t->edit, str_slice(data, length), t->body);
	else
		buffer_append(t->body, data, length);
	t->kept += t->body->length - before;
}

static void end_edit(struct smtp_text *t)
{
	size_t before = t->body->length;

	if (t->edit != NULL && t->is_kept)
		header_edit_end(t->edit, t->body);
	t->kept += t->body->length - before;
}

/* The body of a binary message has no lines: to look for them would change it. */
static bool is_raw(const struct smtp_text *t)
{
	return t->rules.form == SMTP_TEXT_BINARY && t->header.is_over;
}

/* A first line that begins with a space or tab would continue our own Received line, and could
 * forge its content. It cannot be a header (RFC 5322 section 2.2), so it is the body of a
 * message without a header; like Postfix we insert the missing empty line before it. Whether that
 * was done. */
static bool keep_out_of_trace(struct smtp_text *t, char first)
{
	if (t->size > 0 || (first != ' ' && first != '\t'))
		return false;
	t->header.is_over = true;
	keep_text(t, "\r\n", 2);
	return true;
}

/* These bytes contain NULs, which no message may have (RFC 5322 section 4). */
static void keep_without_nul(struct smtp_text *t, const char *data, size_t length)
{
	const char *end = data + length;

	if (!t->rules.removes_nul) {
		t->has_nul = true;
		t->is_kept = false;
		keep_text(t, data, length); /* their size counts in any case */
		return;
	}
	while (data < end) {
		const char *nul = memchr(data, '\0', (size_t)(end - data));
		size_t plain = (size_t)((nul != NULL ? nul : end) - data);

		if (plain > 0 && keep_out_of_trace(t, *data) && is_raw(t)) {
			keep_text(t, data, (size_t)(end - data));
			return;
		}
		if (plain > 0)
			keep_text(t, data, plain);
		data += plain + 1;
	}
}

static void keep_text_bytes(struct smtp_text *t, const char *data, size_t length)
{
	bool is_body = length > 0 && keep_out_of_trace(t, *data); /* perhaps after removed NULs */
	bool takes_nul = is_body && is_raw(t);

	if (!takes_nul && memchr(data, '\0', length) != NULL) /* also when it is refused already */
		keep_without_nul(t, data, length);
	else
		keep_text(t, data, length);
}

static void refuse_bare_line_end(struct smtp_text *t)
{
	t->has_bare_line_end = true;
	t->scan = SMTP_SCAN_MIDDLE;
	t->is_kept = false;
}

static void end_text_line(struct smtp_text *t)
{
	if (!t->header.is_over)
		end_header_line(t);
	keep_text(t, "\r\n", 2);
}

/* At an LF without CR. If it is bare, a dot after it belongs to the message, and neither ends it
 * nor is stuffing: a client that stuffs dots does so after CRLF. */
static void take_feed(struct smtp_text *t)
{
	bool is_bare = t->rules.form != SMTP_TEXT_FEEDS;

	if (is_bare && !t->rules.is_normalized) {
		refuse_bare_line_end(t);
		return;
	}
	t->has_bare_line_end |= is_bare;
	end_text_line(t);
	t->scan = is_counted_text(t) ? SMTP_SCAN_START : SMTP_SCAN_MIDDLE;
}

/* At a bare CR whose next byte is known: that byte decides what becomes of it. */
static void take_bare_return(struct smtp_text *t)
{
	if (!t->rules.is_normalized) {
		refuse_bare_line_end(t);
		return;
	}
	t->has_bare_line_end = true;
	t->scan = SMTP_SCAN_MIDDLE_CR;
}

/* The length of the line at DATA with its CRLF, if it is complete and contains no other CR or
 * LF. */
static size_t whole_line(const char *data, size_t length)
{
	const char *feed = memchr(data, '\n', length);
	const char *cr = feed != NULL ? memchr(data, '\r', (size_t)(feed - data)) : NULL;

	return cr != NULL && cr + 1 == feed ? (size_t)(feed - data) + 1 : 0;
}

/* The next CR or LF. There may be many bare ones: searching far for each of them would take
 * quadratic time. */
static size_t find_line_end_byte(const struct smtp_text *t, const char *data, size_t length)
{
	const char *feed;
	const char *cr;
	size_t before = 0;

	if (t->has_bare_line_end) {
		while (before < length && data[before] != '\r' && data[before] != '\n')
			before++;
		return before;
	}
	feed = memchr(data, '\n', length);
	before = feed != NULL ? (size_t)(feed - data) : length;
	cr = memchr(data, '\r', before);
	return cr != NULL ? (size_t)(cr - data) : before;
}

/* Bytes that do not begin with a complete line. */
static size_t take_part_of_text_line(struct smtp_text *t, const char *data, size_t length)
{
	size_t plain = find_line_end_byte(t, data, length);

	if (!t->header.is_over)
		smtp_header_take(t, data, plain);
	keep_text_bytes(t, data, plain);
	t->scan = SMTP_SCAN_MIDDLE;
	if (plain == length)
		return length;
	if (data[plain] == '\r' && plain + 1 == length)
		t->scan = SMTP_SCAN_MIDDLE_CR;
	else if (data[plain] == '\r')
		take_bare_return(t);
	else
		take_feed(t);
	return plain + 1;
}

/* As many complete lines as there are that end with LF. */
static size_t take_feed_lines(struct smtp_text *t, const char *data, size_t length)
{
	size_t done = 0;

	while (done < length && !t->has_bare_line_end) {
		const char *line = data + done;
		const char *feed = memchr(line, '\n', length - done);
		size_t plain = feed != NULL ? (size_t)(feed - line) : 0;

		if (feed == NULL || memchr(line, '\r', plain) != NULL)
			break;
		if (!t->header.is_over)
			smtp_header_take(t, line, plain);
		keep_text_bytes(t, line, plain);
		end_text_line(t);
		t->scan = SMTP_SCAN_START;
		done += plain + 1;
	}
	return done > 0 ? done : take_part_of_text_line(t, data, length);
}

/* Copies at once as many complete lines as there are, with DATA up to a line that begins with a
 * dot. */
static size_t take_whole_text_lines(struct smtp_text *t, const char *data, size_t length)
{
	size_t done = 0;

	if (t->rules.form == SMTP_TEXT_FEEDS)
		return take_feed_lines(t, data, length);
	if (t->has_bare_line_end)
		return take_part_of_text_line(t, data, length);
	do {
		size_t line = whole_line(data + done, length - done);

		if (line == 0)
			break;
		if (!t->header.is_over) {
			smtp_header_take(t, data + done, line - 2);
			end_header_line(t);
		}
		done += line;
	} while (done < length && !is_raw(t) && (is_counted_text(t) || data[done] != '.'));
	if (done == 0)
		return take_part_of_text_line(t, data, length);
	keep_text_bytes(t, data, done);
	t->scan = SMTP_SCAN_START;
	return done;
}

static size_t take_raw(struct smtp_text *t, const char *data, size_t length)
{
	keep_text(t, data, length);
	t->scan = SMTP_SCAN_START;
	return length;
}

static size_t take_at_start(struct smtp_text *t, const char *data, size_t length)
{
	if (data[0] != '.' || is_counted_text(t)) {
		(void)keep_out_of_trace(t, data[0]);
		return is_raw(t) ? take_raw(t, data, length)
				 : take_whole_text_lines(t, data, length);
	}
	t->scan = SMTP_SCAN_DOT;
	return 1;
}

/* A dot that starts a line is either stuffing or the end of the message. */
static size_t take_after_dot(struct smtp_text *t, char byte)
{
	(void)keep_out_of_trace(t, byte);
	t->scan = byte == '\r' ? SMTP_SCAN_DOT_CR : SMTP_SCAN_MIDDLE;
	return byte == '\r' ? 1 : 0;
}

static size_t take_after_dot_cr(struct smtp_text *t, char byte)
{
	if (byte == '\n') {
		t->scan = SMTP_SCAN_END;
		return 1;
	}
	take_bare_return(t);
	return 0;
}

/* CRs before a line end are dropped, other bare CRs become a space. */
static size_t take_normalized(struct smtp_text *t, char byte)
{
	if (byte == '\r')
		return 1;
	(void)keep_out_of_trace(t, ' ');
	if (!t->header.is_over)
		smtp_header_take(t, " ", 1);
	keep_text(t, " ", 1);
	t->scan = SMTP_SCAN_MIDDLE;
	return 0;
}

static size_t take_after_cr(struct smtp_text *t, char byte)
{
	bool is_end = byte == '\n';

	if (!is_end || t->rules.form == SMTP_TEXT_FEEDS) {
		take_bare_return(t);
		if (!is_end || !t->rules.is_normalized)
			return t->rules.is_normalized ? take_normalized(t, byte) : 0;
	}
	end_text_line(t);
	t->scan = SMTP_SCAN_START;
	return 1;
}

static enum smtp_scan scan_byte(enum smtp_scan scan, char byte, bool is_chunked)
{
	if (byte == '\n' && scan == SMTP_SCAN_DOT_CR)
		return SMTP_SCAN_END;
	if (byte == '\n')
		return scan == SMTP_SCAN_MIDDLE_CR ? SMTP_SCAN_START : SMTP_SCAN_MIDDLE;
	if (byte == '\r')
		return scan == SMTP_SCAN_DOT ? SMTP_SCAN_DOT_CR : SMTP_SCAN_MIDDLE_CR;
	return byte == '.' && scan == SMTP_SCAN_START && !is_chunked ? SMTP_SCAN_DOT
								     : SMTP_SCAN_MIDDLE;
}

/* Only searches for the end, byte by byte: searching for each line's end would take quadratic
 * time if all bytes are CR. */
static size_t take_refused(struct smtp_text *t, const char *data, size_t length)
{
	size_t i = 0;

	while (i < length && t->scan != SMTP_SCAN_END)
		t->scan = scan_byte(t->scan, data[i++], is_counted_text(t));
	return i;
}

static size_t take_some(struct smtp_text *t, const char *data, size_t length)
{
	if (t->has_bare_line_end && !t->rules.is_normalized)
		return take_refused(t, data, length);
	if (is_raw(t))
		return take_raw(t, data, length);
	switch (t->scan) {
	case SMTP_SCAN_START:
		return take_at_start(t, data, length);
	case SMTP_SCAN_DOT:
		return take_after_dot(t, data[0]);
	case SMTP_SCAN_DOT_CR:
		return take_after_dot_cr(t, data[0]);
	case SMTP_SCAN_MIDDLE:
		return take_whole_text_lines(t, data, length);
	case SMTP_SCAN_MIDDLE_CR:
		return take_after_cr(t, data[0]);
	case SMTP_SCAN_END:
		break;
	}
	return length;
}

size_t smtp_text_piece(const struct smtp_text *t)
{
	return t->edit != NULL ? EDITED_PIECE_MAX : PIECE_MAX;
}

bool smtp_text_take(struct smtp_text *t, const char *data, size_t length, size_t *taken_out)
{
	size_t taken = 0;

	if (length > smtp_text_piece(t))
		length = smtp_text_piece(t);
	while (taken < length && t->scan != SMTP_SCAN_END)
		taken += take_some(t, data + taken, length - taken);
	*taken_out = taken;
	if (t->scan != SMTP_SCAN_END)
		return false;
	end_edit(t);
	return true;
}

void smtp_text_take_all(struct smtp_text *t, const char *data, size_t length)
{
	size_t taken = 0;

	while (taken < length)
		taken += take_some(t, data + taken, length - taken);
}

void smtp_text_end(struct smtp_text *t)
{
	enum smtp_scan scan = t->scan;

	if (scan == SMTP_SCAN_MIDDLE_CR && !t->rules.is_normalized)
		refuse_bare_line_end(t);
	else if (scan == SMTP_SCAN_MIDDLE_CR || scan == SMTP_SCAN_MIDDLE)
		end_text_line(t);
	t->scan = SMTP_SCAN_END;
	end_edit(t);
}

const struct mail_verdict smtp_text_loop = {
	MAIL_FAIL, "5.4.6", "This message was delivered or sent on here before: a mail loop"};

const struct mail_verdict *smtp_text_refusal_so_far(const struct smtp_text *t)
{
	static const struct mail_verdict large = {MAIL_FAIL, "5.3.4",
						  "Message is over the size limit"};
	static const struct mail_verdict loop = {MAIL_FAIL, "5.4.6",
						 "Too many hops, this message loops"};

	if (t->rules.size > 0 && t->size > t->rules.size)
		return &large;
	return t->header.hops > t->rules.hops ? &loop : NULL;
}

const struct mail_verdict *smtp_text_refusal(const struct smtp_text *t)
{
	static const struct mail_verdict bare = {MAIL_FAIL, "5.6.11",
						 "The message has a bare CR or LF"};
	static const struct mail_verdict nul = {MAIL_FAIL, "5.6.0", "A NUL is in the message"};

	if (t->has_bare_line_end && !t->rules.is_normalized)
		return &bare;
	return t->has_nul ? &nul : smtp_text_refusal_so_far(t);
}
