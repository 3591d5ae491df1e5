// SPDX-License-Identifier: ISC
/*
 * What follows "end:" may have been cut or holed by a power failure, line by line: a record that
 * cannot be read counts as not written, and a block of map records with such a line in it as
 * missing.
 */
#include "base/panic.h"
#include "mail/server.h"
#include "queue/control/record.h"
#include <stdlib.h>

/* "SERVICE", optionally followed by "server=HOST:PORT" */
static bool parse_local(struct str *value, struct queue_delivery *delivery)
{
	struct str name;

	delivery->route = QUEUE_ROUTE_LOCAL;
	if (!record_word(value, &delivery->service) || !queue_service_is_valid(delivery->service))
		return false;
	if (!str_starts_with(*value, STR("server=")))
		return true;
	return record_parameter(value, &name, &delivery->server) &&
	       mail_server_is_in_form(delivery->server);
}

static bool parse_map(const struct control_reader *reader, struct str value,
		      struct queue_delivery *delivery)
{
	struct str word;

	*delivery = (struct queue_delivery){0};
	if (!record_number(&value, &delivery->recipient) ||
	    mail_envelope_find(reader->envelope, delivery->recipient) == NULL ||
	    !record_word(&value, &word))
		return false;
	delivery->number = delivery->recipient;
	if (str_equal(word, STR("local"))) {
		if (!parse_local(&value, delivery))
			return false;
	} else if (str_equal(word, STR("remote"))) {
		delivery->route = QUEUE_ROUTE_REMOTE;
	} else if (str_equal(word, STR("none"))) {
		delivery->route = QUEUE_ROUTE_NONE;
	} else {
		return false;
	}
	if (value.length > 0 && value.data[0] != '<' && !record_number(&value, &delivery->number))
		return false;
	return record_address(&value, &delivery->address) && delivery->address.length > 0 &&
	       value.length == 0;
}

static void read_map(struct control_reader *reader, struct str value)
{
	struct queue_delivery delivery;

	if (!parse_map(reader, value, &delivery)) {
		reader->block_count = 0;
		reader->block_lost = 0;
		return;
	}
	reader->block = memory_grow(reader->block, reader->block_count, &reader->block_capacity,
				    sizeof *reader->block);
	reader->block[reader->block_count++] = delivery;
	if (delivery.number > reader->highest)
		reader->highest = delivery.number;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct queue_delivery *const *first = a;
	const struct queue_delivery *const *second = b;

	return ((*first)->number > (*second)->number) - ((*first)->number < (*second)->number);
}

/* Makes the last COUNT map records the map, unless two have the same number. */
static void accept_map(struct control_reader *reader, size_t count, uint64_t directory_version)
{
	struct arena *arena = reader->envelope->arena;
	struct queue_control *control = reader->control;
	struct queue_delivery *deliveries = arena_alloc(arena, count * sizeof *deliveries + 1);
	struct queue_delivery **sorted = arena_alloc(arena, count * sizeof *sorted + 1);

	for (size_t i = 0; i < count; i++) {
		deliveries[i] = reader->block[reader->block_count - count + i];
		sorted[i] = &deliveries[i];
	}
	qsort(sorted, count, sizeof *sorted, compare_numbers);
	for (size_t i = 1; i < count; i++)
		if (sorted[i - 1]->number == sorted[i]->number)
			return;
	control->deliveries = deliveries;
	control->delivery_count = count;
	control->is_mapped = true;
	control->directory_version = directory_version;
	reader->by_number = sorted;
}

static void accept_part(struct control_reader *reader, size_t lost, uint64_t directory_version)
{
	accept_map(reader, reader->block_count, directory_version);
	reader->map_lost = reader->control->is_mapped ? lost : 0;
}

void control_end_map(struct control_reader *reader)
{
	if (!reader->control->is_mapped) {
		reader->mapped = reader->at; /* its last record was durable, too */
		accept_part(reader, SIZE_MAX, 0);
	}
	reader->block_count = 0;
	reader->block_lost = 0;
}

