// SPDX-License-Identifier: ISC
/* The types of settings about source addresses. */
#include "config/type/type.h"
#include "config/type/value.h"
#include <arpa/inet.h>

static struct config_complaint parse_source_address(const struct config_setting *setting,
						    const struct config *config, struct str text,
						    void *place)
{
	struct in6_addr address;
	bool is_ipv4;

	(void)setting;
	(void)config;
	if (!config_text_to_address(text, &address, &is_ipv4))
		return config_type_complain("not an IP address");
	if (!is_ipv4 && IN6_IS_ADDR_V4MAPPED(&address))
		return config_type_complain("an IPv4 address in IPv6 form");
	if (IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_MULTICAST(&address) ||
	    IN6_IS_ADDR_LINKLOCAL(&address) ||
	    (is_ipv4 && (address.s6_addr[12] == 0 || address.s6_addr[12] >= 224)))
		return config_type_complain("no address that a machine can send from");
	*(struct in6_addr *)place = address;
	return config_type_fine;
}

static void print_source_address(const struct config_setting *setting, const void *place,
				 struct buffer *out)
{
	const struct in6_addr *address = place;
	bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(address);
	char text[INET6_ADDRSTRLEN];

	(void)setting;
	inet_ntop(is_ipv4 ? AF_INET : AF_INET6, address->s6_addr + (is_ipv4 ? 12 : 0), text,
		  sizeof text);
	buffer_append_string(out, text);
}

const struct config_type config_type_addresses = {.name = "list of addresses",
						  .allowed = "IPv4 or IPv6 addresses",
						  .size = sizeof(struct in6_addr),
						  .is_list = true,
						  .parse = parse_source_address,
						  .print = print_source_address};

static struct config_complaint parse_use(const struct config *config, struct str text,
					 const char *(*to_key)(struct arena *arena,
							       struct str text),
					 struct config_source_use *use)
{
	const char *form;
	struct str key;

	if (str_find(text, ':') < 0 || text.data[0] == '[' || !str_split(&text, ':', &key) ||
	    text.length == 0)
		return config_type_complain("no ':' before a source");
	form = to_key(config->arena, key);
	if (form == NULL)
		return config_type_complain("not valid before the ':'");
	*use = (struct config_source_use){form, arena_copy(config->arena, text)};
	return config_type_fine;
}

static struct config_complaint parse_sender_source(const struct config_setting *setting,
						   const struct config *config, struct str text,
						   void *place)
{
	(void)setting;
	return parse_use(config, text, config_text_to_sender, place);
}

static struct config_complaint parse_domain_source(const struct config_setting *setting,
						   const struct config *config, struct str text,
						   void *place)
{
	(void)setting;
	return parse_use(config, text, config_text_to_destination, place);
}

static void print_use(const struct config_setting *setting, const void *place, struct buffer *out)
{
	const struct config_source_use *use = place;

	(void)setting;
	buffer_append_format(out, "%s:%s", use->key, use->source);
}

const struct config_type config_type_sender_sources = {
	.name = "list of senders with sources",
	.allowed = "SENDER:SOURCE, where SENDER is USER@DOMAIN, DOMAIN or .DOMAIN",
	.size = sizeof(struct config_source_use),
	.is_list = true,
	.parse = parse_sender_source,
	.print = print_use};

const struct config_type config_type_domain_sources = {.name = "list of domains with sources",
						       .allowed = "DOMAIN:SOURCE or .DOMAIN:SOURCE",
						       .size = sizeof(struct config_source_use),
						       .is_list = true,
						       .parse = parse_domain_source,
						       .print = print_use};
