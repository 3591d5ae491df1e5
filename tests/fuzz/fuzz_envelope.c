// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_envelope.c - an envelope of any texts: refused, or written so that it
 * reads back as the same.
 */
#include "base/panic.h"
#include "input.h"
#include "queue/control/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill(struct mail_envelope *envelope, struct input *input)
{
	unsigned flags = input_byte(input);

	envelope->id = (struct mail_id){input_u32(input), input_u32(input)};
	envelope->stage = flags & 1 ? MAIL_STAGE_SUBMIT : MAIL_STAGE_ARRIVE;
	envelope->utf8 = flags & 2;
	envelope->ret = (enum mail_ret)((flags >> 2) % 3);
	envelope->sender = input_text(input);
	envelope->envid = input_text(input);
	envelope->received = input_text(input);
	if (flags & 8) /* a name more often than chance has one */
		envelope->trigger = STR("the.moon");
	else if (flags & 4)
		envelope->trigger = input_text(input);
	envelope->priority = (int)(input_byte(input) % 24) - 12;
	if (flags & 16)
		envelope->release_us = (int64_t)input_u32(input) * (SECOND_US - (flags >> 7));
	if (flags & 32) {
		envelope->handed = flags & 64 ? STR("a1/1-2.3") : input_text(input);
		envelope->origin = flags & 64 ? STR("a0/1-2") : input_text(input);
		envelope->via = input_byte(input);
	}
	envelope->size = (uint64_t)input_u32(input) << (flags >> 4);
	while (input->rest.length > 0) {
		struct mail_recipient *recipient = mail_envelope_add(envelope, input_text(input));
		unsigned choice = input_byte(input);

		recipient->notify = choice & 15;
		recipient->number += choice >> 4;
		recipient->original = input_text(input);
	}
}

static void check_recipients(const struct mail_envelope *a, const struct mail_envelope *b)
{
	if (a->recipient_count != b->recipient_count)
		panic("%zu recipients became %zu", a->recipient_count, b->recipient_count);
	for (size_t i = 0; i < a->recipient_count; i++) {
		const struct mail_recipient *left = &a->recipients[i];
		const struct mail_recipient *right = &b->recipients[i];

		check_equal(left->address, right->address, "addresses");
		check_equal(left->original, right->original, "original recipients");
		if (left->number != right->number || left->notify != right->notify)
			panic("recipient %u became %u", left->number, right->number);
	}
}

static void check_same(const struct mail_envelope *a, const struct mail_envelope *b)
{
	check_equal(a->sender, b->sender, "senders");
	check_equal(a->envid, b->envid, "envelope identifiers");
	check_equal(a->received, b->received, "what the envelope says of the client");
	check_equal(a->trigger, b->trigger, "triggers");
	check_equal(a->handed, b->handed, "packages");
	check_equal(a->origin, b->origin, "first nodes");
	if (a->id.number != b->id.number || a->id.born_us != b->id.born_us || a->size != b->size ||
	    a->stage != b->stage || a->utf8 != b->utf8 || a->ret != b->ret ||
	    a->release_us != b->release_us || a->via != b->via || a->priority != b->priority)
		panic("an envelope became another one");
	check_recipients(a, b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {str_slice((const char *)data, size)};
	struct mail_envelope *envelope = mail_envelope_new();
	struct queue_control *control;
	struct buffer text = {0};

	fill(envelope, &input);
	if (queue_control_write_envelope(&text, envelope) == 0) {
		if (queue_control_parse(buffer_view(&text), &control, NULL) < 0)
			panic("an envelope that was written cannot be read:\n" STR_FORMAT,
			      STR_ARGUMENTS(buffer_view(&text)));
		check_same(envelope, control->envelope);
		queue_control_free(control);
	} else if (text.length > 0) {
		panic("a part of an envelope was written");
	}
	buffer_clear(&text);
	mail_envelope_free(envelope);
	return 0;
}
