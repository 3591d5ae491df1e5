// SPDX-License-Identifier: ISC
/*
 * config/section/tls.h - sections certificate and tls: how connections to servers are protected.
 */
#ifndef CONFIG_SECTION_TLS_H
#define CONFIG_SECTION_TLS_H

#include <stddef.h>

/* How strictly a connection to a server is protected, from least to most. */
enum config_tls_level {
	CONFIG_TLS_NONE,
	CONFIG_TLS_MAY,     /* TLS if it works, else plain text */
	CONFIG_TLS_ENCRYPT, /* TLS with any certificate */
	CONFIG_TLS_DANE,    /* by TLSA records where there are some, else "encrypt" with MX from
			     * insecure zones as "may" (RFC 7672 section 2.2) */
	CONFIG_TLS_DANE_ONLY,
	CONFIG_TLS_VERIFY,      /* a trusted authority, and a name of setting match, by default
				 * the MX host's */
	CONFIG_TLS_SECURE,      /* the same, by default the domain's, which no DNS can change */
	CONFIG_TLS_FINGERPRINT, /* one of setting fingerprints */
};

enum config_tls_version { CONFIG_TLS_1_2, CONFIG_TLS_1_3 };

/* What a side accepts. */
struct config_tls_strength {
	enum config_tls_version min_version;
	const char **ciphers; /* of TLS 1.2, OpenSSL's names; none: the default */
	size_t cipher_count;
};

struct config_certificate { /* certificate NAME { ... } */
	const char *name;
	const char *chain;  /* PEM files */
	const char *key;    /* "": in the same file */
	const char **names; /* host names, "*.NAME"; none: those in the certificate */
	size_t name_count;
};

struct config_tls_policy {       /* tls "DESTINATION" { ... } */
	const char *destination; /* "example.net", ".example.edu", "[192.0.2.1]" */
	enum config_tls_level level;
	const char **matches; /* "NAME", ".NAME" for any name below, "nexthop", "hostname" */
	size_t match_count;
	const char **fingerprints; /* SHA-256 of certificate or public key, hexadecimal */
	size_t fingerprint_count;
	const char *authority;   /* PEM file; "": setting tls_authorities */
	const char *certificate; /* name of a section certificate to present; "": none */
	struct config_tls_strength strength;
};

#endif
