// SPDX-License-Identifier: ISC
/*
 * dns/tlsa.h - the TLSA records of a mail server, which say what its certificate must be: RFC 6698
 * section 2, RFC 7671, and for SMTP RFC 7672.
 *
 * They count only if DNSSEC proves them, the server's addresses, and that the server is the right
 * one. Where DNSSEC proves that one of these is not signed, there is no DANE. Where an answer is
 * bogus or missing, nobody knows, and the server must not be used now (RFC 7672 section 2.1.2).
 */
#ifndef DNS_TLSA_H
#define DNS_TLSA_H

#include "base/attributes.h"
#include "dns/resolver.h"
#include "dns/search.h"

enum {
	DNS_TLSA_MAX = 100,       /* usable records of a server; with more, the lookup has failed */
	DNS_TLSA_DATA_MAX = 8192, /* bytes; a longer record is unusable */
};

enum dns_tlsa_usage { DNS_TLSA_TRUST_ANCHOR = 2, DNS_TLSA_END_ENTITY = 3 };
enum dns_tlsa_selector { DNS_TLSA_CERTIFICATE = 0, DNS_TLSA_PUBLIC_KEY = 1 };
enum dns_tlsa_matching { DNS_TLSA_FULL = 0, DNS_TLSA_SHA256 = 1, DNS_TLSA_SHA512 = 2 };

struct dns_tlsa {
	uint8_t usage;    /* enum dns_tlsa_usage */
	uint8_t selector; /* enum dns_tlsa_selector */
	uint8_t matching; /* enum dns_tlsa_matching */
	struct str data;  /* as long as MATCHING wants */
};

/* Parses rdata. False: it is malformed, or not usable for SMTP (RFC 7672 section 3.1): usages 0 and
 * 1, unknown numbers, a digest of another length. TLSA_OUT points into DATA. */
bool dns_tlsa_parse(struct str data, struct dns_tlsa *tlsa_out);

enum dns_tlsa_status {
	DNS_TLSA_NONE,     /* no DANE for this server: REASON says why */
	DNS_TLSA_USABLE,   /* its certificate must match one of LIST */
	DNS_TLSA_UNUSABLE, /* there are records, none of them usable: TLS, but not authenticated */
	DNS_TLSA_FAILED,   /* do not use the server now: REASON says why */
};

struct dns_tlsa_answer {
	enum dns_tlsa_status status;
	const char *reason; /* one printable line */
	/* The TLSA base domain (RFC 7672 section 2.2.3): the name for SNI, and one of those that
	 * a certificate below a trust anchor may have. Set for USABLE and UNUSABLE. */
	const char *base;
	struct dns_tlsa list[DNS_TLSA_MAX];
	size_t count;
};

struct dns_tlsa_search;

/* Looks up the TLSA records of SERVER, from dns/search.h, at its port: of its canonical name, and
 * if that has none, of its own. It is copied. Asks nothing if the server is not secure. Calls DONE
 * once, never before returning; ANSWER is valid until dns_tlsa_search_free(). */
struct dns_tlsa_search *dns_tlsa_search_new(
	struct os_loop *loop, struct dns_resolver *resolver, const struct dns_server *server,
	void (*done)(void *context, const struct dns_tlsa_answer *answer), void *context);
/* Cancels it if it has not finished. NULL is allowed. */
void dns_tlsa_search_free(struct dns_tlsa_search *search);

#endif
