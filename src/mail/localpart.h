// SPDX-License-Identifier: ISC
/*
 * mail/localpart.h - the left half of an address, as the host that it belongs
 * to understands it (RFC 5321 section 2.3.11: nobody else may).
 *
 * Here: quotes carry no meaning ("ann"@d is ann@d), case neither, and what
 * follows a '+' is a tag of the user's own (user+tag).
 */
#ifndef MAIL_LOCALPART_H
#define MAIL_LOCALPART_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/address.h"

/* An address taken apart at its last '@'; DOMAIN is empty when there is none. */
struct mail_parts {
	struct str local;
	struct str domain;
};
struct mail_parts mail_parts_of(struct str address);

struct mail_localpart {
	char text[MAIL_DOMAIN_MAX + 1]; /* without quotes, in lower case and NFC */
	size_t length;
	size_t user_length; /* of the user: up to the '+', or all of it; a '+' in
			     * front begins no tag */
};

/* Reads LOCAL as written in an address. -EINVAL when it is empty, over its
 * bound, or its quotes do not match. */
MUST_CHECK int mail_localpart_parse(struct str local, struct mail_localpart *out);
struct str mail_localpart_whole(const struct mail_localpart *local);
struct str mail_localpart_user(const struct mail_localpart *local);

/* Appends LOCAL, as written in an address, without the quotes that carry no meaning. */
void mail_local_unquote(struct str local, struct buffer *out);
/* Appends LOCAL@DOMAIN; LOCAL, which is without quotes, gets them where it needs them (RFC
 * 5321 section 4.1.2, RFC 6531 section 3.3). */
void mail_address_write(struct str local, struct str domain, struct buffer *out);

/* Whether NAME, whoever sent it, can be one component of a path and no more:
 * not empty, at most 255 bytes, no '/', no control character, no '.' in front
 * (so neither "." nor ".." nor a hidden file). */
bool mail_name_is_path_safe(struct str name);

#endif
