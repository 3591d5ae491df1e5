// SPDX-License-Identifier: ISC
/* Sender, recipient and subject of a report. */
#include "bounce/internal.h"
#include "mail/address.h"
#include <inttypes.h>

bool bounce_has_failure(const struct bounce_report *report)
{
	for (size_t i = 0; i < report->outcome_count; i++)
		if (report->outcomes[i].action == BOUNCE_FAILED)
			return true;
	return false;
}

static const char *subject_of_bounce(const struct bounce_report *report)
{
	if (bounce_has_failure(report))
		return mail_sender_is_null(report->sender) ? "failure notice: a bounce bounced"
							   : "failure notice";
	return report->outcomes[0].action == BOUNCE_DELAYED ? "delay notice" : "success notice";
}

bool bounce_is_qsbmf(const struct bounce_report *report)
{
	return report->format == CONFIG_BOUNCE_QSBMF && bounce_has_failure(report);
}

void bounce_addressing_write(const struct bounce_report *report, bool is_utf8, struct buffer *out)
{
	struct buffer line = {0};
	char date[TIMESTAMP_HEADER_SIZE];

	timestamp_format_header(report->now_us, date);
	bounce_header(out, "Date", str_from(date));
	buffer_append_format(&line, "Mail System <" STR_FORMAT "@" STR_FORMAT ">",
			     STR_ARGUMENTS(report->from), STR_ARGUMENTS(report->hostname));
	bounce_header(out, "From", buffer_view(&line));
	buffer_reset(&line);
	buffer_append_format(&line, "<" STR_FORMAT ">", STR_ARGUMENTS(report->recipient));
	bounce_header_utf8(out, "To", "", buffer_view(&line), is_utf8);
	buffer_reset(&line);
	buffer_append_format(&line, "<%" PRIu64 ".%" PRIx64 ".%" PRIx64 ".bounce@" STR_FORMAT ">",
			     report->id.number, (uint64_t)report->id.born_us,
			     (uint64_t)report->now_us, STR_ARGUMENTS(report->hostname));
	bounce_header(out, "Message-ID", buffer_view(&line));
	bounce_header(out, "Subject", str_from(subject_of_bounce(report)));
	bounce_header(out, "Auto-Submitted", STR("auto-replied"));
	buffer_clear(&line);
}
