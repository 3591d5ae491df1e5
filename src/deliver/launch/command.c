// SPDX-License-Identifier: ISC
#include "deliver/launch/command.h"
#include "mail/localpart.h"
#include "mail/unicode.h"
#include <errno.h>
#include <string.h>

enum { ENVIRONMENT_MAX = 16 };

struct parts {
	const struct pipe_envelope *envelope;
	struct mail_localpart local;
	struct str domain; /* its canonical form */
	struct str extension;
};

static bool has_control(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
			return true;
	return false;
}

static bool split(struct arena *arena, const struct pipe_envelope *envelope, struct parts *parts)
{
	struct mail_parts halves = mail_parts_of(envelope->recipient);
	struct mail_domain domain;
	struct buffer extension = {0};
	struct str whole;

	mail_domain_form(halves.domain, &domain);
	*parts = (struct parts){.envelope = envelope,
				.domain = arena_copy_str(arena, mail_domain_view(&domain))};
	if (mail_localpart_parse(halves.local, &parts->local) < 0)
		return false;
	whole = mail_localpart_whole(&parts->local);
	mail_localpart_tag(halves.local, &extension);
	parts->extension = arena_copy_str(arena, buffer_view(&extension));
	buffer_clear(&extension);
	return !has_control(whole) && !has_control(parts->extension) && !has_control(envelope->sender) &&
	       !has_control(envelope->recipient);
}

static int append_name(struct buffer *out, struct str name)
{
	if (!mail_name_is_path_safe(name))
		return -EINVAL;
	buffer_append_str(out, name);
	return 0;
}

static int append_expansion(struct buffer *out, char letter, const struct parts *parts)
{
	switch (letter) {
	case 'a':
		buffer_append_str(out, parts->envelope->recipient);
		return 0;
	case 'd':
		return append_name(out, parts->domain);
	case 's':
		buffer_append_str(out, parts->envelope->sender);
		return 0;
	case 'u':
		return append_name(out, mail_localpart_user(&parts->local));
	case 'x':
		return parts->extension.length > 0 ? append_name(out, parts->extension) : 0;
	case '%':
		buffer_append_byte(out, '%');
		return 0;
	default:
		return -EINVAL;
	}
}

/* NULL when a value is not safe to use. */
static const char *fill_argument(struct arena *arena, const char *template,
				 const struct parts *parts)
{
	struct buffer text = {0};
	const char *copy = NULL;
	bool is_safe = true;

	for (const char *c = template; *c != '\0' && is_safe; c++) {
		if (*c != '%')
			buffer_append_byte(&text, *c);
		else
			is_safe = append_expansion(&text, *++c, parts) == 0;
	}
	if (text.length > 0 && buffer_data(&text)[0] == '-' && template[0] != '-')
		is_safe = false;
	if (is_safe)
		copy = arena_copy(arena, buffer_view(&text));
	buffer_clear(&text);
	return copy;
}

static const char *format_variable(struct arena *arena, const char *name, struct str value)
{
	struct buffer text = {0};
	const char *copy;

	buffer_append_format(&text, "%s=", name);
	buffer_append_str(&text, value);
	copy = arena_copy(arena, buffer_view(&text));
	buffer_clear(&text);
	return copy;
}

static const char **make_environment(struct arena *arena, const struct parts *parts)
{
	const char **list = arena_alloc(arena, ENVIRONMENT_MAX * sizeof *list);
	const struct pipe_envelope *envelope = parts->envelope;
	size_t count = 0;
	char id[MAIL_ID_SIZE];

	mail_id_format(envelope->id, id);
	list[count++] = "PATH=/usr/local/bin:/usr/bin:/bin";
	list[count++] = "SHELL=/bin/sh";
	list[count++] = format_variable(arena, "SENDER", envelope->sender);
	list[count++] = format_variable(arena, "RECIPIENT", envelope->recipient);
	list[count++] = format_variable(arena, "LOCAL", mail_localpart_whole(&parts->local));
	list[count++] = format_variable(arena, "EXTENSION", parts->extension);
	list[count++] = format_variable(arena, "DOMAIN", parts->domain);
	list[count++] = format_variable(arena, "QUEUE_ID", str_from(id));
	if (envelope->owner->name[0] == '\0')
		return list;
	list[count++] = format_variable(arena, "HOME", str_from(envelope->owner->home));
	list[count++] = format_variable(arena, "USER", str_from(envelope->owner->name));
	list[count++] = format_variable(arena, "LOGNAME", str_from(envelope->owner->name));
	return list;
}

bool pipe_command_fill(struct arena *arena, const struct config_service *service,
		       const struct pipe_envelope *envelope, struct pipe_command *command_out,
		       struct mail_verdict *why_out)
{
	const char **arguments =
		arena_alloc(arena, (service->command_count + 1) * sizeof *arguments);
	struct parts parts;
	bool is_safe = split(arena, envelope, &parts);

	for (size_t i = 0; i < service->command_count && is_safe; i++) {
		arguments[i] = fill_argument(arena, service->command[i], &parts);
		is_safe = arguments[i] != NULL;
	}
	if (!is_safe) {
		mail_verdict_set(why_out, "5.1.3",
				 "The address cannot be given to a program safely");
		return false;
	}
	*command_out = (struct pipe_command){arguments, make_environment(arena, &parts)};
	return true;
}
