// SPDX-License-Identifier: ISC
#include "deliver/remote_route.h"
#include "base/panic.h"
#include "mail/address.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMTP_PORT = 25 };

struct remote_routes {
	size_t count;
	const struct config_route *sorted[]; /* by domain */
};

static int compare_text(struct str a, struct str b)
{
	size_t shorter = a.length < b.length ? a.length : b.length;
	int order = memcmp(a.data, b.data, shorter);

	return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_routes(const void *a, const void *b)
{
	const struct config_route *const *left = a;
	const struct config_route *const *right = b;
	int order = compare_text(str_from((*left)->domain), str_from((*right)->domain));

	return order != 0 ? order : (*left > *right) - (*left < *right);
}

struct remote_routes *remote_routes_new(const struct config_route *routes, size_t count)
{
	struct remote_routes *sorted =
		memory_alloc(sizeof *sorted + count * sizeof sorted->sorted[0]);

	sorted->count = count;
	for (size_t i = 0; i < count; i++)
		sorted->sorted[i] = &routes[i];
	qsort(sorted->sorted, count, sizeof sorted->sorted[0], compare_routes);
	return sorted;
}

void remote_routes_free(struct remote_routes *routes)
{
	free(routes);
}

/* The first configured route for exactly DOMAIN, or NULL. */
static const struct config_route *find_exact(const struct remote_routes *routes, struct str domain)
{
	size_t low = 0;
	size_t high = routes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_text(str_from(routes->sorted[middle]->domain), domain) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < routes->count && str_equal(str_from(routes->sorted[low]->domain), domain))
		return routes->sorted[low];
	return NULL;
}

static const struct config_route *find(const struct remote_routes *routes, struct str sender,
				       struct str domain)
{
	const struct config_route *route = NULL;
	bool is_literal = domain.length > 0 && domain.data[0] == '[';

	if (mail_sender_is_null(sender))
		route = find_exact(routes, STR("!"));
	if (route == NULL && domain.length > 0)
		route = find_exact(routes, domain);
	for (size_t i = 1; i < domain.length && route == NULL && !is_literal; i++)
		if (domain.data[i] == '.')
			route = find_exact(routes, str_skip(domain, i));
	return route != NULL ? route : find_exact(routes, STR(""));
}

/* "192.0.2.1", "2001:db8::1", either also in brackets, and there also with "IPv6:". */
static bool parse_address(struct str text, uint16_t port, union os_socket_address *out)
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
	if (parse_address(name, port, &hop->address)) {
		hop->kind = by_address;
		os_socket_address_format_host(&hop->address, hop->name);
	} else {
		hop->kind = by_name;
		if (!is_host_name(name))
			return false;
		memcpy(hop->name, name.data, name.length);
		str_lower(hop->name, name.length);
	}
	snprintf(hop->key, sizeof hop->key, "%c %s %u", kind_letters[hop->kind], hop->name, port);
	return true;
}

bool remote_routes_choose(const struct remote_routes *routes, struct str sender, struct str domain,
			  struct remote_hop *hop_out)
{
	const struct config_route *route = find(routes, sender, domain);
	struct remote_hop hop = {0};

	if (route != NULL && route->relay[0] != '\0') {
		if (!fill_hop(&hop, str_from(route->relay), REMOTE_HOP_ADDRESS, REMOTE_HOP_RELAY,
			      route->port))
			return false;
	} else if (!fill_hop(&hop, domain, REMOTE_HOP_LITERAL, REMOTE_HOP_EXCHANGERS, SMTP_PORT)) {
		return false;
	}
	if (route != NULL && route->user != NULL && *route->user != '\0') {
		size_t length = strlen(hop.key);

		snprintf(hop.user, sizeof hop.user, "%s", route->user);
		snprintf(hop.key + length, sizeof hop.key - length, " as %s", hop.user);
	}
	*hop_out = hop;
	return true;
}

const char *remote_hop_relay(const struct remote_hop *hop, struct arena *arena)
{
	enum { BRACKETS = 2 };
	char text[DNS_NAME_SIZE + BRACKETS];

	if (hop->kind != REMOTE_HOP_RELAY && hop->kind != REMOTE_HOP_ADDRESS)
		return NULL;
	snprintf(text, sizeof text, hop->kind == REMOTE_HOP_ADDRESS ? "[%s]" : "%s", hop->name);
	return arena_copy(arena, str_from(text));
}
