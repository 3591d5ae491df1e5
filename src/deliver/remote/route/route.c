// SPDX-License-Identifier: ISC
#include "deliver/remote/route/route.h"
#include "base/panic.h"
#include "deliver/remote/route/sender.h"
#include "mail/address.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMTP_PORT = 25 };

/* One of the settings, sorted by domain. */
struct sorted {
	const struct config_route **routes;
	size_t count;
};

struct remote_routes {
	struct sorted qmtp, smtp, sender;
};

static int compare_route_names(struct str a, struct str b)
{
	size_t shorter = a.length < b.length ? a.length : b.length;
	int order = memcmp(a.data, b.data, shorter);

	return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_routes(const void *a, const void *b)
{
	const struct config_route *const *left = a;
	const struct config_route *const *right = b;
	int order = compare_route_names(str_from((*left)->domain), str_from((*right)->domain));

	return order != 0 ? order : (*left > *right) - (*left < *right);
}

static struct sorted sort_routes(const struct config_route *routes, size_t count)
{
	struct sorted sorted = {memory_alloc_zero(count + 1, sizeof *sorted.routes), count};

	for (size_t i = 0; i < count; i++)
		sorted.routes[i] = &routes[i];
	qsort(sorted.routes, count, sizeof *sorted.routes, compare_routes);
	return sorted;
}

struct remote_routes *remote_routes_of(const struct config *config)
{
	struct remote_routes *routes = memory_alloc_zero(1, sizeof *routes);

	routes->qmtp = sort_routes(config->qmtproutes, config->qmtproute_count);
	routes->smtp = sort_routes(config->smtproutes, config->smtproute_count);
	routes->sender = sort_routes(config->senderroutes, config->senderroute_count);
	return routes;
}

struct remote_routes *remote_routes_new(const struct config_route *routes, size_t count)
{
	const struct config config = {.smtproutes = (struct config_route *)(uintptr_t)routes,
				      .smtproute_count = count};

	return remote_routes_of(&config);
}

void remote_routes_free(struct remote_routes *routes)
{
	if (routes == NULL)
		return;
	free(routes->qmtp.routes);
	free(routes->smtp.routes);
	free(routes->sender.routes);
	free(routes);
}

/* The first configured route for exactly DOMAIN, or NULL. */
static const struct config_route *find_exact(const struct sorted *sorted, struct str domain)
{
	size_t low = 0;
	size_t high = sorted->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_route_names(str_from(sorted->routes[middle]->domain), domain) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < sorted->count && str_equal(str_from(sorted->routes[low]->domain), domain))
		return sorted->routes[low];
	return NULL;
}

/* A route of either setting. */
struct found {
	const struct config_route *route; /* NULL: none */
	bool is_qmtp;
};

static bool find_level(const struct remote_routes *routes, struct str domain, struct found *found)
{
	found->route = find_exact(&routes->qmtp, domain);
	found->is_qmtp = found->route != NULL;
	if (found->route == NULL)
		found->route = find_exact(&routes->smtp, domain);
	return found->route != NULL;
}

/* An empty relay there says nothing. */
static bool find_null(const struct remote_routes *routes, struct found *found)
{
	const struct sorted *const settings[] = {&routes->qmtp, &routes->smtp};

	for (size_t i = 0; i < COUNT_OF(settings); i++) {
		found->route = find_exact(settings[i], STR("!"));
		found->is_qmtp = i == 0;
		if (found->route != NULL && found->route->relay[0] != '\0')
			return true;
	}
	return false;
}

static const struct config_route *find_sender_route(const struct remote_routes *routes,
						    struct str sender)
{
	struct remote_sender form;
	const struct config_route *route = NULL;

	if (routes->sender.count == 0 || !remote_sender_of(sender, &form))
		return NULL;
	for (struct str key = form.first; route == NULL && key.length > 0;
	     key = remote_sender_next(&form, key))
		route = find_exact(&routes->sender, key);
	return route != NULL && *route->relay != '\0' ? route : NULL;
}

static struct found find_route(const struct remote_routes *routes, struct str sender,
			       struct str domain)
{
	struct found found;
	bool is_literal = domain.length > 0 && domain.data[0] == '[';

