// SPDX-License-Identifier: ISC
/* What the subcommands print is foreign text in part. */
#include "command/mailbox/mailbox_command.h"
#include "mail/text/text.h"
#include <stdio.h>

void mailbox_command_print(const struct buffer *out)
{
	struct buffer shown CLEANUP(buffer_clear) = {0};

	mail_text_append_lines(&shown, buffer_view(out));
	if (shown.length > 0)
		fwrite(buffer_data(&shown), 1, shown.length, stdout);
}
