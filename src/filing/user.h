// SPDX-License-Identifier: ISC
/*
 * filing/user.h - whose mailbox mail for an address is filed in.
 */
#ifndef FILING_USER_H
#define FILING_USER_H

#include "base/arena.h"
#include "base/attributes.h"
#include "filing/record/record.h"

/* The user of ADDRESS, LOCAL@DOMAIN in canonical form without the extension, and that, likewise:
 * "": none. DETAIL_OUT may be NULL. WRITTEN_OUT, or NULL: the extension in the case that it has in
 * ADDRESS, as the name of a folder has one. Texts are in ARENA. -EINVAL: ADDRESS cannot have a
 * mailbox. */
MUST_CHECK int filing_user(struct str address, struct arena *arena, struct str *user_out,
			   struct str *detail_out, struct str *written_out);

#endif
