// SPDX-License-Identifier: ISC
/* What becomes of a node, record by record: which one is needed next, and what it means. */
#include "directory/expand/internal.h"
#include <string.h>

static struct str copy_text_to_expansion(struct expansion *expansion, struct str text)
{
	return arena_copy_str(expansion->arena, text);
}

static struct directory_key address_key(struct expansion *expansion, struct str local,
					struct str domain)
{
	return (struct directory_key){DIRECTORY_ADDRESS,
				      expand_address_join(expansion->arena, local, domain)};
}

void expand_node_wish(struct expansion *expansion, struct expand_node *node)
{
	switch (node->wish) {
	case EXPAND_WANTS_DOMAIN:
		node->key = (struct directory_key){DIRECTORY_DOMAIN, node->domain};
		break;
	case EXPAND_WANTS_ADDRESS:
		node->key = (struct directory_key){DIRECTORY_ADDRESS, node->address};
		break;
	case EXPAND_WANTS_USERS_ADDRESS:
		node->key = address_key(expansion, node->user, node->domain);
		break;
	case EXPAND_WANTS_CATCH_ALL:
		node->key = address_key(expansion, str_slice("", 0), node->domain);
		break;
	case EXPAND_WANTS_USER:
		node->key = (struct directory_key){DIRECTORY_USER, node->wanted};
		break;
	case EXPAND_WANTS_SERVER:
		node->key = (struct directory_key){DIRECTORY_SERVER, node->wanted};
		break;
	case EXPAND_DONE:
		break;
	}
}

/* A mailbox of the domain's service, with ADDRESS. */
static void deliver_by_domain(struct expansion *expansion, struct expand_node *node,
			      struct str address)
{
	if (node->facts.kind == EXPAND_RELAY)
		expand_end(node, (struct directory_route){.kind = DIRECTORY_ROUTE_REMOTE,
							  .address = address});
	else if (node->facts.service.length == 0)
		expand_refuse(expansion, node, "4.3.5",
			      "Domain " STR_FORMAT " names no service for its mailboxes",
			      STR_ARGUMENTS(node->domain));
	else
		expand_deliver(expansion, node, node->facts.service, address, false);
}

/* Whether it is delivered to another host, which may have other delimiters. */
static bool goes_elsewhere(const struct expand_node *node, struct str service)
{
	return node->facts.kind == EXPAND_RELAY && service.length == 0;
}

static const char *recipient_delimiters(const struct expansion *expansion)
{
	return expansion->expander->config->recipient_delimiter;
}

/* A relay gets what came. */
static struct str address_told_to_service(const struct expansion *expansion,
					  const struct expand_node *node, struct str service,
					  struct str extension)
{
	return goes_elsewhere(node, service)
		       ? node->shown
		       : expand_address_told(expansion->arena, recipient_delimiters(expansion),
					     node, extension);
}

/* EXTENSION is empty if the record is of the address with its extension. */
static void take_mailbox_record(struct expansion *expansion, struct expand_node *node,
				const struct directory_record *record, struct str extension)
{
	struct str service = directory_record_field(record, "service");
	struct str user = directory_record_field(record, "user");
	struct str mailbox = directory_record_field(record, "mailbox");
	struct str address;

	if (mailbox.length == 0)
		address = address_told_to_service(expansion, node, service, extension);
	else if (goes_elsewhere(node, service))
		address = expand_address_extend(
			expansion->arena, copy_text_to_expansion(expansion, mailbox), extension);
	else
		address = expand_address_mailbox(expansion->arena, recipient_delimiters(expansion),
						 copy_text_to_expansion(expansion, mailbox),
						 extension);
	if (address.length == 0) {
		expand_refuse(expansion, node, "5.1.3", "The address is too long");
	} else if (service.length > 0) {
		expand_deliver(expansion, node, service, address, false);
	} else if (user.length > 0) {
		node->told = address;
		node->wanted = copy_text_to_expansion(expansion, user);
		node->wish = EXPAND_WANTS_USER;
	} else {
		deliver_by_domain(expansion, node, address);
	}
}

/* A forward that keeps a copy: TARGET is its own address. */
static void take_own_target(struct expansion *expansion, struct expand_node *node,
			    struct str target)
{
	struct expand_node *own = expand_add_leaf(expansion, node);
	struct str address;

