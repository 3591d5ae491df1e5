// SPDX-License-Identifier: ISC
/* The machine-readable part of a report: message/delivery-status (RFC 3464, RFC 6533). */
#include "base/text/utf8.h"
#include "bounce/internal.h"
#include "mail/address.h"
#include "mail/verdict.h"
#include <string.h>

/* A word that is not a DNS name may be the name of a program, unless it has an ADDRESS. */
static bool is_host(struct str name, bool has_address)
{
	if (name.length == 0 || (!has_address && str_find(name, '.') < 0))
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!str_is_digit(c) && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' &&
		    c != '.' && c != '_')
			return false;
	}
	return true;
}

/* Splits "HOST: 550 words" or "HOST[192.0.2.7]:25 said: 550 words"; false when TEXT is not the
 * reply of another host. */
static bool split_reply(struct str text, struct str *host, struct str *reply)
{
	static const char said[] = " said: ";
	static const char answers[] = " (in reply to ";
	const char *verb;
	const char *command;
	ptrdiff_t colon = str_find(text, ':');
	size_t length = 0;

	if (colon < 0)
		return false;
	verb = memmem(text.data, text.length, said, sizeof said - 1);
	while (length < (size_t)colon && text.data[length] != '[' && text.data[length] != ' ')
		length++;
	*host = str_slice(text.data, length);
	*reply = str_skip(text, verb != NULL ? (size_t)(verb - text.data) + sizeof said - 1
					     : (size_t)colon + 1);
	command = memmem(reply->data, reply->length, answers, sizeof answers - 1);
	if (verb != NULL && command != NULL && reply->data[reply->length - 1] == ')')
		reply->length = (size_t)(command - reply->data);
	*reply = str_trim(*reply);
	return is_host(*host, text.data[length] == '[') && reply->length >= 3 &&
	       str_is_digit(reply->data[0]) && str_is_digit(reply->data[1]) &&
	       str_is_digit(reply->data[2]) &&
	       (reply->length == 3 || reply->data[3] == ' ' || reply->data[3] == '-');
}

static void append_diagnostic(struct buffer *out, struct str text)
{
	struct str host;
	struct str reply;

	if (split_reply(text, &host, &reply)) {
		bounce_header_prefixed(out, "Remote-MTA", "dns; ", host);
		bounce_header_prefixed(out, "Diagnostic-Code", "smtp; ", reply);
	} else if (text.length > 0) {
		bounce_header_prefixed(out, "Diagnostic-Code", "X-Stagepost; ", text);
	}
}

static void append_date_field(struct buffer *out, const char *name, int64_t time_us)
{
	char date[TIMESTAMP_HEADER_SIZE];

	timestamp_format_header(time_us, date);
	bounce_header(out, name, str_from(date));
}

static const char *action_name(enum bounce_action action)
{
	static const char *const names[] = {
		[BOUNCE_FAILED] = "failed",
		[BOUNCE_DELAYED] = "delayed",
		[BOUNCE_DELIVERED] = "delivered",
		[BOUNCE_RELAYED] = "relayed",
	};

	return names[action];
}

/* A non-ASCII character becomes \x{E9}: RFC 6533 section 3. In an address of type utf-8, so do
 * '+', '=' and '\', which are special there. */
static void append_escaped_utf8(struct buffer *out, struct str text, bool is_new)
{
	size_t length;

	for (; text.length > 0; text = str_skip(text, length)) {
		char c = text.data[0];
		bool is_special = is_new && (c == '+' || c == '=' || c == '\\');

		length = utf8_length(text);
		if (length > 1 || is_special)
			buffer_append_format(out, "\\x{%X}", utf8_code_point(text));
		else
			buffer_append_byte(out, c);
		length = length > 0 ? length : 1;
	}
}

static void append_recipient_field(struct buffer *out, const char *name, struct str address,
				   bool is_utf8)
{
	struct buffer escaped = {0};

	if (str_is_ascii(address)) {
		bounce_header_prefixed(out, name, "rfc822; ", address);
		return;
	}
	if (is_utf8) {
		bounce_header_utf8(out, name, "utf-8; ", address, true);
		return;
	}
	append_escaped_utf8(&escaped, address, true);
	bounce_header_prefixed(out, name, "utf-8; ", buffer_view(&escaped));
	buffer_clear(&escaped);
}

static void append_original(struct buffer *out, struct str original)
{
	struct buffer escaped = {0};

	append_escaped_utf8(&escaped, original, false);
	if (str_starts_with(original, STR("utf-8;")))
		bounce_header(out, "Original-Recipient", buffer_view(&escaped));
	else
		bounce_header_xtext(out, "Original-Recipient", buffer_view(&escaped));
	buffer_clear(&escaped);
}

/* A status whose class does not match the action is not shown. */
static struct str status_shown_for_outcome(const struct bounce_outcome *outcome)
{
	static const struct str general[] = {
		[BOUNCE_FAILED] = STR("5.0.0"),
		[BOUNCE_DELAYED] = STR("4.0.0"),
		[BOUNCE_DELIVERED] = STR("2.0.0"),
		[BOUNCE_RELAYED] = STR("2.0.0"),
	};
	struct str status = general[outcome->action];

	return mail_status_is_valid(outcome->status) && outcome->status.data[0] == status.data[0]
		       ? outcome->status
		       : status;
}

static void append_outcome_fields(struct buffer *out, const struct bounce_report *report,
				  bool is_utf8, const struct bounce_outcome *outcome)
{
	bool is_problem = outcome->action == BOUNCE_FAILED || outcome->action == BOUNCE_DELAYED;

	buffer_append_string(out, "\r\n");
	if (outcome->original.length > 0)
		append_original(out, outcome->original);
	append_recipient_field(out, "Final-Recipient", outcome->address, is_utf8);
	bounce_header(out, "Action", str_from(action_name(outcome->action)));
	bounce_header(out, "Status", status_shown_for_outcome(outcome));
	if (is_problem || (report->deadline.is_traced && outcome->action == BOUNCE_RELAYED))
		append_diagnostic(out, mail_last_attempt(outcome->status, outcome->text));
	if (outcome->changed_us != 0)
		append_date_field(out, "Last-Attempt-Date", outcome->changed_us);
	if (outcome->action == BOUNCE_DELAYED)
		append_date_field(out, "Will-Retry-Until", report->retry_until_us);
}

/* RFC 4865: the time, also where the sender has given an interval. */
static void append_release(struct buffer *out, int64_t release_us)
{
	char text[TIMESTAMP_SIZE];

	if (release_us == 0)
		return;
	timestamp_format_seconds(release_us, text);
	bounce_header_prefixed(out, "Future-Release-Request", "until;", str_from(text));
}

void bounce_status_write(const struct bounce_report *report, bool is_utf8, struct buffer *out)
{
	if (report->envid.length > 0)
		bounce_header_xtext(out, "Original-Envelope-Id", report->envid);
	bounce_header_prefixed(out, "Reporting-MTA", "dns; ", report->hostname);
	append_date_field(out, "Arrival-Date", report->id.born_us);
	append_release(out, report->release_us);
	if (report->deadline.mode != MAIL_DEADLINE_NONE) /* RFC 2852 */
		append_date_field(out, "Deliver-By-Date", report->deadline.at_us);
	for (size_t i = 0; i < report->outcome_count; i++)
		append_outcome_fields(out, report, is_utf8, &report->outcomes[i]);
}
