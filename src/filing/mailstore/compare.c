// SPDX-License-Identifier: ISC
/* Whether a message that is in a mailbox is the one that is looked for. */
#include "base/panic.h"
#include "filing/decode/identity.h"
#include "filing/mailstore/internal.h"
#include "mailbox/copy.h"
#include <errno.h>
#include <stdlib.h>

enum { COMPARE_BLOCK_SIZE = 64 << 10 };

bool mailstore_compare_is_derived(const struct mailstore_location *location)
{
	/* nobody's Message-ID looks so: filing/decode/identity.h */
	return str_starts_with(location->id, STR("<sha256-")) &&
	       str_ends_with_nocase(location->id, STR("@invalid>"));
}

bool mailstore_compare_header(const struct mailstore_location *location, struct str header)
{
	struct ipc_content content = {.bytes = header, .file = -1, .size = header.length};
	struct decode_identity identity;
	struct arena *arena = arena_new();
	bool can_be;

	/* without the field the identity depends on all of the message */
	can_be = decode_identify(&content, arena, &identity) < 0 ||
		 (identity.is_derived ? mailstore_compare_is_derived(location)
				      : str_equal(identity.id, location->id));
	arena_free(arena);
	return can_be;
}

/* The digest covers the field Message-ID, too. */
static bool is_identity_of_place(const struct mailstore_location *location,
				 const struct decode_identity *identity)
{
	if (location->encoded_digest != NULL &&
	    memcmp(identity->digest, location->encoded_digest, DECODE_DIGEST_SIZE) == 0)
		return true;
	return str_equal(identity->id, location->id) &&
	       memcmp(identity->digest, location->digest, DECODE_DIGEST_SIZE) == 0;
}

int mailstore_compare(const struct mailstore_location *location, const struct ipc_content *content)
{
	struct decode_identity identity;
	struct arena *arena = arena_new();
	int result = decode_identify(content, arena, &identity);

	if (result == 0)
		result = is_identity_of_place(location, &identity);
	arena_free(arena);
	return result;
}

static int encode_all(struct mailbox_copy *copy, struct buffer *out)
{
	char *block = memory_alloc(COMPARE_BLOCK_SIZE);
	int result = mailbox_copy_set_binary(copy, block, COMPARE_BLOCK_SIZE);

	while (result == 0 && !mailbox_copy_is_done(copy))
		result = mailbox_copy_next(copy, block, COMPARE_BLOCK_SIZE, out);
	mailbox_copy_clear(copy);
	free(block);
	return result > 0 ? -EINVAL : result;
}

int mailstore_encoded_digest(const struct ipc_content *content,
			     unsigned char out[DECODE_DIGEST_SIZE])
{
	struct buffer encoded CLEANUP(buffer_clear) = {0};
	struct ipc_content form = {.file = -1};
	struct decode_identity identity;
	struct arena *arena = arena_new();
	struct mailbox_copy copy;
	int result;

	mailbox_copy_begin_bare(&copy, content);
	result = encode_all(&copy, &encoded);
	form.bytes = buffer_view(&encoded);
	form.size = encoded.length;
	if (result == 0)
		result = decode_identify(&form, arena, &identity);
	if (result == 0)
		memcpy(out, identity.digest, DECODE_DIGEST_SIZE);
	arena_free(arena);
	return result;
}
