// SPDX-License-Identifier: ISC
/*
 * A package on its way into the queue.
 *
 *   state       event                 action                           new state
 *   REFUSED     data                  -                                REFUSED
 *               end                   later                            -
 *   OPENING     it has a number       -                                OPEN
 *               none, by an error     -                                REFUSED
 *   OPEN        data                  keeps them, or writes the file   OPEN
 *               more than is kept     asks for a file, reads no more   SHARING
 *   SHARING     the file is there     writes, reads on                 OPEN
 *   OPEN        end                   commits                          COMMITTING
 *   COMMITTING  it is queued          took                             -
 *               it is not             later                            -
 *               who knows             ends the connection              -
 */
#include "base/checksum.h"
#include "base/panic.h"
#include "log/event.h"
#include "node/receive/internal.h"
#include "queue/message.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct node_package {
	struct node_session *session; /* NULL: its connection is gone while it was committing */
	struct node_receiver *receiver;
	char name[MAIL_PACKAGE_SIZE];
	struct queue_client_message message;
	struct queue_control *control; /* owned; NULL: refused */
	struct mail_verdict verdict;   /* why it is refused */
	bool is_refused;
	bool is_whole; /* all of the data have come */
	bool is_committing;
	uint64_t size; /* of the data */
	uint64_t got;
	uint32_t checksum;
	struct buffer data; /* what is not in a file */
	struct node_package *next, *previous;
};

static void free_package(struct node_package *package)
{
	if (package->session != NULL) {
		if (package->session->coming == package)
			package->session->coming = NULL;
		DL_DELETE2(package->session->packages, package, previous, next);
	}
	queue_client_abandon(&package->message);
	if (package->control != NULL)
		queue_control_free(package->control);
	buffer_clear(&package->data);
	free(package);
}

static void refuse_package(struct node_package *package, const char *status, const char *text)
{
	mail_verdict_set(&package->verdict, status, "%s", text);
	package->is_refused = true;
	queue_client_abandon(&package->message);
	buffer_clear(&package->data);
}

static void tell_later(struct node_package *package)
{
	struct node_session *session = package->session;

	log_event_rated(EVENT_NODE_REFUSED, log_string(node, session->peer),
			log_string(package, package->name),
			log_string(status, package->verdict.status),
			log_string(text, package->verdict.text));
	node_server_later(&session->server, package->name, package->verdict.status,
			  package->verdict.text);
	node_link_send(session->link);
	free_package(package);
}

/* Errors of the queue before it has made a name. */
static bool is_for_later(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -E2BIG || error == -EBADMSG ||
	       error == -EMFILE;
}

static void tell_committed(struct node_package *package, int result)
{
	struct node_session *session = package->session;

	if (result == 0 || result == -EEXIST) {
		if (result == 0)
			log_event(EVENT_NODE_TOOK, log_id(package->control->envelope->id),
				  log_string(node, session->peer),
				  log_string(package, package->name),
				  log_number(recipients,
					     (int64_t)package->control->envelope->recipient_count),
				  log_number(size, (int64_t)package->size));
		node_server_took(&session->server, package->name);
		node_link_send(session->link);
		free_package(package);
	} else if (is_for_later(result)) {
		refuse_package(package, "4.3.1", strerror(-result));
		tell_later(package);
	} else {
		free_package(package);
		node_session_end(session, "the queue cannot say whether it has a package");
	}
}

static void finish_stop(struct node_receiver *receiver)
{
	void (*stopped)(void *context) = receiver->stopped;

	if (stopped == NULL || receiver->committing > 0)
		return;
	receiver->stopped = NULL;
	stopped(receiver->stopped_context);
}

static void end_commit(struct node_package *package, int result)
{
	struct node_receiver *receiver = package->receiver;

	receiver->committing--;
	package->is_committing = false;
	if (package->session == NULL)
		free_package(package);
	else
		tell_committed(package, result);
	finish_stop(receiver);
}

/* The control text under the number that the message has here. */
static int write_control_text(const struct node_package *package, struct buffer *out)
{
	struct queue_control *control = package->control;
	struct mail_envelope *envelope = control->envelope;
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct buffer origin CLEANUP(buffer_clear) = {0};
	char id[MAIL_ID_SIZE];
	int error;

	mail_id_format(envelope->id, id);
	buffer_append_format(&name, "%s/%s", package->session->peer, package->name);
	buffer_append_format(&origin, "%s/%s", package->session->peer, id);
	envelope->handed = buffer_view(&name);
	if (envelope->origin.length == 0)
		envelope->origin = buffer_view(&origin);
	envelope->via++;
	envelope->id.number = package->message.number;
	error = queue_control_write_envelope(out, envelope);
	if (error == 0 && control->is_mapped)
		error = queue_control_write_map(out, control->deliveries, control->delivery_count,
						control->directory_version);
	if (error == 0)
		error = queue_control_write_tried(out, control);
	envelope->origin = envelope->handed = STR("");
	return error;
}

