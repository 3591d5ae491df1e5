// SPDX-License-Identifier: ISC
/* What a helper is told of a message: all that its envelope says, and of its recipients theirs. */
#include "ipc/job.h"
#include "ipc/pack.h"
#include "mail/verp.h"
#include "model.h"
#include "queue/control/control.h"
#include <inttypes.h>

static const uint32_t NEEDS_OF_TIME = IPC_JOB_TURN | IPC_JOB_TOLD; /* checked elsewhere */

static void expect_number(const struct model_message *m, const char *what, uint64_t told,
			  uint64_t wanted)
{
	if (told != wanted)
		model_fail("a helper is told %s %" PRIu64 " of %" PRIu64 ", not %" PRIu64, what,
			   told, m->id.number, wanted);
}

static void expect_text(const struct model_message *m, const char *what, struct str told,
			struct str wanted)
{
	if (!str_equal(told, wanted))
		model_fail("a helper is told %s " STR_FORMAT " of %" PRIu64 ", not " STR_FORMAT,
			   what, STR_ARGUMENTS(told), m->id.number, STR_ARGUMENTS(wanted));
}

/* Whatever is longer is not told. */
static struct str told_text(struct str text, size_t most)
{
	return text.length > most ? STR("") : text;
}

static uint32_t needs_of_envelope(const struct mail_envelope *envelope)
{
	uint32_t needs = (uint32_t)(envelope->priority & 0xff) << 8U;

	if (envelope->utf8)
		needs |= IPC_JOB_UTF8;
	if (envelope->binary)
		needs |= IPC_JOB_BINARY;
	if (envelope->require_tls)
		needs |= IPC_JOB_REQUIRE_TLS;
	if (envelope->deadline.mode == MAIL_DEADLINE_NOTIFY)
		needs |= IPC_JOB_DEADLINE;
	if (envelope->deadline.mode == MAIL_DEADLINE_RETURN)
		needs |= IPC_JOB_DEADLINE | IPC_JOB_RETURN;
	if (envelope->deadline.is_traced)
		needs |= IPC_JOB_TRACE;
	if (envelope->size > QUEUE_BY_VALUE_MAX)
		needs |= IPC_JOB_CHECKSUM;
	return needs;
}

struct told_recipient {
	struct str address, original, via;
	unsigned notify;
};

/* Whether TOLD is of RECIPIENT: its address, or what that leads to. */
static bool is_told_of(const struct mail_recipient *recipient, const struct told_recipient *told)
{
	return str_equal_nocase(recipient->address,
				told->via.length > 0 ? told->via : told->address) &&
	       recipient->notify == told->notify &&
	       str_equal(told->original, told_text(recipient->original, MAIL_ORCPT_MAX));
}

static void check_told_delivery(const struct model_message *m, const struct mail_envelope *envelope,
				struct unpack *body, struct str sender)
{
	struct buffer expanded CLEANUP(buffer_clear) = {0};
	struct told_recipient told;
	size_t i = 0;

	(void)unpack_u32(body); /* the delivery: model_helpers.c */
	told.notify = unpack_u32(body);
	told.address = unpack_str(body);
	told.original = unpack_str(body);
	told.via = unpack_str(body);
	while (i < envelope->recipient_count && !is_told_of(&envelope->recipients[i], &told))
		i++;
	if (i == envelope->recipient_count)
		model_fail("a helper is told of " STR_FORMAT ", to whom %" PRIu64 " is not so",
			   STR_ARGUMENTS(told.address), m->id.number);
	if (str_equal_nocase(told.via, told.address))
		model_fail("an address of %" PRIu64 " leads to itself", m->id.number);
	if (mail_verp_is(envelope->sender))
		mail_verp_expand(envelope->sender, envelope->recipients[i].address, &expanded);
	expect_text(m, "the sender", sender,
		    mail_verp_is(envelope->sender) ? buffer_view(&expanded) : envelope->sender);
}

/* By value, if it is not in a file and not in messages of its own. */
static void check_told_data(const struct model_message *m, uint64_t size, struct unpack *body)
{
	struct str data = size <= QUEUE_BY_VALUE_MAX ? unpack_str(body) : STR("");

	if (data.length > 0)
		expect_number(m, "so many bytes", data.length, size);
	for (size_t i = 0; i < data.length; i++)
		expect_number(m, "a byte", (unsigned char)data.data[i], 'x');
}

void model_check_told(const struct model_message *m, struct str text)
{
	struct unpack body = {text, false};
	struct queue_control *control;
	const struct mail_envelope *envelope;
	struct str sender;
	uint32_t count;

	if (queue_control_parse(buffer_view(&m->envelope), &control, NULL) < 0)
		model_fail("the envelope of %" PRIu64 " cannot be read", m->id.number);
	envelope = control->envelope;
	expect_number(m, "a number", unpack_u64(&body), m->id.number);
	expect_number(m, "a birth", unpack_u64(&body), (uint64_t)m->id.born_us);
	sender = unpack_str(&body);
	expect_number(m, "a size", unpack_u64(&body), envelope->size);
	expect_number(m, "a checksum", unpack_u32(&body), control->data_checksum);
	expect_number(m, "needs", unpack_u32(&body) & ~NEEDS_OF_TIME, needs_of_envelope(envelope));
	expect_number(m, "a deadline", unpack_u64(&body), (uint64_t)envelope->deadline.at_us);
	expect_number(m, "RET", unpack_u32(&body), envelope->ret);
	expect_text(m, "ENVID", unpack_str(&body), told_text(envelope->envid, MAIL_ENVID_MAX));
	(void)unpack_str(&body); /* the destination: model_helpers.c */
	expect_text(m, "an origin", unpack_str(&body),
		    told_text(envelope->received, IPC_JOB_RECEIVED_MAX));
	count = unpack_u32(&body);
	for (uint32_t i = 0; i < count; i++)
		check_told_delivery(m, envelope, &body, sender);
	check_told_data(m, envelope->size, &body);
	queue_control_free(control);
}
