// SPDX-License-Identifier: ISC
#include "queue/server.h"
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/socket.h"
#include "queue/group.h"
#include "queue/protocol.h"
#include <errno.h>
#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>

enum { MANAGER_BACKLOG_MAX = 4 << 20 };

static const int64_t LITTER_AGE_US = 36 * HOUR_US; /* the sources, section 6 */
static const int64_t CLEAN_INTERVAL_US = 6 * HOUR_US;
static const int64_t SETTLE_DELAY_US = SECOND_US;
static const int64_t MISSED_RETRY_US = SECOND_US / 5;

struct client;

/* A data file in a client's hands, or its message on the way to the disk. */
struct held {
	uint64_t number;
	struct queue_message *message; /* consumed by the commit */
	struct client *client;         /* NULL: gone while the commit is under way */
	struct buffer text;            /* of the control file */
	enum mail_stage stage;
	struct mail_id id;
	int result;
	bool is_removed; /* the manager found it by itself and is done with it already */
	UT_hash_handle hh;
};

struct client {
	struct queue_server *server;
	struct ipc_channel *channel;
	struct held *files; /* by number; not those being committed */
	size_t committing;
	struct buffer answers; /* COMMITTED entries, not sent yet */
	bool is_gone; /* freed when the last commit is done */
	struct client *next, *previous;
};

struct queue_server {
	struct os_loop *loop;
	struct queue_store *store;
	struct queue_intake *intake;
	struct os_watch *watch;
	struct os_timer *clean_timer;
	struct os_timer *missed_timer;
	struct os_timer *settle_timer;
	struct queue_group *group;
	struct client *clients;
	struct client *manager;  /* one of the clients, or NULL */
	struct held *committing; /* by number */
	struct buffer notice;    /* QUEUED entries for the manager, not sent yet */
	struct buffer removed;   /* REMOVED entries for it */
	struct os_task removed_task;
	uint64_t reserve;
	int listening;
	bool is_full;
	bool has_missed; /* the manager must be told to scan */
	void (*stopped)(void *context);
	void *stopped_context;
};

/* --- what the manager is told --- */

static void send_notice(struct queue_server *server)
{
	if (server->manager != NULL && server->notice.length > 0)
		ipc_channel_send(server->manager->channel, QUEUE_PROTOCOL_QUEUED, 0,
				 buffer_view(&server->notice), NULL, 0);
	buffer_reset(&server->notice);
}

static void tell_missed(void *context)
{
	struct queue_server *server = context;

	if (server->manager == NULL || !server->has_missed)
		return;
	if (ipc_channel_backlog(server->manager->channel) > 0) {
		os_timer_start(server->missed_timer, MISSED_RETRY_US);
		return;
	}
	server->has_missed = false;
	ipc_channel_send(server->manager->channel, QUEUE_PROTOCOL_MISSED, 0, STR(""), NULL, 0);
}

static void add_notice(struct queue_server *server, const struct held *held)
{
	enum { ENTRY_MAX = IPC_BODY_MAX - 32 };
	struct str text = buffer_view(&held->text);

	if (server->manager == NULL)
		return;
	if (ipc_channel_backlog(server->manager->channel) > MANAGER_BACKLOG_MAX) {
		server->has_missed = true;
		os_timer_start(server->missed_timer, MISSED_RETRY_US);
		return;
	}
	if (text.length > ENTRY_MAX)
		text = STR("");
	if (server->notice.length + text.length > ENTRY_MAX)
		send_notice(server);
	pack_u32(&server->notice, held->stage);
	pack_u64(&server->notice, held->number);
	pack_str(&server->notice, text);
}

static void send_removed(void *context)
{
	struct queue_server *server = context;
	struct str rest = buffer_view(&server->removed);

	while (server->manager != NULL && rest.length > 0) {
		enum { PART = IPC_BODY_MAX - IPC_BODY_MAX % 8 };
		struct str part = str_slice(rest.data, rest.length < PART ? rest.length : PART);

		ipc_channel_send(server->manager->channel, QUEUE_PROTOCOL_REMOVED, 0, part, NULL,
				 0);
		rest = str_skip(rest, part.length);
	}
	buffer_reset(&server->removed);
}

/* Where no message comes, an empty group makes removals durable. */
static void settle_removals(void *context)
{
	struct queue_server *server = context;

	if (queue_intake_held(server->intake) > 0 && queue_group_is_idle(server->group))
		queue_group_add(server->group, NULL);
}

