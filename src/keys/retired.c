// SPDX-License-Identifier: ISC
#include "keys/retired.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include <string.h>

static void drop_oldest_key(struct keys_retired *retired)
{
	tls_private_key_free(retired->keys[0].key);
	retired->count--;
	memmove(&retired->keys[0], &retired->keys[1], retired->count * sizeof retired->keys[0]);
}

void keys_retired_add(struct keys_retired *retired, struct tls_private_key *key)
{
	if (key == NULL)
		return;
	if (retired->count == KEYS_RETIRED_MAX)
		drop_oldest_key(retired);
	retired->keys[retired->count++] = (struct keys_retired_key){key, os_clock_monotonic_us()};
}

void keys_retired_expire(struct keys_retired *retired)
{
	int64_t now_us = os_clock_monotonic_us();

	while (retired->count > 0 && now_us - retired->keys[0].since_us >= KEYS_RETIRED_US)
		drop_oldest_key(retired);
}

const struct tls_private_key *keys_retired_find(const struct keys_retired *retired, const void *id)
{
	for (size_t i = 0; i < retired->count; i++)
		if (memcmp(tls_private_key_id(retired->keys[i].key), id, TLS_KEY_ID_SIZE) == 0)
			return retired->keys[i].key;
	return NULL;
}

void keys_retired_clear(struct keys_retired *retired)
{
	while (retired->count > 0)
		drop_oldest_key(retired);
}