	own->shown = copy_text_to_expansion(expansion, target);
	own->domain = node->domain;
	own->facts = node->facts;
	address =
		goes_elsewhere(own, str_slice("", 0))
			? own->shown
			: expand_address_mailbox(expansion->arena, recipient_delimiters(expansion),
						 own->shown, str_slice("", 0));
	if (address.length > 0)
		deliver_by_domain(expansion, own, address);
	else
		expand_refuse(expansion, own, "5.1.3", "The address is too long");
}

static void take_forward_record(struct expansion *expansion, struct expand_node *node,
				const struct directory_record *record)
{
	node->wish = EXPAND_DONE;
	for (size_t i = 0; i < record->field_count; i++) {
		struct str target = record->fields[i].value;

		if (!str_equal(record->fields[i].name, STR("target")))
			continue;
		if (str_equal(target, record->key.name)) {
			take_own_target(expansion, node, target);
		} else {
			expand_add_child(expansion, node,
					 copy_text_to_expansion(expansion, target));
		}
	}
}

static void take_alias(struct expansion *expansion, struct expand_node *node,
		       const struct directory_record *record, struct str extension)
{
	struct str target =
		copy_text_to_expansion(expansion, directory_record_field(record, "target"));

	node->wish = EXPAND_DONE;
	target = expand_address_extend(expansion->arena, target, extension);
	if (target.length == 0)
		expand_refuse(expansion, node, "5.1.3", "The address is too long");
	else
		expand_add_child(expansion, node, target);
}

static void take_list_record(struct expansion *expansion, struct expand_node *node,
			     const struct directory_record *record)
{
	struct str verp = directory_record_field(record, "verp");

	expand_end(node,
		   (struct directory_route){
			   .kind = DIRECTORY_ROUTE_LIST,
			   .address = copy_text_to_expansion(expansion, record->key.name),
			   .owner = copy_text_to_expansion(expansion,
							   directory_record_field(record, "owner")),
			   .verp = str_equal(verp, STR("yes")),
			   .post = directory_post_find(directory_record_field(record, "post")),
		   });
}

static void take_refused_record(struct expansion *expansion, struct expand_node *node,
				const struct directory_record *record)
{
	struct str status = directory_record_field(record, "status");
	struct str text = directory_record_field(record, "text");
	char code[16] = "5.7.1";

	if (status.length > 0 && status.length < sizeof code) {
		memcpy(code, status.data, status.length);
		code[status.length] = '\0';
	}
	expand_refuse(expansion, node, code, STR_FORMAT, STR_ARGUMENTS(text));
}

/* Refuses NODE, if the state of RECORD, of its address or user, requires it. */
static bool refuse_by_state(struct expansion *expansion, struct expand_node *node,
			    const struct directory_record *record)
{
	enum directory_state state = directory_record_state(record);

	if (state == DIRECTORY_DISABLED)
		expand_refuse(expansion, node, "5.2.1", "This address is disabled");
	else if (state == DIRECTORY_DEFERRED)
		expand_refuse(expansion, node, "4.2.1", "This address takes no mail for now");
	return state != DIRECTORY_ACTIVE;
}

static void take_program(struct expansion *expansion, struct expand_node *node, struct str service,
			 struct str extension)
{
	struct str address = address_told_to_service(expansion, node, service, extension);

	if (address.length > 0)
		expand_deliver(expansion, node, service, address, true);
	else
		expand_refuse(expansion, node, "5.1.3", "The address is too long");
}

static void take_record_by_kind(struct expansion *expansion, struct expand_node *node,
				const struct directory_record *record, struct str extension)
{
	struct str kind = directory_record_field(record, "kind");

	if (refuse_by_state(expansion, node, record))
		return;
	if (str_equal(kind, STR("mailbox")))
		take_mailbox_record(expansion, node, record, extension);
	else if (str_equal(kind, STR("forward")))
		take_forward_record(expansion, node, record);
	else if (str_equal(kind, STR("alias")))
		take_alias(expansion, node, record, extension);
	else if (str_equal(kind, STR("list")))
		take_list_record(expansion, node, record);
	else if (str_equal(kind, STR("program")))
		take_program(expansion, node, directory_record_field(record, "service"), extension);
	else
		take_refused_record(expansion, node, record);
}

