// SPDX-License-Identifier: ISC
#include "deliver/remote/attempt/loop.h"
#include "deliver/remote/session/content.h"
#include "header/loop.h"
#include "mail/text/text.h"
#include "mail/unicode.h"

/* What cannot be read now is met again when it is sent. */
static struct header_loop loop_of(const struct deliver_helper_job *job, char *chunk)
{
	struct header_loop loop = {.count = 0};
	struct str part;

	if (ipc_content_read(&job->content, 0, chunk, REMOTE_CHUNK_SIZE, &part) == 0)
		header_loop_read(&loop, part);
	return loop;
}

bool remote_loop_deliver(struct hash_key key, struct deliver_helper_job *job, char *chunk)
{
	static const struct mail_verdict back = {
		MAIL_FAIL, "5.4.6", "Mail loop: the message was here for this address before"};
	struct header_loop loop;
	size_t left = job->recipient_count;

	if (!header_loop_has_key(key))
		return true;
	loop = loop_of(job, chunk);
	for (size_t i = 0; i < job->recipient_count && loop.count > 0; i++) {
		const struct deliver_helper_recipient *recipient = &job->recipients[i];

		if (!header_loop_closes(&loop, key, recipient->address, recipient->via))
			continue;
		deliver_helper_report(job, i, &back, NULL);
		left--;
	}
	return left > 0;
}

/* In ASCII: no host has to support SMTPUTF8 because of it. */
static void append_head(struct hash_key key, struct str via, struct buffer *out)
{
	struct buffer address CLEANUP(buffer_clear) = {0};

	mail_unicode_address(via, &address);
	buffer_append_string(out, "Delivered-To: ");
	mail_text_append(out, buffer_view(&address), MAIL_TEXT_ASCII);
	buffer_append_string(out, "\r\n");
	header_loop_append(key, HEADER_LOOP_LED_ON, via, "\r\n", out);
}

bool remote_loop_lead_on(struct hash_key key, struct deliver_helper_job *job, char *chunk)
{
	struct buffer head CLEANUP(buffer_clear) = {0};

	if (job->recipients[0].via.length == 0)
		return true;
	if (!remote_loop_deliver(key, job, chunk))
		return false;
	append_head(key, job->recipients[0].via, &head);
	ipc_content_prepend(&job->content, arena_copy_str(job->arena, buffer_view(&head)));
	return true;
}
