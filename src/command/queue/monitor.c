// SPDX-License-Identifier: ISC
#include "command/queue/monitor.h"
#include "base/text/json.h"
#include "command/queue/monitor_limits.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "queue/listing/listing.h"
#include "supervisor/talk/manager.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct monitor {
	const struct config *config;
	struct queue_store *store;
	struct manager_talk *talk; /* NULL: no manager runs */
	struct buffer refused;     /* why new mail is refused; empty: it is not */
};

/* 0 and the value, or -errno. */
typedef int measure_figure(struct monitor *monitor, uint64_t *value_out);

static int measure_messages(struct monitor *monitor, uint64_t *value_out)
{
	return listing_count_messages(monitor->store, value_out);
}

static int ignore_place(void *context, const struct listing_count *count)
{
	(void)context;
	(void)count;
	return 0;
}

static int measure_oldest(struct monitor *monitor, uint64_t *value_out)
{
	int64_t now_us = os_clock_wall_us();
	int64_t oldest_us = 0;
	int result = listing_count(monitor->store, ignore_place, NULL, &oldest_us);

	if (result == 0)
		*value_out = oldest_us == 0 || oldest_us > now_us
				     ? 0
				     : (uint64_t)((now_us - oldest_us) / SECOND_US);
	return result;
}

static int count_deferred(void *context, const struct listing_entry *entry)
{
	uint64_t *count = context;
	bool is_deferred = false;

	for (size_t i = 0; entry->control != NULL && i < entry->control->delivery_count; i++)
		is_deferred |= entry->control->deliveries[i].outcome == QUEUE_WAIT &&
			       entry->control->deliveries[i].attempts > 0;
	*count += is_deferred;
	return 0;
}

static int measure_deferred(struct monitor *monitor, uint64_t *value_out)
{
	const struct listing_filter all = {0};
	uint64_t count = 0;
	int result = listing_each(monitor->store, &all, count_deferred, &count);

	if (result == 0)
		*value_out = count;
	return result;
}

/* Without a manager nothing is paused. */
static int measure_paused(struct monitor *monitor, uint64_t *value_out)
{
	struct buffer question CLEANUP(buffer_clear) = {0};
	struct buffer told CLEANUP(buffer_clear) = {0};
	struct str rest;
	struct str name;
	uint64_t count = 0;
	int result = 0;

	buffer_append_string(&question, "paused");
	while (monitor->talk != NULL) {
		buffer_reset(&told);
		result = manager_talk_question(monitor->talk, buffer_view(&question), &told);
		rest = buffer_view(&told);
		if (result != 0 || rest.length == 0 || !str_split(&rest, ' ', &name))
			break;
		count++;
		buffer_reset(&question);
		buffer_append_string(&question, "paused ");
		buffer_append_str(&question, name);
	}
	if (result >= 0)
		*value_out = count;
	return result < 0 ? result : 0;
}

static void ignore_difference(void *context, const char *path,
			      const struct queue_difference *difference)
{
	(void)context;
	(void)path;
	(void)difference;
}

static int measure_damaged(struct monitor *monitor, uint64_t *value_out)
{
	struct listing_damage found;
	int result = listing_damage(monitor->store, false, ignore_difference, NULL, &found);

	if (result == 0)
		*value_out = found.messages;
	return result;
}

static int measure_set_aside(struct monitor *monitor, uint64_t *value_out)
{
	uint64_t bytes;

	return queue_store_aside(monitor->store, value_out, &bytes);
}

static int measure_free(struct monitor *monitor, uint64_t *value_out)
{
	uint64_t reserve = monitor->config->queue_reserve;
	struct os_file_space space;
	int result = os_file_space(queue_store_directory(monitor->store), &space);

	if (result == 0)
		*value_out = space.free_bytes > reserve ? space.free_bytes - reserve : 0;
	return result;
}

static measure_figure *const measures[MONITOR_FIGURES] = {
	[MONITOR_MESSAGES] = measure_messages, [MONITOR_OLDEST] = measure_oldest,
	[MONITOR_DEFERRED] = measure_deferred, [MONITOR_PAUSED] = measure_paused,
	[MONITOR_DAMAGED] = measure_damaged,   [MONITOR_SET_ASIDE] = measure_set_aside,
	[MONITOR_FREE] = measure_free,
};