static void read_mapped(struct control_reader *reader, struct str value)
{
	struct str name;
	struct str parameter;
	uint64_t count = UINT64_MAX;
	uint64_t version = 0;

	while (value.length > 0) {
		if (!record_parameter(&value, &name, &parameter) ||
		    (str_equal(name, STR("directory")) && !str_to_u64(parameter, &version)) ||
		    (str_equal(name, STR("count")) && !str_to_u64(parameter, &count))) {
			count = UINT64_MAX;
			break;
		}
	}
	if (count > 0 && count <= reader->block_count)
		accept_map(reader, (size_t)count, version);
	else if (count > 0 && count <= reader->block_count + reader->block_lost)
		accept_part(reader, (size_t)count - reader->block_count, version);
	reader->block_count = 0;
	reader->block_lost = 0;
}

static struct queue_delivery *find_delivery_of_number(const struct control_reader *reader,
						      uint32_t number)
{
	struct queue_delivery wanted = {.number = number};
	struct queue_delivery *key = &wanted;
	struct queue_delivery **found;

	if (!reader->control->is_mapped)
		return NULL;
	found = bsearch(&key, reader->by_number, reader->control->delivery_count, sizeof key,
			compare_numbers);
	return found != NULL ? *found : NULL;
}

static int compare_said(const void *a, const void *b)
{
	const struct control_said *first = a;
	const struct control_said *second = b;

	return (first->number > second->number) - (first->number < second->number);
}

static bool take_status_word(struct str *rest, struct str *status)
{
	return record_word(rest, status) && record_status_is_valid(*status);
}

/* A number that does not ascend may be that of another record: it is ignored. */
static void read_said(struct control_reader *reader, struct str value)
{
	struct control_said said = {0};
	struct str name;

	if (!record_number(&value, &said.number) || said.number <= reader->control->said)
		return;
	if (str_starts_with(value, STR("trigger=")) &&
	    !record_parameter(&value, &name, &said.trigger))
		return;
	if (!take_status_word(&value, &said.status))
		return;
	said.text = value.length > 0 ? value : STR("");
	reader->said = memory_grow(reader->said, reader->said_count, &reader->said_capacity,
				   sizeof *reader->said);
	reader->said[reader->said_count++] = said;
	reader->control->said = said.number;
}

static bool take_said(const struct control_reader *reader, struct str number,
		      struct queue_delivery *delivery)
{
	struct control_said wanted = {0};
	const struct control_said *found = NULL;

	if (reader->said_count > 0 && record_number(&number, &wanted.number))
		found = bsearch(&wanted, reader->said, reader->said_count, sizeof wanted,
				compare_said);
	if (found == NULL)
		return false;
	delivery->trigger = found->trigger;
	delivery->status = found->status;
	delivery->text = found->text;
	return true;
}

static bool take_time(struct str *rest, int64_t *time_us)
{
	struct str name;
	struct str value;

	return record_parameter(rest, &name, &value) && timestamp_parse(value, time_us);
}

/* 0 only of one that waits without an attempt. */
static bool take_tried(struct str *rest, struct queue_delivery *delivery)
{
	uint64_t least = delivery->outcome == QUEUE_WAIT ? 0 : 1;
	struct str name;
	struct str value;
	uint64_t number;

	if (!record_parameter(rest, &name, &value) || !str_to_u64(value, &number) ||
	    number < least || number > UINT32_MAX)
		return false;
	delivery->attempts = (uint32_t)number;
	return true;
}

/* What follows the time of an outcome: if it waits, "until=TIME" and optionally "tried=N"; then
 * "said=NUMBER", or an optional "trigger=NAME", the status and the text. */
static bool take_details(const struct control_reader *reader, struct str rest,
			 struct queue_delivery *delivery)
{
	struct str name;
	struct str value;

