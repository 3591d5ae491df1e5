// SPDX-License-Identifier: ISC
/* The types of settings about TLS and DNSSEC: domains, names of certificates, and fingerprints. */
#include "config/type/type.h"
#include "config/type/value.h"
#include <string.h>

enum {
	FINGERPRINT_DIGITS = 64, /* SHA-256 */
	FINGERPRINT_COLONS_LENGTH = FINGERPRINT_DIGITS / 2 * 3 - 1
};

/* Stores the canonical form of the host name after PREFIX, with PREFIX. */
static struct config_complaint keep_below(const struct config *config, struct str prefix,
					  struct str text, void *place)
{
	const char *form = config_text_to_host(config->arena, str_skip(text, prefix.length));
	char *whole;

	if (form == NULL)
		return config_type_complain("not a host name");
	whole = arena_alloc(config->arena, prefix.length + strlen(form) + 1);
	memcpy(whole, prefix.data, prefix.length);
	memcpy(whole + prefix.length, form, strlen(form) + 1);
	*(const char **)place = whole;
	return config_type_fine;
}

static struct config_complaint parse_tls_name(const struct config_setting *setting,
					      const struct config *config, struct str text,
					      void *place)
{
	bool is_wildcard = str_starts_with(text, STR("*."));

	(void)setting;
	if (str_equal(text, STR("*")))
		return config_type_keep(config, text, place);
	return keep_below(config, is_wildcard ? STR("*.") : STR(""), text, place);
}

const struct config_type config_type_tls_names = {.name = "list of host names",
						  .allowed = "a host name, *.NAME",
						  .size = sizeof(char *),
						  .is_list = true,
						  .parse = parse_tls_name,
						  .print = config_type_print_text};

static struct config_complaint parse_tls_domain(const struct config_setting *setting,
						const struct config *config, struct str text,
						void *place)
{
	(void)setting;
	return keep_below(config, STR(""), text, place);
}

const struct config_type config_type_domains = {.name = "list of domains",
						.allowed = "a domain",
						.size = sizeof(char *),
						.is_list = true,
						.parse = parse_tls_domain,
						.print = config_type_print_text};

static struct config_complaint parse_tls_match(const struct config_setting *setting,
					       const struct config *config, struct str text,
					       void *place)
{
	bool is_below = str_starts_with(text, STR("."));

	(void)setting;
	if (str_equal(text, STR("nexthop")) || str_equal(text, STR("hostname")))
		return config_type_keep(config, text, place);
	return keep_below(config, is_below ? STR(".") : STR(""), text, place);
}

const struct config_type config_type_tls_matches = {.name = "list of host names",
						    .allowed =
							    "a host name, .NAME, nexthop, hostname",
						    .size = sizeof(char *),
						    .is_list = true,
						    .parse = parse_tls_match,
						    .print = config_type_print_text};

static bool is_hexadecimal(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* With a colon after each two digits, or none at all. */
static struct config_complaint parse_fingerprint(const struct config_setting *setting,
						 const struct config *config, struct str text,
						 void *place)
{
	bool has_colons = str_find(text, ':') >= 0;
	char digits[FINGERPRINT_DIGITS];
	size_t count = 0;

	(void)setting;
	if (text.length != (has_colons ? FINGERPRINT_COLONS_LENGTH : FINGERPRINT_DIGITS))
		return config_type_complain("not a SHA-256 fingerprint");
	for (size_t i = 0; i < text.length; i++) {
		bool is_colon = has_colons && i % 3 == 2;

		if (is_colon ? text.data[i] != ':' : !is_hexadecimal(text.data[i]))
			return config_type_complain("not a SHA-256 fingerprint");
		if (!is_colon)
			digits[count++] = text.data[i];
	}
	*(const char **)place = config_copy_lower(config->arena, str_slice(digits, count));
	return config_type_fine;
}

const struct config_type config_type_fingerprints = {
	.name = "list of fingerprints",
	.allowed = "64 hexadecimal digits, with or without a colon after each two",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_fingerprint,
	.print = config_type_print_text};

/* OpenSSL's names of those with forward secrecy; the first six authenticate what they encrypt. */
static const char *const tls_ciphers[] = {
	"ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384",
	"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256",
	"ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305",
	"ECDHE-ECDSA-AES256-SHA384",     "ECDHE-RSA-AES256-SHA384",
	"ECDHE-ECDSA-AES128-SHA256",     "ECDHE-RSA-AES128-SHA256",
	"ECDHE-ECDSA-AES256-SHA",        "ECDHE-RSA-AES256-SHA",
	"ECDHE-ECDSA-AES128-SHA",        "ECDHE-RSA-AES128-SHA",
};

static struct config_complaint parse_cipher(const struct config_setting *setting,
					    const struct config *config, struct str text,
					    void *place)
{
	(void)setting;
	if (str_starts_with(text, STR("TLS_")))
		return config_type_complain("the ciphers of TLS 1.3 cannot be chosen");
	for (size_t i = 0; i < COUNT_OF(tls_ciphers); i++)
		if (str_equal(text, str_from(tls_ciphers[i])))
			return config_type_keep(config, text, place);
	return config_type_complain("not a cipher of TLS 1.2 that can be used");
}

const struct config_type config_type_ciphers = {
	.name = "list of ciphers",
	.allowed = "ECDHE-KEY-AES256-GCM-SHA384, ECDHE-KEY-AES128-GCM-SHA256, "
		   "ECDHE-KEY-CHACHA20-POLY1305, ECDHE-KEY-AES256-SHA384, ECDHE-KEY-AES128-SHA256, "
		   "ECDHE-KEY-AES256-SHA, ECDHE-KEY-AES128-SHA with KEY = ECDSA, RSA",
	.size = sizeof(char *),
	.is_list = true,
	.parse = parse_cipher,
	.print = config_type_print_text};
