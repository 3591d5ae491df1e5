// SPDX-License-Identifier: ISC
/* Whether a message that is in a mailbox is the one that is looked for. */
#include "decode/identity.h"
#include "mailstore/internal.h"

bool mailstore_compare_is_derived(const struct mailstore_place *place)
{
	/* nobody's Message-ID looks so: decode/identity.h */
	return str_starts_with(place->id, STR("<sha256-")) &&
	       str_ends_with_nocase(place->id, STR("@invalid>"));
}

bool mailstore_compare_header(const struct mailstore_place *place, struct str header)
{
	struct ipc_content content = {.bytes = header, .file = -1, .size = header.length};
	struct decode_identity identity;
	struct arena *arena = arena_new();
	bool can_be;

	/* without the field the identity depends on all of the message */
	can_be = decode_identify(&content, arena, &identity) < 0 ||
		 (identity.is_derived ? mailstore_compare_is_derived(place)
				      : str_equal(identity.id, place->id));
	arena_free(arena);
	return can_be;
}

int mailstore_compare(const struct mailstore_place *place, const struct ipc_content *content)
{
	struct decode_identity identity;
	struct arena *arena = arena_new();
	int result = decode_identify(content, arena, &identity);

	if (result == 0)
		result = str_equal(identity.id, place->id) &&
			 memcmp(identity.digest, place->digest, DECODE_DIGEST_SIZE) == 0;
	arena_free(arena);
	return result;
}
