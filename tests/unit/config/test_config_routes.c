// SPDX-License-Identifier: ISC
/* The types of settings that say for which mail something is: routes and source addresses. */
#include "plain_form.h"

/* "[ADDRESS]", ".DOMAIN" or a host, in place. */
static bool plain_destination(char *text, char *printed)
{
	unsigned char bytes[16];
	char *inside = text;

	strcpy(printed, text);
	if (text[0] == '.')
		return plain_host(printed + 1);
	if (text[0] != '[' || text[1] == '\0')
		return plain_host(printed);
	if (!cut_brackets(&inside))
		return false;
	switch (plain_address(inside, bytes)) {
	case 4:
		inet_ntop(AF_INET, bytes, printed + 1, INET6_ADDRSTRLEN);
		break;
	case 6:
		inet_ntop(AF_INET6, bytes, printed + 1, INET6_ADDRSTRLEN);
		break;
	default:
		return false;
	}
	strcat(printed, "]");
	return true;
}

/* "RELAY;PORT", with LOGIN ("USER|PASSWORD", or NULL), appended to PRINTED. */
static const char *plain_relay(char *text, char *login, unsigned usual, const char *wrong,
			       char *printed)
{
	char *port = strchr(text, ';') != NULL ? strchr(text, ';') : strrchr(text, ':');
	unsigned number = usual;
	char *relay = text;
	unsigned char bytes[16];
	char *password = NULL;
	bool is_bracketed;
	int version;

	if (port != NULL && *port == ':' &&
	    (port[1] == '\0' || port[1 + strspn(port + 1, "0123456789")] != '\0'))
		port = NULL; /* a part of an address, or wrong */
	if (port != NULL) {
		*port++ = '\0';
		number = plain_port(port);
	}
	if (number == 0)
		return "not a port after the ';'";
	is_bracketed = cut_brackets(&relay);
	if (is_bracketed && strlen(relay) > 5 && strncasecmp(relay, "IPv6:", 5) == 0)
		relay += 5;
	version = plain_address(relay, bytes);
	printed += strlen(printed);
	if (version == 4 || (version == 6 && is_bracketed)) {
		*printed = '[';
		inet_ntop(version == 4 ? AF_INET : AF_INET6, bytes, printed + 1, INET6_ADDRSTRLEN);
		strcat(printed, "]");
	} else if (*text != '\0' && (is_bracketed || !plain_host(relay))) {
		return wrong;
	} else {
		strcpy(printed, relay);
	}
	if (login != NULL) {
		password = cut_first(login, '|');
		if (*login == '\0')
			return "no user after the '|'";
		if (*printed == '\0')
			return "a user without a relay";
	}
	if (number != usual)
		sprintf(printed + strlen(printed), ";%u", number);
	if (login != NULL)
		sprintf(printed + strlen(printed), "|%s", login);
	if (password != NULL && *password != '\0')
		strcat(printed, "|hidden");
	return NULL;
}

static const char *plain_domain_route(char *text, unsigned usual, char *printed)
{
	char *login = cut_first(text, '|');
	char *relay = cut_first(text, ':');

	if (relay == NULL)
		return "no ':' after the domain";
	if (strcmp(text, "!@") == 0)
		strcpy(text, "!");
	if (*text == '\0' || strcmp(text, "!") == 0)
		strcpy(printed, text);
	else if (*text == '[' || !plain_destination(text, printed))
		return "not a domain before the ':'";
	strcat(printed, ":");
	return plain_relay(relay, login, usual, "not a host name or address after the ':'",
			   printed);
}

static const char *plain_route(char *text, char *printed)
{
	return plain_domain_route(text, 25, printed);
}

static const char *plain_qmtp_route(char *text, char *printed)
{
	const char *complaint = plain_domain_route(text, 209, printed);

	if (complaint == NULL && strchr(printed, '|') != NULL)
		return "QMTP knows no login";
	return complaint;
}

/* "USER@DOMAIN", ".DOMAIN" or a host. */
static bool plain_sender(char *text, char *printed)
{
	char *host = cut_last(text, '@');

	if (host == NULL)
		return *text != '[' && plain_destination(text, printed);
	if (*text == '\0' || strpbrk(text, " :;|[]@") != NULL || !plain_host(host))
		return false;
	(void)plain_host(text); /* lower case */
	sprintf(printed, "%s@%s", text, host);
	return true;
}

static const char *plain_sender_route(char *text, char *printed)
{
	char *login = cut_first(text, '|');
	char *relay = cut_first(text, ':');

	if (relay == NULL)
		return "no ':' after the sender";
	if (!plain_sender(text, printed))
		return "not a sender before the ':'";
	strcat(printed, ":");
	return plain_relay(relay, login, 25, "not a host name or address after the ':'", printed);
}

static const char *plain_fallback(char *text, char *printed)
{
	char *login = cut_first(text, '|');
	const char *complaint =
		plain_relay(text, login, 25, "not a host name or address as the relay", printed);

	return complaint == NULL && (*printed == '\0' || *printed == ';') ? "no relay" : complaint;
}

static const char *plain_source(char *text, bool (*plain_key)(char *, char *), char *printed)
{
	char *source = cut_first(text, ':');

	if (source == NULL || *text == '[' || *source == '\0')
		return "no ':' before a source";
	if (!plain_key(text, printed))
		return "not valid before the ':'";
	sprintf(printed + strlen(printed), ":%s", source);
	return NULL;
}

static const char *plain_sender_source(char *text, char *printed)
{
	return plain_source(text, plain_sender, printed);
}

static const char *plain_domain_source(char *text, char *printed)
{
	return plain_source(text, plain_destination, printed);
}

#define ROUTE_LETTERS "aZ9.:;|![]@- "

static const struct form_kind route_kinds[] = {
	{&config_type_routes,
	 plain_route,
	 ROUTE_LETTERS,
	 {"Example.org:Relay.net;587|ann|pw", ".a.org:[1.2.3.4]:26", "!@:[IPv6:::1];1", ":r",
	  "a:1.2.3.4", "a:", "[1.2.3.4]:r", "a:[::1]"}},
	{&config_type_qmtproutes,
	 plain_qmtp_route,
	 ROUTE_LETTERS,
	 {"a.org:r;210|u", "a.org:r;209", "!:r:25", "a:|u"}},
	{&config_type_senderroutes,
	 plain_sender_route,
	 ROUTE_LETTERS,
	 {"Ann@A.org:R|u|p", ".a.org:r;25", "a.org:", "a@a.org|u:r"}},
	{&config_type_relays,
	 plain_fallback,
	 ROUTE_LETTERS,
	 {"R.org;26|u|p", "[::1]:26", "1.2.3.4", "", ";26", "r|u|"}},
	{&config_type_sender_sources,
	 plain_sender_source,
	 "aZ.@:[ ",
	 {"Ann@A.org:s1", ".a.org:s", "a.org:s:t", ":s", "[1.2.3.4]:s"}},
	{&config_type_domain_sources,
	 plain_domain_source,
	 "aZ.@:[ ",
	 {"A.org:s1", ".a.org:s", "a:", ":s", "[1.2.3.4]:s"}},
};

static void routes_are_what_is_said(void **state)
{
	(void)state;
	try_forms(route_kinds, COUNT_OF(route_kinds));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_are_what_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
