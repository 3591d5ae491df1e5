// SPDX-License-Identifier: ISC
/* The types of settings with addresses, networks, servers and keys. */
#include "plain_form.h"

static const char *plain_socket(const char *path)
{
	if (path[0] != '/')
		return "not an absolute path";
	return strlen(path) > 107 ? "path too long for a socket" : NULL;
}

static const char *plain_endpoint(char *text, char *printed)
{
	unsigned char bytes[16];
	bool is_bracketed;
	char *port;
	int version;

	strcpy(printed, text);
	if (strncmp(text, "unix:", 5) == 0)
		return plain_socket(text + 5);
	port = cut_last(text, ':');
	if (port == NULL || (*port != '\0' && port[strlen(port) - 1] == ']'))
		return "no port";
	is_bracketed = cut_brackets(&text);
	version = plain_address(text, bytes);
	if (version != (is_bracketed ? 6 : 4))
		return "not an IP address";
	if (version == 6 && is_mapped(bytes))
		return "an IPv4 address in IPv6 form";
	return plain_port(port) == 0 ? "not a port" : NULL;
}

static const char *plain_server(char *text, char *printed)
{
	unsigned char bytes[16];
	bool is_bracketed;
	char *port;
	int version;

	strcpy(printed, text);
	if (strncmp(text, "unix:", 5) == 0)
		return plain_socket(text + 5);
	port = cut_last(text, ':');
	if (port == NULL || (*port != '\0' && port[strlen(port) - 1] == ']'))
		return "no port";
	is_bracketed = cut_brackets(&text);
	version = plain_address(text, bytes);
	if (version != 0 ? version != (is_bracketed ? 6 : 4) : is_bracketed || !plain_host(text))
		return "not a host name or IP address";
	return plain_port(port) == 0 ? "not a port" : NULL;
}

static const char *plain_dns_server(char *text, char *printed)
{
	unsigned char bytes[16];
	char *port;

	strcpy(printed, text);
	if (*text == '\0')
		return NULL;
	port = cut_last(text, '@');
	if (plain_address(text, bytes) == 0)
		return "not an IP address";
	if (port == NULL)
		strcat(printed, "@53");
	return port != NULL && plain_port(port) == 0 ? "not a port" : NULL;
}

/* Clears the bits after PREFIX, of a number of them: whether any were set. */
static bool plain_clear(unsigned char *bytes, unsigned bits, unsigned prefix)
{
	bool is_changed = false;

	for (unsigned i = prefix; i < bits; i++) {
		unsigned char bit = (unsigned char)(128 >> i % 8);

		is_changed |= (bytes[i / 8] & bit) != 0;
		bytes[i / 8] &= (unsigned char)~bit;
	}
	return is_changed;
}

static const char *plain_network(char *text, char *printed)
{
	unsigned char bytes[16];
	char *length = cut_first(text, '/');
	int version = plain_address(text, bytes);
	unsigned bits = version == 4 ? 32 : 128;
	unsigned prefix = bits;

	if (version == 0)
		return "not an IP network";
	if (length != NULL) {
		size_t digits = strlen(length);

		if (digits == 0 || digits > 3 || strspn(length, "0123456789") < digits ||
		    atoi(length) > (int)bits)
			return "wrong prefix length";
		prefix = (unsigned)atoi(length);
	}
	if (plain_clear(bytes, bits, prefix))
		return "bits are set after the prefix";
	if (version == 6 && is_mapped(bytes) && prefix >= 96) {
		inet_ntop(AF_INET, bytes + 12, printed, INET6_ADDRSTRLEN);
		prefix -= 96;
	} else {
		inet_ntop(version == 4 ? AF_INET : AF_INET6, bytes, printed, INET6_ADDRSTRLEN);
	}
	sprintf(printed + strlen(printed), "/%u", prefix);
	return NULL;
}