static void tell_removed(struct queue_server *server, uint64_t number)
{
	if (!os_timer_is_running(server->settle_timer))
		os_timer_start(server->settle_timer, SETTLE_DELAY_US);
	pack_u64(&server->removed, number);
	os_loop_defer(server->loop, &server->removed_task);
}

/* --- groups --- */

static void held_free(struct held *held)
{
	buffer_clear(&held->text);
	free(held);
}

static void client_free(struct client *client)
{
	buffer_clear(&client->answers);
	DL_DELETE2(client->server->clients, client, previous, next);
	free(client);
}

static void group_work(void *context, void **items, size_t count)
{
	struct queue_server *server = context;
	struct queue_message **messages = memory_alloc(count * sizeof *messages);
	int *results = memory_alloc(count * sizeof *results);
	size_t messages_count = 0;

	for (size_t i = 0; i < count; i++)
		if (items[i] != NULL)
			messages[messages_count++] = ((struct held *)items[i])->message;
	queue_message_commit_group(server->intake, messages, messages_count, results);
	while (count-- > 0)
		if (items[count] != NULL)
			((struct held *)items[count])->result = results[--messages_count];
	free(messages);
	free(results);
}

/* One packet for all that a group decided: each would wake the server up. */
static void send_answers(struct client *client)
{
	if (!client->is_gone && client->answers.length > 0)
		ipc_channel_send(client->channel, QUEUE_PROTOCOL_COMMITTED, 0,
				 buffer_view(&client->answers), NULL, 0);
	buffer_reset(&client->answers);
}

static void answer_commit(struct client *client, uint64_t number, int result)
{
	enum { ENTRY = 12 };

	if (client->answers.length + ENTRY > IPC_BODY_MAX)
		send_answers(client);
	pack_u64(&client->answers, number);
	pack_u32(&client->answers, (uint32_t)-result);
}

static void remove_queued(struct queue_server *server, enum mail_stage stage, uint64_t number)
{
	int error = queue_message_remove_queued(server->intake, stage, number);

	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_number("number", (int64_t)number),
			  log_string("operation", "remove"), log_error(error));
	tell_removed(server, number);
}

static void commit_done(struct queue_server *server, struct held *held)
{
	struct client *client = held->client;

	HASH_DELETE(hh, server->committing, held);
	answer_commit(client, held->number, held->result);
	if (held->result == 0) {
		log_event(EVENT_MESSAGE_QUEUED, log_id(held->id),
			  log_string("stage", mail_stage_name(held->stage)));
		if (held->is_removed)
			remove_queued(server, held->stage, held->number);
		else
			add_notice(server, held);
	} else {
		log_event(EVENT_QUEUE_ERROR, log_id(held->id), log_string("operation", "commit"),
			  log_error(held->result));
	}
	client->committing--;
	if (client->is_gone && client->committing == 0)
		client_free(client);
	held_free(held);
}

static void finish_stop(struct queue_server *server)
{
	void (*stopped)(void *context) = server->stopped;

	if (stopped == NULL || !queue_group_is_idle(server->group))
		return;
	server->stopped = NULL;
	stopped(server->stopped_context);
}

static void group_done(void *context, void **items, size_t count)
{
	struct queue_server *server = context;
	struct client *client;

	for (size_t i = 0; i < count; i++)
		if (items[i] != NULL)
			commit_done(server, items[i]);
	DL_FOREACH2 (server->clients, client, next)
		send_answers(client);
	send_notice(server);
	finish_stop(server);
}

static const struct queue_group_handler group_handler = {group_work, group_done};

/* --- requests of servers --- */

