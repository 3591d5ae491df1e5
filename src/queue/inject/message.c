// SPDX-License-Identifier: ISC
#include "queue/inject/message.h"
#include "base/panic.h"
#include "mail/text/text.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "queue/client/submit.h"
#include "queue/message.h"
#include "queue/trigger.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct inject_message {
	struct inject_link *link; /* NULL: the rest of these is used */
	struct queue_store *store;
	struct queue_intake *intake;
	struct queue_message *message;
	struct mail_id id;
	struct os_process_caller caller;
	uint64_t size;     /* bytes written */
	uint64_t size_max; /* including the trace header */
	int error;         /* the first error */
	bool is_begun;     /* data have followed the trace header, or there is none */
};

int inject_exit_status(int error)
{
	switch (-error) {
	case 0:
		return INJECT_OK;
	case EDESTADDRREQ:
		return INJECT_USAGE;
	case EBADMSG:
	case EILSEQ:
	case EINVAL:
		return INJECT_BAD_DATA;
	case EFBIG:
	case E2BIG:
		return INJECT_UNAVAILABLE;
	case ENOENT:
	case ENOTDIR:
		return INJECT_NO_CREATE;
	case EIO:
	case EISDIR:
	case EBADF:
		return INJECT_IO;
	case EACCES:
	case EPERM:
		return INJECT_NO_PERMISSION;
	case EPROTO:
	case ENOTSUP:
	case ENOTEMPTY:
		return INJECT_CONFIG;
	case ENOSYS:
		return INJECT_SOFTWARE;
	default: /* as when the disk is full, or was made read-only after an error */
		return INJECT_TRY_LATER;
	}
}

int inject_queue_status(int error)
{
	switch (-error) {
	case 0:
		return INJECT_OK;
	case ENAMETOOLONG:
		return INJECT_QUEUE_ADDRESS;
	case EBADMSG:
	case EILSEQ:
	case EINVAL:
	case EFBIG:
	case E2BIG:
		return INJECT_QUEUE_REFUSED;
	case EDESTADDRREQ:
	case ENOMSG:
		return INJECT_QUEUE_ENVELOPE;
	case ENOMEM:
		return INJECT_QUEUE_MEMORY;
	case ETIMEDOUT:
		return INJECT_QUEUE_TIME;
	case EIO:
	case ENOSPC:
	case EDQUOT:
	case EROFS:
		return INJECT_QUEUE_WRITE;
	case EBADF:
	case EISDIR:
		return INJECT_QUEUE_READ;
	case EPROTO:
	case ENOTSUP:
	case ENOTEMPTY:
		return INJECT_QUEUE_CONFIG;
	case ENOENT:
	case ENOTDIR:
	case EACCES:
	case EPERM:
		return INJECT_QUEUE_FOLDER;
	case ENOSYS:
		return INJECT_QUEUE_BUG;
	default:
		return INJECT_QUEUE_LATER;
	}
}

static int open_store_to_inject(const struct config *config, struct queue_store **store_out,
				struct buffer *reason)
{
	const struct queue_options options = {
		.create = true,
		.unsafe = config->queue_unsafe,
		.split = config->split,
		.sync = queue_sync_of(config->queue_sync),
	};
	struct buffer sentence CLEANUP(buffer_clear) = {0};
	int error = queue_store_open(config->queue, &options, store_out, &sentence);

	if (error < 0) {
		buffer_append_format(reason, "%s: ", config->queue);
		buffer_append_str(reason, buffer_view(&sentence));
		if (sentence.length == 0)
			buffer_append_string(reason, strerror(-error));
	}
	return error;
}

static int write_data(const struct inject_message *message, struct str data)
{
	if (message->link != NULL)
		return inject_link_write(message->link, data);
	return os_file_write(queue_message_file(message->message), data.data, data.length,
			     message->size);
}

static int append_message_data(struct inject_message *message, struct str data)
{
	if (message->error == 0 && data.length > message->size_max - message->size)
		message->error = -EFBIG;
	if (message->error == 0)
		message->error = write_data(message, data);
	if (message->error == 0)
		message->size += data.length;
	return message->error;
}

static void write_trace(struct inject_message *message, const char *hostname)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	char date[TIMESTAMP_HEADER_SIZE];
	char id[MAIL_ID_SIZE];

	mail_id_format(message->id, id);
	timestamp_format_header(message->id.born_us, date);
	queue_submit_append_trace(&text, message->caller.id);
	buffer_append_format(&text, "\tby %s with local id %s;\r\n\t%s\r\n", hostname, id, date);
	message->size_max += text.length;
	append_message_data(message, buffer_view(&text));
	message->is_begun = false;
}

static int open_data(struct inject_message *message, const struct config *config)
{
	const struct queue_intake_options options = {.spares = 0};
	int error = queue_store_has_room(message->store, config->maxsize, config->queue_reserve);

	if (error == 0)
		error = queue_intake_open(message->store, &options, &message->intake);
	if (error == 0)
		error = queue_message_new(message->intake, &message->message);
	if (error == 0)
		error = queue_message_share(message->message);
	return error;
}

