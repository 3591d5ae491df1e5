// SPDX-License-Identifier: ISC
/* The types of settings that say by which relay mail goes. */
#include "config/type/type.h"
#include "config/type/value.h"
#include <string.h>

/* "[192.0.2.1]", "[2001:db8::1]" or "[IPv6:2001:db8::1]" as the second, or a
 * bare IPv4 address as the first. NULL: RELAY is not a literal. */
static const char *literal_of(const struct config *config, struct str relay)
{
	struct in6_addr address;
	bool is_bracketed = config_type_unbracket(&relay);
	bool is_ipv4;

	if (is_bracketed && relay.length > 5 &&
	    str_equal_nocase(str_slice(relay.data, 5), STR("IPv6:")))
		relay = str_skip(relay, 5);
	if (!config_text_to_address(relay, &address, &is_ipv4) || (!is_bracketed && !is_ipv4))
		return NULL;
	return config_address_literal(config->arena, &address, is_ipv4);
}

/* The canonical form; NULL: DOMAIN is not valid. */
static const char *route_domain(const struct config *config, struct str domain)
{
	if (str_equal(domain, STR("!@"))) /* as s/qmail writes it */
		domain = STR("!");
	if (domain.length == 0 || str_equal(domain, STR("!")))
		return arena_copy(config->arena, domain);
	return domain.data[0] == '[' ? NULL : config_text_to_destination(config->arena, domain);
}

/* "USER" or "USER|PASSWORD"; without data: no login. */
static const char *parse_login(const struct config *config, struct str login,
			       struct config_route *route)
{
	struct str user = STR("");

	route->password = "";
	if (login.data != NULL && (!str_split(&login, '|', &user) || user.length == 0))
		return "no user after the '|'";
	if (user.length > 0 && *route->relay == '\0')
		return "a user without a relay";
	if (user.length > CONFIG_USER_MAX || login.length > CONFIG_PASSWORD_MAX)
		return "a user or password that is too long";
	route->user = arena_copy(config->arena, user);
	if (login.length > 0)
		route->password = arena_copy(config->arena, login);
	return NULL;
}

enum { SMTP_PORT = 25, QMTP_PORT = 209 };

/* Takes the relay from *TEXT; what is left is the port, without data if there is none. netqmail and
 * other programs have a ':' before it, where we have a ';'. Colons of an address are in brackets.
 */
static struct str take_relay(struct str *text)
{
	ptrdiff_t colon = str_find_last(*text, ':');
	struct str relay;

	if (str_find(*text, ';') < 0 && colon >= 0 &&
	    str_is_digits(str_skip(*text, (size_t)colon + 1))) {
		relay = str_slice(text->data, (size_t)colon);
		*text = str_skip(*text, (size_t)colon + 1);
		return relay;
	}
	str_split(text, ';', &relay);
	return relay;
}

/* "RELAY", "RELAY;PORT", "RELAY:PORT" or nothing, with LOGIN (see parse_login()); WRONG: what to
 * say of what is no relay. */
static struct config_complaint parse_relay(const struct config *config, struct str text,
					   struct str login, const char *wrong,
					   struct config_route *route)
{
	struct str relay = take_relay(&text);
	const char *problem;

	if (text.data != NULL && !config_text_to_port(text, &route->port))
		return (struct config_complaint){"not a port after the ';'", "1 to 65535"};
	route->relay = "";
	if (relay.length > 0) {
		route->relay = literal_of(config, relay);
		if (route->relay == NULL)
			route->relay = config_text_to_host(config->arena, relay);
		if (route->relay == NULL)
			return config_type_complain(wrong);
	}
	problem = parse_login(config, login, route);
	if (problem != NULL)
		return (struct config_complaint){problem, "RELAY|USER or RELAY|USER|PASSWORD"};
	return config_type_fine;
}

/* What a route is for, before its ':'. */
struct route_key {
	const char *(*parse)(const struct config *config, struct str text); /* NULL: not valid */
	const char *missing, *wrong;                                        /* complaints */
};

static const struct route_key domains = {route_domain, "no ':' after the domain",
					 "not a domain before the ':'"};

static struct config_complaint parse_route_to(const struct config *config, struct str text,
					      uint16_t port, const struct route_key *key,
					      struct config_route *route_out)
{
	struct config_route route = {.port = port};
	struct config_complaint complaint;
	struct str login = text;
	struct str rest;
	struct str domain;

