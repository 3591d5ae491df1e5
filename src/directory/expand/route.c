// SPDX-License-Identifier: ISC
/* The routes in which an expansion ends. */
#include "directory/expand/internal.h"
#include "mail/template.h"

void expand_end(struct expand_node *node, struct directory_route route)
{
	node->route = route;
	node->is_end = true;
	node->wish = EXPAND_DONE;
}

void expand_refuse(struct expansion *expansion, struct expand_node *node, const char *status,
		   const char *format, ...)
{
	struct arena *arena = expansion->arena;
	va_list arguments;

	buffer_reset(&expansion->scratch);
	va_start(arguments, format);
	buffer_append_format_list(&expansion->scratch, format, arguments);
	va_end(arguments);
	expand_end(node, (struct directory_route){
				 .kind = DIRECTORY_ROUTE_REFUSE,
				 .address = node->shown,
				 .status = arena_copy_str(arena, str_from(status)),
				 .text = arena_copy_str(arena, buffer_view(&expansion->scratch)),
			 });
}

static bool fits_mail_template(enum mail_template_kind kind, const char *template,
			       const struct mail_template_values *values)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	return mail_template_fill(kind, template, values, &text) == 0;
}

/* The name by which the user is known to an IMAP server is that of the mailbox. */
static bool fits_login(const char *login, struct mail_template_values values)
{
	struct buffer mailbox CLEANUP(buffer_clear) = {0};

	mail_address_write(values.user, values.domain, &mailbox);
	values.address = buffer_view(&mailbox);
	return fits_mail_template(MAIL_TEMPLATE_LOGIN, login, &values);
}

/* A check at RCPT, so that the client is refused: if the service refuses, it becomes a bounce, to
 * whomever the client has named. */
static bool can_take(const struct config_service *service, struct str address)
{
	struct mail_template_recipient recipient;
	struct mail_template_values values;
	bool takes = mail_template_values(address, &recipient, &values) == 0 &&
		     mail_name_is_path_safe(values.user);

	switch (service->kind) {
	case CONFIG_SERVICE_MAILDIR:
	case CONFIG_SERVICE_MBOX:
	case CONFIG_SERVICE_MAILBOX:
		return takes && fits_mail_template(MAIL_TEMPLATE_PATH, service->path, &values);
	case CONFIG_SERVICE_IMAP:
		return takes && fits_login(service->login, values);
	case CONFIG_SERVICE_PIPE:
		for (size_t i = 0; takes && i < service->command_count; i++)
			takes = fits_mail_template(MAIL_TEMPLATE_ARGUMENT, service->command[i],
						   &values);
		return takes;
	case CONFIG_SERVICE_LMTP:
	case CONFIG_SERVICE_KINDS:
		break;
	}
	return takes;
}

/* The service; if it does not exist, NODE is refused. */
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
	else if (!can_take(found, address))
		expand_refuse(expansion, node, "5.1.3", "No mailbox can have such a name");
	else
		return found;
	return NULL;
}

void expand_deliver(struct expansion *expansion, struct expand_node *node, struct str service,
		    struct str address, bool is_program)
{
	const struct config_service *found = find_service(expansion, node, service, address);

	if (found == NULL)
		return;
	if (is_program && found->kind != CONFIG_SERVICE_PIPE) {
		expand_refuse(expansion, node, "4.3.5", "Service %s runs no program", found->name);
		return;
	}
	expand_end(node, (struct directory_route){
				 .kind = DIRECTORY_ROUTE_LOCAL,
				 .address = address,
				 .service = arena_copy_str(expansion->arena, service),
			 });
}

void expand_deliver_at(struct expansion *expansion, struct expand_node *node, struct str service,
		       struct str server, struct str address)
{
	const struct config_service *found;
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
	expand_end(node, (struct directory_route){
				 .kind = DIRECTORY_ROUTE_LOCAL,
				 .address = address,
				 .service = arena_copy_str(expansion->arena, service),
				 .server = arena_copy_str(expansion->arena, server),
			 });
}
