// SPDX-License-Identifier: ISC
/* Writes one bounce for check_bounce.py: bounce_sample FORMAT RET MAX-BYTES SENDER
 * [ADDRESS ORIGINAL STATUS TEXT]..., the original message on standard input. */
#include "bounce/report.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURES = 16 };

int main(int count, char **arguments)
{
	struct bounce_outcome failures[FAILURES];
	struct bounce_report report = {.hostname = STR("mx1.example.org"),
				       .from = STR("MAILER-DAEMON"),
				       .id = {457, INT64_C(1763627590000000)},
				       .now_us = INT64_C(1763627595000000),
				       .envid = STR("QQ+3D314159"),
				       .outcomes = failures};
	struct buffer message = {0};
	struct buffer out = {0};
	size_t got;

	if (count < 5 || (count - 5) % 4 != 0 || (count - 5) / 4 > FAILURES)
		return 2;
	do {
		got = fread(buffer_reserve(&message, 1 << 16), 1, 1 << 16, stdin);
		buffer_commit(&message, got);
	} while (got > 0);
	report.format =
		strcmp(arguments[1], "qsbmf") == 0 ? CONFIG_BOUNCE_QSBMF : CONFIG_BOUNCE_REPORT;
	report.ret = strcmp(arguments[2], "hdrs") == 0 ? MAIL_RET_HEADERS : MAIL_RET_FULL;
	report.max_bytes = strtoull(arguments[3], NULL, 10);
	report.recipient = report.sender = str_from(arguments[4]);
	for (int i = 5; i < count; i += 4)
		failures[report.outcome_count++] =
			(struct bounce_outcome){.address = str_from(arguments[i]),
						.original = str_from(arguments[i + 1]),
						.status = str_from(arguments[i + 2]),
						.text = str_from(arguments[i + 3])};
	report.message = buffer_view(&message);
	report.message_size = message.length;
	(void)bounce_report_write(&report, &out);
	fwrite(buffer_data(&out), 1, out.length, stdout);
	buffer_clear(&out);
	buffer_clear(&message);
	return 0;
}