	if (delivery->outcome == QUEUE_WAIT &&
	    (!str_starts_with(rest, STR("until=")) || !take_time(&rest, &delivery->until_us)))
		return false;
	delivery->attempts += delivery->outcome == QUEUE_WAIT && delivery->attempts < UINT32_MAX;
	if (str_starts_with(rest, STR("tried=")) && !take_tried(&rest, delivery))
		return false;
	if (str_starts_with(rest, STR("said=")))
		return record_parameter(&rest, &name, &value) && rest.length == 0 &&
		       take_said(reader, value, delivery);
	if (str_starts_with(rest, STR("trigger=")) &&
	    !record_parameter(&rest, &name, &delivery->trigger))
		return false;
	if (!take_status_word(&rest, &delivery->status))
		return false;
	delivery->text = rest.length > 0 ? rest : STR("");
	return true;
}

static void read_outcome(struct control_reader *reader, enum queue_outcome outcome,
			 struct str value)
{
	struct queue_delivery *delivery;
	struct queue_delivery changed;
	struct str time;
	uint32_t number;

	if (!record_number(&value, &number))
		return;
	if (number > reader->highest)
		reader->highest = number;
	if (reader->block_lost > 0) /* the map has ended, and its last record is lost */
		control_end_map(reader);
	delivery = find_delivery_of_number(reader, number);
	if (delivery == NULL)
		return;
	changed = *delivery;
	changed.outcome = outcome;
	changed.until_us = 0;
	changed.trigger = STR("");
	if (!record_word(&value, &time) || !timestamp_parse(time, &changed.changed_us) ||
	    !take_details(reader, value, &changed))
		return;
	if (outcome != QUEUE_WAIT)
		changed.trigger = STR("");
	if (str_equal(changed.status, STR("-")))
		changed.status = STR("");
	if (outcome == QUEUE_WAIT && changed.attempts == 0 && changed.status.length > 0)
		return; /* what was not tried has no status */
	*delivery = changed;
}

/* Reads a record that is only the number of a delivery; NULL: it is not. */
static struct queue_delivery *read_mark(const struct control_reader *reader, struct str value)
{
	uint32_t number;

	return record_number(&value, &number) && value.length == 0
		       ? find_delivery_of_number(reader, number)
		       : NULL;
}

static void read_quiet(const struct control_reader *reader, struct str value)
{
	struct queue_delivery *delivery = read_mark(reader, value);

	if (delivery != NULL)
		delivery->is_quiet = true;
}

static void read_relayed(const struct control_reader *reader, struct str value)
{
	struct queue_delivery *delivery = read_mark(reader, value);

	if (delivery != NULL)
		delivery->is_announced = true;
}

static void read_requeue(const struct control_reader *reader, struct str value)
{
	struct queue_delivery *delivery = read_mark(reader, value);

	if (delivery != NULL)
		delivery->is_requeued = true;
}

static void read_delayed(const struct control_reader *reader, struct str value)
{
	struct queue_delivery *delivery;
	uint32_t number;
	int64_t time_us;

	if (!record_number(&value, &number) || !timestamp_parse(value, &time_us))
		return;
	delivery = find_delivery_of_number(reader, number);
	if (delivery != NULL)
		delivery->delayed_us = time_us;
}

void control_read_progress(struct control_reader *reader, struct str line)
{
	struct str name;
	struct str value;

	if (!record_split(line, &name, &value)) {
		reader->block_count = 0;
		reader->block_lost = 0;
		return;
	}
	if (str_equal(name, STR("map")) && !reader->control->is_mapped)
		read_map(reader, value);
	else if (str_equal(name, STR("mapped")) && !reader->control->is_mapped)
		read_mapped(reader, value);
	else if (str_equal(name, STR("done")))
		read_outcome(reader, QUEUE_DONE, value);
	else if (str_equal(name, STR("wait")))
		read_outcome(reader, QUEUE_WAIT, value);
	else if (str_equal(name, STR("fail")))
		read_outcome(reader, QUEUE_FAIL, value);
	else if (str_equal(name, STR("said")))
		read_said(reader, value);
	else if (str_equal(name, STR("quiet")))
		read_quiet(reader, value);
	else if (str_equal(name, STR("relayed")))
		read_relayed(reader, value);
	else if (str_equal(name, STR("requeue")))
		read_requeue(reader, value);
	else if (str_equal(name, STR("delayed")))
		read_delayed(reader, value);
}
