// SPDX-License-Identifier: ISC
/* Writing control files: the envelope, and the map with its deliveries (queue/control/control.h).
 */
#include "mail/address.h"
#include "mail/package.h"
#include "mail/server.h"
#include "queue/control/control.h"
#include "queue/control/record.h"
#include "queue/control/trigger_name.h"
#include <errno.h>

static bool address_is_writable(struct str address)
{
	char text[MAIL_ADDRESS_MAX + 1];

	if (address.length > MAIL_ADDRESS_MAX || !queue_text_is_clean(address))
		return false;
	for (size_t i = 0; i < address.length; i++)
		text[i] = address.data[i];
	text[address.length] = '>';
	return queue_address_end(str_slice(text, address.length + 1)) == (ptrdiff_t)address.length;
}

bool record_word_is_optional(struct str word)
{
	return word.length == 0 || queue_word_is_clean(word);
}

/* All three records, or none. */
static bool handed_is_writable(const struct mail_envelope *envelope)
{
	if (envelope->handed.length == 0)
		return envelope->origin.length == 0 && envelope->via == 0;
	return mail_package_split(envelope->handed, NULL, NULL) &&
	       mail_package_split(envelope->origin, NULL, NULL) && envelope->via > 0;
}

static bool envelope_is_writable(const struct mail_envelope *envelope)
{
	uint32_t last = 0;

	if (envelope->recipient_count == 0 || envelope->id.number == 0 ||
	    envelope->id.born_us < 0 || envelope->release_us < 0 ||
	    envelope->release_us % SECOND_US != 0 || envelope->priority > MAIL_PRIORITY_MAX ||
	    envelope->priority < -MAIL_PRIORITY_MAX || envelope->deadline.at_us < 0 ||
	    envelope->deadline.at_us % SECOND_US != 0)
		return false;
	if (!address_is_writable(envelope->sender) || !record_word_is_optional(envelope->envid) ||
	    !queue_text_is_clean(envelope->received) ||
	    (envelope->trigger.length > 0 && !queue_trigger_name_is_valid(envelope->trigger)) ||
	    !handed_is_writable(envelope))
		return false;
	for (size_t i = 0; i < envelope->recipient_count; i++) {
		const struct mail_recipient *recipient = &envelope->recipients[i];

		if (recipient->number <= last || recipient->address.length == 0 ||
		    !address_is_writable(recipient->address) ||
		    !record_word_is_optional(recipient->original))
			return false;
		last = recipient->number;
	}
	return true;
}

static void write_address(struct buffer *out, struct str address)
{
	buffer_append_string(out, " <");
	buffer_append_str(out, address);
	buffer_append_byte(out, '>');
}

void record_write_word(struct buffer *out, const char *name, struct str word)
{
	if (word.length == 0)
		return;
	buffer_append_string(out, name);
	buffer_append_str(out, word);
}

static void write_notify(struct buffer *out, unsigned notify)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{MAIL_NOTIFY_SUCCESS, "success"},
		{MAIL_NOTIFY_FAILURE, "failure"},
		{MAIL_NOTIFY_DELAY, "delay"},
		{MAIL_NOTIFY_NEVER, "never"},
	};
	const char *before = " notify=";

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if ((notify & names[i].flag) == 0)
			continue;
		buffer_append_string(out, before);
		buffer_append_string(out, names[i].name);
		before = ",";
	}
}

static void write_times(struct buffer *out, const struct mail_envelope *envelope)
{
	char release[TIMESTAMP_SIZE];
	char deadline[MAIL_DEADLINE_SIZE];

	if (envelope->release_us > 0) {
		timestamp_format_seconds(envelope->release_us, release);
		record_write_word(out, " release=", str_from(release));
	}
	if (envelope->deadline.mode != MAIL_DEADLINE_NONE) {
		mail_deadline_format(&envelope->deadline, deadline);
		record_write_word(out, " by=", str_from(deadline));
	}
}

/* What was asked for in MAIL. */
static void write_options(struct buffer *out, const struct mail_envelope *envelope)
{
	if (envelope->ret != MAIL_RET_NONE)
		buffer_append_string(out,
				     envelope->ret == MAIL_RET_FULL ? " ret=full" : " ret=hdrs");
	record_write_word(out, " envid=", envelope->envid);
	if (envelope->binary)
		buffer_append_string(out, " binarymime");
	if (envelope->utf8)
		buffer_append_string(out, " smtputf8");
	if (envelope->require_tls)
		buffer_append_string(out, " requiretls");
	if (envelope->priority != 0)
		buffer_append_format(out, " priority=%d", envelope->priority);
	write_times(out, envelope);
}