	if (!str_split(&login, '|', &rest) || str_find(rest, ':') < 0 ||
	    !str_split(&rest, ':', &domain))
		return config_type_complain(key->missing);
	route.domain = key->parse(config, domain);
	if (route.domain == NULL)
		return config_type_complain(key->wrong);
	complaint = parse_relay(config, rest, login, "not a host name or address after the ':'",
				&route);
	if (complaint.message == NULL)
		*route_out = route;
	return complaint;
}

static struct config_complaint parse_route(const struct config_setting *setting,
					   const struct config *config, struct str text,
					   void *place)
{
	(void)setting;
	return parse_route_to(config, text, SMTP_PORT, &domains, place);
}

static struct config_complaint parse_qmtp_route(const struct config_setting *setting,
						const struct config *config, struct str text,
						void *place)
{
	struct config_route route;
	struct config_complaint complaint =
		parse_route_to(config, text, QMTP_PORT, &domains, &route);

	(void)setting;
	if (complaint.message == NULL && *route.user != '\0')
		return (struct config_complaint){"QMTP knows no login", "RELAY or RELAY;PORT"};
	if (complaint.message == NULL)
		*(struct config_route *)place = route;
	return complaint;
}

static void print_relay(const struct config_route *route, uint16_t port, struct buffer *out)
{
	buffer_append_string(out, route->relay);
	if (route->port != port) {
		buffer_append_byte(out, ';');
		buffer_append_number(out, route->port);
	}
	if (*route->user != '\0') {
		buffer_append_byte(out, '|');
		buffer_append_string(out, route->user);
	}
	if (*route->password != '\0')
		buffer_append_string(out, "|" CONFIG_HIDDEN);
}

static void print_route_to(const struct config_route *route, uint16_t port, struct buffer *out)
{
	buffer_append_string(out, route->domain);
	buffer_append_byte(out, ':');
	print_relay(route, port, out);
}

static void print_route(const struct config_setting *setting, const void *place, struct buffer *out)
{
	(void)setting;
	print_route_to(place, SMTP_PORT, out);
}

static void print_qmtp_route(const struct config_setting *setting, const void *place,
			     struct buffer *out)
{
	(void)setting;
	print_route_to(place, QMTP_PORT, out);
}

const struct config_type config_type_routes = {
	.name = "list of routes",
	.allowed = "DOMAIN:RELAY or DOMAIN:RELAY;PORT, where RELAY is a host, [ADDRESS] or empty",
	.size = sizeof(struct config_route),
	.is_list = true,
	.parse = parse_route,
	.print = print_route};

const struct config_type config_type_qmtproutes = {
	.name = "list of routes",
	.allowed = "DOMAIN:RELAY or DOMAIN:RELAY;PORT, where RELAY is a host, [ADDRESS] or empty",
	.size = sizeof(struct config_route),
	.is_list = true,
	.parse = parse_qmtp_route,
	.print = print_qmtp_route};

static const char *route_sender(const struct config *config, struct str sender)
{
	return config_text_to_sender(config->arena, sender);
}

static struct config_complaint parse_sender_route(const struct config_setting *setting,
						  const struct config *config, struct str text,
						  void *place)
{
	static const struct route_key senders = {route_sender, "no ':' after the sender",
						 "not a sender before the ':'"};

	(void)setting;
	return parse_route_to(config, text, SMTP_PORT, &senders, place);
}

const struct config_type config_type_senderroutes = {
	.name = "list of routes",
	.allowed = "SENDER:RELAY or SENDER:RELAY;PORT, where SENDER is USER@DOMAIN, DOMAIN or "
		   ".DOMAIN, and RELAY a host, [ADDRESS] or empty",
	.size = sizeof(struct config_route),
	.is_list = true,
	.parse = parse_sender_route,
	.print = print_route};

static struct config_complaint parse_fallback(const struct config_setting *setting,
					      const struct config *config, struct str text,
					      void *place)
{
	struct config_route route = {.port = SMTP_PORT, .domain = ""};
	struct config_complaint complaint;
	struct str relay;

	(void)setting;
	(void)str_split(&text, '|', &relay);
	complaint =
		parse_relay(config, relay, text, "not a host name or address as the relay", &route);
	if (complaint.message == NULL && *route.relay == '\0')
		return config_type_complain("no relay");
	if (complaint.message == NULL)
		*(struct config_route *)place = route;
	return complaint;
}

static void print_fallback(const struct config_setting *setting, const void *place,
			   struct buffer *out)
{
	(void)setting;
	print_relay(place, SMTP_PORT, out);
}

const struct config_type config_type_relays = {
	.name = "list of relays",
	.allowed = "RELAY or RELAY;PORT, where RELAY is a host or [ADDRESS]",
	.size = sizeof(struct config_route),
	.is_list = true,
	.parse = parse_fallback,
	.print = print_fallback};
