// SPDX-License-Identifier: ISC
/* The text of a message between DATA or BDAT and its end. */
#include "smtp/server/internal.h"

/* A message that will be refused has no use for its file. */
static void spool_message_file(struct smtp_server *s)
{
	if (s->message_is_open && !s->transaction->text.is_kept)
		smtp_message_discard(s);
}

bool smtp_data_take(struct smtp_server *s, const char *data, size_t length, size_t *taken_out)
{
	bool is_complete = smtp_text_take(&s->transaction->text, data, length, taken_out);

	spool_message_file(s);
	return is_complete;
}

void smtp_data_take_all(struct smtp_server *s, const char *data, size_t length)
{
	smtp_text_take_all(&s->transaction->text, data, length);
	spool_message_file(s);
}

void smtp_data_end(struct smtp_server *s)
{
	smtp_text_end(&s->transaction->text);
	spool_message_file(s);
}
