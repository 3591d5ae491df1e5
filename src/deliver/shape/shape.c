// SPDX-License-Identifier: ISC
#include "deliver/shape/shape.h"
#include "base/timestamp.h"
#include "deliver/shape/internal.h"
#include "log/event.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	ENTRIES_MAX = 8192, /* of a kilobyte */
	KEY_SIZE = 600,     /* a mask, a line end, a name */
};

static const int64_t PLACE_US = SECOND_US / 2; /* until one asks again whether one is free */

static const char WORDS_OF_ROOM[] = " says that it has too many connections";

struct shape {
	const struct config *config;
	struct shape_entry *entries; /* by key */
	struct shape_entry *order;
};

struct shape *shape_new(void)
{
	return memory_alloc_zero(1, sizeof(struct shape));
}

static void forget_shape_entry(struct shape *shape, struct shape_entry *entry)
{
	HASH_DELETE(hh, shape->entries, entry);
	DL_DELETE2(shape->order, entry, previous, next);
	free(entry->key);
	free(entry->words);
	free(entry);
}

void shape_free(struct shape *shape)
{
	if (shape == NULL)
		return;
	while (shape->order != NULL)
		forget_shape_entry(shape, shape->order);
	free(shape);
}

void shape_configure(struct shape *shape, const struct config *config)
{
	shape->config = config;
}

/* --- entries --- */

static void make_room_for_shape_entry(struct shape *shape)
{
	struct shape_entry *entry = shape->order;

	while (entry != NULL && HASH_COUNT(shape->entries) >= ENTRIES_MAX) {
		struct shape_entry *next = entry->next;

		if (entry->holds == 0)
			forget_shape_entry(shape, entry);
		entry = next;
	}
}

static struct shape_entry *add_shape_entry(struct shape *shape, const char *key, size_t length)
{
	struct shape_entry *entry = memory_alloc_zero(1, sizeof *entry);

	make_room_for_shape_entry(shape);
	entry->key = memory_copy_string(key);
	entry->name = strchr(entry->key, '\n') + 1;
	HASH_ADD_KEYPTR(hh, shape->entries, entry->key, length, entry);
	DL_APPEND2(shape->order, entry, previous, next);
	return entry;
}

static struct shape_entry *move_to_end(struct shape *shape, struct shape_entry *entry)
{
	DL_DELETE2(shape->order, entry, previous, next);
	DL_APPEND2(shape->order, entry, previous, next);
	return entry;
}

static struct shape_entry *get_shape_entry(struct shape *shape, const char *mask, struct str name)
{
	char key[KEY_SIZE];
	int length = snprintf(key, sizeof key, "%s\n" STR_FORMAT, mask, STR_ARGUMENTS(name));
	struct shape_entry *entry;

	if (length >= (int)sizeof key)
		length = sizeof key - 1;
	HASH_FIND(hh, shape->entries, key, (size_t)length, entry);
	return entry == NULL ? add_shape_entry(shape, key, (size_t)length)
			     : move_to_end(shape, entry);
}

/* --- what is to be begun --- */

struct request {
	const struct config_destination *rule; /* NULL: none */
	struct shape_entry *bearer;            /* of RULE; NULL: none */
	struct shape_entry *server;
	size_t recipients;
	int64_t now_us;
	struct shape_wait *wait;
};

/* The longest wait decides. */
static void extend_request_wait(const struct request *request, int64_t us, const char *format, ...)
	PRINTF_LIKE(3, 4);

static void extend_request_wait(const struct request *request, int64_t us, const char *format, ...)
{
	va_list arguments;

	if (us <= request->wait->us)
		return;
	request->wait->us = us;
	va_start(arguments, format);
	vsnprintf(request->wait->reason, SHAPE_REASON_SIZE, format, arguments);
	va_end(arguments);
}

static void ask_meter(const struct request *request, struct shape_meter *meter, uint64_t under_way,
		      uint32_t limit, size_t amount, const char *what)
{
	int64_t interval_us = request->rule->interval_us;

	if (limit > 0)
		extend_request_wait(request,
				    shape_meter_wait_us(meter, limit, under_way, amount,
							interval_us, request->now_us),
				    "%s: %u %s in %llds", request->bearer->name, limit, what,
				    (long long)(interval_us / SECOND_US));
}

