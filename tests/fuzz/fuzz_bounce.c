// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_bounce.c - the report on a hostile message to hostile recipients, by what
 * hostile servers said: nothing of theirs becomes a header line, a part or a field.
 *
 * Or it is QSBMF, and read as that. A byte of choices, the recipients as long as a byte says that
 * there is another one, then the message. The report is read again here as plainly as can be.
 */
#include "base/panic.h"
#include "bounce/report.h"
#include "input.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	OUTCOMES_MAX = 6,
	OVER_MAX = 160, /* bytes that say the message is cut, and that it is UTF-8 */
};

static bool is_one_of(struct str name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (str_equal(name, str_from(*names)))
			return true;
	return false;
}

/* Takes one line off *REST, without its CRLF. */
static struct str take_line(struct str *rest)
{
	struct str line;

	if (rest->length == 0)
		panic("the report ends early");
	(void)str_split(rest, '\n', &line);
	if (line.length == 0 || line.data[line.length - 1] != '\r')
		panic("a line without CRLF");
	line.length--;
	return line;
}

/* Whether BYTE may be in a field of a report that IS_UTF8. */
static bool is_printable(char byte, bool is_utf8)
{
	unsigned char c = (unsigned char)byte;

	return c >= ' ' && c != 0x7f && (c < 0x7f || is_utf8);
}

/* The fields up to an empty line, which is taken: each is one of NAMES, printable, and the
 * first of them is ahead of what it continues in. How many had the name COUNTED. */
static size_t check_fields(struct str *rest, const char *const *names, const char *counted,
			   bool is_utf8)
{
	size_t count = 0;
	size_t fields = 0;
	struct str line;

	while ((line = take_line(rest)).length > 0) {
		struct str body = line;
		struct str name;

		for (size_t i = 0; i < line.length; i++)
			if (!is_printable(line.data[i], is_utf8))
				panic("a field is not printable: " STR_FORMAT, STR_ARGUMENTS(line));
		if (line.data[0] == ' ' && fields > 0 && str_trim(line).length > 0)
			continue;
		if (!str_split(&body, ':', &name) || !is_one_of(name, names))
			panic("a field that is not ours: " STR_FORMAT, STR_ARGUMENTS(line));
		count += str_equal(name, str_from(counted));
		fields++;
	}
	return count;
}

/* What is in front of the next line "--BOUNDARY"; *REST begins after that line. */
static struct str take_part(struct str *rest, struct str boundary, const char *end)
{
	struct buffer mark = {0};
	const char *found;
	struct str part;

	buffer_append_string(&mark, "\r\n--");
	buffer_append_str(&mark, boundary);
	buffer_append_string(&mark, end);
	found = memmem(rest->data, rest->length, buffer_data(&mark), mark.length);
	if (found == NULL)
		panic("a part has no end");
	part = str_slice(rest->data, (size_t)(found - rest->data));
	*rest = str_skip(*rest, part.length + mark.length);
	mark.length -= strlen(end);
	if (memmem(part.data, part.length, buffer_data(&mark), mark.length) != NULL)
		panic("a line of a part begins with the boundary");
	buffer_clear(&mark);
	return part;
}

static void check_status(struct str part, size_t outcomes, bool is_utf8)
{
	static const char *const message_fields[] = {"Original-Envelope-Id", "Reporting-MTA",
						     "Arrival-Date", NULL};
	static const char *const recipient_fields[] = {"Original-Recipient",
						       "Final-Recipient",
						       "Action",
						       "Status",
						       "Remote-MTA",
						       "Diagnostic-Code",
						       "Last-Attempt-Date",
						       "Will-Retry-Until",
						       NULL};
	static const char *const part_fields[] = {"Content-Type", "Content-Transfer-Encoding",
						  NULL};
	struct buffer text = {0};
	struct str rest;

	buffer_append_str(&text, part);
	buffer_append_string(&text, "\r\n"); /* the end of the last recipient's fields */
	rest = buffer_view(&text);
	if (check_fields(&rest, part_fields, "Content-Transfer-Encoding", false) != is_utf8)
		panic("the status is encoded in another way than the report");
	if (check_fields(&rest, message_fields, "Reporting-MTA", false) != 1)
		panic("not one Reporting-MTA");
	for (size_t i = 0; i < outcomes; i++)
		if (check_fields(&rest, recipient_fields, "Final-Recipient", is_utf8) != 1)
			panic("not one Final-Recipient");
	if (rest.length > 0)
		panic("more recipients than there are");
	buffer_clear(&text);
}

/* The last that is told: a recipient may be called so. */
static struct str find_boundary(struct str header)
{
	static const char start[] = "\r\n boundary=\"";
	struct str boundary = {0};
	const char *at;

	while ((at = memmem(header.data, header.length, start, sizeof start - 1)) != NULL) {
		header = str_skip(header, (size_t)(at - header.data) + sizeof start - 1);
		boundary = str_slice(header.data, (size_t)str_find(header, '"'));
	}
	if (boundary.length == 0)
		panic("no boundary");
	return boundary;
}

/* Of a report. */
static const char *const REPORT_FIELDS[] = {"Date",
					    "From",
					    "To",
					    "Message-ID",
					    "Subject",
					    "Auto-Submitted",
					    "MIME-Version",
					    "Content-Type",
					    "Content-Transfer-Encoding",
					    NULL};

