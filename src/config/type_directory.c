// SPDX-License-Identifier: ISC
/* The types of settings that only section directory has. */
#include "config/map.h"
#include "config/schema.h"
#include "config/value.h"
#include <string.h>
#include <sys/un.h>

enum { TEXT_MAX = 4096 };

static const struct config_complaint fine = {NULL, NULL};

static struct config_complaint complain(const char *message)
{
	return (struct config_complaint){message, NULL};
}

static struct config_complaint keep(const struct config *config, struct str text, void *place)
{
	*(const char **)place = arena_copy(config->arena, text);
	return fine;
}

static void print_text(const struct config_setting *setting, const void *place, struct buffer *out)
{
	(void)setting;
	buffer_append_string(out, *(const char *const *)place);
}

static struct config_complaint parse_text(const struct config_setting *setting,
					  const struct config *config, struct str text, void *place)
{
	(void)setting;
	return text.length > TEXT_MAX ? complain("too long") : keep(config, text, place);
}

const struct config_type config_type_text = {.name = "text",
					     .allowed = "a text of at most 4096 bytes",
					     .size = sizeof(char *),
					     .parse = parse_text,
					     .print = print_text};

static struct config_complaint parse_some_text(const struct config_setting *setting,
					       const struct config *config, struct str text,
					       void *place)
{
	return text.length == 0 ? complain("an empty text")
				: parse_text(setting, config, text, place);
}

const struct config_type config_type_texts = {.name = "list of texts",
					      .allowed = "a text of 1 to 4096 bytes",
					      .size = sizeof(char *),
					      .is_list = true,
					      .parse = parse_some_text,
					      .print = print_text};

static struct config_complaint parse_name(const struct config_setting *setting,
					  const struct config *config, struct str text, void *place)
{
	(void)setting;
	if (text.length == 0 || text.length > 255)
		return complain("not a name");
	return keep(config, text, place);
}

const struct config_type config_type_names = {.name = "list of names",
					      .allowed = "a name of 1 to 255 bytes",
					      .size = sizeof(char *),
					      .is_list = true,
					      .parse = parse_name,
					      .print = print_text};

static struct config_complaint parse_url(const struct config_setting *setting,
					 const struct config *config, struct str text, void *place)
{
	static const char *const schemes[] = {"ldap://", "ldaps://", "ldapi://"};

	(void)setting;
	for (size_t i = 0; i < COUNT_OF(schemes); i++)
		if (str_starts_with(text, str_from(schemes[i])) && text.length <= TEXT_MAX)
			return keep(config, text, place);
	return complain("not the URL of an LDAP server");
}

const struct config_type config_type_urls = {
	.name = "list of URLs",
	.allowed = "ldap://HOST:PORT, ldaps://HOST:PORT, ldapi://PATH",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_url,
	.print = print_text};

static struct config_complaint parse_mapping(const struct config_setting *setting,
					     const struct config *config, struct str text,
					     void *place)
{
	struct str rest = text;
	struct str field;

	(void)setting;
	if (text.length > TEXT_MAX || str_find(text, '=') < 0 || !str_split(&rest, '=', &field) ||
	    rest.length == 0)
		return complain("not a mapping");
	if (config_map_field_find(str_trim(field)) == CONFIG_MAP_FIELDS)
		return complain("no such field");
	return keep(config, text, place);
}

const struct config_type config_type_mappings = {
	.name = "list of mappings",
	.allowed = "FIELD=ATTRIBUTE, with a field of stagepost-directory-ldap(7)",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_mapping,
	.print = print_text};

static struct config_complaint check_socket_path(struct str path)
{
	if (path.length == 0 || path.data[0] != '/')
		return complain("not an absolute path");
	if (path.length >= sizeof((struct sockaddr_un *)NULL)->sun_path)
		return complain("path too long for a socket");
	return fine;
}

static bool is_host_or_address(struct str host)
{
	bool is_bracketed =
		host.length > 2 && host.data[0] == '[' && host.data[host.length - 1] == ']';
	struct in6_addr address;
	bool is_ipv4;

	if (is_bracketed)
		host = str_slice(host.data + 1, host.length - 2);
	if (config_text_to_address(host, &address, &is_ipv4))
		return is_ipv4 != is_bracketed;
	return !is_bracketed && config_text_is_host(host);
}

static struct config_complaint parse_server(const struct config_setting *setting,
					    const struct config *config, struct str text,
					    void *place)
{
	ptrdiff_t colon = str_find_last(text, ':');
	struct config_complaint complaint = fine;
	uint16_t port;

	(void)setting;
	if (str_starts_with(text, STR("unix:")))
		complaint = check_socket_path(str_skip(text, strlen("unix:")));
	else if (colon < 0 || text.data[text.length - 1] == ']')
		complaint = complain("no port");
	else if (!is_host_or_address(str_slice(text.data, (size_t)colon)))
		complaint = complain("not a host name or IP address");
	else if (!config_text_to_port(str_skip(text, (size_t)colon + 1), &port))
		complaint = complain("not a port");
	return complaint.message == NULL ? keep(config, text, place) : complaint;
}

const struct config_type config_type_servers = {
	.name = "list of servers",
	.allowed = "HOST:PORT, IPV4:PORT, [IPV6]:PORT with a port from 1 to 65535, unix:/PATH",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_server,
	.print = print_text};
