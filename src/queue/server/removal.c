// SPDX-License-Identifier: ISC
/* What the manager asks to remove, and when it is told that it is gone. */
#include "log/event.h"
#include "queue/server/internal.h"

static const int64_t SETTLE_DELAY_US = SECOND_US;
static const int64_t SETTLE_SOON_US = SECOND_US / 10; /* somebody waits for it */
static const int64_t AGAIN_DELAY_US = SECOND_US;

void server_removed_send(void *context)
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

/* If no message comes, an empty group makes removals durable. */
void server_removed_settle(void *context)
{
	struct queue_server *server = context;

	if (queue_group_is_idle(server->group) &&
	    (queue_intake_held(server->intake) > 0 || !queue_intake_is_settled(server->intake) ||
	     !queue_intake_is_durable(server->intake)))
		queue_group_add(server->group, NULL);
}

/* Something was removed, of which a group that has begun before makes nothing durable. */
static void settle_later(struct queue_server *server)
{
	if (server->is_full) /* its space is needed */
		os_timer_start(server->settle_timer, 0);
	else if (!os_timer_is_running(server->settle_timer))
		os_timer_start(server->settle_timer, SETTLE_DELAY_US);
}

void server_settle_held(struct queue_server *server)
{
	if (queue_intake_held(server->intake) > 0)
		settle_later(server);
}

static void tell_manager_of_removal(struct queue_server *server, uint64_t number)
{
	settle_later(server);
	pack_u64(&server->removed, number);
	os_loop_defer(server->loop, &server->removed_task);
}

/* On a full disk another removal may have started it for at once. */
void server_settle_soon(struct queue_server *server)
{
	if (!server->is_full || !os_timer_is_running(server->settle_timer))
		os_timer_start(server->settle_timer, SETTLE_SOON_US);
}

static void pack_reached(struct buffer *list, uint64_t awaited, uint64_t retired, uint64_t number)
{
	pack_u64(list, awaited);
	pack_u64(list, retired);
	pack_u64(list, number);
}

/* Of the entries in WAITING, those up to SETTLED. */
static void tell_settled_removals(struct queue_server *server, struct buffer *list,
				  uint64_t settled)
{
	struct unpack body = {buffer_view(list), false};
	struct buffer rest = {0};

	while (body.rest.length > 0) {
		struct str waiting = body.rest;
		uint64_t number;

		if (unpack_u64(&body) > settled) {
			buffer_append_str(&rest, waiting);
			break;
		}
		number = unpack_u64(&body);
		tell_manager_of_removal(server, number);
	}
	buffer_clear(list);
	*list = rest;
}

/* The number of a file that has left quarantine may be used again at once: for the manager it must
 * be gone before that. A group that began between the removal and queue_intake_await() says nothing
 * of what is awaited. */
static void tell_reached(struct queue_server *server)
{
	uint64_t durable = queue_intake_durable(server->intake);
	struct unpack body = {buffer_view(&server->reached), false};
	struct buffer rest = {0};

	while (body.rest.length > 0) {
		uint64_t awaited = unpack_u64(&body);
		uint64_t retired = unpack_u64(&body);
		uint64_t number = unpack_u64(&body);

		if (awaited <= durable || queue_intake_has_released(server->intake, retired))
			tell_manager_of_removal(server, number);
		else
			pack_reached(&rest, awaited, retired, number);
	}
	buffer_clear(&server->reached);
	server->reached = rest;
}

/* Those that a group has made durable, or the order of the filesystem. */
static void tell_moved(struct queue_server *server)
{
	tell_settled_removals(server, &server->moved, queue_intake_settled(server->intake));
	tell_reached(server);
}

/* A message has moved to S5. With the next group of new mail the removal of its name in todo/
 * becomes durable, or with an empty group soon. */
static void tell_moved_later(struct queue_server *server, uint64_t number)
{
	bool is_first = server->moved.length == 0;

	pack_u64(&server->moved, queue_intake_moved(server->intake));
	pack_u64(&server->moved, number);
	tell_moved(server);
	if (is_first && server->moved.length > 0)
		server_settle_soon(server);
}

/* Somebody else's disk hangs on it: order is not enough. BEFORE: so many files had come into
 * quarantine before the removal, whose own file is the next one, if there was one that may be used
 * again. */
static void tell_durable_later(struct queue_server *server, uint64_t before, uint64_t number)
{
	uint64_t retired = queue_intake_retired(server->intake);

	pack_reached(&server->reached, queue_intake_await(server->intake),
		     retired > before ? retired : 0, number);
	server_settle_soon(server);
}

