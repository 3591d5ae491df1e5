// SPDX-License-Identifier: ISC
/* The part of a report for people, and for parsers of QSBMF. */
#include "mail/text/text.h"
#include "bounce/internal.h"
#include "mail/address.h"
#include "mail/verdict.h"

static bool has_action(const struct bounce_report *report, enum bounce_action action)
{
	for (size_t i = 0; i < report->outcome_count; i++)
		if (report->outcomes[i].action == action)
			return true;
	return false;
}

/* One line of the introduction for each recipient with ACTION. */
static void append_recipients_with_action(const struct bounce_report *report,
					  enum bounce_action action, const char *title,
					  struct buffer *out)
{
	if (!has_action(report, action))
		return;
	buffer_append_string(out, title);
	for (size_t i = 0; i < report->outcome_count; i++) {
		const struct bounce_outcome *outcome = &report->outcomes[i];

		if (outcome->action != action)
			continue;
		buffer_append_string(out, "  <");
		mail_text_append(out, outcome->address, MAIL_TEXT_8BIT);
		buffer_append_string(out, ">");
		if (action == BOUNCE_DELAYED && str_trim(outcome->text).length > 0) {
			buffer_append_string(out, ": ");
			mail_text_append(out, outcome->text, MAIL_TEXT_8BIT);
		}
		buffer_append_string(out, "\r\n");
	}
}

static const char *relayed_title(const struct bounce_report *report)
{
	switch (report->deadline.mode) {
	case MAIL_DEADLINE_NOTIFY:
		return report->deadline.is_traced
			       ? "Your message was handed on to other hosts, for:\r\n"
			       : "Your message was handed on to hosts that do not know by when it "
				 "is to "
				 "be delivered,\r\nand will not tell if it is late, for:\r\n";
	case MAIL_DEADLINE_RETURN:
		return "Your message was handed on to other hosts, for:\r\n";
	case MAIL_DEADLINE_NONE:
		break;
	}
	return "Your message was handed on to hosts that will not tell when they deliver it, "
	       "for:\r\n";
}

/* Of those that are late, or have failed because of it. */
static void append_deadline(const struct bounce_report *report, struct buffer *out)
{
	char at[TIMESTAMP_HEADER_SIZE];

	if (!mail_deadline_has_passed(&report->deadline, report->now_us) ||
	    !(has_action(report, BOUNCE_DELAYED) || has_action(report, BOUNCE_FAILED)))
		return;
	timestamp_format_header(report->deadline.at_us, at);
	buffer_append_format(out, "You have asked that it be delivered by %s.\r\n", at);
}

/* Of those who have failed: mail that was not delivered in time might be in another attempt. */
static void append_end(const struct bounce_report *report, struct buffer *out)
{
	size_t failed = 0;
	size_t expired = 0;

	for (size_t i = 0; i < report->outcome_count; i++) {
		const struct bounce_outcome *outcome = &report->outcomes[i];

		if (outcome->action != BOUNCE_FAILED)
			continue;
		failed++;
		expired += mail_is_expired(outcome->status, outcome->text);
	}
	if (failed == 0)
		return;
	buffer_append_string(
		out, mail_sender_is_null(report->sender)
			     ? "A bounce could not be delivered to the addresses below: the bounce "
			       "bounced,\r\nand its text, below, reaches nobody but you.\r\n"
			     : "Your message could not be delivered to the addresses below.\r\n");
	if (expired == 0)
		buffer_append_string(out,
				     "I have given up on them: trying again would not help.\r\n");
	else if (expired == failed)
		buffer_append_string(out, "I have given up on them: the time for it is over.\r\n");
	else
		buffer_append_string(out, "I have given up on them.\r\n");
}

/* One paragraph: QSBMF allows only one before the failures. */
static void append_introduction(const struct bounce_report *report, struct buffer *out)
{
	bool has_failure = bounce_has_failure(report);

	buffer_append_format(out, "%sThis is the mail system at ", has_failure ? "Hi. " : "");
	mail_text_append(out, report->hostname, MAIL_TEXT_ASCII);
	buffer_append_string(out, ".\r\n");
	append_recipients_with_action(report, BOUNCE_DELIVERED,
				      "Your message was delivered to:\r\n", out);
	append_recipients_with_action(report, BOUNCE_RELAYED, relayed_title(report), out);
	append_recipients_with_action(report, BOUNCE_DELAYED,
				      "Your message could not be delivered yet to:\r\n", out);
	append_deadline(report, out);
	if (has_action(report, BOUNCE_DELAYED)) {
		char until[TIMESTAMP_HEADER_SIZE];

		timestamp_format_header(report->retry_until_us, until);
		buffer_append_format(out,
				     "I will go on trying until %s.\r\n"
				     "You need not send it again.\r\n",
				     until);
	}
	append_end(report, out);
	buffer_append_string(out, "\r\n");
}

/* QSBMF: "<address>:", then any non-blank lines; its codes are "(#5.1.1)". */
static void append_failure_paragraph(const struct bounce_outcome *failure, bool is_qsbmf,
				     struct buffer *out)
{
	buffer_append_byte(out, '<');
	mail_text_append(out, failure->address, MAIL_TEXT_8BIT);
	buffer_append_string(out, ">:\r\n");
	if (str_trim(failure->text).length > 0)
		mail_text_append(out, failure->text, MAIL_TEXT_8BIT);
	else
		buffer_append_string(out, "The delivery failed.");
	if (mail_status_is_valid(failure->status))
		buffer_append_format(out, " (%s" STR_FORMAT ")", is_qsbmf ? "#" : "",
				     STR_ARGUMENTS(failure->status));
	buffer_append_string(out, "\r\n\r\n");
}

static void append_break(const struct bounce_copy *copy, struct buffer *out)
{
	buffer_append_format(out, "--- Below this line is a copy of the message%s.\r\n",
			     copy->is_header ? "'s header" : "");
	if (copy->is_cut)
		buffer_append_format(out, "--- It is cut after %zu bytes.\r\n", copy->text.length);
	buffer_append_string(out, "\r\n");
}

void bounce_text_write(const struct bounce_report *report, const struct bounce_copy *copy,
		       struct buffer *out)
{
	append_introduction(report, out);
	for (size_t i = 0; i < report->outcome_count; i++)
		if (report->outcomes[i].action == BOUNCE_FAILED)
			append_failure_paragraph(&report->outcomes[i], bounce_is_qsbmf(report),
						 out);
	append_break(copy, out);
}
