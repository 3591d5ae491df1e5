// SPDX-License-Identifier: ISC
/* The first step for a node: finds its domain, and of what kind that is. */
#include "directory/expand/internal.h"
#include "directory/record/key.h"
#include "mail/localpart.h"

/* The canonical form of TEXT by FORM (directory/record/key.h), in the arena; empty if invalid. */
static struct str form_of(struct expansion *expansion, struct str text,
			  int (*form)(struct str text, struct buffer *out))
{
	buffer_reset(&expansion->scratch);
	if (form(text, &expansion->scratch) < 0)
		return str_slice("", 0);
	return arena_copy_str(expansion->arena, buffer_view(&expansion->scratch));
}

/* Normalizes the address, as the local parts of a domain of ours are ours to interpret. False: it
 * is not valid, and NODE ends. */
static bool normalize_node_address(struct expansion *expansion, struct expand_node *node)
{
	if (node->address.length == 0) {
		struct str local = form_of(expansion, node->local, directory_key_local);

		if (local.length == 0) {
			expand_refuse(expansion, node, "5.1.3", "The recipient is no address");
			return false;
		}
		node->address = expand_address_join(expansion->arena, local, node->domain);
		if (node->address.length > MAIL_ADDRESS_MAX) {
			expand_refuse(expansion, node, "5.1.3", "The address is too long");
			return false;
		}
		/* results keep quotes and case as received, for what inspects headers */
		if (!str_is_ascii(node->shown) || str_find(node->shown, '@') < 0)
			node->shown = node->address;
	}
	expand_address_split(expansion->arena, expansion->expander->config->recipient_delimiter,
			     node);
	return true;
}

static void take_configured(struct expansion *expansion, struct expand_node *node,
			    const struct config_domain *domain)
{
	node->facts = (struct expand_domain){.kind = EXPAND_LOCAL,
					     .service = str_from(domain->service->name),
					     .configured = domain};
	if (normalize_node_address(expansion, node))
		node->wish = EXPAND_WANTS_ADDRESS;
}

/* Continues with the same mailbox at DOMAIN. */
static void go_to_domain(struct expansion *expansion, struct expand_node *node, const char *domain)
{
	node->domain = form_of(expansion, str_from(domain), directory_key_domain);
	node->shown = node->local; /* so that the address is shown with its domain */
	node->wish = EXPAND_WANTS_DOMAIN;
}

/* Continues with the postmaster of this host: of the default domain, or else of the first one. */
static void take_postmaster_of_host(struct expansion *expansion, struct expand_node *node)
{
	const struct config *config = expansion->expander->config;
	const char *domain = config_default_domain(config);
	bool is_itself = str_equal_nocase(str_from(domain), str_from(config->hostname));

	if (node->host == EXPAND_HOST && !is_itself) {
		node->host = EXPAND_HOST_DEFAULT;
		go_to_domain(expansion, node, domain);
	} else if (config->domain_count > 0) {
		node->host = EXPAND_NO_HOST;
		go_to_domain(expansion, node, config->domains[0].name);
	} else {
		expand_refuse(expansion, node, "5.1.1",
			      "There is no postmaster: this host has no local domain");
	}
}

static void take_foreign(struct expansion *expansion, struct expand_node *node)
{
	if (node->host != EXPAND_NO_HOST)
		take_postmaster_of_host(expansion, node);
	else if (node == expansion->root)
		expand_end(node, (struct directory_route){.kind = DIRECTORY_ROUTE_ELSEWHERE});
	else
		expand_end(node, (struct directory_route){.kind = DIRECTORY_ROUTE_REMOTE,
							  .address = node->shown});
}

bool expand_node_configure(struct expansion *expansion, struct expand_node *node)
{
	const struct config_domain *domain;

	if (node->domain.length == 0) { /* an address literal, or not valid */
		take_foreign(expansion, node);
		return true;
	}
	domain = config_domain_find(expansion->expander->config, node->domain);
	if (domain == NULL)
		return false;
	take_configured(expansion, node, domain);
	return true;
}

void expand_node_take_domain(struct expansion *expansion, struct expand_node *node,
			     const struct directory_record *record)
{
	struct str kind;
	struct str text;

	if (record == NULL) {
		take_foreign(expansion, node);
		return;
	}
	if (!normalize_node_address(expansion, node))
		return;
	kind = directory_record_field(record, "kind");
	if (str_equal(kind, STR("alias"))) {
		text = directory_record_field(record, "target");
		node->wish = EXPAND_DONE;
		text = expand_address_join(expansion->arena, node->local, text);
		if (text.length > MAIL_ADDRESS_MAX)
			expand_refuse(expansion, node, "5.1.3", "The address is too long");
		else
			expand_add_child(expansion, node, text);
		return;
	}
	node->facts.kind = str_equal(kind, STR("relay")) ? EXPAND_RELAY : EXPAND_LOCAL;
	text = directory_record_field(record, "service");
	node->facts.service = arena_copy_str(expansion->arena, text);
	node->wish = EXPAND_WANTS_ADDRESS;
}

struct expand_node *expand_node_root(struct expansion *expansion, struct str address)
{
	const struct config *config = expansion->expander->config;
	struct expand_node *node = arena_alloc(expansion->arena, sizeof *node);
	struct mail_localpart local;
	struct mail_parts parts;
	bool is_postmaster;

	node->shown = arena_copy_str(expansion->arena, address);
	parts = mail_parts_of(node->shown);
	node->local = parts.local;
	if (mail_localpart_parse(parts.local, &local) < 0) {
		expand_refuse(expansion, node, "5.1.3", "The recipient is no address");
		return node;
	}
	is_postmaster = expand_is_postmaster(mail_localpart_user(&local));
	if (parts.domain.length == 0 && !is_postmaster) {
		expand_refuse(expansion, node, "5.1.3", "The recipient is no address");
		return node;
	}
	if (parts.domain.length == 0) {
		node->shown = parts.local;
		parts.domain = str_from(config->hostname);
	}
	node->domain = form_of(expansion, parts.domain, directory_key_domain);
	if (is_postmaster && str_equal_nocase(parts.domain, str_from(config->hostname)))
		node->host = EXPAND_HOST;
	node->wish = EXPAND_WANTS_DOMAIN;
	return node;
}