static void tell_removed(struct queue_server *server, uint32_t kind, uint64_t before,
			 uint64_t number)
{
	if ((kind & QUEUE_REMOVE_DURABLY) != 0)
		tell_durable_later(server, before, number);
	else if (kind == QUEUE_REMOVE_TODO)
		tell_moved_later(server, number);
	else
		tell_manager_of_removal(server, number);
}

static void pack_removal(struct buffer *list, uint32_t kind, enum mail_stage stage, uint64_t number)
{
	pack_u32(list, kind);
	pack_u32(list, stage);
	pack_u64(list, number);
}

static int remove_kind(struct queue_server *server, uint32_t kind, enum mail_stage stage,
		       uint64_t number)
{
	if (kind == QUEUE_REMOVE_QUEUED)
		return queue_message_remove_queued(server->intake, stage, number);
	if (kind == QUEUE_REMOVE_TODO)
		return queue_message_remove_todo(server->intake, stage, number);
	return queue_message_remove_data(server->intake, number);
}

/* A removal that fails on disk is not reported as done: the manager would find the message again
 * and deliver it again. */
static void remove_or_wait(struct queue_server *server, uint32_t kind, enum mail_stage stage,
			   uint64_t number, bool is_logged)
{
	uint64_t before = queue_intake_retired(server->intake);
	int error = remove_kind(server, kind & ~(uint32_t)QUEUE_REMOVE_DURABLY, stage, number);

	if (error == 0) {
		tell_removed(server, kind, before, number);
		return;
	}
	if (error > 0) {
		pack_removal(&server->ending, kind, stage, number);
		server_settle_soon(server);
		return;
	}
	if (is_logged)
		log_event(EVENT_QUEUE_ERROR, log_number(number, (int64_t)number),
			  log_string(operation, "remove"), log_error(error));
	pack_removal(&server->refused, kind, stage, number);
	if (!os_timer_is_running(server->again_timer))
		os_timer_start(server->again_timer, AGAIN_DELAY_US);
}

static void remove_again(struct queue_server *server, struct buffer *list)
{
	struct buffer refused = *list;
	struct unpack body = {buffer_view(&refused), false};

	*list = (struct buffer){0};
	while (body.rest.length > 0) {
		uint32_t kind = unpack_u32(&body);
		uint32_t stage = unpack_u32(&body);

		remove_or_wait(server, kind, stage, unpack_u64(&body), false);
	}
	buffer_clear(&refused);
}

void server_remove_again(void *context)
{
	struct queue_server *server = context;

	remove_again(server, &server->refused);
}

void server_remove_queued(struct queue_server *server, const struct server_held *held)
{
	uint32_t durably = held->is_removed_durably ? QUEUE_REMOVE_DURABLY : 0;

	remove_or_wait(server, QUEUE_REMOVE_QUEUED | durably, held->stage, held->number, true);
}

/* The manager may find a message in todo/ before its group is done. Then it is removed when the
 * group is done, and never reported. */
static bool is_committing(struct queue_server *server, uint32_t kind, uint64_t number)
{
	struct server_held *held;

	HASH_FIND(hh, server->committing, &number, sizeof number, held);
	if (held == NULL)
		return false;
	held->is_removed = true;
	held->is_removed_durably = (kind & QUEUE_REMOVE_DURABLY) != 0;
	return true;
}

static bool remove_one(struct queue_server *server, struct unpack *body)
{
	uint32_t kind = unpack_u32(body);
	uint32_t stage = unpack_u32(body);
	uint64_t number = unpack_u64(body);
	uint32_t what = kind & ~(uint32_t)QUEUE_REMOVE_DURABLY;

	if (body->failed || what > QUEUE_REMOVE_DATA || stage >= MAIL_STAGE_COUNT)
		return false;
	if (what != QUEUE_REMOVE_QUEUED || !is_committing(server, kind, number))
		remove_or_wait(server, kind, (enum mail_stage)stage, number, true);
	return true;
}

bool server_remove(struct server_client *client, struct unpack *body)
{
	if (client->server->manager != client)
		return false;
	while (body->rest.length > 0)
		if (!remove_one(client->server, body))
			return false;
	return true;
}

void server_removed_tell(struct queue_server *server)
{
	tell_moved(server);
	remove_again(server, &server->ending);
}
