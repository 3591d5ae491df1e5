// SPDX-License-Identifier: ISC
#include "config/type/value.h"
#include "mail/host.h"
#include "mail/localpart.h"
#include "mail/unicode.h"
#include <arpa/inet.h>
#include <string.h>

enum { LOCAL_MAX = 64 };

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

const char *config_text_to_host(struct arena *arena, struct str text)
{
	struct mail_domain form;

	if (!mail_domain_form(text, &form) || !mail_host_is_name(mail_domain_view(&form)))
		return NULL;
	return arena_copy(arena, mail_domain_view(&form));
}

const char *config_text_to_local_part(struct arena *arena, struct str text)
{
	struct mail_address address;
	struct mail_localpart form;

	if (text.length == 0 || text.data[0] == '"' ||
	    mail_address_parse(text, MAIL_ADDRESS_UTF8 | MAIL_ADDRESS_NO_DOMAIN, &address) < 0 ||
	    address.local.length < text.length || text.length > MAIL_LOCAL_LONG_MAX ||
	    mail_localpart_parse(text, &form) < 0)
		return NULL;
	return arena_copy(arena, mail_localpart_whole(&form));
}

const char *config_text_to_sender(struct arena *arena, struct str text)
{
	ptrdiff_t at = str_find_last(text, '@');
	struct buffer form CLEANUP(buffer_clear) = {0};
	const char *domain;
	const char *local;

	if (at < 0)
		return text.length > 0 && text.data[0] == '['
			       ? NULL
			       : config_text_to_destination(arena, text);
	local = config_text_to_local_part(arena, str_slice(text.data, (size_t)at));
	domain = config_text_to_host(arena, str_skip(text, (size_t)at + 1));
	if (local == NULL || domain == NULL)
		return NULL;
	buffer_append_format(&form, "%s@%s", local, domain);
	return arena_copy(arena, buffer_view(&form));
}

bool config_text_is_local_part(struct str text)
{
	struct str atom;

	if (text.length == 0 || text.length > LOCAL_MAX)
		return false;
	while (str_split(&text, '.', &atom)) {
		if (atom.length == 0)
			return false;
		for (size_t i = 0; i < atom.length; i++)
			if (!str_is_digit(atom.data[i]) && !is_letter(atom.data[i]) &&
			    (atom.data[i] == '\0' ||
			     strchr("!#$%&'*+-/=?^_`{|}~", atom.data[i]) == NULL))
				return false;
	}
	return true;
}

bool config_text_is_short_name(struct str name)
{
	if (name.length == 0 || name.length > 32)
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_')
			return false;
	}
	return true;
}

bool config_text_to_port(struct str text, uint16_t *port_out)
{
	uint64_t port;

	if (text.length > 5 || !str_to_u64(text, &port) || port < 1 || port > UINT16_MAX)
		return false;
	*port_out = (uint16_t)port;
	return true;
}

bool config_text_to_address(struct str text, struct in6_addr *address_out, bool *is_ipv4_out)
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
	bool is_ipv4 = str_find(text, ':') < 0;

	if (text.length >= sizeof copy)
		return false;
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	if (inet_pton(is_ipv4 ? AF_INET : AF_INET6, copy, address.s6_addr + (is_ipv4 ? 12 : 0)) !=
	    1)
		return false;
	*address_out = address;
	*is_ipv4_out = is_ipv4;
	return true;
}

const char *config_address_literal(struct arena *arena, const struct in6_addr *address,
				   bool is_ipv4)
{
	enum { BRACKETS = 2 };
	char text[INET6_ADDRSTRLEN + BRACKETS] = "[";

	inet_ntop(is_ipv4 ? AF_INET : AF_INET6, address->s6_addr + (is_ipv4 ? 12 : 0), text + 1,
		  INET6_ADDRSTRLEN);
	strcat(text, "]");
	return arena_copy(arena, str_from(text));
}

char *config_copy_lower(struct arena *arena, struct str text)
{
	char *copy = arena_copy(arena, text);

	str_lower(copy, text.length);
	return copy;
}

/* ".example.net" */
static const char *to_subdomains(struct arena *arena, struct str domain)
{
	const char *form = config_text_to_host(arena, domain);
	char *subdomains;

	if (form == NULL)
		return NULL;
	subdomains = arena_alloc(arena, strlen(form) + 2);
	subdomains[0] = '.';
	memcpy(subdomains + 1, form, strlen(form) + 1);
	return subdomains;
}

const char *config_text_to_destination(struct arena *arena, struct str text)
{
	struct in6_addr address;
	bool is_ipv4;

	if (text.length > 0 && text.data[0] == '.')
		return to_subdomains(arena, str_skip(text, 1));
	if (text.length < 2 || text.data[0] != '[')
		return config_text_to_host(arena, text);
	if (text.data[text.length - 1] != ']' ||
	    !config_text_to_address(str_slice(text.data + 1, text.length - 2), &address, &is_ipv4))
		return NULL;
	return config_address_literal(arena, &address, is_ipv4);
}
