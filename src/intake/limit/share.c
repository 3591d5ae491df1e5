// SPDX-License-Identifier: ISC
/*
 * What a client has on the queue's disk of messages that are not complete: at most a part of what
 * would be free there without them (setting maxunfinished_client), so that it never is the one who
 * uses up the disk, however small that is and however many sessions it has. Clients together may:
 * each has its part of what others have left, and at the reserve everybody is refused
 * (queue/client/client.h).
 *
 * One message at a time may come from anybody. What is short enough to go by value is in no file
 * until it is complete, so it is not counted.
 */
#include "intake/internal.h"
#include "log/event.h"
#include "os/file/file.h"
#include <errno.h>

void intake_share_follow(struct intake_session *session)
{
	uint64_t bytes;

	if (session->limits.client == NULL)
		return;
	bytes = session->engine->unfinished(session);
	if (bytes == session->limits.unfinished)
		return;
	limit_client_change_bytes(session->limits.client, session->limits.unfinished, bytes);
	session->limits.unfinished = bytes;
}

int intake_share_check(const struct intake_session *session,
		       const struct queue_client_message *message, const struct mail_id *id,
		       size_t bytes)
{
	uint32_t percent = session->intake->config->maxunfinished_client;
	struct os_file_space space;
	uint64_t all;

	if (session->limits.client == NULL || percent == 0)
		return 0;
	all = limit_client_bytes(session->limits.client);
	if (all <= queue_client_unfinished(message) || !queue_client_space(message, &space) ||
	    all + bytes <= (space.free_bytes + all) / 100 * percent)
		return 0;
	log_event_rated(EVENT_CLIENT_SHARE_USED, log_id(*id), INTAKE_LOG_CLIENT(session),
			log_string(setting, "maxunfinished_client"), log_number(limit, percent),
			log_number(bytes, (int64_t)all),
			log_number(free_bytes, (int64_t)space.free_bytes));
	return -EUSERS;
}
