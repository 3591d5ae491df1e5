// SPDX-License-Identifier: ISC
/*
 * header/authors.h - who the author of a message is, by a field that says so: From, Sender and
 * those of a resending.
 *
 * Others read such a field, too, and not all as we do. So each address counts that any of them may
 * find, and afterwards the field is left with one reading only.
 */
#ifndef HEADER_AUTHORS_H
#define HEADER_AUTHORS_H

#include "header/addresses.h"

/* Calls EACH with the addresses in LIST, the body of such a field; may repeat some. If LIST has
 * more than one reading (IS_PLAIN of header/addresses.h), also with those in its names, comments
 * and quoted texts; and *REWRITTEN gets the list with only one reading: the same addresses, with
 * domains, and names that are quoted or encoded. Otherwise nothing is appended to it.
 * -EBADMSG: LIST has an element that is not an address, *BAD_OUT, a part of LIST; or no address,
 * and *BAD_OUT is empty. What EACH returns, if it is not 0. */
MUST_CHECK int header_authors_read(struct str list, const struct header_addresses_rules *rules,
				   int (*each)(void *context, struct str address), void *context,
				   struct buffer *rewritten, struct str *bad_out);

#endif
