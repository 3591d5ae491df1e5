// SPDX-License-Identifier: ISC
#include "queue/inject/envelope.h"
#include "mail/address.h"
#include "mail/text/text.h"
#include "os/stream/stream.h"
#include "queue/inject/address.h"
#include <errno.h>
#include <string.h>

enum { ENVELOPE_READ_SIZE = 16 * 1024 };

static int refuse_injected_address(int error, struct buffer *reason, const char *what,
				   struct str address)
{
	buffer_append_string(reason, what);
	if (address.length > 0) {
		buffer_append_string(reason, ": ");
		if (address.length > MAIL_ADDRESS_MAX)
			address.length = MAIL_ADDRESS_MAX;
		mail_text_append(reason, address, MAIL_TEXT_ASCII);
	}
	return error;
}

static int take_recipient_of_envelope(struct str entry,
				      const struct inject_envelope_settings *settings,
				      struct mail_envelope *envelope, struct buffer *reason)
{
	struct buffer form CLEANUP(buffer_clear) = {0};
	int error;

	if (entry.length == 0 || entry.data[0] != 'T')
		return refuse_injected_address(
			-ENOMSG, reason, "the envelope has something else than recipients", entry);
	entry = str_skip(entry, 1);
	error = inject_address_form(entry, settings->domain, &form);
	if (error < 0)
		return refuse_injected_address(error, reason, "not an address of a recipient",
					       entry);
	if (envelope->recipient_count == settings->recipients) {
		buffer_append_format(reason, "more than %zu recipients", settings->recipients);
		return -E2BIG;
	}
	mail_envelope_add(envelope, buffer_view(&form));
	inject_address_note(envelope, buffer_view(&form));
	return 0;
}

int inject_envelope_parse(struct str text, const struct inject_envelope_settings *settings,
			  struct mail_envelope *envelope, struct buffer *reason)
{
	struct str entry;
	int error = 0;

	if (text.length < 2 || text.data[text.length - 1] != '\0' ||
	    text.data[text.length - 2] != '\0')
		return refuse_injected_address(-ENOMSG, reason, "the envelope is not complete",
					       STR(""));
	text.length -= 2;
	(void)str_split(&text, '\0', &entry);
	if (entry.length == 0 || entry.data[0] != 'F')
		return refuse_injected_address(-ENOMSG, reason,
					       "the envelope does not begin with a sender", entry);
	error = inject_address_set_sender(envelope, str_skip(entry, 1), settings->domain);
	if (error < 0)
		return refuse_injected_address(error, reason, "not an address of a sender",
					       str_skip(entry, 1));
	while (error == 0 && text.length > 0) {
		(void)str_split(&text, '\0', &entry);
		error = take_recipient_of_envelope(entry, settings, envelope, reason);
	}
	if (error == 0 && envelope->recipient_count == 0)
		return refuse_injected_address(-ENOMSG, reason, "the envelope has no recipients",
					       STR(""));
	return error;
}

/* Whether TEXT is complete: it ends with two NULs. */
static bool is_whole(const struct buffer *text)
{
	return text->length >= 2 && memcmp(buffer_data(text) + text->length - 2, "\0", 2) == 0;
}

int inject_envelope_read(int descriptor, const struct inject_envelope_settings *settings,
			 struct mail_envelope *envelope, struct buffer *reason)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	while (!is_whole(&text)) {
		ssize_t count = os_stream_read(
			descriptor, buffer_reserve(&text, ENVELOPE_READ_SIZE), ENVELOPE_READ_SIZE);

		if (count < 0)
			return (int)count;
		if (count == 0)
			break;
		buffer_commit(&text, (size_t)count);
		if (text.length > settings->bytes) {
			buffer_append_format(reason, "the envelope is over %zu bytes",
					     settings->bytes);
			return -E2BIG;
		}
	}
	return inject_envelope_parse(buffer_view(&text), settings, envelope, reason);
}