static void commit_whole_package(struct node_package *package)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int error;

	if (!queue_control_has_data(package->control, package->checksum)) {
		refuse_package(package, "4.3.0", "the data are not those that were queued");
		tell_later(package);
		return;
	}
	error = write_control_text(package, &text);
	if (error < 0) {
		refuse_package(package, "4.3.0", strerror(-error));
		tell_later(package);
		return;
	}
	package->is_committing = true;
	package->receiver->committing++;
	queue_client_commit_handed(&package->message, str_from(package->session->peer),
				   &package->session->serial, buffer_view(&text),
				   buffer_view(&package->data));
}

/* Goes on with what has become possible. */
static void advance_package(struct node_package *package)
{
	struct node_session *session = package->session;

	if (package->is_refused) {
		if (package->is_whole)
			tell_later(package);
		return;
	}
	if (package->message.state != QUEUE_CLIENT_OPEN)
		return;
	if (package->size > QUEUE_BY_VALUE_MAX && !queue_client_is_shared(&package->message)) {
		queue_client_share(&package->message);
		return;
	}
	if (queue_client_is_shared(&package->message) && package->data.length > 0) {
		/* its first error is that of the commit */
		(void)queue_client_write(&package->message, buffer_view(&package->data));
		buffer_reset(&package->data);
	}
	if (session->coming == package || package->is_whole)
		node_link_pause(session->link, false);
	if (package->is_whole)
		commit_whole_package(package);
}

static void on_queue_answer(void *context, int result)
{
	struct node_package *package = context;

	if (package->is_committing) {
		end_commit(package, result);
		return;
	}
	if (result < 0)
		refuse_package(package, "4.3.1", strerror(-result));
	if (package->session->coming == package)
		node_link_pause(package->session->link, false);
	advance_package(package);
}

/* Parses TEXT: whether it can be taken. */
static bool read_control_text(struct node_package *package, struct str text)
{
	struct mail_package wanted;
	int error = queue_control_parse(text, &package->control, NULL);

	if (error < 0) {
		refuse_package(package, "4.3.0", "its control text is malformed");
		return false;
	}
	(void)mail_package_parse(str_from(package->name), &wanted);
	if (wanted.id.number != package->control->envelope->id.number ||
	    wanted.id.born_us != package->control->envelope->id.born_us ||
	    package->control->envelope->size != package->size || !package->control->has_checksum ||
	    package->control->damaged > 0) {
		refuse_package(package, "4.3.0", "its control text is that of another message");
		return false;
	}
	package->is_refused =
		node_offer_refuses(package->receiver, package->control, &package->verdict);
	return !package->is_refused;
}

bool node_package_begin(struct node_session *session, struct str name, struct str text,
			uint64_t size)
{
	struct node_package *package = memory_alloc_zero(1, sizeof *package);

	package->session = session;
	package->receiver = session->receiver;
	package->size = size;
	package->message.done = on_queue_answer;
	package->message.context = package;
	memcpy(package->name, name.data, name.length);
	DL_APPEND2(session->packages, package, previous, next);
	session->coming = package;
	if (read_control_text(package, text))
		queue_client_open(session->receiver->parts.queue, &package->message);
	return true;
}

bool node_package_data(struct node_session *session, struct str part)
{
	struct node_package *package = session->coming;

	package->got += part.length;
	if (package->is_refused)
		return true;
	package->checksum = checksum_extend(package->checksum, part.data, part.length);
	buffer_append_str(&package->data, part);
	advance_package(package);
	if (session->coming == package && package->data.length > QUEUE_BY_VALUE_MAX)
		node_link_pause(session->link, true); /* until there is a file */
	return true;
}

bool node_package_end(struct node_session *session)
{
	struct node_package *package = session->coming;

	session->coming = NULL;
	package->is_whole = true;
	advance_package(package);
	return session->server.state != NODE_SERVER_ENDED;
}

void node_packages_free(struct node_session *session)
{
	struct node_package *package;
	struct node_package *next;

	DL_FOREACH_SAFE2 (session->packages, package, next, next) {
		if (!package->is_committing) {
			free_package(package);
			continue;
		}
		DL_DELETE2(session->packages, package, previous, next);
		package->session = NULL;
	}
	session->coming = NULL;
}
