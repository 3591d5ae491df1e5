// SPDX-License-Identifier: ISC
/*
 * config/type/value.h - parts of values that several types of settings share.
 */
#ifndef CONFIG_TYPE_VALUE_H
#define CONFIG_TYPE_VALUE_H

#include "base/arena.h"
#include "base/attributes.h"
#include <netinet/in.h>

/* The canonical form of the host or domain TEXT, which may have U-labels (mail/unicode.h); NULL:
 * not valid. */
const char *config_text_to_host(struct arena *arena, struct str text);
/* The canonical form of a destination of mail: a host or domain, ".DOMAIN" for its subdomains, or
 * "[ADDRESS]"; NULL: not valid. */
const char *config_text_to_destination(struct arena *arena, struct str text);
/* The canonical form of an unquoted local part of ours (mail/localpart.h), including UTF-8; NULL:
 * not valid. */
const char *config_text_to_local_part(struct arena *arena, struct str text);
/* An unquoted local part: RFC 5321 section 4.1.2 Dot-string, at most 64 bytes. */
bool config_text_is_local_part(struct str text);
/* The canonical form of which senders TEXT means: "USER@DOMAIN", "DOMAIN", or ".DOMAIN" for those
 * in its subdomains; NULL: not valid. */
const char *config_text_to_sender(struct arena *arena, struct str text);
/* The NAME of a section: 1 to 32 of a-z, 0-9, '-', '_'. */
bool config_text_is_short_name(struct str text);
/* 1 to 65535 in decimal. */
bool config_text_to_port(struct str text, uint16_t *port_out);
/* A literal address without brackets; IPv4 is mapped into ::ffff:0:0/96. */
bool config_text_to_address(struct str text, struct in6_addr *address_out, bool *is_ipv4_out);
/* The same in its canonical form, with brackets. */
const char *config_address_literal(struct arena *arena, const struct in6_addr *address,
				   bool is_ipv4);
/* A copy in lower case. */
char *config_copy_lower(struct arena *arena, struct str text);

#endif
