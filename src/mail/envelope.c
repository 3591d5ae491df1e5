// SPDX-License-Identifier: ISC
#include "mail/envelope.h"
#include <string.h>

/* Writes the digits of VALUE before END; returns their beginning. */
static char *put_digits(char *end, uint64_t value, unsigned base)
{
	do {
		*--end = "0123456789abcdef"[value % base];
		value /= base;
	} while (value > 0);
	return end;
}

/* Without printf, as this is done several times for each message and was a fifth of logging. */
void mail_id_format(struct mail_id id, char text[MAIL_ID_SIZE])
{
	char *end = text + MAIL_ID_SIZE;
	char *begin = end;

	*--begin = '\0';
	begin = put_digits(begin, (uint64_t)id.born_us, 16);
	*--begin = '-';
	begin = put_digits(begin, id.number, 10);
	memmove(text, begin, (size_t)(end - begin));
}

bool mail_id_parse(struct str text, struct mail_id *id_out)
{
	ptrdiff_t dash = str_find(text, '-');
	uint64_t number;
	uint64_t born;

	if (dash < 0 || !str_to_u64(str_slice(text.data, (size_t)dash), &number) ||
	    !str_to_u64_hex(str_skip(text, (size_t)dash + 1), &born) || born > INT64_MAX)
		return false;
	*id_out = (struct mail_id){number, (int64_t)born};
	return true;
}

static const char *const stage_names[MAIL_STAGE_COUNT] = {
	[MAIL_STAGE_SUBMIT] = "submit",
	[MAIL_STAGE_ARRIVE] = "arrive",
};

const char *mail_stage_name(enum mail_stage stage)
{
	return stage_names[stage];
}

bool mail_stage_parse(struct str name, enum mail_stage *stage_out)
{
	for (unsigned i = 0; i < MAIL_STAGE_COUNT; i++) {
		if (!str_equal(name, str_from(stage_names[i])))
			continue;
		*stage_out = (enum mail_stage)i;
		return true;
	}
	return false;
}

struct mail_envelope *mail_envelope_new(void)
{
	struct arena *arena = arena_new();
	struct mail_envelope *envelope = arena_alloc(arena, sizeof *envelope);

	envelope->arena = arena;
	return envelope;
}

void mail_envelope_free(struct mail_envelope *envelope)
{
	if (envelope != NULL)
		arena_free(envelope->arena);
}

static void grow_recipients(struct mail_envelope *envelope)
{
	size_t capacity = envelope->recipient_capacity > 0 ? envelope->recipient_capacity * 2 : 4;
	struct mail_recipient *recipients =
		arena_alloc(envelope->arena, capacity * sizeof *recipients);

	if (envelope->recipient_count > 0)
		memcpy(recipients, envelope->recipients,
		       envelope->recipient_count * sizeof *recipients);
	envelope->recipients = recipients;
	envelope->recipient_capacity = capacity;
}

int64_t mail_envelope_start_us(const struct mail_envelope *envelope)
{
	return envelope->release_us > envelope->id.born_us ? envelope->release_us
							   : envelope->id.born_us;
}

bool mail_priority_parse(struct str text, int *priority_out)
{
	bool is_negative = text.length > 0 && text.data[0] == '-';
	struct str digit = is_negative ? str_skip(text, 1) : text;

	if (digit.length != 1 || digit.data[0] < '0' || digit.data[0] > '9' ||
	    (is_negative && digit.data[0] == '0'))
		return false;
	*priority_out = is_negative ? '0' - digit.data[0] : digit.data[0] - '0';
	return true;
}

struct mail_recipient *mail_envelope_add(struct mail_envelope *envelope, struct str address)
{
	struct mail_recipient *recipient;
	uint32_t number = 1;

	if (envelope->recipient_count == envelope->recipient_capacity)
		grow_recipients(envelope);
	if (envelope->recipient_count > 0)
		number = envelope->recipients[envelope->recipient_count - 1].number + 1;
	recipient = &envelope->recipients[envelope->recipient_count++];
	*recipient = (struct mail_recipient){.number = number};
	recipient->address = arena_copy_str(envelope->arena, address);
	return recipient;
}

const struct mail_recipient *mail_envelope_find(const struct mail_envelope *envelope,
						uint32_t number)
{
	size_t low = 0;
	size_t high = envelope->recipient_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (envelope->recipients[middle].number == number)
			return &envelope->recipients[middle];
		if (envelope->recipients[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
