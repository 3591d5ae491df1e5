// SPDX-License-Identifier: ISC
/*
 * When no new messages are accepted: the disk is full, a sync has failed, or the queue is a copy.
 * The first two end without intervention. The third ends with "stagepost queue repair", which needs
 * the whole queue at rest. It is not run from here: the original of a copied queue may be in use
 * elsewhere, and only the person who copied it knows which of the two should deliver.
 */
#include "log/event.h"
#include "os/clock.h"
#include "queue/server/internal.h"
#include <errno.h>

static const int64_t PROOF_DELAY_US = SECOND_US;

static void set_full(struct queue_server *server, int error)
{
	if (!server->is_full)
		log_event(EVENT_QUEUE_FULL, log_number(reserve, (int64_t)server->reserve),
			  log_error(error));
	server->is_full = true;
}

int server_check_room(struct queue_server *server)
{
	uint64_t size = server->peers.users.size;
	int error = queue_store_has_room(server->store, size, server->reserve);

	queue_intake_remove_stuck(server->intake);
	if (error == -ENOSPC) {
		queue_intake_drop_spares(server->intake);
		error = queue_store_has_room(server->store, size, server->reserve);
	}
	if (error < 0) {
		set_full(server, error);
	} else if (server->is_full) {
		log_event(EVENT_QUEUE_ROOM);
		server->is_full = false;
	}
	return error;
}

/* Numbers were handed out when there was more room. Its file a message has already. */
int server_check_commit(struct queue_server *server)
{
	uint64_t bytes = server->reserve + server->group_bytes;
	int error = queue_store_has_bytes(server->store, bytes);

	if (error == -ENOSPC) {
		queue_intake_drop_spares(server->intake);
		error = queue_store_has_bytes(server->store, bytes);
	}
	if (error < 0)
		set_full(server, error);
	return error;
}

int server_check_intake(struct queue_server *server, bool may_use_reserve)
{
	int error;

	if (server->is_copied)
		return -EUCLEAN;
	if (queue_intake_must_prove(server->intake))
		return -EIO;
	error = server_check_room(server); /* which makes room, too */
	return error == -ENOSPC && may_use_reserve ? 0 : error;
}

void server_is_copied(struct queue_server *server, const char *path, uint64_t inode)
{
	if (server->is_copied)
		return;
	server->is_copied = true;
	log_event(EVENT_QUEUE_COPIED, log_string(path, path), log_number(inode, (int64_t)inode),
		  log_string(reason, "this queue was copied: new mail is refused. Stop Stagepost, "
				     "run \"stagepost queue repair\", start it again"));
}

void server_check_numbers(struct queue_server *server)
{
	struct queue_misnamed misnamed;
	int result = queue_store_sample(server->store, &misnamed);

	if (result > 0)
		server_is_copied(server, misnamed.path, misnamed.inode);
	else if (result < 0)
		log_event(EVENT_QUEUE_ERROR, log_string(operation, "check numbers"),
			  log_error(result));
}

void server_check_syncs(struct queue_server *server)
{
	bool is_doubtful = queue_intake_must_prove(server->intake);
	enum queue_sync sync = queue_store_sync(server->store);

	if (sync != server->sync)
		log_event(EVENT_QUEUE_SYNC_CHANGED,
			  log_string(sync_before, queue_sync_name(server->sync)),
			  log_string(sync, queue_sync_name(sync)));
	server->sync = sync;

	if (is_doubtful && !server->is_doubtful)
		log_event(EVENT_QUEUE_SYNC_FAILED,
			  log_string(reason, "new mail is refused until a sync succeeds; one is "
					     "tried every second. Look at the disk"));
	else if (!is_doubtful && server->is_doubtful)
		log_event(EVENT_QUEUE_SYNC_BACK);
	server->is_doubtful = is_doubtful;
	if (is_doubtful)
		os_timer_start(server->proof_timer, PROOF_DELAY_US);
}

void server_check_sight(struct queue_server *server)
{
	if (server->is_blind || !queue_intake_is_blind(server->intake))
		return;
	server->is_blind = true;
	log_event(EVENT_SANDBOX_LACKS, log_string(feature, "leases (fs.leases-enable)"));
}

void server_prove(void *context)
{
	struct queue_server *server = context;

	queue_intake_remove_stuck(server->intake);
	if (queue_group_is_idle(server->group))
		queue_group_add(server->group, NULL);
}
