// SPDX-License-Identifier: ISC
/* Requests of clients that add messages. */
#include "base/panic.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "queue/server/internal.h"
#include <errno.h>
#include <stdlib.h>

static void refuse_open(struct server_client *client, int error)
{
	struct buffer body = {0};

	pack_u32(&body, (uint32_t)-error);
	ipc_channel_send(client->channel, QUEUE_PROTOCOL_REFUSED, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

/* Appends their numbers to NUMBERS; *OPENED_OUT is how many. -errno: why there are no more. */
static int open_files_for_client(struct server_client *client, size_t count, bool may_use_reserve,
				 struct buffer *numbers, size_t *opened_out)
{
	struct queue_server *server = client->server;
	size_t opened = 0;
	int error = server_check_intake(server, may_use_reserve);

	if (error == 0)
		error = server_check_open(client, count);
	while (error == 0 && opened < count) {
		struct server_held *held = memory_alloc_zero(1, sizeof *held);

		error = queue_message_new(server->intake, &held->message);
		if (error < 0) {
			free(held);
			break;
		}
		held->client = client;
		held->may_use_reserve = may_use_reserve;
		held->opened_us = os_clock_monotonic_us();
		held->number = queue_message_number(held->message);
		HASH_ADD(hh, client->files, number, sizeof held->number, held);
		pack_u64(numbers, held->number);
		opened++;
	}
	if (error == -EDQUOT || error == -ENOSPC)
		queue_intake_drop_spares(server->intake);
	*opened_out = opened;
	return error;
}

static bool open_many(struct server_client *client, struct unpack *body, bool may_use_reserve)
{
	struct buffer numbers = {0};
	uint32_t count = unpack_u32(body);
	size_t opened;
	int error;

	if (!unpack_is_whole(body) || count == 0)
		return false;
	error = open_files_for_client(client, count < QUEUE_OPEN_MAX ? count : QUEUE_OPEN_MAX,
				      may_use_reserve, &numbers, &opened);
	if (error < 0 && error != -ENOSPC)
		log_event_rated(EVENT_QUEUE_ERROR, log_string(operation, "open"), log_error(error));
	if (opened > 0)
		ipc_channel_send(client->channel, QUEUE_PROTOCOL_OPENED, 0, buffer_view(&numbers),
				 NULL, 0);
	else
		refuse_open(client, error);
	buffer_clear(&numbers);
	return true;
}

bool server_open(struct server_client *client, struct unpack *body)
{
	return open_many(client, body, false);
}

bool server_open_reserve(struct server_client *client, struct unpack *body)
{
	return server_may_use_reserve(client) && open_many(client, body, true);
}

static struct server_held *find_held(struct server_client *client, uint64_t number)
{
	struct server_held *held;

	HASH_FIND(hh, client->files, &number, sizeof number, held);
	return held;
}

void server_held_abandon(struct server_client *client, struct server_held *held)
{
	HASH_DELETE(hh, client->files, held);
	client->data_bytes -= held->data.length;
	client->text_bytes -= held->text.length;
	queue_message_abandon(held->message);
	server_held_free(held);
}

/* From here on other processes have a descriptor. An error concerns only this message. */
bool server_share(struct server_client *client, struct unpack *body)
{
	uint64_t number = unpack_u64(body);
	struct server_held *held = find_held(client, number);
	struct buffer answer CLEANUP(buffer_clear) = {0};
	int file = -1;
	int error;

	if (!unpack_is_whole(body) || held == NULL || held->data.length > 0 ||
	    queue_message_is_shared(held->message))
		return false;
	error = queue_message_lend(held->message, &file);
	if (error < 0)
		log_event_rated(EVENT_QUEUE_ERROR, log_number(number, (int64_t)number),
				log_string(operation, "share"), log_error(error));
	pack_u64(&answer, number);
	pack_u32(&answer, (uint32_t)-error);
	ipc_channel_send(client->channel, QUEUE_PROTOCOL_SHARED, 0, buffer_view(&answer), &file,
			 error == 0);
	os_file_close(file);
	return true;
}

/* Adds a part of the message to HELD. False when that exceeds a limit. */
static bool add_data(struct server_client *client, struct server_held *held, struct str data)
{
	if (data.length > QUEUE_BY_VALUE_MAX - client->data_bytes ||
	    (data.length > 0 && queue_message_is_shared(held->message)))
		return false;
	buffer_append_str(&held->data, data);
	client->data_bytes += data.length;
	return true;
}

static bool add_text_to_envelope(struct server_client *client, struct server_held *held,
				 struct str text)
{
	size_t bound = server_text_max(client);

	if (text.length > bound || client->text_bytes > bound - text.length)
		return false;
	buffer_append_str(&held->text, text);
	client->text_bytes += text.length;
	return true;
}

bool server_data(struct server_client *client, struct unpack *body)
{
	struct server_held *held = find_held(client, unpack_u64(body));
	struct str data = unpack_str(body);

	return unpack_is_whole(body) && held != NULL && add_data(client, held, data);
}

bool server_envelope(struct server_client *client, struct unpack *body)
{
	struct server_held *held = find_held(client, unpack_u64(body));
	struct str text = unpack_str(body);

	return unpack_is_whole(body) && held != NULL && add_text_to_envelope(client, held, text);
}

/* Whether the text is an envelope of HELD's, for a message without a map. */
static int check_envelope_of_held(const struct server_client *client, struct server_held *held)
{
	struct queue_control *control;
	int error = queue_control_parse(buffer_view(&held->text), &control, NULL);

	if (error < 0)
		return error;
	if (control->envelope->id.number != held->number || control->is_mapped)
		error = -EBADMSG;
	else if (control->envelope->recipient_count > server_recipients_max(client))
		error = -E2BIG;
	else if (client->is_user)
		error = server_user_check_envelope(held, control->envelope);
	held->stage = control->envelope->stage;
	held->id = control->envelope->id;
	queue_control_free(control);
	return error;
}

enum { ROOM_UNKNOWN = 1 };

/* Whether there is room for HELD: 0 or -errno. Once for all messages of a packet. */
static int check_room(const struct server_held *held, int *room)
{
	if (held->may_use_reserve)
		return 0;
	if (*room == ROOM_UNKNOWN)
		*room = server_check_commit(held->client->server);
	return *room;
}

/* Whether HELD may be committed, as PACKAGE unless that is NULL: 0 or -errno. */
static int prepare_held(struct server_client *client, struct server_held *held,
			const struct server_package *package, int *room)
{
	int error;

	/* its number may have been handed out before the queue was found to be a copy */
	if (client->server->is_copied)
		return -EUCLEAN;
	error = package != NULL ? server_package_begin(held, package)
				: check_envelope_of_held(client, held);
	if (error < 0)
		return error;
	error = check_room(held, room);
	if (error < 0)
		server_package_end(held, error);
	return error;
}

/* ROOM is ROOM_UNKNOWN for the first message of a packet. */
static bool commit_one(struct server_client *client, struct unpack *body, bool is_package,
		       int *room)
{
	uint64_t number = unpack_u64(body);
	struct server_package package = {0};
	struct server_held *held = find_held(client, number);
	struct str text;
	struct str data;
	int error;

	if (is_package)
		server_package_unpack(body, &package);
	text = unpack_str(body);
	data = unpack_str(body);
	if (body->failed || held == NULL || !add_text_to_envelope(client, held, text))
		return false;
	/* with room for what the thread will append */
	(void)buffer_reserve(&held->data, data.length + held->text.length + QUEUE_PATH_SIZE);
	if (!add_data(client, held, data))
		return false;
	error = prepare_held(client, held, is_package ? &package : NULL, room);
	if (error == 0) {
		server_commit_begin(client, held);
		return true;
	}
	if (!is_package || (error != -ESTALE && error != -EEXIST)) /* as it should be */
		log_event_rated(EVENT_QUEUE_ERROR, log_number(number, (int64_t)number),
				log_string(operation, "envelope"), log_error(error));
	server_commit_answer(client, number, error);
	server_commit_answers_send(client);
	server_held_abandon(client, held);
	return true;
}

static bool commit_many(struct server_client *client, struct unpack *body, bool is_package)
{
	int room = ROOM_UNKNOWN;
	bool ok = true;

	do
		ok = commit_one(client, body, is_package, &room);
	while (ok && body->rest.length > 0);
	return ok;
}

bool server_commit(struct server_client *client, struct unpack *body)
{
	return commit_many(client, body, false);
}

bool server_commit_handed(struct server_client *client, struct unpack *body)
{
	return server_may_hand_over(client) && commit_many(client, body, true);
}

bool server_abandon(struct server_client *client, struct unpack *body)
{
	struct server_held *held = find_held(client, unpack_u64(body));

	if (!unpack_is_whole(body) || held == NULL)
		return false;
	/* its client writes to it, and may have found no room */
	if (queue_message_is_shared(held->message))
		(void)server_check_room(client->server);
	server_held_abandon(client, held);
	return true;
}