static const char *words_of(const struct shape_entry *server)
{
	return server->words != NULL ? server->words : "";
}

static void log_recovered(struct shape_entry *server)
{
	log_event(EVENT_HOST_RECOVERED, log_string(host, server->name),
		  log_number(port, server->port), log_string(text, words_of(server)));
	free(server->words);
	server->words = NULL;
}

static void ask_throttle(const struct request *request)
{
	struct shape_entry *server = request->server;

	if (shape_throttle_recover(&server->throttle, request->now_us))
		log_recovered(server);
	extend_request_wait(request, shape_throttle_wait_us(&server->throttle, request->now_us),
			    "%s says that it gets too much: a message in %.3gs; %s", server->name,
			    (double)server->throttle.gap_us / SECOND_US, words_of(server));
}

static void ask_message(const struct request *request)
{
	struct shape_entry *bearer = request->bearer;

	ask_throttle(request);
	if (request->rule == NULL)
		return;
	ask_meter(request, &bearer->messages, bearer->under_way.messages, request->rule->messages,
		  1, "messages");
	ask_meter(request, &bearer->recipients, bearer->under_way.recipients,
		  request->rule->recipients, request->recipients, "recipients");
}

static void ask_delay(const struct request *request, const struct shape_hold *hold)
{
	int64_t us = request->rule != NULL && hold->ended_us > 0
			     ? hold->ended_us + request->rule->delay_us - request->now_us
			     : 0;

	request->wait->is_delay = us > request->wait->us;
	extend_request_wait(request, us, "%s: a delay between messages", request->server->name);
}

/* A connection of PLACE must end before, of those that are allowed; unless something else is waited
 * for anyway. */
static void wait_for_place(const struct request *request, struct shape_entry *place,
			   const char *words, uint32_t allowed)
{
	if (request->wait->us > 0)
		return;
	request->wait->place = place;
	extend_request_wait(request, PLACE_US, "%s%s: %u connections at once%s%s", place->name,
			    words, allowed, *words != '\0' ? "; " : "",
			    *words != '\0' ? words_of(place) : "");
}

static void ask_room(const struct request *request)
{
	struct shape_entry *server = request->server;

	if (shape_room_recover(&server->room, request->now_us))
		log_recovered(server);
	if (server->room.most > 0 && server->places >= server->room.most)
		wait_for_place(request, server, WORDS_OF_ROOM, server->room.most);
}

static void ask_session(const struct request *request)
{
	const struct config_destination *rule = request->rule;

	if (rule == NULL)
		return;
	ask_meter(request, &request->bearer->sessions, request->bearer->under_way.sessions,
		  rule->sessions, 1, "sessions");
	if (rule->concurrency > 0 && request->bearer->places >= rule->concurrency)
		wait_for_place(request, request->bearer, "", rule->concurrency);
}

static void begin_message(const struct request *request, struct shape_hold *hold)
{
	struct shape_entry *server = request->server;

	shape_meter_add(&server->messages, MINUTE_US, request->now_us, 1);
	shape_throttle_send(&server->throttle, request->now_us);
	if (request->bearer != NULL)
		shape_hold_message(hold, request->bearer, request->rule->interval_us,
				   (uint32_t)request->recipients);
}

/* Names are compared without case. */
static struct str lower_shape_name(struct str name, char *out, size_t size)
{
	size_t length = name.length < size ? name.length : size;

	for (size_t i = 0; i < length; i++)
		out[i] = (char)(name.data[i] >= 'A' && name.data[i] <= 'Z' ? name.data[i] + 32
									   : name.data[i]);
	return str_slice(out, length);
}

/* A port is no mask. */
static struct shape_entry *get_server(struct shape *shape, const struct shape_subject *subject)
{
	char port[8];
	struct shape_entry *entry;

	snprintf(port, sizeof port, "%u", subject->port);
	entry = get_shape_entry(shape, port, subject->host);
	entry->port = subject->port;
	return entry;
}

