// SPDX-License-Identifier: ISC
#include "bounce/internal.h"
#include "mail/address.h"
#include "mail/verdict.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_host(struct str name)
{
	if (name.length == 0)
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!is_digit(c) && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' &&
		    c != '.' && c != '_')
			return false;
	}
	return true;
}

/* Takes "HOST: 550 words" apart; false when TEXT is not another host's reply. */
static bool split_reply(struct str text, struct str *host, struct str *reply)
{
	ptrdiff_t colon = str_find(text, ':');

	if (colon < 0)
		return false;
	*host = str_slice(text.data, (size_t)colon);
	*reply = str_trim(str_skip(text, (size_t)colon + 1));
	return is_host(*host) && reply->length >= 3 && is_digit(reply->data[0]) &&
	       is_digit(reply->data[1]) && is_digit(reply->data[2]) &&
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

static void append_date(struct buffer *out, const char *name, int64_t time_us)
{
	char date[TIMESTAMP_HEADER_SIZE];

	timestamp_format_header(time_us, date);
	bounce_header(out, name, str_from(date));
}

static void append_failure(struct buffer *out, const struct bounce_failure *failure)
{
	buffer_append_string(out, "\r\n");
	if (failure->original.length > 0)
		bounce_header_xtext(out, "Original-Recipient", failure->original);
	bounce_header_prefixed(out, "Final-Recipient", "rfc822; ", failure->address);
	bounce_header(out, "Action", STR("failed"));
	bounce_header(out, "Status",
		      mail_status_is_valid(failure->status) ? failure->status : STR("5.0.0"));
	append_diagnostic(out, failure->text);
	if (failure->failed_us != 0)
		append_date(out, "Last-Attempt-Date", failure->failed_us);
}

void bounce_status_write(const struct bounce_report *report, struct buffer *out)
{
	if (report->envid.length > 0)
		bounce_header_xtext(out, "Original-Envelope-Id", report->envid);
	bounce_header_prefixed(out, "Reporting-MTA", "dns; ", report->hostname);
	append_date(out, "Arrival-Date", report->id.born_us);
	for (size_t i = 0; i < report->failure_count; i++)
		append_failure(out, &report->failures[i]);
}
