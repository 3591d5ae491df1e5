// SPDX-License-Identifier: ISC
#include "deliver/launch/command.h"
#include "mail/template.h"

enum { ENVIRONMENT_MAX = 16 };

struct parts {
	struct mail_template_recipient storage;
	struct mail_template_values values;
};

/* False: the environment cannot hold them safely. */
static bool split_envelope(const struct pipe_envelope *envelope, struct parts *parts)
{
	if (mail_template_values(envelope->recipient, &parts->storage, &parts->values) < 0)
		return false;
	parts->values.sender = envelope->sender;
	return !str_has_control(mail_localpart_whole(&parts->storage.local)) &&
	       !str_has_control(parts->values.extension) && !str_has_control(envelope->sender) &&
	       !str_has_control(envelope->recipient);
}

/* NULL when a value is not safe to use. */
static const char *fill_argument(struct arena *arena, const char *template,
				 const struct parts *parts)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (mail_template_fill(MAIL_TEMPLATE_ARGUMENT, template, &parts->values, &text) < 0)
		return NULL;
	return arena_copy(arena, buffer_view(&text));
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

static const char **make_environment(struct arena *arena, const struct pipe_envelope *envelope,
				     const struct parts *parts)
{
	const char **list = arena_alloc(arena, ENVIRONMENT_MAX * sizeof *list);
	size_t count = 0;
	char id[MAIL_ID_SIZE];

	mail_id_format(envelope->id, id);
	list[count++] = "PATH=/usr/local/bin:/usr/bin:/bin";
	list[count++] = "SHELL=/bin/sh";
	list[count++] = format_variable(arena, "SENDER", envelope->sender);
	list[count++] = format_variable(arena, "RECIPIENT", envelope->recipient);
	list[count++] =
		format_variable(arena, "LOCAL", mail_localpart_whole(&parts->storage.local));
	list[count++] = format_variable(arena, "EXTENSION", parts->values.extension);
	list[count++] = format_variable(arena, "DOMAIN", parts->values.domain);
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
	bool is_safe = split_envelope(envelope, &parts);

	for (size_t i = 0; i < service->command_count && is_safe; i++) {
		arguments[i] = fill_argument(arena, service->command[i], &parts);
		is_safe = arguments[i] != NULL;
	}
	if (!is_safe) {
		mail_verdict_set(why_out, "5.1.3",
				 "The address cannot be given to a program safely");
		return false;
	}
	*command_out = (struct pipe_command){arguments, make_environment(arena, envelope, &parts)};
	return true;
}
