// SPDX-License-Identifier: ISC
#include "queue/inject/link.h"
#include "base/panic.h"
#include "os/loop.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "queue/client/client.h"
#include "queue/message.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct inject_link {
	struct os_loop *loop;
	struct queue_client *client;
	struct queue_client_message message;
	struct buffer data; /* not written into a file yet */
	int error;          /* of the message: the first one */
	int result;         /* of the last request, */
	bool is_done;       /* which is answered */
	bool is_waiting;    /* in the loop */
};

static void on_link_request_done(void *context, int result)
{
	struct inject_link *link = context;

	link->result = result;
	link->is_done = true;
	if (link->is_waiting)
		os_loop_stop(link->loop);
}

/* For the answer to a request that was just sent. */
static int wait_done(struct inject_link *link)
{
	link->is_waiting = true;
	if (!link->is_done)
		os_loop_run(link->loop);
	link->is_waiting = false;
	return link->result;
}

static int explain_connection_failure(const struct config *config, const char *path, int error,
				      struct buffer *reason)
{
	if (error == -ENOENT || error == -ECONNREFUSED) {
		buffer_append_format(reason,
				     "%s: no mail can be queued now, Stagepost does not run", path);
		return -ENOTCONN;
	}
	if (error == -EACCES || error == -EPERM) {
		buffer_append_format(reason,
				     "%s: %s; this program must be set-group-ID of group %s "
				     "(setting submit_group)",
				     path, strerror(-error), config->submit_group);
		return -EACCES;
	}
	buffer_append_format(reason, "%s: %s", path, strerror(-error));
	return -EAGAIN;
}

/* Our group serves only to connect. */
static int connect_as_group(const char *path)
{
	int error = os_process_resume_group();
	int socket = error < 0 ? error : os_socket_connect_unix(path, SOCK_SEQPACKET);

	error = os_process_drop_group();
	if (error < 0)
		os_socket_close(socket);
	return error < 0 ? error : socket;
}

int inject_link_open(const struct config *config, struct inject_link **link_out,
		     struct buffer *reason)
{
	struct inject_link *link;
	char path[108];
	int socket = -ENAMETOOLONG;

	if (snprintf(path, sizeof path, "%s/submit", config->run) < (int)sizeof path)
		socket = connect_as_group(path);
	if (socket < 0)
		return explain_connection_failure(config, path, socket, reason);
	link = memory_alloc_zero(1, sizeof *link);
	link->loop = os_loop_new();
	link->client = queue_client_new_connected(link->loop, socket, path);
	queue_client_set_reserve(link->client, config->queue_reserve);
	link->message.done = on_link_request_done;
	link->message.context = link;
	*link_out = link;
	return 0;
}

void inject_link_close(struct inject_link *link)
{
	if (link == NULL)
		return;
	inject_link_abandon(link);
	queue_client_free(link->client);
	os_loop_free(link->loop);
	free(link);
}

int inject_link_begin(struct inject_link *link, uint64_t *number_out)
{
	int error;

	link->error = 0;
	link->is_done = false;
	queue_client_open(link->client, &link->message);
	error = wait_done(link);
	if (error == 0)
		*number_out = link->message.number;
	return error;
}

static int share_link_message(struct inject_link *link)
{
	link->is_done = false;
	queue_client_share(&link->message);
	return wait_done(link);
}

static int flush_link_data(struct inject_link *link)
{
	int error = 0;

	if (!queue_client_is_shared(&link->message))
		error = share_link_message(link);
	if (error == 0)
		error = queue_client_write(&link->message, buffer_view(&link->data));
	buffer_reset(&link->data);
	return error;
}

int inject_link_write(struct inject_link *link, struct str data)
{
	if (link->error < 0)
		return link->error;
	buffer_append_str(&link->data, data);
	if (link->data.length > QUEUE_BY_VALUE_MAX)
		link->error = flush_link_data(link);
	return link->error;
}

int inject_link_commit(struct inject_link *link, const struct mail_envelope *envelope)
{
	int error = link->error;

	if (error == 0) {
		link->is_done = false;
		queue_client_commit(&link->message, envelope, buffer_view(&link->data));
		error = wait_done(link);
	}
	inject_link_abandon(link);
	return error;
}

void inject_link_abandon(struct inject_link *link)
{
	queue_client_abandon(&link->message);
	buffer_clear(&link->data);
}
