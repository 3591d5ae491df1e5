// SPDX-License-Identifier: ISC
/* The type of a service's setting servers: the servers that the directory may name. */
#include "config/type/type.h"
#include "config/type/value.h"
#include "mail/host.h"
#include "mail/server.h"
#include <string.h>

enum { IPV4_BITS = 32, IPV6_BITS = 128 };

/* "10.0.0.0/8", "[2001:db8::/32]", or either without a prefix. */
static struct config_complaint parse_reach_network(const struct config *config, struct str text,
						   struct config_network *network_out)
{
	const struct config_setting none = {0};
	bool is_bracketed = config_type_unbracket(&text);
	struct config_complaint complaint;

	if (is_bracketed == (str_find(text, ':') < 0))
		return config_type_complain("brackets are for IPv6, and IPv6 needs them");
	complaint = config_type_networks.parse(&none, config, text, network_out);
	if (complaint.message == NULL && is_bracketed &&
	    IN6_IS_ADDR_V4MAPPED(&network_out->address) &&
	    network_out->prefix >= IPV6_BITS - IPV4_BITS)
		return config_type_complain("an IPv4 address in IPv6 form");
	return complaint;
}

static bool is_network(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '[' || text.data[i] == '/')
			return true;
	return text.length > 0 && text.data[text.length - 1] >= '0' &&
	       text.data[text.length - 1] <= '9' && !mail_host_is_name(text);
}

/* "lmtp.example.org", or "*.example.org" for all names below. */
static struct config_complaint parse_reach_name(const struct config *config, struct str text,
						struct config_reach *reach)
{
	reach->is_below = str_starts_with(text, STR("*."));
	reach->name =
		config_text_to_host(config->arena, reach->is_below ? str_skip(text, 2) : text);
	if (reach->name == NULL || strlen(reach->name) > MAIL_SERVER_HOST_MAX)
		return config_type_complain("not a network or host name");
	return config_type_fine;
}

static struct config_complaint parse_reach(const struct config_setting *setting,
					   const struct config *config, struct str text,
					   void *place)
{
	ptrdiff_t colon = str_find_last(text, ':');
	struct config_reach reach = {.text = arena_copy(config->arena, text)};
	struct config_complaint complaint;
	struct str host;

	(void)setting;
	if (colon < 0 || text.data[text.length - 1] == ']')
		return config_type_complain("no port");
	if (!config_text_to_port(str_skip(text, (size_t)colon + 1), &reach.port))
		return config_type_complain("not a port");
	host = str_slice(text.data, (size_t)colon);
	complaint = is_network(host) ? parse_reach_network(config, host, &reach.network)
				     : parse_reach_name(config, host, &reach);
	if (complaint.message == NULL)
		*(struct config_reach *)place = reach;
	return complaint;
}

static void print_reach(const struct config_setting *setting, const void *place, struct buffer *out)
{
	(void)setting;
	buffer_append_string(out, ((const struct config_reach *)place)->text);
}

const struct config_type config_type_reaches = {
	.name = "list of servers",
	.allowed = "NETWORK:PORT or NAME:PORT; a network as 10.0.0.0/8 or [2001:db8::/32] or one "
		   "address, a name as lmtp.example.org or *.example.org for all below",
	.size = sizeof(struct config_reach),
	.is_list = true,
	.parse = parse_reach,
	.print = print_reach};
