// SPDX-License-Identifier: ISC
/* Who computes a route: the expander here, or other servers by the store. */
#include "directory/record/key.h"
#include "directory/server/internal.h"
#include "mail/localpart.h"

static struct str hostname_of(const struct question *question)
{
	return str_from(question->server->config->hostname);
}

static bool is_domain_configured(struct directory_server *server, struct str domain)
{
	struct buffer *form = &server->scratch;

	buffer_reset(form);
	return directory_key_domain(domain, form) == 0 &&
	       config_domain_find(server->config, buffer_view(form)) != NULL;
}

/* Domains of the configuration are expanded here, and so is what is no address. */
static bool is_address_of_ours(struct directory_server *server, struct str address)
{
	ptrdiff_t at = str_find_last(address, '@');

	return at < 0 || is_domain_configured(server, str_skip(address, (size_t)at + 1));
}

static void ask_here(struct question *question, struct str address, directory_expanded *expanded)
{
	directory_expand(question->server->expander, address, expanded, question);
}

static void ask_others(struct question *question, struct str address, directory_expanded *expanded)
{
	struct directory_store *store = question->server->store;

	store->operations->route(store, address, expanded, question);
}

/* --- the postmaster of this host (directory/expand/expand.h), which other servers do not know ---
 */

static bool is_postmaster_of_host(const struct question *question, struct str address)
{
	struct mail_parts parts = mail_parts_of(address);

	return str_equal_nocase(parts.local, STR("postmaster")) &&
	       (parts.domain.length == 0 || str_equal_nocase(parts.domain, hostname_of(question)));
}

static bool is_elsewhere(int error, const struct directory_expansion *expansion)
{
	return error == 0 && expansion->count == 1 &&
	       expansion->routes[0].kind == DIRECTORY_ROUTE_ELSEWHERE;
}

/* Not to be kept: it depends on the other answers, too. */
static void on_last(void *question, int error, const struct directory_expansion *expansion)
{
	struct directory_expansion once;

	if (error == 0) {
		once = *expansion;
		once.may_keep = false;
		expansion = &once;
	}
	reply_expanded(question, error, expansion);
}

static void on_default_domain(void *context, int error, const struct directory_expansion *expansion)
{
	struct question *question = context;

	if (is_elsewhere(error, expansion))
		ask_here(question, STR("postmaster"), on_last);
	else
		on_last(question, error, expansion);
}

static void ask_postmaster_of(struct question *question, struct str domain,
			      directory_expanded *expanded)
{
	struct buffer address CLEANUP(buffer_clear) = {0};

	buffer_append_format(&address, "postmaster@" STR_FORMAT, STR_ARGUMENTS(domain));
	ask_others(question, buffer_view(&address), expanded);
}

static void on_host(void *context, int error, const struct directory_expansion *expansion)
{
	struct question *question = context;
	struct str domain = str_from(config_default_domain(question->server->config));

	if (!is_elsewhere(error, expansion))
		reply_expanded(question, error, expansion);
	else if (str_equal_nocase(domain, hostname_of(question)) ||
		 is_domain_configured(question->server, domain))
		ask_here(question, STR("postmaster"), on_last);
	else
		ask_postmaster_of(question, domain, on_default_domain);
}

void route_ask(struct question *question)
{
	struct directory_server *server = question->server;
	struct str address = question->key;
	bool has_others = server->store->operations->route != NULL;

	if (has_others && is_postmaster_of_host(question, address) &&
	    !is_domain_configured(server, hostname_of(question)))
		ask_postmaster_of(question, hostname_of(question), on_host);
	else if (has_others && !is_address_of_ours(server, address))
		ask_others(question, address, reply_expanded);
	else
		ask_here(question, address, reply_expanded);
}
