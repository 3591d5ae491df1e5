// SPDX-License-Identifier: ISC
/* The text of a message between DATA and its end: dots, line ends, NULs, and counting trace
 * fields. */
#include "smtp/internal.h"
#include <string.h>

static void end_header_line(struct smtp_server *s)
{
	struct smtp_transaction *t = s->transaction;

	smtp_header_end_line(t);
	if (t->header.hops > s->service->limits.hops)
		smtp_message_discard(s);
}

static void keep_text(struct smtp_server *s, const char *data, size_t length)
{
	uint64_t bound = s->service->limits.message_size;

	s->transaction->size += length;
	if (bound > 0 && s->transaction->size > bound)
		smtp_message_discard(s);
	if (s->message_is_open)
		buffer_append(&s->body, data, length);
}

/* A first line that begins with a space or tab would continue our own Received line, and could
 * forge its content. It cannot be a header (RFC 5322 section 2.2), so it is the body of a
 * message without a header; like Postfix we insert the missing empty line before it. */
static void keep_out_of_trace(struct smtp_server *s, char first)
{
	if (s->transaction->size > 0 || (first != ' ' && first != '\t'))
		return;
	s->transaction->header.is_over = true;
	keep_text(s, "\r\n", 2);
}

/* These bytes contain NULs, which no message may have (RFC 5322 section 4). */
static void keep_without_nul(struct smtp_server *s, const char *data, size_t length)
{
	const char *end = data + length;

	if (!s->service->rules.removes_nul) {
		s->transaction->has_nul = true;
		smtp_message_discard(s);
		keep_text(s, data, length); /* their size counts in any case */
		return;
	}
	while (data < end) {
		const char *nul = memchr(data, '\0', (size_t)(end - data));
		size_t plain = (size_t)((nul != NULL ? nul : end) - data);

		if (plain > 0) {
			keep_out_of_trace(s, *data);
			keep_text(s, data, plain);
		}
		data += plain + 1;
	}
}

static void keep(struct smtp_server *s, const char *data, size_t length)
{
	if (length > 0 && s->transaction->size == 0)
		keep_out_of_trace(s, *data);    /* perhaps after removed NULs */
	if (memchr(data, '\0', length) != NULL) /* also when the message is already refused */
		keep_without_nul(s, data, length);
	else
		keep_text(s, data, length);
}

static void refuse_bare_line_end(struct smtp_server *s)
{
	s->transaction->has_bare_line_end = true;
	s->transaction->scan = SMTP_SCAN_MIDDLE;
	smtp_message_discard(s);
}

static void end_line(struct smtp_server *s)
{
	if (!s->transaction->header.is_over)
		end_header_line(s);
	keep_text(s, "\r\n", 2);
}

/* At a bare LF. A dot after it belongs to the message, and neither ends it nor is stuffing: a
 * client that stuffs dots does so after CRLF. */
static void take_bare_feed(struct smtp_server *s)
{
	struct smtp_transaction *t = s->transaction;

	if (!t->is_normalized) {
		refuse_bare_line_end(s);
		return;
	}
	t->has_bare_line_end = true;
	end_line(s);
	t->scan = t->is_chunked ? SMTP_SCAN_START : SMTP_SCAN_MIDDLE;
}

