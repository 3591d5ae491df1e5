// SPDX-License-Identifier: ISC
/* One of the messages that the mail to a list becomes. */
#include "queue/message.h"
#include "base/panic.h"
#include "deliver/list/copy.h"
#include "deliver/list/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <stdlib.h>
#include <utlist.h>

/* Bytes copied in one turn of the loop, so that other lists get their turn. */
enum { SLICE = 16 * LIST_COPY_BLOCK };

static void fail_list_message(struct list_message *message, int error)
{
	queue_client_abandon(&message->queue);
	message->state = LIST_MESSAGE_NEW;
	message->error = error;
	message->expansion->moved(message->expansion, message);
}

/* 0 or -errno. */
static int copy_block(struct list_message *message)
{
	static char block[LIST_COPY_BLOCK];
	struct str part;
	int error = ipc_content_next(&message->expansion->job->content, &message->copied, block,
				     sizeof block, &part);

	if (error < 0)
		return error;
	return queue_client_write(&message->queue, part);
}

/* 0 or -errno; afterwards the message may be WHOLE. */
static int copy_slice(struct list_message *message)
{
	const struct list_expansion *expansion = message->expansion;
	const struct ipc_content *content = &expansion->job->content;
	uint64_t end = message->copied.position + SLICE;
	int error = 0;

	if (message->copied.position == 0)
		error = queue_client_write(&message->queue, message->node->head);
	while (error == 0 && message->copied.position < end &&
	       !ipc_content_is_passed(content, &message->copied))
		error = copy_block(message);
	if (error == 0 && ipc_content_is_passed(content, &message->copied))
		message->state = LIST_MESSAGE_WHOLE;
	return error;
}

static void copy_list_messages(struct list_expansion *expansion)
{
	struct list_message *message;
	int error;

	DL_FOREACH2 (expansion->messages, message, next)
		if (message->state == LIST_MESSAGE_COPYING)
			break;
	if (message == NULL)
		panic("a list's message is not there");
	error = copy_slice(message);
	if (error < 0) {
		fail_list_message(message, error);
	} else if (message->state == LIST_MESSAGE_WHOLE) {
		expansion->moved(expansion, message);
	} else {
		expansion->timed = copy_list_messages;
		os_timer_start(expansion->timer, 0);
	}
}

static void log_queued_list_message(const struct list_message *message)
{
	char id[MAIL_ID_SIZE];

	mail_id_format(message->envelope->id, id);
	log_event(EVENT_LIST_EXPANDED, log_id(message->expansion->job->id),
		  log_str(list, message->node->address), log_string(message, id),
		  log_from(message->envelope->sender),
		  log_number(recipients, (int64_t)message->envelope->recipient_count));
}

/* Small content goes with the commit; otherwise it is written to a file. */
static void on_open(struct list_message *message)
{
	if (message->envelope->size <= QUEUE_BY_VALUE_MAX) {
		message->state = LIST_MESSAGE_WHOLE;
		message->expansion->moved(message->expansion, message);
	} else if (!queue_client_is_shared(&message->queue)) {
		queue_client_share(&message->queue);
	} else {
		message->state = LIST_MESSAGE_COPYING;
		message->copied = (struct ipc_content_pass){0};
		copy_list_messages(message->expansion);
	}
}

static void on_list_message_queue_done(void *context, int result)
{
	struct list_message *message = context;

	if (result < 0) {
		fail_list_message(message, result);
	} else if (message->state == LIST_MESSAGE_OPENING) {
		on_open(message);
	} else {
		message->state = LIST_MESSAGE_DONE;
		log_queued_list_message(message);
		message->expansion->moved(message->expansion, message);
	}
}

/* The list answers for its own mail, so its owner, who gets the reports, is not told of delays that
 * somebody else has asked about. But what its sender wants returned by then is of no use later. */
static struct mail_deadline deadline_of_list_message(const struct list_expansion *expansion)
{
	const struct mail_deadline *deadline = &expansion->job->deadline;

	return (struct mail_deadline){
		.mode = deadline->mode == MAIL_DEADLINE_RETURN ? deadline->mode
							       : MAIL_DEADLINE_NONE,
		.at_us = deadline->mode == MAIL_DEADLINE_RETURN ? deadline->at_us : 0,
	};
}

struct list_message *list_message_new(struct list_expansion *expansion, const struct str *members,
				      size_t count)
{
	struct list_message *message = memory_alloc_zero(1, sizeof *message);
	struct mail_envelope *envelope = mail_envelope_new();

	message->expansion = expansion;
	message->node = expansion->node;
	message->queue.done = on_list_message_queue_done;
	message->queue.context = message;
	message->envelope = envelope;
	envelope->stage = MAIL_STAGE_SUBMIT;
	envelope->utf8 = expansion->job->utf8;
	envelope->binary = expansion->job->binary;
	envelope->require_tls = expansion->job->requires_tls;
	envelope->priority = expansion->job->priority;
	envelope->deadline = deadline_of_list_message(expansion);
	envelope->sender = arena_copy_str(envelope->arena, message->node->sender);
	envelope->received = STR("list");
	envelope->size = message->node->head.length + expansion->job->content.size;
	for (size_t i = 0; i < count; i++)
		mail_envelope_add(envelope, members[i]);
	DL_APPEND2(expansion->messages, message, previous, next);
	expansion->message_count++;
	return message;
}

void list_message_open(struct list_message *message)
{
	message->state = LIST_MESSAGE_OPENING;
	queue_client_open(message->expansion->queue, &message->queue);
}

/* 0 or -errno. */
static int assemble_list_message(const struct list_message *message, struct buffer *data)
{
	const struct ipc_content *content = &message->expansion->job->content;
	char *space;
	struct str part;
	int error;

	buffer_append_str(data, message->node->head);
	space = buffer_reserve(data, content->size);
	error = ipc_content_read(content, 0, space, content->size, &part);
	if (error < 0)
		return error;
	if (part.data == space)
		buffer_commit(data, part.length);
	else
		buffer_append_str(data, part);
	return 0;
}

void list_message_commit(struct list_message *message)
{
	struct buffer data CLEANUP(buffer_clear) = {0};
	int error = 0;

	message->state = LIST_MESSAGE_COMMITTING;
	message->envelope->id = (struct mail_id){message->queue.number, os_clock_wall_us()};
	if (!queue_client_is_shared(&message->queue))
		error = assemble_list_message(message, &data);
	if (error < 0)
		fail_list_message(message, error);
	else
		queue_client_commit(&message->queue, message->envelope, buffer_view(&data));
}

void list_message_free(struct list_message *message)
{
	struct list_expansion *expansion = message->expansion;

	DL_DELETE2(expansion->messages, message, previous, next);
	expansion->message_count--;
	queue_client_abandon(&message->queue);
	mail_envelope_free(message->envelope);
	free(message);
}
