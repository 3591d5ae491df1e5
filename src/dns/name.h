// SPDX-License-Identifier: ISC
/*
 * dns/name.h - names of hosts in the data of DNS records, RFC 1035 section 3.1.
 *
 * This is laxer than mail_host_is_name(): others chose these names, and the resolver has found
 * them. One with '-' in front or digits at the end is shown in headers and logs as it is; no
 * address is made of it, and no setting. What counts is that none of its bytes means something
 * there.
 */
#ifndef DNS_NAME_H
#define DNS_NAME_H

#include "base/str.h"

enum { DNS_NAME_SIZE = 256 }; /* a name as text, and a NUL */

/* DATA, an uncompressed name and nothing else, as text in lower case, without a dot at the end;
 * "" for the root. False when it is malformed, or when another byte than a letter, digit, '-' or
 * '_' is in it: then it is no name of a host. */
bool dns_name_parse(struct str data, char name_out[DNS_NAME_SIZE]);
/* Whether TEXT is such a name, at least one label long. */
bool dns_name_is_host(struct str text);

#endif
