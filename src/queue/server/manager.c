// SPDX-License-Identifier: ISC
/* What the manager is told, and what it has found. */
#include "log/event.h"
#include "os/clock.h"
#include "queue/server/internal.h"
#include <errno.h>

enum { MANAGER_BACKLOG_MAX = 4 << 20 };

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
	server_removed_tell(server);
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