/* At a bare CR whose next byte is known: that byte decides what becomes of it. */
static void take_bare_return(struct smtp_server *s)
{
	if (!s->transaction->is_normalized) {
		refuse_bare_line_end(s);
		return;
	}
	s->transaction->has_bare_line_end = true;
	s->transaction->scan = SMTP_SCAN_MIDDLE_CR;
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
static size_t find_line_end_byte(const struct smtp_transaction *t, const char *data, size_t length)
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
static size_t take_part(struct smtp_server *s, const char *data, size_t length)
{
	struct smtp_transaction *t = s->transaction;
	size_t plain = find_line_end_byte(t, data, length);

	if (!t->header.is_over)
		smtp_header_take(t, data, plain);
	keep(s, data, plain);
	t->scan = SMTP_SCAN_MIDDLE;
	if (plain == length)
		return length;
	if (data[plain] == '\r' && plain + 1 == length)
		t->scan = SMTP_SCAN_MIDDLE_CR;
	else if (data[plain] == '\r')
		take_bare_return(s);
	else
		take_bare_feed(s);
	return plain + 1;
}

/* Copies at once as many complete lines as there are, with DATA up to a line that begins with a
 * dot. */
static size_t take_lines(struct smtp_server *s, const char *data, size_t length)
{
	struct smtp_transaction *t = s->transaction;
	size_t done = 0;

	if (t->has_bare_line_end)
		return take_part(s, data, length);
	do {
		size_t line = whole_line(data + done, length - done);

		if (line == 0)
			break;
		if (!t->header.is_over) {
			smtp_header_take(t, data + done, line - 2);
			end_header_line(s);
		}
		done += line;
	} while (done < length && (t->is_chunked || data[done] != '.'));
	if (done == 0)
		return take_part(s, data, length);
	keep(s, data, done);
	t->scan = SMTP_SCAN_START;
	return done;
}

static size_t take_at_start(struct smtp_server *s, const char *data, size_t length)
{
	if (data[0] != '.' || s->transaction->is_chunked) {
		keep_out_of_trace(s, data[0]);
		return take_lines(s, data, length);
	}
	s->transaction->scan = SMTP_SCAN_DOT;
	return 1;
}

/* A dot that starts a line is either stuffing or the end of the message. */
static size_t take_after_dot(struct smtp_server *s, char byte)
{
	keep_out_of_trace(s, byte);
	s->transaction->scan = byte == '\r' ? SMTP_SCAN_DOT_CR : SMTP_SCAN_MIDDLE;
	return byte == '\r' ? 1 : 0;
}

static size_t take_after_dot_cr(struct smtp_server *s, char byte)
{
	if (byte == '\n') {
		s->transaction->scan = SMTP_SCAN_END;
		return 1;
	}
	take_bare_return(s);
	return 0;
}

/* CRs before a line end are dropped, other bare CRs become a space. */
static size_t take_normalized(struct smtp_server *s, char byte)
{
	if (byte == '\r')
		return 1;
	keep_out_of_trace(s, ' ');
	if (!s->transaction->header.is_over)
		smtp_header_take(s->transaction, " ", 1);
	keep_text(s, " ", 1);
	s->transaction->scan = SMTP_SCAN_MIDDLE;
	return 0;
}

static size_t take_after_cr(struct smtp_server *s, char byte)
{
	if (byte != '\n') {
		take_bare_return(s);
		return s->transaction->is_normalized ? take_normalized(s, byte) : 0;
	}
	end_line(s);
	s->transaction->scan = SMTP_SCAN_START;
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
static size_t take_refused(struct smtp_transaction *t, const char *data, size_t length)
{
	size_t i = 0;

	while (i < length && t->scan != SMTP_SCAN_END)
		t->scan = scan_byte(t->scan, data[i++], t->is_chunked);
	return i;
}

static size_t take_some(struct smtp_server *s, const char *data, size_t length)
{
	if (s->transaction->has_bare_line_end && !s->transaction->is_normalized)
		return take_refused(s->transaction, data, length);
	switch (s->transaction->scan) {
	case SMTP_SCAN_START:
		return take_at_start(s, data, length);
	case SMTP_SCAN_DOT:
		return take_after_dot(s, data[0]);
	case SMTP_SCAN_DOT_CR:
		return take_after_dot_cr(s, data[0]);
	case SMTP_SCAN_MIDDLE:
		return take_lines(s, data, length);
	case SMTP_SCAN_MIDDLE_CR:
		return take_after_cr(s, data[0]);
	case SMTP_SCAN_END:
		break;
	}
	return length;
}

bool smtp_data_take(struct smtp_server *s, const char *data, size_t length, size_t *taken_out)
{
	size_t taken = 0;

	if (length > SMTP_SERVER_BODY_MAX)
		length = SMTP_SERVER_BODY_MAX;
	while (taken < length && s->transaction->scan != SMTP_SCAN_END)
		taken += take_some(s, data + taken, length - taken);
	*taken_out = taken;
	return s->transaction->scan == SMTP_SCAN_END;
}

void smtp_data_take_all(struct smtp_server *s, const char *data, size_t length)
{
	size_t taken = 0;

	while (taken < length)
		taken += take_some(s, data + taken, length - taken);
}

void smtp_data_end(struct smtp_server *s)
{
	enum smtp_scan scan = s->transaction->scan;

	if (scan == SMTP_SCAN_MIDDLE_CR && !s->transaction->is_normalized)
		refuse_bare_line_end(s);
	else if (scan == SMTP_SCAN_MIDDLE_CR || scan == SMTP_SCAN_MIDDLE)
		take_after_cr(s, '\n');
	s->transaction->scan = SMTP_SCAN_END;
}