static int open_message_in_queue(struct inject_message *message, const struct config *config,
				 uint64_t *number_out, struct buffer *reason)
{
	int error = open_store_to_inject(config, &message->store, reason);

	if (error < 0)
		return error;
	error = open_data(message, config);
	if (error < 0)
		buffer_append_format(reason, "%s: %s", config->queue, strerror(-error));
	else
		*number_out = queue_message_number(message->message);
	return error;
}

static int begin_injected_message(const struct config *config,
				  const struct os_process_caller *caller, struct inject_link *link,
				  struct inject_message **message_out, struct buffer *reason)
{
	struct inject_message *message = memory_alloc_zero(1, sizeof *message);
	int error;

	message->link = link;
	message->caller = *caller;
	message->size_max = config->maxsize;
	message->is_begun = true; /* without a trace header */
	message->id.born_us = os_clock_wall_us();
	error = link != NULL ? inject_link_begin(link, &message->id.number)
			     : open_message_in_queue(message, config, &message->id.number, reason);
	if (error == 0)
		*message_out = message;
	else
		inject_message_abandon(message);
	return error;
}

int inject_message_open_untraced(const struct config *config,
				 const struct os_process_caller *caller, struct inject_link *link,
				 struct inject_message **message_out, struct buffer *reason)
{
	int error = begin_injected_message(config, caller, link, message_out, reason);

	if (error == 0 && link != NULL)
		write_trace(*message_out, config->hostname);
	return error;
}

int inject_message_open(const struct config *config, const struct os_process_caller *caller,
			struct inject_link *link, struct inject_message **message_out,
			struct buffer *reason)
{
	int error = begin_injected_message(config, caller, link, message_out, reason);

	if (error == 0)
		write_trace(*message_out, config->hostname);
	return error;
}

struct mail_id inject_message_id(const struct inject_message *message)
{
	return message->id;
}

/* A first line that begins with a space or tab would go on our Received field: it is the body of a
 * message without a header, as by SMTP (smtp/text.c). */
static bool is_continuation_of_trace(struct str data)
{
	return data.length > 0 && (data.data[0] == ' ' || data.data[0] == '\t');
}

int inject_message_write(struct inject_message *message, struct str data)
{
	if (!message->is_begun && is_continuation_of_trace(data))
		append_message_data(message, STR("\r\n"));
	message->is_begun |= data.length > 0;
	return append_message_data(message, data);
}

/* Over a link without the user's name, which "queue" cannot check. */
static void fill_envelope(const struct inject_message *message, enum mail_stage stage,
			  struct mail_envelope *envelope)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	queue_submit_append_received(&text, message->caller.id);
	if (message->link == NULL && message->caller.name[0] != '\0') {
		buffer_append_string(&text, " user=");
		mail_text_append(&text, str_from(message->caller.name), MAIL_TEXT_8BIT);
	}
	envelope->received = arena_copy_str(envelope->arena, buffer_view(&text));
	envelope->id = message->id;
	envelope->stage = stage;
	envelope->size = message->size;
}

static int write_injected_envelope(const struct inject_message *message,
				   const struct mail_envelope *envelope)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int error = queue_control_write_envelope(&text, envelope);

	if (error == 0)
		error = queue_message_envelope(message->message, envelope->stage, &text);
	return error;
}

/* Before the message is queued, so that it is not delivered at once; and durably, so that it is
 * not delivered early after a power failure either. */
static int set_trigger_of_message(const struct inject_message *message, struct str trigger)
{
	int error;

	if (trigger.length == 0)
		return 0;
	error = queue_trigger_set(message->store, trigger, os_clock_wall_us(),
				  STR("mail was queued to wait for it"));
	return error < 0 ? error
			 : os_file_sync_directory(queue_store_directory(message->store), "trigger");
}

static int commit_injected_message(struct inject_message *message,
				   const struct mail_envelope *envelope)
{
	int error = set_trigger_of_message(message, envelope->trigger);

	if (error == 0)
		error = write_injected_envelope(message, envelope);
	if (error == 0)
		queue_message_commit_group(message->intake, &message->message, 1, &error);
	if (error == 0) {
		message->message = NULL;
		queue_store_pull_trigger(message->store);
	}
	return error;
}

int inject_message_commit(struct inject_message *message, enum mail_stage stage,
			  struct mail_envelope *envelope)
{
	int error = message->error;

	fill_envelope(message, stage, envelope);
	if (error == 0)
		error = message->link != NULL ? inject_link_commit(message->link, envelope)
					      : commit_injected_message(message, envelope);
	inject_message_abandon(message);
	return error;
}

void inject_message_abandon(struct inject_message *message)
{
	if (message == NULL)
		return;
	if (message->link != NULL)
		inject_link_abandon(message->link);
	if (message->message != NULL)
		queue_message_abandon(message->message);
	queue_intake_close(message->intake);
	queue_store_close(message->store);
	free(message);
}
