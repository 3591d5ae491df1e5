// SPDX-License-Identifier: ISC
/*
 * mail/localpart.h - the local part of an address, as interpreted by the host of its domain (RFC
 * 5321 section 2.3.11: no other host may).
 *
 * On this host quotes have no meaning ("ann"@d is ann@d), nor does case, and what follows a '+' is
 * a tag of the user's choice (user+tag). An escaped '+' begins no tag: "ann\+x"@d has none. That is
 * how services are told a name that contains a '+' where recipient_delimiter has none.
 */
#ifndef MAIL_LOCALPART_H
#define MAIL_LOCALPART_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/address.h"

/* An address split at its last '@'; DOMAIN is empty if there is none. */
struct mail_parts {
	struct str local;
	struct str domain;
};
struct mail_parts mail_parts_of(struct str address);

struct mail_localpart {
	char text[MAIL_DOMAIN_MAX + 1]; /* without quotes, in lower case and NFC */
	size_t length;
	size_t user_length; /* up to the '+', or all; a '+' as the first
			     * character begins no tag */
};

/* Parses LOCAL as written in an address. -EINVAL: empty, too long, or with unbalanced quotes. */
MUST_CHECK int mail_localpart_parse(struct str local, struct mail_localpart *out);
struct str mail_localpart_whole(const struct mail_localpart *local);
struct str mail_localpart_user(const struct mail_localpart *local);
/* Whether ADDRESS is that of a postmaster, of whatever domain. */
bool mail_is_postmaster(struct str address);

/* Appends LOCAL's tag, without quotes, as it is written: in its case, since it may be the name of a
 * folder or a program's data. Nothing: it has none, or LOCAL is invalid. */
void mail_localpart_tag(struct str local, struct buffer *out);
/* Appends LOCAL, as written in an address, without quotes. */
void mail_local_unquote(struct str local, struct buffer *out);
/* Appends LOCAL@DOMAIN; LOCAL, which is unquoted, gets quotes if it needs them (RFC 5321 section
 * 4.1.2, RFC 6531 section 3.3). */
void mail_address_write(struct str local, struct str domain, struct buffer *out);

/* Whether NAME, which may come from anybody, is safe as a single component of a path:
 * not empty, at most 255 bytes, no '/', no control character, no leading '.'
 * (so neither "." nor ".." nor a hidden file). */
bool mail_name_is_path_safe(struct str name);

#endif