/* HOLD: of a connection for MAIL, which has its server; NULL: none. */
static struct request make_request(struct shape *shape, const struct shape_subject *mail,
				   const struct shape_hold *hold)
{
	char names[2][256];
	const struct shape_subject subject = {
		lower_shape_name(mail->domain, names[0], sizeof names[0]),
		lower_shape_name(mail->host, names[1], sizeof names[1]), mail->port};
	struct request request = {.rule = shape_rules_find(shape->config, &subject)};

	request.server =
		hold != NULL ? move_to_end(shape, hold->server) : get_server(shape, &subject);
	request.server->holds++; /* the next one must not forget it */
	if (request.rule != NULL)
		request.bearer = get_shape_entry(shape, request.rule->mask,
						 shape_rules_bearer(request.rule, &subject));
	request.server->holds--;
	return request;
}

static struct request make_question(struct shape *shape, const struct shape_subject *mail,
				    const struct shape_hold *hold, size_t recipients,
				    int64_t now_us, struct shape_wait *wait)
{
	struct request request = make_request(shape, mail, hold);

	*wait = (struct shape_wait){0};
	request.recipients = recipients;
	request.now_us = now_us;
	request.wait = wait;
	return request;
}

bool shape_enter(struct shape *shape, const struct shape_subject *subject, size_t recipients,
		 int64_t now_us, struct shape_hold *hold_out, struct shape_wait *wait_out)
{
	const struct request request =
		make_question(shape, subject, NULL, recipients, now_us, wait_out);

	ask_message(&request);
	ask_room(&request);
	ask_session(&request);
	if (wait_out->us > 0)
		return false;
	*hold_out = (struct shape_hold){.server = request.server};
	request.server->holds++;
	begin_message(&request, hold_out);
	shape_hold_session(hold_out, request.bearer);
	return true;
}

bool shape_next(struct shape *shape, struct shape_hold *hold, struct str domain, size_t recipients,
		int64_t now_us, struct shape_wait *wait_out)
{
	const struct shape_subject subject = shape_subject_of(hold, domain);
	const struct request request =
		make_question(shape, &subject, hold, recipients, now_us, wait_out);

	ask_message(&request);
	ask_delay(&request, hold);
	if (wait_out->us > 0)
		return false;
	begin_message(&request, hold);
	return true;
}

void shape_slow(const struct shape_hold *hold, const struct shape_complaint *complaint,
		int64_t now_us, struct shape_wait *wait_out)
{
	struct shape_entry *server = hold->server;
	const struct request request = {.server = server, .now_us = now_us, .wait = wait_out};
	bool is_one_too_many =
		complaint->is_connection && complaint->wait_us == 0 && server->places > 1;

	*wait_out = (struct shape_wait){0};
	if (is_one_too_many)
		shape_narrow(server, complaint, now_us);
	else
		shape_slow_down(server, complaint, now_us);
	ask_throttle(&request);
	if (is_one_too_many)
		wait_for_place(&request, server, WORDS_OF_ROOM, server->room.most);
}

bool shape_is_paused(const struct shape_hold *hold, int64_t now_us, struct shape_wait *wait_out)
{
	const struct request request = {.server = hold->server, .now_us = now_us, .wait = wait_out};

	*wait_out = (struct shape_wait){0};
	if (hold->server == NULL || !shape_throttle_is_paused(&hold->server->throttle, now_us))
		return false;
	ask_throttle(&request);
	return true;
}

/* --- limits --- */

struct shape_subject shape_subject_of(const struct shape_hold *hold, struct str domain)
{
	return (struct shape_subject){domain, str_from(hold->server->name), hold->server->port};
}

/* 0 is no limit. */
static uint32_t lower_of(uint32_t one, uint32_t other)
{
	if (one == 0 || other == 0)
		return one + other;
	return one < other ? one : other;
}

uint32_t shape_messages_most(struct shape *shape, const struct shape_hold *hold, struct str domain,
			     int64_t now_us)
{
	const struct shape_subject subject = shape_subject_of(hold, domain);
	const struct request request = make_request(shape, &subject, hold);

	return lower_of(request.rule != NULL ? request.rule->session_messages : 0,
			shape_learnt_most(&request.server->learnt_messages, now_us));
}

uint32_t shape_recipients_most(struct shape *shape, const struct shape_subject *subject,
			       const struct shape_hold *hold, int64_t now_us)
{
	const struct request request = make_request(shape, subject, hold);

	return lower_of(request.rule != NULL ? request.rule->recipients : 0,
			shape_learnt_most(&request.server->learnt_recipients, now_us));
}
