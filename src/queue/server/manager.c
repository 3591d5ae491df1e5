// SPDX-License-Identifier: ISC
/* What the manager is told, and what it asks to remove. */
#include "log/event.h"
#include "os/clock.h"
#include "queue/server/internal.h"
#include <errno.h>

enum { MANAGER_BACKLOG_MAX = 4 << 20 };

static const int64_t SETTLE_DELAY_US = SECOND_US;
static const int64_t SETTLE_SOON_US = SECOND_US / 10; /* somebody waits for it */
static const int64_t AGAIN_DELAY_US = SECOND_US;
static const int64_t MISSED_RETRY_US = SECOND_US / 5;
static const int64_t LOAD_INTERVAL_US = SECOND_US / 40;

static void tell_load(struct queue_server *server)
{
	int64_t now_us = os_clock_monotonic_us();
	struct buffer body CLEANUP(buffer_clear) = {0};

	if (now_us - server->load_told_us < LOAD_INTERVAL_US)
		return;
	server->load_told_us = now_us;
	pack_u64(&body, (uint64_t)queue_group_worked_us(server->group));
	ipc_channel_send(server->manager->channel, QUEUE_PROTOCOL_LOAD, 0, buffer_view(&body), NULL,
			 0);
}

void server_notice_send(struct queue_server *server)
{
	if (server->manager != NULL && server->notice.length > 0) {
		ipc_channel_send(server->manager->channel, QUEUE_PROTOCOL_QUEUED, 0,
				 buffer_view(&server->notice), NULL, 0);
		tell_load(server);
	}
	buffer_reset(&server->notice);
}

void server_notice_missed(void *context)
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

/* The envelope follows the data in the buffer by now. If the manager is slow to read its
 * notices, it reads the content from the file. */
static struct str content_of(const struct queue_server *server, const struct server_held *held)
{
	if (held->data.length == 0 || ipc_channel_backlog(server->manager->channel) > 0)
		return STR("");
	return str_slice(buffer_data(&held->data), held->data_size);
}

void server_notice_add(struct queue_server *server, const struct server_held *held)
{
	enum { ENTRY_MAX = IPC_BODY_MAX - 32 };
	struct str text = buffer_view(&held->text);
	struct str content;

	if (server->manager == NULL)
		return;
	queue_handed_report(server->intake, held->number);
	if (ipc_channel_backlog(server->manager->channel) > MANAGER_BACKLOG_MAX) {
		server->has_missed = true;
		os_timer_start(server->missed_timer, MISSED_RETRY_US);
		return;
	}
	if (text.length > ENTRY_MAX)
		text = STR("");
	content = content_of(server, held);
	if (text.length + content.length > ENTRY_MAX)
		content = STR("");
	if (server->notice.length + text.length + content.length > ENTRY_MAX)
		server_notice_send(server);
	pack_u32(&server->notice, held->stage);
	pack_u64(&server->notice, held->number);
	pack_str(&server->notice, text);
	pack_str(&server->notice, content);
}

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