static void refuse_open(struct client *client, int error)
{
	struct buffer body = {0};

	pack_u32(&body, (uint32_t)-error);
	ipc_channel_send(client->channel, QUEUE_PROTOCOL_REFUSED, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static int check_room(struct queue_server *server)
{
	int error = queue_store_has_room(server->store, server->reserve);

	if (error < 0 && !server->is_full)
		log_event(EVENT_QUEUE_FULL, log_number("reserve", (int64_t)server->reserve),
			  log_error(error));
	else if (error == 0 && server->is_full)
		log_event(EVENT_QUEUE_ROOM);
	server->is_full = error < 0;
	return error;
}

static void on_open(struct client *client, uint32_t count)
{
	struct queue_server *server = client->server;
	int files[QUEUE_OPEN_MAX];
	struct buffer body = {0};
	size_t opened = 0;
	int error = check_room(server);

	if (count > QUEUE_OPEN_MAX)
		count = QUEUE_OPEN_MAX;
	if (error == 0 && HASH_COUNT(client->files) + count > QUEUE_CLIENT_FILES_MAX)
		error = -EMFILE;
	while (error == 0 && opened < count) {
		struct held *held = memory_alloc_zero(1, sizeof *held);

		error = queue_message_new(server->intake, &held->message);
		if (error < 0) {
			free(held);
			break;
		}
		held->client = client;
		held->number = queue_message_number(held->message);
		HASH_ADD(hh, client->files, number, sizeof held->number, held);
		files[opened++] = queue_message_file(held->message);
		pack_u64(&body, held->number);
	}
	if (error < 0 && error != -ENOSPC)
		log_event(EVENT_QUEUE_ERROR, log_string("operation", "open"), log_error(error));
	if (opened > 0)
		ipc_channel_send(client->channel, QUEUE_PROTOCOL_OPENED, 0, buffer_view(&body),
				 files, opened);
	else
		refuse_open(client, error < 0 ? error : -EINVAL);
	buffer_clear(&body);
}

static struct held *find_held(struct client *client, uint64_t number)
{
	struct held *held;

	HASH_FIND(hh, client->files, &number, sizeof number, held);
	return held;
}

static void abandon(struct client *client, struct held *held)
{
	HASH_DELETE(hh, client->files, held);
	queue_message_abandon(held->message);
	held_free(held);
}

/* S2 to S3, or the reason why not. */
static int write_envelope(struct held *held)
{
	struct queue_control *control;
	int error = queue_control_parse(buffer_view(&held->text), &control, NULL);

	if (error < 0)
		return error;
	if (control->envelope->id.number != held->number || control->is_mapped)
		error = -EBADMSG;
	held->stage = control->envelope->stage;
	held->id = control->envelope->id;
	queue_control_free(control);
	if (error < 0)
		return error;
	return queue_message_envelope(held->message, held->stage, buffer_view(&held->text));
}

static void on_commit(struct client *client, struct held *held)
{
	int error = write_envelope(held);

	if (error < 0) {
		log_event(EVENT_QUEUE_ERROR, log_number("number", (int64_t)held->number),
			  log_string("operation", "envelope"), log_error(error));
		answer_commit(client, held->number, error);
		send_answers(client);
		abandon(client, held);
		return;
	}
	HASH_DELETE(hh, client->files, held);
	HASH_ADD(hh, client->server->committing, number, sizeof held->number, held);
	client->committing++;
	queue_group_add(client->server->group, held);
}

static bool on_envelope(struct client *client, struct unpack *body, bool is_last)
{
	uint64_t number = unpack_u64(body);
	struct str text = unpack_str(body);
	struct held *held = find_held(client, number);

	if (!unpack_is_whole(body) || held == NULL ||
	    held->text.length + text.length > QUEUE_ENVELOPE_MAX)
		return false;
	buffer_append_str(&held->text, text);
	if (is_last)
		on_commit(client, held);
	return true;
}

static bool on_abandon(struct client *client, struct unpack *body)
{
	uint64_t number = unpack_u64(body);
	struct held *held = find_held(client, number);

	if (!unpack_is_whole(body) || held == NULL)
		return false;
	abandon(client, held);
	return true;
}

/* --- requests of the manager --- */

/* The manager may find a message in todo/ before its group is done. Then it is
 * removed when the group is, and never told of. */
static bool is_committing(struct queue_server *server, uint64_t number)
{
	struct held *held;

	HASH_FIND(hh, server->committing, &number, sizeof number, held);
	if (held != NULL)
		held->is_removed = true;
	return held != NULL;
}

static bool remove_one(struct queue_server *server, struct unpack *body)
{
	uint32_t kind = unpack_u32(body);
	uint32_t stage = unpack_u32(body);
	uint64_t number = unpack_u64(body);
	int error;

	if (body->failed || kind > QUEUE_REMOVE_DATA || stage >= MAIL_STAGE_COUNT)
		return false;
	if (kind == QUEUE_REMOVE_QUEUED) {
		if (!is_committing(server, number))
			remove_queued(server, (enum mail_stage)stage, number);
		return true;
	}
	if (kind == QUEUE_REMOVE_TODO)
		error = queue_message_remove_todo(server->intake, (enum mail_stage)stage, number);
	else
		error = queue_message_remove_data(server->intake, number);
	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_number("number", (int64_t)number),
			  log_string("operation", "remove"), log_error(error));
	tell_removed(server, number);
	return true;
}

static bool on_remove(struct client *client, struct unpack *body)
{
	if (client->server->manager != client)
		return false;
	while (body->rest.length > 0)
		if (!remove_one(client->server, body))
			return false;
	return true;
}

static bool on_manage(struct client *client)
{
	struct queue_server *server = client->server;

	server->manager = client;
	server->has_missed = false;
	buffer_reset(&server->notice);
	buffer_reset(&server->removed);
	ipc_channel_send(client->channel, QUEUE_PROTOCOL_MANAGED, 0, STR(""), NULL, 0);
	return true;
}

/* --- clients --- */

static void client_close(struct client *client)
{
	struct queue_server *server = client->server;
	struct held *held;
	struct held *next;

	if (server->manager == client)
		server->manager = NULL;
	HASH_ITER (hh, client->files, held, next)
		abandon(client, held);
	ipc_channel_close(client->channel);
	client->channel = NULL;
	client->is_gone = true;
	if (client->committing == 0)
		client_free(client);
}

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	struct client *client = context;
	struct unpack body = {message->body, false};
	bool ok = false;

	(void)channel;
	switch (message->type) {
	case QUEUE_PROTOCOL_OPEN:
		on_open(client, unpack_u32(&body));
		ok = true;
		break;
	case QUEUE_PROTOCOL_ENVELOPE:
		ok = on_envelope(client, &body, false);
		break;
	case QUEUE_PROTOCOL_COMMIT:
		ok = on_envelope(client, &body, true);
		break;
	case QUEUE_PROTOCOL_ABANDON:
		ok = on_abandon(client, &body);
		break;
	case QUEUE_PROTOCOL_MANAGE:
		ok = on_manage(client);
		break;
	case QUEUE_PROTOCOL_REMOVE:
		ok = on_remove(client, &body);
		break;
	default:
		break;
	}
	if (!ok) {
		log_event(EVENT_IPC_REFUSED, log_number("type", message->type));
		client_close(client);
	}
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)channel;
	client_close(context);
}

