// SPDX-License-Identifier: ISC
/* The types of settings that are stored as text. */
#include "config/type/type.h"
#include "config/type/value.h"
#include "mail/host.h"
#include "mail/mailbox/quota.h"
#include "mail/package.h"
#include <string.h>

static struct config_complaint parse_log_level(const struct config_setting *setting,
					       const struct config *config, struct str text,
					       void *place)
{
	static const char *const words[] = {"debug", "info", "warning", "error"};

	(void)setting;
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (str_equal(text, str_from(words[i])))
			return config_type_keep(config, text, place);
	return config_type_complain("unknown word");
}

const struct config_type config_type_log_level = {.name = "word",
						  .allowed = "debug, info, warning, error",
						  .size = sizeof(char *),
						  .parse = parse_log_level,
						  .print = config_type_print_text};

static struct config_complaint parse_host_text(const struct config_setting *setting,
					       const struct config *config, struct str text,
					       void *place)
{
	bool may_be_empty = setting->initial != NULL && *setting->initial == '\0';
	const char *form =
		text.length == 0 && may_be_empty ? "" : config_text_to_host(config->arena, text);

	if (form == NULL)
		return config_type_complain("not a host name");
	*(const char **)place = form;
	return config_type_fine;
}

const struct config_type config_type_host = {
	.name = "host name",
	.allowed = "a host name of letters, digits, hyphens and dots",
	.size = sizeof(char *),
	.parse = parse_host_text,
	.print = config_type_print_text};

static struct config_complaint check_path(const struct config_setting *setting, struct str text)
{
	if (text.length == 0 || text.data[0] != '/')
		return config_type_complain("not an absolute path");
	if (setting->max > 0 && text.length > setting->max)
		return config_type_complain("too long");
	return config_type_fine;
}

static struct config_complaint parse_path(const struct config_setting *setting,
					  const struct config *config, struct str text, void *place)
{
	struct config_complaint complaint = check_path(setting, text);

	return complaint.message == NULL ? config_type_keep(config, text, place) : complaint;
}

const struct config_type config_type_path = {.name = "path",
					     .allowed = "an absolute path",
					     .size = sizeof(char *),
					     .parse = parse_path,
					     .print = config_type_print_text};

static struct config_complaint parse_optional_path(const struct config_setting *setting,
						   const struct config *config, struct str text,
						   void *place)
{
	return text.length == 0 ? config_type_keep(config, text, place)
				: parse_path(setting, config, text, place);
}

const struct config_type config_type_optional_path = {.name = "path",
						      .allowed = "empty, or an absolute path",
						      .size = sizeof(char *),
						      .parse = parse_optional_path,
						      .print = config_type_print_text};

static struct config_complaint parse_mailbox_path(const struct config_setting *setting,
						  const struct config *config, struct str text,
						  void *place)
{
	struct config_complaint complaint = check_path(setting, text);

	if (complaint.message == NULL)
		complaint = config_type_check_percents(text, "du%");
	return complaint.message == NULL ? config_type_keep(config, text, place) : complaint;
}

const struct config_type config_type_mailbox_path = {
	.name = "path with %d, %u, %%",
	.allowed = "an absolute path with %d (domain), %u (local part), %%",
	.size = sizeof(char *),
	.parse = parse_mailbox_path,
	.print = config_type_print_text};

/* Of a user or a group. */
static bool is_account_name(struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_' &&
		    (i == 0 || (!(c >= '0' && c <= '9') && c != '-' && c != '.')))
			return false;
	}
	return text.length <= 32;
}

static struct config_complaint parse_user(const struct config_setting *setting,
					  const struct config *config, struct str text, void *place)
{
	(void)setting;
	if (!is_account_name(text))
		return config_type_complain("not a user name");
	return config_type_keep(config, text, place);
}

const struct config_type config_type_user = {.name = "user name",
					     .allowed = "the name of a user, or empty",
					     .size = sizeof(char *),
					     .parse = parse_user,
					     .print = config_type_print_text};

static struct config_complaint parse_group(const struct config_setting *setting,
					   const struct config *config, struct str text,
					   void *place)
{
	(void)setting;
	if (!is_account_name(text))
		return config_type_complain("not a group name");
	return config_type_keep(config, text, place);
}

const struct config_type config_type_group = {.name = "group name",
					      .allowed = "the name of a group, or empty",
					      .size = sizeof(char *),
					      .parse = parse_group,
					      .print = config_type_print_text};

static struct config_complaint parse_owner(const struct config_setting *setting,
					   const struct config *config, struct str text,
					   void *place)
{
	if (str_equal(text, STR("%u")))
		return config_type_keep(config, text, place);
	return parse_user(setting, config, text, place);
}

const struct config_type config_type_owner = {
	.name = "user name",
	.allowed = "the name of a user, %u (the recipient's), or empty",
	.size = sizeof(char *),
	.parse = parse_owner,
	.print = config_type_print_text};

static struct config_complaint parse_local_part_text(const struct config_setting *setting,
						     const struct config *config, struct str text,
						     void *place)
{
	(void)setting;
	if (!config_text_is_local_part(text))
		return config_type_complain("not a local part");
	return config_type_keep(config, text, place);
}

const struct config_type config_type_local_part = {
	.name = "local part",
	.allowed = "the part of a mail address before its @",
	.size = sizeof(char *),
	.parse = parse_local_part_text,
	.print = config_type_print_text};

static struct config_complaint parse_group_of_nodes(const struct config_setting *setting,
						    const struct config *config, struct str text,
						    void *place)
{
	(void)setting;
	if (text.length > 0 && !config_text_is_short_name(text))
		return config_type_complain("not the name of a group");
	return config_type_keep(config, text, place);
}