static const char *plain_reach(char *text, char *printed)
{
	char ignored[PIECE_SIZE];
	char whole[PIECE_SIZE];
	bool is_bracketed, is_name;
	const char *complaint;
	char *port, *host = text;
	size_t length;

	strcpy(printed, text);
	port = cut_last(text, ':');
	if (port == NULL || (*port != '\0' && port[strlen(port) - 1] == ']'))
		return "no port";
	if (plain_port(port) == 0)
		return "not a port";
	strcpy(whole, text);
	is_name = plain_host(whole);
	length = strlen(text);
	if (strpbrk(text, "[/") == NULL &&
	    (length == 0 || !isdigit((unsigned char)text[length - 1]) || is_name)) {
		if (strncmp(whole, "*.", 2) == 0)
			host = whole + 2;
		else
			host = whole;
		return mail_host_is_name(str_from(host)) && strlen(host) <= 128
			       ? NULL
			       : "not a network or host name";
	}
	is_bracketed = cut_brackets(&host);
	if (is_bracketed != (strchr(host, ':') != NULL))
		return "brackets are for IPv6, and IPv6 needs them";
	complaint = plain_network(host, ignored);
	if (complaint == NULL && is_bracketed && strchr(ignored, '.') != NULL)
		return "an IPv4 address in IPv6 form";
	return complaint;
}

static const char *plain_source_address(char *text, char *printed)
{
	unsigned char bytes[16];
	int version = plain_address(text, bytes);
	static const unsigned char none[16];

	if (version == 0)
		return "not an IP address";
	if (version == 6 && is_mapped(bytes))
		return "an IPv4 address in IPv6 form";
	if (version == 4 ? bytes[0] == 0 || bytes[0] >= 224
			 : memcmp(bytes, none, 16) == 0 || bytes[0] == 0xff ||
				   (bytes[0] == 0xfe && bytes[1] >> 6 == 2))
		return "no address that a machine can send from";
	inet_ntop(version == 4 ? AF_INET : AF_INET6, bytes, printed, INET6_ADDRSTRLEN);
	return NULL;
}

/* What is there in place of a key. */
static const char *plain_key(char *text, char *printed)
{
	if (*text == '\0' || strcmp(text, "hidden") == 0)
		return NULL;
	if (strlen(text) != 32 || strspn(text, "0123456789abcdefABCDEF") != 32 ||
	    strspn(text, "0") == 32)
		return "not a key";
	strcpy(printed, "hidden");
	return NULL;
}

static const char *plain_service(char *text, char *printed)
{
	strcpy(printed, text);
	return strcmp(text, "box") == 0 || strcmp(text, "bo") == 0 ? NULL : "no such service";
}

static const struct form_kind form_kinds[] = {
	{&config_type_endpoints,
	 plain_endpoint,
	 "01.:[]/fx",
	 {"1.2.3.4:25", "[::1]:65535", "unix:/s", "[::ffff:1.2.3.4]:1", "", ":", "unix:"}},
	{&config_type_endpoint, plain_endpoint, "01.:[]/fx", {"1.2.3.4:25", "[2001:db8::1]:1"}},
	{&config_type_servers,
	 plain_server,
	 "01.:[]/fx-",
	 {"1.2.3.4:25", "[::1]:65535", "unix:/s", "Mx.org:24", "", "a:1", "[a]:1"}},
	{&config_type_server,
	 plain_dns_server,
	 "015@.:x",
	 {"1.2.3.4", "::1@53", "", "1.2.3.4@6553"}},
	{&config_type_networks,
	 plain_network,
	 "0123489/.:fx",
	 {"10.0.0.0/8", "1.2.3.4", "2001:db8::/32", "::ffff:1.2.3.0/120", "::ffff:0:0/96", "::/0",
	  "0.0.0.0/0", "192.0.2.129/32"}},
	{&config_type_reaches,
	 plain_reach,
	 "0189/.:f[]x*-",
	 {"10.0.0.0/8:24", "1.2.3.4:24", "[2001:db8::/32]:1", "[::ffff:1.2.3.0/120]:24",
	  "*.Example.org:24", "l9.1x:24", "[::ffff:0:0/95]:24", ":24"}},
	{&config_type_addresses,
	 plain_source_address,
	 "0124f:.ex",
	 {"192.0.2.1", "2001:db8::1", "::", "fe80::1", "ff02::1", "223.255.255.255", "1.0.0.0",
	  "::ffff:1.2.3.4"}},
	{&config_type_key,
	 plain_key,
	 "0aFgx+",
	 {"", "hidden", "00000000000000000000000000000000", "0123456789abcdef0123456789ABCDEF",
	  "10000000000000000000000000000000", "00000000000000000000000000000001"}},
	{&config_type_service, plain_service, "box", {"box", "bo", ""}},
};

static void forms_are_what_is_said(void **state)
{
	(void)state;
	try_forms(form_kinds, COUNT_OF(form_kinds));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_are_what_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
