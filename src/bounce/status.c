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

/* A status of another class than the action's is not shown. */
static struct str status_of(const struct bounce_outcome *outcome)
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

static void append_outcome(struct buffer *out, const struct bounce_report *report,
			   const struct bounce_outcome *outcome)
{
	bool is_problem = outcome->action == BOUNCE_FAILED || outcome->action == BOUNCE_DELAYED;

	buffer_append_string(out, "\r\n");
	if (outcome->original.length > 0)
		bounce_header_xtext(out, "Original-Recipient", outcome->original);
	bounce_header_prefixed(out, "Final-Recipient", "rfc822; ", outcome->address);
	bounce_header(out, "Action", str_from(action_name(outcome->action)));
	bounce_header(out, "Status", status_of(outcome));
	if (is_problem)
		append_diagnostic(out, outcome->text);
	if (outcome->changed_us != 0)
		append_date(out, "Last-Attempt-Date", outcome->changed_us);
	if (outcome->action == BOUNCE_DELAYED)
		append_date(out, "Will-Retry-Until", report->retry_until_us);
}

void bounce_status_write(const struct bounce_report *report, struct buffer *out)
{
	if (report->envid.length > 0)
		bounce_header_xtext(out, "Original-Envelope-Id", report->envid);
	bounce_header_prefixed(out, "Reporting-MTA", "dns; ", report->hostname);
	append_date(out, "Arrival-Date", report->id.born_us);
	for (size_t i = 0; i < report->outcome_count; i++)
		append_outcome(out, report, &report->outcomes[i]);
}
