// SPDX-License-Identifier: ISC
#include "smtp/watch.h"
#include <inttypes.h>
#include <stdio.h>

void smtp_watch_tell(const struct smtp_watch *watch, void *context, enum smtp_said by,
		     struct str text)
{
	struct str line;

	while (text.length > 0 && str_split(&text, '\n', &line)) {
		if (line.length > 0 && line.data[line.length - 1] == '\r')
			line.length--;
		watch->line(context, by, line);
	}
}

void smtp_watch_tell_message(const struct smtp_watch *watch, void *context, uint64_t size)
{
	char text[64];

	snprintf(text, sizeof text, "(a message of %" PRIu64 " bytes)", size);
	watch->line(context, SMTP_SAID_NOTHING, str_from(text));
}