/* --- the figures --- */

struct reading {
	enum monitor_figure figure;
	uint64_t value;
	enum queue_monitor_status status;
};

/* The number of READINGS; -errno. */
static int measure_all(struct monitor *monitor, const struct monitor_limits *limits,
		       struct reading readings[MONITOR_FIGURES])
{
	int count = 0;

	for (size_t i = 0; i < MONITOR_FIGURES; i++) {
		struct reading *reading = &readings[count];
		int error;

		if (!limits->is_set[i][MONITOR_WARN] && !limits->is_set[i][MONITOR_CRITICAL])
			continue;
		*reading = (struct reading){.figure = (enum monitor_figure)i};
		error = measures[i](monitor, &reading->value);
		if (error < 0)
			return error;
		for (unsigned level = 0; level < MONITOR_LEVELS; level++)
			if (monitor_limits_reached(limits, reading->figure, level, reading->value))
				reading->status = (enum queue_monitor_status)(level + 1);
		count++;
	}
	return count;
}

/* What is critical without any limit. 0 or -errno. */
static int look_at_intake(struct monitor *monitor)
{
	struct queue_misnamed misnamed;
	uint64_t free_bytes = 0;
	int result = queue_store_sample(monitor->store, &misnamed);

	if (result > 0)
		buffer_append_string(&monitor->refused,
				     "this queue was copied and new mail is refused: run "
				     "\"stagepost queue repair\"");
	else if (monitor->talk == NULL)
		buffer_append_string(&monitor->refused,
				     "no queue manager runs and nothing is delivered");
	else if (result == 0 && (result = measure_free(monitor, &free_bytes)) == 0 &&
		 free_bytes == 0)
		buffer_append_string(&monitor->refused,
				     "the disk has no room above queue_reserve and new mail is "
				     "deferred");
	return result < 0 ? result : 0;
}

/* --- the line --- */

static const char *const status_names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};

static void append_limit(struct buffer *out, const struct monitor_limits *limits,
			 enum monitor_figure figure, enum monitor_level level)
{
	buffer_append_byte(out, ';');
	if (limits->is_set[figure][level])
		buffer_append_format(out, "%llu%s",
				     (unsigned long long)limits->values[figure][level],
				     monitor_forms[figure].is_low ? ":" : "");
}

/* What is wrong comes first. After the bar: 'NAME=VALUE[UNIT];WARN;CRITICAL'. */
static void append_monitor_line(struct buffer *out, const struct monitor *monitor,
				const struct monitor_limits *limits, const struct reading *readings,
				int count, enum queue_monitor_status status)
{
	static const char *const units[] = {
		[MONITOR_COUNT] = "", [MONITOR_SECONDS] = "s", [MONITOR_BYTES] = "B"};
	const char *before = "";

	buffer_append_format(out, "QUEUE %s: ", status_names[status]);
	if (monitor->refused.length > 0) {
		buffer_append_str(out, buffer_view(&monitor->refused));
		before = "; ";
	}
	for (int level = QUEUE_MONITOR_CRITICAL; level >= QUEUE_MONITOR_OK; level--)
		for (int i = 0; i < count; i++) {
			if ((int)readings[i].status != level)
				continue;
			buffer_append_format(out, "%s%s %llu%s", before,
					     monitor_forms[readings[i].figure].name,
					     (unsigned long long)readings[i].value,
					     units[monitor_forms[readings[i].figure].unit]);
			if (level > QUEUE_MONITOR_OK)
				buffer_append_format(out, " (%s)",
						     level == QUEUE_MONITOR_CRITICAL ? "critical"
										     : "warning");
			before = ", ";
		}
	buffer_append_string(out, count > 0 ? " |" : "");
	for (int i = 0; i < count; i++) {
		enum monitor_figure figure = readings[i].figure;

		buffer_append_format(out, " %s=%llu%s", monitor_forms[readings[i].figure].name,
				     (unsigned long long)readings[i].value,
				     units[monitor_forms[readings[i].figure].unit]);
		append_limit(out, limits, figure, MONITOR_WARN);
		append_limit(out, limits, figure, MONITOR_CRITICAL);
	}
	buffer_append_byte(out, '\n');
}