static void write_handed(struct buffer *out, const struct mail_envelope *envelope)
{
	record_write_word(out, "\nhanded: ", envelope->handed);
	record_write_word(out, "\norigin: ", envelope->origin);
	if (envelope->via == 0)
		return;
	buffer_append_string(out, "\nvia: ");
	buffer_append_number(out, envelope->via);
}

static void write_head(struct buffer *out, const struct mail_envelope *envelope)
{
	char id[MAIL_ID_SIZE];
	char born[TIMESTAMP_SIZE];

	mail_id_format(envelope->id, id);
	timestamp_format(envelope->id.born_us, born);
	buffer_append_string(out, "stagepost 2\nid: ");
	buffer_append_string(out, id);
	buffer_append_string(out, "\nstage: ");
	buffer_append_string(out, mail_stage_name(envelope->stage));
	buffer_append_string(out, "\nborn: ");
	buffer_append_string(out, born);
	buffer_append_string(out, "\nfrom:");
	write_address(out, envelope->sender);
	write_options(out, envelope);
	record_write_word(out, "\nreceived: ", envelope->received);
	record_write_word(out, "\ntrigger: ", envelope->trigger);
	write_handed(out, envelope);
	if (envelope->is_held)
		buffer_append_string(out, "\nheld:");
	buffer_append_string(out, "\nsize: ");
	buffer_append_number(out, envelope->size);
	buffer_append_byte(out, '\n');
}

int queue_control_write_envelope(struct buffer *out, const struct mail_envelope *envelope)
{
	if (!envelope_is_writable(envelope))
		return -EINVAL;
	write_head(out, envelope);
	for (size_t i = 0; i < envelope->recipient_count; i++) {
		const struct mail_recipient *recipient = &envelope->recipients[i];

		buffer_append_string(out, "to: ");
		buffer_append_number(out, recipient->number);
		write_address(out, recipient->address);
		write_notify(out, recipient->notify);
		record_write_word(out, " orcpt=", recipient->original);
		buffer_append_byte(out, '\n');
	}
	buffer_append_string(out, "end:\n");
	return 0;
}

bool queue_delivery_is_writable(const struct queue_delivery *delivery)
{
	if (delivery->number == 0 || delivery->recipient == 0)
		return false;
	if (delivery->route == QUEUE_ROUTE_LOCAL && !queue_service_is_valid(delivery->service))
		return false;
	if (delivery->server.length > 0 &&
	    (delivery->route != QUEUE_ROUTE_LOCAL || !mail_server_is_in_form(delivery->server)))
		return false;
	return delivery->address.length > 0 && address_is_writable(delivery->address);
}

static void write_delivery(struct buffer *out, const struct queue_delivery *delivery)
{
	buffer_append_string(out, "map: ");
	buffer_append_number(out, delivery->recipient);
	switch (delivery->route) {
	case QUEUE_ROUTE_LOCAL:
		record_write_word(out, " local ", delivery->service);
		record_write_word(out, " server=", delivery->server);
		break;
	case QUEUE_ROUTE_REMOTE:
		buffer_append_string(out, " remote");
		break;
	case QUEUE_ROUTE_NONE:
		buffer_append_string(out, " none");
		break;
	}
	if (delivery->number != delivery->recipient) {
		buffer_append_byte(out, ' ');
		buffer_append_number(out, delivery->number);
	}
	write_address(out, delivery->address);
	buffer_append_byte(out, '\n');
}

int queue_control_write_map(struct buffer *out, const struct queue_delivery *deliveries,
			    size_t count, uint64_t directory_version)
{
	for (size_t i = 0; i < count; i++)
		if (!queue_delivery_is_writable(&deliveries[i]))
			return -EINVAL;
	for (size_t i = 0; i < count; i++)
		write_delivery(out, &deliveries[i]);
	buffer_append_string(out, "mapped: directory=");
	buffer_append_number(out, directory_version);
	buffer_append_string(out, " count=");
	buffer_append_number(out, count);
	buffer_append_byte(out, '\n');
	return 0;
}
