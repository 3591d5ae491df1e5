// SPDX-License-Identifier: ISC
#include "keys/set.h"
#include "ipc/pack.h"
#include <string.h>

enum { NAME_SIZE_MAX = 4096, LENGTHS = 8, SECRETS_SIZE_MAX = 1024 };

_Static_assert(KEYS_CERTIFICATES_MAX *(TLS_CHAIN_SIZE_MAX + NAME_SIZE_MAX + LENGTHS) +
			       KEYS_AUTHORITIES_MAX * (NAME_SIZE_MAX + LENGTHS) +
			       KEYS_AUTHORITIES_SIZE_MAX + SECRETS_SIZE_MAX <=
		       KEYS_SET_SIZE_MAX,
	       "a set may be larger than others take");

static void pack_texts(struct buffer *out, const struct keys_text *texts, size_t count)
{
	pack_u32(out, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		pack_str(out, texts[i].name);
		pack_str(out, texts[i].pem);
	}
}

static size_t size_of_key_texts(const struct keys_text *texts, size_t count)
{
	size_t size = sizeof(uint32_t);

	for (size_t i = 0; i < count; i++)
		size += LENGTHS + texts[i].name.length + texts[i].pem.length;
	return size;
}

void keys_set_pack_texts(const struct keys_set *set, struct buffer *out)
{
	(void)buffer_reserve(out,
			     size_of_key_texts(set->certificates, set->certificate_count) +
				     size_of_key_texts(set->authorities, set->authority_count));
	pack_texts(out, set->certificates, set->certificate_count);
	pack_texts(out, set->authorities, set->authority_count);
}

/* Reserves all of it first: growing would leave copies of secrets behind. */
void keys_set_pack_tickets(const struct keys_set *set, struct buffer *out)
{
	(void)buffer_reserve(out, SECRETS_SIZE_MAX);
	pack_u32(out, (uint32_t)set->ticket_count);
	for (size_t i = 0; i < set->ticket_count; i++)
		pack_str(out, str_slice((const char *)&set->tickets[i], sizeof set->tickets[i]));
}

static bool unpack_texts(struct unpack *unpack, struct keys_text *texts, size_t most,
			 size_t *count_out)
{
	*count_out = unpack_u32(unpack);
	if (unpack->failed || *count_out > most)
		return false;
	for (size_t i = 0; i < *count_out; i++)
		texts[i] = (struct keys_text){unpack_str(unpack), unpack_str(unpack)};
	return !unpack->failed;
}

static bool unpack_tickets(struct unpack *unpack, struct keys_set *set)
{
	set->ticket_count = unpack_u32(unpack);
	if (unpack->failed || set->ticket_count > TLS_TICKET_KEYS_MAX)
		return false;
	for (size_t i = 0; i < set->ticket_count; i++) {
		struct str bytes = unpack_str(unpack);

		if (bytes.length != sizeof set->tickets[i])
			return false;
		memcpy(&set->tickets[i], bytes.data, sizeof set->tickets[i]);
	}
	return true;
}

bool keys_set_unpack(struct str packed, struct keys_set *set)
{
	struct unpack unpack = {packed, false};

	return unpack_texts(&unpack, set->certificates, KEYS_CERTIFICATES_MAX,
			    &set->certificate_count) &&
	       unpack_texts(&unpack, set->authorities, KEYS_AUTHORITIES_MAX,
			    &set->authority_count) &&
	       unpack_tickets(&unpack, set) && unpack_is_whole(&unpack);
}

struct str keys_set_find(const struct keys_text *texts, size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal(texts[i].name, name))
			return texts[i].pem;
	return STR("");
}