static bool is_refused_record(const struct directory_record *record)
{
	return str_equal(directory_record_field(record, "kind"), STR("refused")) ||
	       directory_record_state(record) != DIRECTORY_ACTIVE;
}

static bool is_configured_address(const struct expand_node *node, struct str local)
{
	const struct config_domain *domain = node->facts.configured;

	return domain != NULL && domain->address_count > 0 && config_domain_has(domain, local);
}

/* By the transport of its domain, without a record. */
static void deliver_found(struct expansion *expansion, struct expand_node *node,
			  struct str extension)
{
	struct str address = address_told_to_service(expansion, node, str_slice("", 0), extension);

	if (address.length > 0)
		deliver_by_domain(expansion, node, address);
	else
		expand_refuse(expansion, node, "5.1.3", "The address is too long");
}

static void take_address_record(struct expansion *expansion, struct expand_node *node,
				const struct directory_record *record)
{
	if (record != NULL)
		take_record_by_kind(expansion, node, record, str_slice("", 0));
	else if (is_configured_address(node, node->local))
		deliver_found(expansion, node, str_slice("", 0));
	else
		node->wish = node->extension.length > 0 ? EXPAND_WANTS_USERS_ADDRESS
							: EXPAND_WANTS_CATCH_ALL;
}

static void take_users_address(struct expansion *expansion, struct expand_node *node,
			       const struct directory_record *record)
{
	if (record != NULL)
		take_record_by_kind(expansion, node, record, node->extension);
	else if (is_configured_address(node, node->user))
		deliver_found(expansion, node, node->extension);
	else
		node->wish = EXPAND_WANTS_CATCH_ALL;
}

static void take_catch_all(struct expansion *expansion, struct expand_node *node,
			   const struct directory_record *record)
{
	const struct config_domain *configured = node->facts.configured;
	bool is_postmaster = node->facts.kind == EXPAND_LOCAL && expand_is_postmaster(node->user);

	/* a catch-all may refuse all other addresses, but not the postmaster */
	if (record != NULL && !(is_postmaster && is_refused_record(record)))
		take_record_by_kind(expansion, node, record, node->extension);
	else if (is_postmaster || node->facts.kind == EXPAND_RELAY ||
		 (configured != NULL && configured->address_count == 0))
		deliver_found(expansion, node, node->extension);
	else
		expand_refuse(expansion, node, "5.1.1", "No such user here");
}

static void take_user_record(struct expansion *expansion, struct expand_node *node,
			     const struct directory_record *record)
{
	struct str server;

	if (record == NULL) {
		expand_refuse(expansion, node, "4.3.5",
			      "The directory has no user \"" STR_FORMAT "\", whose mailbox it is",
			      STR_ARGUMENTS(node->wanted));
		return;
	}
	if (refuse_by_state(expansion, node, record))
		return;
	server = directory_record_field(record, "server");
	if (server.length == 0) {
		deliver_by_domain(expansion, node, node->told);
		return;
	}
	node->wanted = copy_text_to_expansion(expansion, server);
	node->wish = EXPAND_WANTS_SERVER;
}

static void take_server(struct expansion *expansion, struct expand_node *node,
			const struct directory_record *record)
{
	if (record == NULL)
		expand_refuse(expansion, node, "4.3.5",
			      "The directory has no server \"" STR_FORMAT
			      "\", where the mailbox is",
			      STR_ARGUMENTS(node->wanted));
	else
		expand_deliver_at(expansion, node, directory_record_field(record, "service"),
				  directory_record_field(record, "address"), node->told);
}

void expand_node_take(struct expansion *expansion, struct expand_node *node,
		      const struct directory_record *record)
{
	switch (node->wish) {
	case EXPAND_WANTS_DOMAIN:
		expand_node_take_domain(expansion, node, record);
		break;
	case EXPAND_WANTS_ADDRESS:
		take_address_record(expansion, node, record);
		break;
	case EXPAND_WANTS_USERS_ADDRESS:
		take_users_address(expansion, node, record);
		break;
	case EXPAND_WANTS_CATCH_ALL:
		take_catch_all(expansion, node, record);
		break;
	case EXPAND_WANTS_USER:
		take_user_record(expansion, node, record);
		break;
	case EXPAND_WANTS_SERVER:
		take_server(expansion, node, record);
		break;
	case EXPAND_DONE:
		break;
	}
}