static const struct ipc_channel_handler channel_handler = {on_message, on_lost};

static void on_connection(void *context, unsigned events)
{
	struct queue_server *server = context;
	union os_socket_address peer;
	struct client *client;
	int socket = os_socket_accept(server->listening, &peer);

	(void)events;
	if (socket < 0)
		return;
	client = memory_alloc_zero(1, sizeof *client);
	client->server = server;
	client->channel = ipc_channel_new(server->loop, socket, &channel_handler, client);
	DL_APPEND2(server->clients, client, previous, next);
}

/* --- the server --- */

static void log_cleaned(void *context, const char *path)
{
	(void)context;
	log_event(EVENT_QUEUE_CLEANED, log_string("path", path));
}

static void clean(void *context)
{
	struct queue_server *server = context;
	int error = queue_intake_clean(server->intake, os_clock_wall_us(), LITTER_AGE_US,
				       log_cleaned, NULL);

	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_string("operation", "clean"), log_error(error));
	os_timer_start(server->clean_timer, CLEAN_INTERVAL_US);
}

struct queue_server *queue_server_new(struct os_loop *loop, struct queue_store *store,
				      struct queue_intake *intake, int listening, uint64_t reserve)
{
	struct queue_server *server = memory_alloc_zero(1, sizeof *server);

	server->loop = loop;
	server->store = store;
	server->intake = intake;
	server->reserve = reserve;
	server->listening = listening;
	server->removed_task = (struct os_task){.call = send_removed, .context = server};
	server->group = queue_group_new(loop, &group_handler, server);
	server->watch = os_watch_new(loop, listening, OS_WATCH_READ, on_connection, server);
	server->missed_timer = os_timer_new(loop, tell_missed, server);
	server->settle_timer = os_timer_new(loop, settle_removals, server);
	server->clean_timer = os_timer_new(loop, clean, server);
	clean(server); /* before a manager scans */
	return server;
}

void queue_server_set_reserve(struct queue_server *server, uint64_t reserve)
{
	server->reserve = reserve;
}

void queue_server_stop(struct queue_server *server, void (*done)(void *context), void *context)
{
	os_watch_set(server->watch, OS_WATCH_NONE);
	server->stopped = done;
	server->stopped_context = context;
	finish_stop(server);
}

void queue_server_free(struct queue_server *server)
{
	struct client *client;
	struct client *next;

	if (server == NULL)
		return;
	DL_FOREACH_SAFE2 (server->clients, client, next, next)
		client_close(client);
	queue_group_free(server->group);
	os_watch_free(server->watch);
	os_timer_free(server->clean_timer);
	os_timer_free(server->missed_timer);
	os_timer_free(server->settle_timer);
	os_task_cancel(server->loop, &server->removed_task);
	buffer_clear(&server->notice);
	buffer_clear(&server->removed);
	free(server);
}
