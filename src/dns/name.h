// SPDX-License-Identifier: ISC
/*
 * dns/name.h - host names in the rdata of DNS records, RFC 1035 section 3.1.
 *
 * Less strict than mail_host_is_name(), as these names were chosen by others and do resolve. One
 * that begins with '-' or ends in digits appears in headers and logs, but never becomes part of an
 * address or a setting. It is enough that none of its bytes is special in headers and logs.
 */
#ifndef DNS_NAME_H
#define DNS_NAME_H

#include "base/str.h"

enum { DNS_NAME_SIZE = 256 }; /* a name as text, and a NUL */

/* Converts DATA, exactly one uncompressed name, to text in lower case, without a trailing dot; ""
 * for the root. False: it is malformed, or has a byte other than letters, digits, '-' and '_', and
 * so is not a host name. */
bool dns_name_parse(struct str data, char name_out[DNS_NAME_SIZE]);
/* Whether TEXT is such a name, with at least one label. */
bool dns_name_is_host(struct str text);

#endif
