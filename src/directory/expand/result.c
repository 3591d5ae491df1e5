// SPDX-License-Identifier: ISC
/* The results of an expansion: each once, and bounded. */
#include "directory/expand/internal.h"
#include "mail/localpart.h"
#include <string.h>

void expand_result(struct expansion *expansion, struct expand_node *node, const char *word,
		   struct str rest)
{
	size_t length = strlen(word);
	char *line = arena_alloc(expansion->arena, length + 1 + rest.length);

	memcpy(line, word, length);
	line[length] = ' ';
	memcpy(line + length + 1, rest.data, rest.length);
	node->result = str_slice(line, length + (rest.length > 0 ? 1 + rest.length : 0));
	node->wish = EXPAND_DONE;
}

void expand_refuse(struct expansion *expansion, struct expand_node *node, const char *status,
		   const char *format, ...)
{
	struct buffer rest = {0};
	va_list arguments;

	buffer_append_format(&rest, "%s " STR_FORMAT " ", status, STR_ARGUMENTS(node->shown));
	va_start(arguments, format);
	buffer_append_format_list(&rest, format, arguments);
	va_end(arguments);
	expand_result(expansion, node, "refuse", buffer_view(&rest));
	buffer_clear(&rest);
}

/* Said at RCPT, the client is told; said by the service, it would be a bounce. */
static bool can_be_mailbox(struct str address)
{
	struct mail_localpart local;

	return mail_localpart_parse(mail_parts_of(address).local, &local) == 0 &&
	       mail_name_is_path_safe(mail_localpart_user(&local));
}

void expand_deliver(struct expansion *expansion, struct expand_node *node, struct str service,
		    struct str address, bool is_program)
{
	const struct config_service *found =
		config_service_find(expansion->expander->config, service);
	char *rest;

	if (found == NULL) {
		expand_refuse(expansion, node, "4.3.5",
			      "The configuration has no service \"" STR_FORMAT "\"",
			      STR_ARGUMENTS(service));
	} else if (is_program && found->kind != CONFIG_SERVICE_PIPE) {
		expand_refuse(expansion, node, "4.3.5", "Service %s runs no program", found->name);
	} else if (!can_be_mailbox(address)) {
		expand_refuse(expansion, node, "5.1.3", "No mailbox can have such a name");
	} else {
		rest = arena_alloc(expansion->arena, service.length + 1 + address.length);
		memcpy(rest, service.data, service.length);
		rest[service.length] = ' ';
		memcpy(rest + service.length + 1, address.data, address.length);
		expand_result(expansion, node, "local",
			      str_slice(rest, service.length + 1 + address.length));
	}
}