const struct config_type config_type_node_group = {
	.name = "group of nodes",
	.allowed = "1 to 32 of a-z, 0-9, '-', '_', or empty",
	.size = sizeof(char *),
	.parse = parse_group_of_nodes,
	.print = config_type_print_text};

static struct config_complaint parse_name_of_node(const struct config_setting *setting,
						  const struct config *config, struct str text,
						  void *place)
{
	(void)setting;
	if (text.length > 0 && !mail_node_is_valid(text))
		return config_type_complain("not the name of a node");
	return config_type_keep(config, text, place);
}

const struct config_type config_type_node_name = {
	.name = "name of a node",
	.allowed = "1 to 64 of a-z, 0-9, '-', '.', not \".\" or \"..\", or empty",
	.size = sizeof(char *),
	.parse = parse_name_of_node,
	.print = config_type_print_text};

/* Delimiters are characters that addresses may have without quotes, but not '.', since "first.last"
 * would be cut at the dot. */
static struct config_complaint parse_delimiter(const struct config_setting *setting,
					       const struct config *config, struct str text,
					       void *place)
{
	(void)setting;
	for (size_t i = 0; i < text.length; i++)
		if (str_find(STR("+-=_#/"), text.data[i]) < 0)
			return config_type_complain("not a delimiter");
	if (text.length > 6)
		return config_type_complain("too long");
	return config_type_keep(config, text, place);
}

const struct config_type config_type_delimiter = {.name = "delimiters",
						  .allowed = "any of + - = _ # /, or empty",
						  .size = sizeof(char *),
						  .parse = parse_delimiter,
						  .print = config_type_print_text};

static struct config_complaint parse_quota(const struct config_setting *setting,
					   const struct config *config, struct str text,
					   void *place)
{
	struct mail_quota quota;

	(void)setting;
	if (text.length > 0 && mail_quota_parse(text, &quota) < 0)
		return config_type_complain("not a quota");
	return config_type_keep(config, text, place);
}

const struct config_type config_type_quota = {
	.name = "quota",
	.allowed = "bytes, or of K, M, G or T, and perhaps a comma and a number of messages; "
		   "none; or empty",
	.size = sizeof(char *),
	.parse = parse_quota,
	.print = config_type_print_text};

static struct config_complaint parse_mail_address_text(const struct config_setting *setting,
						       const struct config *config, struct str text,
						       void *place)
{
	ptrdiff_t at = str_find_last(text, '@');
	struct str local = at < 0 ? text : str_slice(text.data, (size_t)at);

	(void)setting;
	if (text.length > 0 && (!config_text_is_local_part(local) ||
				(at >= 0 && !mail_host_is_name(str_skip(text, (size_t)at + 1)))))
		return config_type_complain("not a mail address");
	return config_type_keep(config, text, place);
}

const struct config_type config_type_address = {.name = "mail address",
						.allowed = "LOCAL@DOMAIN, LOCAL, or empty",
						.size = sizeof(char *),
						.parse = parse_mail_address_text,
						.print = config_type_print_text};

static struct config_complaint parse_dns_server(const struct config_setting *setting,
						const struct config *config, struct str text,
						void *place)
{
	ptrdiff_t at = str_find_last(text, '@');
	struct str host = at < 0 ? text : str_slice(text.data, (size_t)at);
	struct str port = at < 0 ? STR("53") : str_skip(text, (size_t)at + 1);
	struct in6_addr address;
	char *copy;
	uint16_t number;
	bool is_ipv4;

	(void)setting;
	if (text.length == 0)
		return config_type_keep(config, text, place);
	if (!config_text_to_address(host, &address, &is_ipv4))
		return config_type_complain("not an IP address");
	if (!config_text_to_port(port, &number))
		return config_type_complain("not a port");
	copy = arena_alloc(config->arena, host.length + port.length + 2);
	memcpy(copy, host.data, host.length);
	copy[host.length] = '@';
	memcpy(copy + host.length + 1, port.data, port.length);
	*(const char **)place = copy;
	return config_type_fine;
}

const struct config_type config_type_server = {
	.name = "name server",
	.allowed = "ADDRESS, ADDRESS@PORT with a port from 1 to 65535, or empty",
	.size = sizeof(char *),
	.parse = parse_dns_server,
	.print = config_type_print_text};

static struct config_complaint parse_service(const struct config_setting *setting,
					     const struct config *config, struct str text,
					     void *place)
{
	const struct config_service *service = config_service_find(config, text);
	struct buffer names = {0};
	const char *allowed = "";

	(void)setting;
	if (service != NULL) {
		*(const struct config_service **)place = service;
		return config_type_fine;
	}
	for (size_t i = 0; i < config->service_count && names.length < 200; i++) {
		buffer_append_string(&names, i > 0 ? ", " : "");
		buffer_append_string(&names, config->services[i].name);
	}
	if (names.length > 0)
		allowed = arena_copy(config->arena, buffer_view(&names));
	buffer_clear(&names);
	return (struct config_complaint){
		*allowed != '\0' ? "no such service" : "no such service: none is defined", allowed};
}

static void print_service(const struct config_setting *setting, const void *place,
			  struct buffer *out)
{
	(void)setting;
	buffer_append_string(out, (*(const struct config_service *const *)place)->name);
}

const struct config_type config_type_service = {.name = "name of a service",
						.allowed = "the name of a service section",
						.size = sizeof(struct config_service *),
						.parse = parse_service,
						.print = print_service};
