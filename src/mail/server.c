// SPDX-License-Identifier: ISC
#include "mail/server.h"
#include "mail/host.h"
#include "mail/unicode.h"
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

static bool parse_address_of_family(struct str text, int family, struct in6_addr *address_out)
{
	struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
	char copy[INET6_ADDRSTRLEN];

	if (text.length >= sizeof copy)
		return false;
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	if (strlen(copy) < text.length ||
	    inet_pton(family, copy, address.s6_addr + (family == AF_INET ? 12 : 0)) != 1)
		return false;
	*address_out = address;
	return true;
}

static bool parse_server_port(struct str text, uint16_t *port_out)
{
	uint64_t port;

	if (text.length > 5 || !str_to_u64(text, &port) || port < 1 || port > UINT16_MAX)
		return false;
	*port_out = (uint16_t)port;
	return true;
}

/* Refuses a bracketed IPv4-mapped address: each server has one canonical form. */
static bool parse_server_host(struct str host, struct mail_server *server)
{
	bool is_bracketed =
		host.length >= 2 && host.data[0] == '[' && host.data[host.length - 1] == ']';

	if (is_bracketed)
		host = str_slice(host.data + 1, host.length - 2);
	server->host = host;
	server->is_address =
		parse_address_of_family(host, is_bracketed ? AF_INET6 : AF_INET, &server->address);
	if (is_bracketed)
		return server->is_address && !IN6_IS_ADDR_V4MAPPED(&server->address);
	return server->is_address ||
	       (host.length <= MAIL_SERVER_HOST_MAX && mail_host_is_name(host));
}

int mail_server_parse(struct str text, struct mail_server *server_out)
{
	ptrdiff_t colon = str_find_last(text, ':');
	struct mail_server server = {.port = 0};

	if (colon < 0 || !parse_server_port(str_skip(text, (size_t)colon + 1), &server.port) ||
	    !parse_server_host(str_slice(text.data, (size_t)colon), &server))
		return -EINVAL;
	*server_out = server;
	return 0;
}

static void append_server_address(const struct in6_addr *address, struct buffer *out)
{
	bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(address);
	char text[INET6_ADDRSTRLEN];

	inet_ntop(is_ipv4 ? AF_INET : AF_INET6, address->s6_addr + (is_ipv4 ? 12 : 0), text,
		  sizeof text);
	buffer_append_format(out, is_ipv4 ? "%s" : "[%s]", text);
}

static int append_form(struct str text, struct buffer *out)
{
	struct mail_server server;

	if (mail_server_parse(text, &server) < 0)
		return -EINVAL;
	if (server.is_address)
		append_server_address(&server.address, out);
	else
		buffer_append_str(out, server.host);
	buffer_append_format(out, ":%u", (unsigned)server.port);
	return 0;
}

int mail_server_normalize(struct str text, struct buffer *out)
{
	ptrdiff_t colon = str_find_last(text, ':');
	struct buffer whole CLEANUP(buffer_clear) = {0};
	struct mail_domain host;

	if (colon < 0 || text.data[0] == '[')
		return append_form(text, out);
	if (!mail_domain_form(str_slice(text.data, (size_t)colon), &host))
		return -EINVAL;
	buffer_append_str(&whole, mail_domain_view(&host));
	buffer_append_str(&whole, str_skip(text, (size_t)colon));
	return append_form(buffer_view(&whole), out);
}

bool mail_server_is_in_form(struct str text)
{
	struct buffer form CLEANUP(buffer_clear) = {0};

	return mail_server_normalize(text, &form) == 0 && str_equal(buffer_view(&form), text);
}
