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

/* The service, which there is; otherwise NODE is refused. */
static const struct config_service *find_service(struct expansion *expansion,
						 struct expand_node *node, struct str service,
						 struct str address)
{
	const struct config_service *found =
		config_service_find(expansion->expander->config, service);

	if (found == NULL)
		expand_refuse(expansion, node, "4.3.5",
			      "The configuration has no service \"" STR_FORMAT "\"",
			      STR_ARGUMENTS(service));
	else if (!can_be_mailbox(address))
		expand_refuse(expansion, node, "5.1.3", "No mailbox can have such a name");
	else
		return found;
	return NULL;
}

void expand_deliver(struct expansion *expansion, struct expand_node *node, struct str service,
		    struct str address, bool is_program)
{
	const struct config_service *found = find_service(expansion, node, service, address);
	struct buffer rest CLEANUP(buffer_clear) = {0};

	if (found == NULL)
		return;
	if (is_program && found->kind != CONFIG_SERVICE_PIPE) {
		expand_refuse(expansion, node, "4.3.5", "Service %s runs no program", found->name);
		return;
	}
	buffer_append_format(&rest, "%s " STR_FORMAT, found->name, STR_ARGUMENTS(address));
	expand_result(expansion, node, "local", buffer_view(&rest));
}

void expand_deliver_at(struct expansion *expansion, struct expand_node *node, struct str service,
		       struct str server, struct str address)
{
	const struct config_service *found;
	struct buffer rest CLEANUP(buffer_clear) = {0};
	const char *problem;

	if (server.length == 0) {
		expand_deliver(expansion, node, service, address, false);
		return;
	}
	found = find_service(expansion, node, service, address);
	if (found == NULL)
		return;
	problem = config_service_server_problem(found, server);
	if (problem != NULL) {
		expand_refuse(expansion, node, "4.3.5", "Server " STR_FORMAT ": service %s %s",
			      STR_ARGUMENTS(server), found->name, problem);
		return;
	}
	buffer_append_format(&rest, "%s " STR_FORMAT " " STR_FORMAT, found->name,
			     STR_ARGUMENTS(server), STR_ARGUMENTS(address));
	expand_result(expansion, node, "server", buffer_view(&rest));
}
