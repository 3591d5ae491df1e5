// SPDX-License-Identifier: ISC
/* The types of settings that are lists, and the type of a single endpoint. */
#include "config/type/type.h"
#include "config/type/value.h"
#include <arpa/inet.h>
#include <string.h>

static struct config_complaint parse_listed_local_part(const struct config_setting *setting,
						       const struct config *config, struct str text,
						       void *place)
{
	const char *form = config_text_to_local_part(config->arena, text);

	(void)setting;
	if (form == NULL)
		return config_type_complain("not a local part");
	*(const char **)place = form;
	return config_type_fine;
}

const struct config_type config_type_local_parts = {
	.name = "list of local parts",
	.allowed = "the parts of mail addresses before their @",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_listed_local_part,
	.print = config_type_print_text};

static struct config_complaint parse_socket_path(const struct config *config, struct str text,
						 struct config_endpoint *endpoint)
{
	struct str path = str_skip(text, strlen("unix:"));
	struct config_complaint complaint = config_type_check_socket_path(path);

	if (complaint.message == NULL)
		*endpoint = (struct config_endpoint){arena_copy(config->arena, text),
						     arena_copy(config->arena, path), 0};
	return complaint;
}

static struct config_complaint parse_endpoint(const struct config_setting *setting,
					      const struct config *config, struct str text,
					      void *place)
{
	ptrdiff_t colon = str_find_last(text, ':');
	struct config_endpoint *endpoint = place;
	struct in6_addr address;
	struct str host;
	uint16_t port;
	bool is_bracketed;
	bool is_ipv4;

	(void)setting;
	if (str_starts_with(text, STR("unix:")))
		return parse_socket_path(config, text, endpoint);
	if (colon < 0 || text.data[text.length - 1] == ']')
		return config_type_complain("no port");
	host = str_slice(text.data, (size_t)colon);
	is_bracketed = config_type_unbracket(&host);
	if (!config_text_to_address(host, &address, &is_ipv4) || is_ipv4 == is_bracketed)
		return config_type_complain("not an IP address");
	if (!is_ipv4 && IN6_IS_ADDR_V4MAPPED(&address))
		return config_type_complain("an IPv4 address in IPv6 form");
	if (!config_text_to_port(str_skip(text, (size_t)colon + 1), &port))
		return config_type_complain("not a port");
	*endpoint = (struct config_endpoint){arena_copy(config->arena, text),
					     arena_copy(config->arena, host), port};
	return config_type_fine;
}

static void print_endpoint(const struct config_setting *setting, const void *place,
			   struct buffer *out)
{
	(void)setting;
	buffer_append_string(out, ((const struct config_endpoint *)place)->text);
}

const struct config_type config_type_endpoints = {
	.name = "list of addresses with ports",
	.allowed = "IPV4:PORT, [IPV6]:PORT with a port from 1 to 65535, unix:/PATH",
	.size = sizeof(struct config_endpoint),
	.is_list = true,
	.parse = parse_endpoint,
	.print = print_endpoint};

const struct config_type config_type_endpoint = {
	.name = "address with port",
	.allowed = "IPV4:PORT, [IPV6]:PORT with a port from 1 to 65535, unix:/PATH",
	.size = sizeof(struct config_endpoint),
	.parse = parse_endpoint,
	.print = print_endpoint};

static struct config_complaint parse_argument(const struct config_setting *setting,
					      const struct config *config, struct str text,
					      void *place)
{
	struct config_complaint complaint = config_type_check_percents(text, "adsux%");

	(void)setting;
	return complaint.message == NULL ? config_type_keep(config, text, place) : complaint;
}

const struct config_type config_type_arguments = {
	.name = "list of arguments",
	.allowed = "an absolute path first, then texts with %a, %d, %s, %u, %x, %%",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_argument,
	.print = config_type_print_text};

/* Clears the bits of ADDRESS after PREFIX; whether any were set. */
static bool clear_host_bits(struct in6_addr *address, unsigned prefix)
{
	struct in6_addr before = *address;

	for (unsigned i = prefix; i < 128; i++)
		address->s6_addr[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	return memcmp(&before, address, sizeof before) != 0;
}

void config_network_print(const struct config_network *network, struct buffer *out)
{
	bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(&network->address) && network->prefix >= 96;
	char text[INET6_ADDRSTRLEN];

	inet_ntop(is_ipv4 ? AF_INET : AF_INET6, network->address.s6_addr + (is_ipv4 ? 12 : 0), text,
		  sizeof text);
	buffer_append_string(out, text);
	buffer_append_byte(out, '/');
	buffer_append_number(out, network->prefix - (is_ipv4 ? 96 : 0));
}

static struct config_complaint parse_listed_network(const struct config_setting *setting,
						    const struct config *config, struct str text,
						    void *place)
{
	struct config_network network;
	struct str rest = text;
	struct str address;
	uint64_t prefix;
	bool is_ipv4;

	(void)setting;
	if (!str_split(&rest, '/', &address) ||
	    !config_text_to_address(address, &network.address, &is_ipv4))
		return config_type_complain("not an IP network");
	prefix = is_ipv4 ? 32 : 128;
	if (rest.data != NULL &&
	    (rest.length > 3 || !str_to_u64(rest, &prefix) || prefix > (is_ipv4 ? 32 : 128)))
		return (struct config_complaint){"wrong prefix length",
						 is_ipv4 ? "0 to 32" : "0 to 128"};
	network.prefix = (unsigned)prefix + (is_ipv4 ? 96 : 0);
	if (clear_host_bits(&network.address, network.prefix)) {
		struct buffer right = {0};
		struct config_complaint complaint = {"bits are set after the prefix", NULL};

		config_network_print(&network, &right);
		complaint.allowed = arena_copy(config->arena, buffer_view(&right));
		buffer_clear(&right);
		return complaint;
	}
	*(struct config_network *)place = network;
	return config_type_fine;
}

const char *config_network_parse(const struct config *config, struct str text,
				 struct config_network *network_out)
{
	return parse_listed_network(NULL, config, text, network_out).message;
}

static void print_network(const struct config_setting *setting, const void *place,
			  struct buffer *out)
{
	(void)setting;
	config_network_print(place, out);
}

const struct config_type config_type_networks = {.name = "list of networks",
						 .allowed =
							 "ADDRESS/PREFIX or ADDRESS, IPv4 or IPv6",
						 .size = sizeof(struct config_network),
						 .is_list = true,
						 .parse = parse_listed_network,
						 .print = print_network};
