// SPDX-License-Identifier: ISC
#include "queue/inject/recipients.h"
#include "base/panic.h"
#include "base/table.h"
#include "queue/inject/address.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct seen {
	UT_hash_handle hh;
	size_t length;
	char key[]; /* the address, its domain in lower case */
};

struct inject_recipients {
	struct mail_envelope *envelope;
	struct seen *seen;
	size_t max;
	unsigned notify;
};

struct inject_recipients *inject_recipients_new(struct mail_envelope *envelope, size_t max,
						unsigned notify)
{
	struct inject_recipients *recipients = memory_alloc_zero(1, sizeof *recipients);

	recipients->envelope = envelope;
	recipients->max = max;
	recipients->notify = notify;
	return recipients;
}

void inject_recipients_free(struct inject_recipients *recipients)
{
	struct seen *seen;
	struct seen *next;

	HASH_ITER (hh, recipients->seen, seen, next) {
		HASH_DEL(recipients->seen, seen);
		free(seen);
	}
	free(recipients);
}

static struct seen *seen_new(struct str address)
{
	struct seen *seen = memory_alloc_zero(1, sizeof *seen + address.length);
	size_t domain = (size_t)(str_find_last(address, '@') + 1);

	memcpy(seen->key, address.data, address.length);
	str_lower(seen->key + domain, address.length - domain);
	seen->length = address.length;
	return seen;
}

int inject_recipients_add(void *context, struct str address)
{
	struct inject_recipients *recipients = context;
	struct buffer form CLEANUP(buffer_clear) = {0};
	struct seen *seen;
	struct seen *known;

	if (inject_address_form(address, STR(""), &form) < 0)
		return -EBADMSG; /* too long, too */
	seen = seen_new(buffer_view(&form));
	HASH_FIND(hh, recipients->seen, seen->key, seen->length, known);
	if (known != NULL || recipients->envelope->recipient_count == recipients->max) {
		free(seen);
		return known != NULL ? 0 : -E2BIG;
	}
	HASH_ADD_KEYPTR(hh, recipients->seen, seen->key, seen->length, seen);
	mail_envelope_add(recipients->envelope, buffer_view(&form))->notify = recipients->notify;
	inject_address_note(recipients->envelope, buffer_view(&form));
	return 0;
}