static void append_monitor_json(struct buffer *out, const struct monitor *monitor,
				const struct monitor_limits *limits, const struct reading *readings,
				int count, enum queue_monitor_status status)
{
	static const char *const names[] = {"ok", "warning", "critical", "unknown"};
	static const char *const levels[] = {"warn", "critical"};

	buffer_append_byte(out, '{');
	json_field_text(out, "status", str_from(names[status]));
	if (monitor->refused.length > 0)
		json_field_text(out, "problem", buffer_view(&monitor->refused));
	json_field(out, "figures");
	buffer_append_byte(out, '[');
	for (int i = 0; i < count; i++) {
		enum monitor_figure figure = readings[i].figure;

		buffer_append_string(out, i > 0 ? ",{" : "{");
		json_field_text(out, "name", str_from(monitor_forms[readings[i].figure].name));
		json_field_number(out, "value", readings[i].value);
		for (unsigned level = 0; level < MONITOR_LEVELS; level++)
			if (limits->is_set[figure][level])
				json_field_number(out, levels[level],
						  limits->values[figure][level]);
		json_field_text(out, "status", str_from(names[readings[i].status]));
		buffer_append_byte(out, '}');
	}
	buffer_append_string(out, "]}\n");
}

/* --- */

static void ignore_order_answer_of_monitor(void *context, struct mail_id id,
					   const struct order_answer *answer)
{
	(void)context;
	(void)id;
	(void)answer;
}

static int end_unknown(struct str why, bool json)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct monitor monitor = {0};

	buffer_append_str(&monitor.refused, why);
	if (json)
		append_monitor_json(&out, &monitor, NULL, NULL, 0, QUEUE_MONITOR_UNKNOWN);
	else
		append_monitor_line(&out, &monitor, NULL, NULL, 0, QUEUE_MONITOR_UNKNOWN);
	command_queue_flush(&out);
	buffer_clear(&monitor.refused);
	return QUEUE_MONITOR_UNKNOWN;
}

static int judge_queue(struct monitor *monitor, const struct monitor_limits *limits, bool json)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct reading readings[MONITOR_FIGURES];
	enum queue_monitor_status status = QUEUE_MONITOR_OK;
	int count = look_at_intake(monitor);

	if (count == 0)
		count = measure_all(monitor, limits, readings);
	if (count < 0)
		return end_unknown(str_from(strerror(-count)), json);
	if (monitor->refused.length > 0)
		status = QUEUE_MONITOR_CRITICAL;
	for (int i = 0; i < count; i++)
		if (readings[i].status > status)
			status = readings[i].status;
	if (json)
		append_monitor_json(&out, monitor, limits, readings, count, status);
	else
		append_monitor_line(&out, monitor, limits, readings, count, status);
	command_queue_flush(&out);
	return (int)status;
}

static int run_monitor(const struct config *config, const struct monitor_limits *limits, bool json)
{
	struct monitor monitor = {.config = config};
	int error =
		manager_talk_open(config->run, ignore_order_answer_of_monitor, NULL, &monitor.talk);
	int status = QUEUE_MONITOR_UNKNOWN;

	if (error < 0 && error != -ESRCH)
		return end_unknown(str_from(manager_talk_explain(error)), json);
	monitor.store = command_queue_open_to_read(config);
	status = monitor.store != NULL
			 ? judge_queue(&monitor, limits, json)
			 : end_unknown(STR("the queue cannot be opened; standard error says why"),
				       json);
	queue_store_close(monitor.store);
	manager_talk_close(monitor.talk);
	buffer_clear(&monitor.refused);
	return status;
}

int queue_monitor_run(const char *config_file, const char *warn, const char *critical, bool json)
{
	struct monitor_limits limits = {0};
	struct buffer why CLEANUP(buffer_clear) = {0};
	struct config *config;
	int status;

	if (!monitor_limits_parse(warn, MONITOR_WARN, &limits, &why) ||
	    !monitor_limits_parse(critical, MONITOR_CRITICAL, &limits, &why))
		return end_unknown(buffer_view(&why), json);
	config = command_config(config_file);
	if (config == NULL)
		return end_unknown(STR("the configuration is wrong; standard error says where"),
				   json);
	status = run_monitor(config, &limits, json);
	config_free(config);
	return status;
}
