// SPDX-License-Identifier: ISC
/* The types of settings of section directory only. */
#include "config/map.h"
#include "config/type/type.h"
#include "config/type/value.h"
#include "mail/host.h"
#include <string.h>

enum { TEXT_MAX = 4096 };

static struct config_complaint parse_directory_text(const struct config_setting *setting,
						    const struct config *config, struct str text,
						    void *place)
{
	uint64_t max = setting->max > 0 ? setting->max : TEXT_MAX;

	return text.length > max ? config_type_complain("too long")
				 : config_type_keep(config, text, place);
}

const struct config_type config_type_text = {.name = "text",
					     .allowed = "a text",
					     .size = sizeof(char *),
					     .max = TEXT_MAX,
					     .parse = parse_directory_text,
					     .print = config_type_print_text};

static struct config_complaint parse_some_text(const struct config_setting *setting,
					       const struct config *config, struct str text,
					       void *place)
{
	return text.length == 0 ? config_type_complain("an empty text")
				: parse_directory_text(setting, config, text, place);
}

const struct config_type config_type_texts = {.name = "list of texts",
					      .allowed = "a text of 1 to 4096 bytes",
					      .size = sizeof(char *),
					      .is_list = true,
					      .parse = parse_some_text,
					      .print = config_type_print_text};

static struct config_complaint parse_directory_name(const struct config_setting *setting,
						    const struct config *config, struct str text,
						    void *place)
{
	(void)setting;
	if (text.length == 0 || text.length > 255)
		return config_type_complain("not a name");
	return config_type_keep(config, text, place);
}

const struct config_type config_type_names = {.name = "list of names",
					      .allowed = "a name of 1 to 255 bytes",
					      .size = sizeof(char *),
					      .is_list = true,
					      .parse = parse_directory_name,
					      .print = config_type_print_text};

static struct config_complaint parse_url(const struct config_setting *setting,
					 const struct config *config, struct str text, void *place)
{
	static const char *const schemes[] = {"ldap://", "ldaps://", "ldapi://"};

	(void)setting;
	for (size_t i = 0; i < COUNT_OF(schemes); i++)
		if (str_starts_with(text, str_from(schemes[i])) && text.length <= TEXT_MAX)
			return config_type_keep(config, text, place);
	return config_type_complain("not the URL of an LDAP server");
}

const struct config_type config_type_urls = {
	.name = "list of URLs",
	.allowed = "ldap://HOST:PORT, ldaps://HOST:PORT, ldapi://PATH",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_url,
	.print = config_type_print_text};

static struct config_complaint parse_mapping(const struct config_setting *setting,
					     const struct config *config, struct str text,
					     void *place)
{
	struct str rest = text;
	struct str field;

	(void)setting;
	if (text.length > TEXT_MAX || str_find(text, '=') < 0 || !str_split(&rest, '=', &field) ||
	    rest.length == 0)
		return config_type_complain("not a mapping");
	if (config_map_field_find(str_trim(field)) == CONFIG_MAP_FIELDS)
		return config_type_complain("no such field");
	return config_type_keep(config, text, place);
}

const struct config_type config_type_mappings = {
	.name = "list of mappings",
	.allowed = "FIELD=ATTRIBUTE, with a field of stagepost-directory-ldap(7)",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_mapping,
	.print = config_type_print_text};

static bool is_host_or_address(struct str host)
{
	bool is_bracketed = config_type_unbracket(&host);
	struct in6_addr address;
	bool is_ipv4;

	if (config_text_to_address(host, &address, &is_ipv4))
		return is_ipv4 != is_bracketed;
	return !is_bracketed && mail_host_is_name(host);
}

static struct config_complaint parse_directory_server(const struct config_setting *setting,
						      const struct config *config, struct str text,
						      void *place)
{
	ptrdiff_t colon = str_find_last(text, ':');
	struct config_complaint complaint = config_type_fine;
	uint16_t port;

	(void)setting;
	if (str_starts_with(text, STR("unix:")))
		complaint = config_type_check_socket_path(str_skip(text, strlen("unix:")));
	else if (colon < 0 || text.data[text.length - 1] == ']')
		complaint = config_type_complain("no port");
	else if (!is_host_or_address(str_slice(text.data, (size_t)colon)))
		complaint = config_type_complain("not a host name or IP address");
	else if (!config_text_to_port(str_skip(text, (size_t)colon + 1), &port))
		complaint = config_type_complain("not a port");
	return complaint.message == NULL ? config_type_keep(config, text, place) : complaint;
}

const struct config_type config_type_servers = {
	.name = "list of servers",
	.allowed = "HOST:PORT, IPV4:PORT, [IPV6]:PORT with a port from 1 to 65535, unix:/PATH",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_directory_server,
	.print = config_type_print_text};
