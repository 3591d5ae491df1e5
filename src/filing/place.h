// SPDX-License-Identifier: ISC
/*
 * filing/place.h - in which mailbox and folder mail for an address is filed.
 */
#ifndef FILING_PLACE_H
#define FILING_PLACE_H

#include "base/arena.h"
#include "base/attributes.h"
#include "record/record.h"

/* The user of ADDRESS is LOCAL@DOMAIN in canonical form, without the extension; the folder is
 * FOLDER, or, if HAS_DETAIL, the one that the extension names where there is one that can be a
 * folder's name. Texts are in ARENA. -EINVAL: ADDRESS cannot have a mailbox. */
MUST_CHECK int filing_place(struct str address, const char *folder, bool has_detail,
			    struct arena *arena, struct record_place *out);

#endif