/* Those that a group has made durable, or the order of the filesystem. */
static void tell_moved(struct queue_server *server)
{
	tell_settled_removals(server, &server->moved, queue_intake_settled(server->intake));
	tell_settled_removals(server, &server->reached, queue_intake_durable(server->intake));
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

/* Somebody else's disk hangs on it: order is not enough. */
static void tell_durable_later(struct queue_server *server, uint64_t number)
{
	pack_u64(&server->reached, queue_intake_await(server->intake));
	pack_u64(&server->reached, number);
	server_settle_soon(server);
}

static void tell_removed(struct queue_server *server, uint32_t kind, uint64_t number)
{
	if ((kind & QUEUE_REMOVE_DURABLY) != 0)
		tell_durable_later(server, number);
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
	int error = remove_kind(server, kind & ~(uint32_t)QUEUE_REMOVE_DURABLY, stage, number);

	if (error == 0) {
		tell_removed(server, kind, number);
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

/* Whether no other process is still committing it: 1, 0 or -errno, which is logged. */
static int is_committed(struct queue_server *server, enum mail_stage stage, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	int result = queue_store_is_committing(server->store, stage, number);

	if (result >= 0)
		return result == 0;
	if (result == -ENOENT)
		return 0;
	queue_store_path(server->store, QUEUE_TODO, mail_stage_name(stage), number, path);
	log_event(EVENT_QUEUE_ERROR, log_string(path, path), log_error(result));
	return result;
}

/* Whether the manager may begin it: 1, 0, or -errno: unknown, and logged. A message that another
 * process is committing is found again later: that process pulls lock/trigger when it is done. */
static int may_manager_begin_message(struct queue_server *server, enum mail_stage stage,
				     uint64_t number)
{
	int result;

	if (queue_intake_has_refused(server->intake, number))
		return 0;
	result = server_look_at(server, stage, number);
	if (result == -ENOENT || result == -EUCLEAN || result == -ENODATA)
		return 0;
	return result < 0 ? result : is_committed(server, stage, number);
}

int server_look_at(struct queue_server *server, enum mail_stage stage, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	uint64_t inode = 0;
	int error = 0;
	int result = queue_store_look(server->store, &stage, number, &inode);

	queue_store_path(server->store, QUEUE_TODO, mail_stage_name(stage), number, path);
	if (result == -EUCLEAN) {
		server_is_copied(server, path, inode);
	} else if (result == -ENODATA) {
		log_event(EVENT_QUEUE_CLEANED, log_string(path, path));
		error = queue_message_remove_void(server->intake, stage, number);
	} else if (result < 0 && result != -ENOENT) {
		error = result;
	}
	if (error < 0) /* the next scan finds it again */
		log_event(EVENT_QUEUE_ERROR, log_string(path, path), log_error(error));
	return result;
}

/* A message that is being committed has a name already, and may lose it again. False: the answer
 * is unknown. */
static bool answer_found(struct queue_server *server, enum mail_stage stage, uint64_t number,
			 struct buffer *answer)
{
	struct server_held *held;
	int result;

	HASH_FIND(hh, server->committing, &number, sizeof number, held);
	if (held != NULL)
		return true;
	result = may_manager_begin_message(server, stage, number);
	if (result > 0) {
		queue_handed_report(server->intake, number);
		pack_u32(answer, stage);
		pack_u64(answer, number);
	}
	return result >= 0;
}

bool server_found(struct server_client *client, struct unpack *body)
{
	struct queue_server *server = client->server;
	struct buffer answer CLEANUP(buffer_clear) = {0};
	bool is_known = true;

	if (server->manager != client)
		return false;
	while (body->rest.length > 0) {
		uint32_t stage = unpack_u32(body);
		uint64_t number = unpack_u64(body);

		if (body->failed || stage >= MAIL_STAGE_COUNT)
			return false;
		is_known &= answer_found(server, (enum mail_stage)stage, number, &answer);
	}
	if (answer.length > 0)
		ipc_channel_send(client->channel, QUEUE_PROTOCOL_STANDS, 0, buffer_view(&answer),
				 NULL, 0);
	if (!is_known)
		ipc_channel_send(client->channel, QUEUE_PROTOCOL_UNKNOWN, 0, STR(""), NULL, 0);
	return true;
}

bool server_cleaned(struct server_client *client, struct unpack *body)
{
	struct queue_server *server = client->server;

	if (server->manager != client || body->rest.length > 0)
		return false;
	if (server->is_cleaned)
		queue_intake_trust_names(server->intake);
	return true;
}

/* Packages that an earlier manager has ended must not be found again. */
static bool is_nothing_in_progress(const struct queue_server *server)
{
	return server->ending.length == 0 && queue_intake_is_settled(server->intake);
}

static void tell_managed(struct queue_server *server)
{
	server->manager = server->managing;
	server->managing = NULL;
	buffer_reset(&server->removed); /* of what the earlier manager has ended */
	buffer_reset(&server->reached);
	ipc_channel_send(server->manager->channel, QUEUE_PROTOCOL_MANAGED, 0, STR(""), NULL, 0);
}

bool server_manage(struct server_client *client, struct unpack *body)
{
	struct queue_server *server = client->server;
	struct str token = unpack_str(body);

	if (!unpack_is_whole(body) || client->user != server->peers.manager.user ||
	    !ipc_tokens_match(server->peers.tokens, "send", token))
		return false;
	server->manager = NULL;
	server->managing = client;
	server->has_missed = false;
	buffer_reset(&server->notice);
	buffer_reset(&server->removed);
	buffer_reset(&server->moved);
	buffer_reset(&server->reached);
	buffer_reset(&server->refused); /* the new manager asks again */
	if (is_nothing_in_progress(server))
		tell_managed(server);
	else
		queue_group_add(server->group, NULL);
	return true;
}

void server_tell_settled(struct queue_server *server)
{
	tell_moved(server);
	remove_again(server, &server->ending);
	if (server->managing != NULL && is_nothing_in_progress(server))
		tell_managed(server);
	if (server->moved.length > 0 || server->reached.length > 0 || server->managing != NULL)
		server_settle_soon(server);
	else
		server_settle_held(server);
}

/* A manager that is behind has enough to do. */
bool server_release(struct server_client *client, struct unpack *body)
{
	const struct server_client *manager = client->server->manager;
	struct str domain = unpack_str(body);
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (!unpack_is_whole(body) || domain.length == 0 || domain.length > QUEUE_DOMAIN_MAX)
		return false;
	if (manager == NULL || ipc_channel_backlog(manager->channel) > 0)
		return true;
	pack_str(&text, domain);
	ipc_channel_send(manager->channel, QUEUE_PROTOCOL_RELEASE, 0, buffer_view(&text), NULL, 0);
	return true;
}
