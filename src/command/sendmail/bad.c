// SPDX-License-Identifier: ISC
#include "command/sendmail/bad.h"
#include "bounce/report.h"
#include "mail/address.h"
#include "mail/text/text.h"
#include "os/clock.h"
#include <stdio.h>

void sendmail_bad_add(struct sendmail_bad *bad, struct arena *arena, struct str place,
		      struct str text)
{
	struct buffer safe CLEANUP(buffer_clear) = {0};

	if (bad->count == COUNT_OF(bad->texts)) {
		bad->more++;
		return;
	}
	text.length = text.length < SENDMAIL_BAD_TEXT_MAX ? text.length : SENDMAIL_BAD_TEXT_MAX;
	mail_text_append(&safe, text, MAIL_TEXT_ASCII);
	bad->texts[bad->count] = arena_copy_str(arena, buffer_view(&safe));
	bad->places[bad->count++] = arena_copy_str(arena, place);
}

static void append_bad(const struct sendmail_bad *bad, size_t i, struct buffer *out)
{
	buffer_append_format(out, "not an address of a recipient, in " STR_FORMAT ": " STR_FORMAT,
			     STR_ARGUMENTS(bad->places[i]), STR_ARGUMENTS(bad->texts[i]));
}

void sendmail_bad_explain(const struct sendmail_bad *bad, struct buffer *reason)
{
	if (bad->count > 0)
		append_bad(bad, 0, reason);
}

void sendmail_bad_print(const char *name, const struct sendmail_bad *bad)
{
	struct buffer line CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < bad->count; i++) {
		buffer_reset(&line);
		append_bad(bad, i, &line);
		fprintf(stderr, "%s: " STR_FORMAT "\n", name, STR_ARGUMENTS(buffer_view(&line)));
	}
	if (bad->more > 0)
		fprintf(stderr, "%s: and %zu more\n", name, bad->more);
}

static void write_bounce_report(const struct sendmail_bad *bad, const struct config *config,
				const struct mail_envelope *envelope, struct str header,
				struct buffer *out)
{
	struct bounce_outcome outcomes[SENDMAIL_BAD_MAX];
	const struct bounce_report report = {
		.recipient = envelope->sender,
		.hostname = str_from(config->hostname),
		.from = str_from(config->bouncefrom),
		.id = envelope->id,
		.now_us = os_clock_wall_us(),
		.envid = envelope->envid,
		.ret = MAIL_RET_HEADERS,
		.is_utf8 = envelope->utf8,
		.outcomes = outcomes,
		.outcome_count = bad->count,
		.message = header,
		.message_size = header.length,
		.max_bytes = config->bouncemaxbytes,
		.format = config->bounceformat,
		.sender = envelope->sender,
	};

	for (size_t i = 0; i < bad->count; i++)
		outcomes[i] = (struct bounce_outcome){
			.action = BOUNCE_FAILED,
			.address = bad->texts[i],
			.status = STR("5.1.3"),
			.text = STR("This is not an address. Other recipients get the message."),
		};
	(void)bounce_report_write(&report, out);
}

int sendmail_bad_report(const struct sendmail_bad *bad, const struct config *config,
			const struct os_process_caller *caller, struct inject_link *link,
			const struct mail_envelope *envelope, struct str header,
			struct buffer *reason)
{
	struct inject_message *message = NULL;
	struct mail_envelope *own;
	struct buffer text CLEANUP(buffer_clear) = {0};
	int error;

	if (mail_sender_is_null(envelope->sender) ||
	    !bounce_is_wanted(envelope->recipients[0].notify))
		return 0;
	error = inject_message_open(config, caller, link, &message, reason);
	if (error < 0)
		return error;
	write_bounce_report(bad, config, envelope, header, &text);
	(void)inject_message_write(message, buffer_view(&text)); /* the commit returns its error */
	own = mail_envelope_new();
	own->sender = STR("");
	own->utf8 = envelope->utf8;
	mail_envelope_add(own, envelope->sender);
	error = inject_message_commit(message, MAIL_STAGE_SUBMIT, own);
	mail_envelope_free(own);
	return error;
}