static void check_report(struct str report, size_t outcomes, bool is_utf8)
{
	static const char *const part_fields[] = {"Content-Type", "Content-Transfer-Encoding",
						  NULL};
	struct str rest = report;
	struct str boundary;
	struct str part;

	if (check_fields(&rest, REPORT_FIELDS, "To", is_utf8) != 1)
		panic("not one To");
	boundary = find_boundary(str_slice(report.data, report.length - rest.length));
	rest = str_slice(rest.data - 2, rest.length + 2); /* the header's end begins the mark */
	if (take_part(&rest, boundary, "\r\n").length > 0)
		panic("something is before the first part");
	part = take_part(&rest, boundary, "\r\n");
	(void)check_fields(&part, part_fields, "Content-Type", false);
	check_line_ends(part);
	check_status(take_part(&rest, boundary, "\r\n"), outcomes, is_utf8);
	part = take_part(&rest, boundary, "--\r\n");
	if (rest.length > 0)
		panic("something is behind the last part");
	if (check_fields(&part, part_fields, "Content-Type", false) != 1)
		panic("the copy has more than one type");
}

/* Takes the lines up to an empty one, which is taken, off *REST: the first of them. None is
 * white space alone. */
static struct str take_paragraph(struct str *rest)
{
	struct str first = take_line(rest);

	if (first.length == 0)
		panic("a paragraph without a line");
	for (struct str line = first; line.length > 0; line = take_line(rest))
		if (str_trim(line).length == 0)
			panic("a line of nothing but white space");
	return first;
}

/* QSBMF to the letter: https://cr.yp.to/proto/qsbmf.txt. */
static void check_qsbmf(struct str report, size_t failures, bool is_utf8)
{
	struct str rest = report;
	struct str line;

	if (check_fields(&rest, REPORT_FIELDS, "To", is_utf8) != 1)
		panic("not one To");
	if (!str_starts_with(take_paragraph(&rest), STR("Hi. This is the")))
		panic("QSBMF begins otherwise");
	for (size_t i = 0; i < failures; i++) {
		line = take_paragraph(&rest);
		if (line.length < 3 || line.data[0] != '<' ||
		    memcmp(line.data + line.length - 2, ">:", 2) != 0)
			panic("no paragraph of a recipient: " STR_FORMAT, STR_ARGUMENTS(line));
	}
	if (take_paragraph(&rest).data[0] != '-')
		panic("more recipients than there are");
	if (!str_starts_with(take_line(&rest), STR("Return-Path: <")))
		panic("the original has no Return-Path");
}

static void check_bound(const struct bounce_report *report, struct str out)
{
	struct bounce_report empty = *report;
	struct buffer least = {0};

	if (report->max_bytes == 0 || out.length <= report->max_bytes)
		return;
	empty.message.length = 0;
	(void)bounce_report_write(&empty, &least);
	if (out.length > least.length + OVER_MAX)
		panic("%zu bytes are over the bound", out.length);
	buffer_clear(&least);
}

static void fill(struct bounce_report *report, struct bounce_outcome *outcomes, struct input *input)
{
	unsigned choice = input_byte(input);

	report->ret = (enum mail_ret)(choice % 3);
	report->is_utf8 = (choice & 0x40) != 0;
	report->max_bytes = choice & 4 ? 16 * input_byte(input) : 0;
	report->format = choice & 0x80 ? CONFIG_BOUNCE_QSBMF : CONFIG_BOUNCE_REPORT;
	report->recipient = input_text(input);
	report->envid = input_text(input);
	report->sender = report->recipient;
	report->outcomes = outcomes;
	do {
		struct bounce_outcome *outcome = &outcomes[report->outcome_count++];

		outcome->action = (enum bounce_action)((choice >> 3) % 4);
		outcome->address = input_text(input);
		outcome->original = input_text(input);
		outcome->status = input_text(input);
		outcome->text = input_text(input);
		outcome->changed_us = choice & 0x20 ? INT64_C(1763627590000000) : 0;
		choice = input_byte(input);
	} while (report->outcome_count < OUTCOMES_MAX && choice & 1);
	report->message = input->rest;
	report->message_size = input->rest.length + (choice & 0x40);
}

/* The message as the queue has it: CRLF lines. */
static void append_message(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '\n')
			buffer_append_string(out, "\r\n");
		else if (text.data[i] != '\r')
			buffer_append_byte(out, text.data[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {str_slice((const char *)data, size)};
	struct bounce_outcome outcomes[OUTCOMES_MAX] = {0};
	struct bounce_report report = {.hostname = STR("mx.example.org"),
				       .from = STR("MAILER-DAEMON"),
				       .id = {457, INT64_C(1763627590000000)},
				       .now_us = INT64_C(1763627595000000)};
	struct buffer message = {0};
	struct buffer out = {0};
	size_t failures = 0;
	bool is_utf8;

	fill(&report, outcomes, &input);
	append_message(&message, report.message);
	report.message_size += message.length - report.message.length;
	report.message = buffer_view(&message);
	is_utf8 = bounce_report_write(&report, &out);
	if (is_utf8 && !report.is_utf8)
		panic("a sender without SMTPUTF8 gets a report that needs it");
	check_line_ends(buffer_view(&out));
	check_bound(&report, buffer_view(&out));
	for (size_t i = 0; i < report.outcome_count; i++)
		failures += outcomes[i].action == BOUNCE_FAILED;
	if (report.format == CONFIG_BOUNCE_QSBMF && failures > 0)
		check_qsbmf(buffer_view(&out), failures, is_utf8);
	else
		check_report(buffer_view(&out), report.outcome_count, is_utf8);
	buffer_clear(&message);
	buffer_clear(&out);
	return 0;
}