	if (mail_sender_is_null(sender) && find_null(routes, &found))
		return found;
	if (domain.length > 0 && find_level(routes, domain, &found))
		return found;
	for (size_t i = 1; i < domain.length && !is_literal; i++)
		if (domain.data[i] == '.' && find_level(routes, str_skip(domain, i), &found))
			return found;
	found = (struct found){find_sender_route(routes, sender), false};
	if (found.route == NULL)
		(void)find_level(routes, STR(""), &found);
	return found;
}

/* "192.0.2.1", "2001:db8::1", either also in brackets, and there also with "IPv6:". */
static bool parse_hop_address(struct str text, uint16_t port, union os_socket_address *out)
{
	char host[OS_SOCKET_TEXT_SIZE];

	if (text.length >= 2 && text.data[0] == '[' && text.data[text.length - 1] == ']') {
		text = str_slice(text.data + 1, text.length - 2);
		if (text.length > 5 && str_equal_nocase(str_slice(text.data, 5), STR("IPv6:")))
			text = str_skip(text, 5);
	}
	if (text.length >= sizeof host)
		return false;
	memcpy(host, text.data, text.length);
	host[text.length] = '\0';
	return os_socket_address_parse(host, port, out);
}

static bool is_host_name(struct str name)
{
	if (name.length == 0 || name.length >= DNS_NAME_SIZE || name.data[0] == '.')
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.')
			return false;
	}
	return true;
}

static bool fill_hop(struct remote_hop *hop, struct str name, enum remote_hop_kind by_address,
		     enum remote_hop_kind by_name, uint16_t port)
{
	static const char kind_letters[] = {
		[REMOTE_HOP_EXCHANGERS] = 'm',
		[REMOTE_HOP_RELAY] = 'r',
		[REMOTE_HOP_ADDRESS] = 'r',
		[REMOTE_HOP_LITERAL] = 'l',
	};

	hop->port = port;
	if (parse_hop_address(name, port, &hop->address)) {
		hop->kind = by_address;
		os_socket_address_format_host(&hop->address, hop->name);
	} else {
		hop->kind = by_name;
		if (!is_host_name(name))
			return false;
		memcpy(hop->name, name.data, name.length);
		str_lower(hop->name, name.length);
	}
	snprintf(hop->key, sizeof hop->key, "%s%c %s %u", hop->is_qmtp ? "q" : "",
		 kind_letters[hop->kind], hop->name, port);
	return true;
}

/* Mail of different users has different connections. */
static void set_user_of_hop(struct remote_hop *hop, const char *user)
{
	size_t length = strlen(hop->key);

	if (user == NULL || *user == '\0')
		return;
	snprintf(hop->user, sizeof hop->user, "%s", user);
	snprintf(hop->key + length, sizeof hop->key - length, " as %s", hop->user);
}

bool remote_route_hop(const struct config_route *route, bool is_qmtp, struct remote_hop *hop_out)
{
	struct remote_hop hop = {.is_qmtp = is_qmtp};

	if (!fill_hop(&hop, str_from(route->relay), REMOTE_HOP_ADDRESS, REMOTE_HOP_RELAY,
		      route->port))
		return false;
	set_user_of_hop(&hop, route->user);
	*hop_out = hop;
	return true;
}

bool remote_routes_choose(const struct remote_routes *routes, struct str sender, struct str domain,
			  struct remote_hop *hop_out)
{
	struct found found = find_route(routes, sender, domain);
	struct remote_hop hop = {0};

	if (found.route != NULL && found.route->relay[0] != '\0')
		return remote_route_hop(found.route, found.is_qmtp, hop_out);
	if (!fill_hop(&hop, domain, REMOTE_HOP_LITERAL, REMOTE_HOP_EXCHANGERS, SMTP_PORT))
		return false;
	*hop_out = hop;
	return true;
}

const char *remote_hop_relay(const struct remote_hop *hop, struct arena *arena)
{
	enum { BRACKETS = 2 };
	char text[DNS_NAME_SIZE + BRACKETS];

	if (hop->kind == REMOTE_HOP_RELAY)
		return arena_copy(arena, str_from(hop->name));
	if (hop->kind != REMOTE_HOP_ADDRESS)
		return NULL;
	snprintf(text, sizeof text, "[%s]", hop->name);
	return arena_copy(arena, str_from(text));
}
