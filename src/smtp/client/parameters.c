// SPDX-License-Identifier: ISC
/* What follows the address of MAIL and RCPT, and which addresses may be sent. */
#include "base/text/utf8.h"
#include "mail/localpart.h"
#include "mail/unicode.h"
#include "smtp/client/internal.h"
#include <string.h>

static bool is_utf8(struct str text)
{
	size_t length = 0;

	for (size_t i = 0; i < text.length; i += length) {
		length = utf8_length(str_skip(text, i));
		if (length == 0)
			return false;
	}
	return true;
}

bool client_is_safe_path(struct str address)
{
	bool is_quoted = false;

	for (size_t i = 0; i < address.length; i++) {
		unsigned char c = (unsigned char)address.data[i];

		if (c < ' ' || c == 0x7f)
			return false;
		if (c == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && c == '\\')
			i++;
		else if (!is_quoted && (c == ' ' || c == '<' || c == '>'))
			return false;
	}
	return !is_quoted && address.length <= MAIL_ADDRESS_MAX && is_utf8(address);
}

struct str client_path(struct smtp_client *client, struct str address)
{
	struct mail_parts parts = mail_parts_of(address);
	struct mail_domain form;
	char *path;

	if (client->capabilities.has_utf8 || str_is_ascii(address))
		return address;
	if (!str_is_ascii(parts.local) || !mail_domain_form(parts.domain, &form))
		return STR("");
	path = arena_alloc(client->verdicts, parts.local.length + 1 + form.length);
	memcpy(path, parts.local.data, parts.local.length);
	path[parts.local.length] = '@';
	memcpy(path + parts.local.length + 1, form.text, form.length);
	return str_slice(path, parts.local.length + 1 + form.length);
}

static bool needs_utf8(const struct smtp_client_message *message)
{
	if (message->is_utf8 || message->needs_utf8 || !str_is_ascii(message->sender))
		return true;
	for (size_t i = 0; i < message->recipient_count; i++)
		if (message->recipients[i].is_asked &&
		    !str_is_ascii(message->recipients[i].address))
			return true;
	return false;
}

/* Whether VALUE cannot end the parameter or the line. */
static bool is_safe_value(struct str value, size_t bound)
{
	for (size_t i = 0; i < value.length; i++) {
		unsigned char c = (unsigned char)value.data[i];

		if (c <= ' ' || c == 0x7f || c == '=')
			return false;
	}
	return value.length > 0 && value.length <= bound && is_utf8(value);
}

static void emit_notify(struct smtp_client *client, unsigned notify)
{
	static const struct {
		unsigned flag;
		const char *name;
	} words[] = {
		{MAIL_NOTIFY_NEVER, "NEVER"},
		{MAIL_NOTIFY_SUCCESS, "SUCCESS"},
		{MAIL_NOTIFY_FAILURE, "FAILURE"},
		{MAIL_NOTIFY_DELAY, "DELAY"},
	};
	const char *before = " NOTIFY=";

	if (notify & MAIL_NOTIFY_NEVER) /* must be the only keyword */
		notify = MAIL_NOTIFY_NEVER;
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if ((notify & words[i].flag) == 0)
			continue;
		client_emit(client, before);
		client_emit(client, words[i].name);
		before = ",";
	}
}

/* Without SMTPUTF8 a character is written "\x{E9}", RFC 6533 section 3. */
static void emit_original(struct smtp_client *client, struct str original)
{
	size_t length;

	client_emit(client, " ORCPT=");
	for (; original.length > 0; original = str_skip(original, length)) {
		length = utf8_length(original);
		if (length == 1 || client->capabilities.has_utf8)
			buffer_append(&client->output, original.data, length);
		else
			buffer_append_format(&client->output, "\\x{%X}", utf8_code_point(original));
	}
}

bool client_tells_deadline(const struct smtp_client *client)
{
	const struct smtp_client_message *message = &client->message;
	uint64_t least = client->capabilities.by_min > 0 ? client->capabilities.by_min : 1;

	if (!client->capabilities.has_deliverby || message->deadline.mode == MAIL_DEADLINE_NONE)
		return false;
	return message->deadline.mode == MAIL_DEADLINE_NOTIFY ||
	       (message->deadline_left > 0 && (uint64_t)message->deadline_left >= least);
}

static void emit_deadline(struct smtp_client *client)
{
	const struct mail_deadline *deadline = &client->message.deadline;

	if (client_tells_deadline(client))
		buffer_append_format(&client->output, " BY=%lld;%c%s",
				     (long long)client->message.deadline_left,
				     deadline->mode == MAIL_DEADLINE_RETURN ? 'R' : 'N',
				     deadline->is_traced ? "T" : "");
}

void client_emit_mail_parameters(struct smtp_client *client)
{
	const struct smtp_client_message *message = &client->message;

	if (client->capabilities.has_size) {
		client_emit(client, " SIZE=");
		buffer_append_number(&client->output, message->size);
	}
	if (message->is_binary)
		client_emit(client, " BODY=BINARYMIME");
	else if (client->capabilities.has_8bitmime && message->is_8bit)
		client_emit(client, " BODY=8BITMIME");
	if (client->capabilities.has_utf8 && needs_utf8(message))
		client_emit(client, " SMTPUTF8");
	if (message->requires_tls)
		client_emit(client, " REQUIRETLS");
	if (client->capabilities.has_priority && message->priority != 0)
		buffer_append_format(&client->output, " MT-PRIORITY=%d", message->priority);
	emit_deadline(client);
	if (!client->capabilities.has_dsn)
		return;
	if (message->ret != MAIL_RET_NONE)
		client_emit(client, message->ret == MAIL_RET_FULL ? " RET=FULL" : " RET=HDRS");
	if (is_safe_value(message->envid, MAIL_ENVID_MAX) && str_is_ascii(message->envid)) {
		client_emit(client, " ENVID=");
		buffer_append_str(&client->output, message->envid);
	}
}

void client_emit_recipient_parameters(struct smtp_client *client,
				      const struct smtp_client_recipient *to)
{
	if (!client->capabilities.has_dsn)
		return;
	emit_notify(client, to->notify);
	if (is_safe_value(to->original, MAIL_ORCPT_MAX))
		emit_original(client, to->original);
}
