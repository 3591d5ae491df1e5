// SPDX-License-Identifier: ISC
#include "node/client.h"
#include "directory/wire/frame.h"
#include "mail/package.h"
#include <errno.h>
#include <inttypes.h>

static void end_client(struct node_client *client, const char *reason)
{
	client->state = NODE_CLIENT_ENDED;
	buffer_reset(&client->reason);
	buffer_append_string(&client->reason, reason);
	buffer_append_byte(&client->reason, '\0');
}

static bool say_bye_to_receiver(struct node_client *client, const char *reason)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, &client->out, "bye");
	directory_frame_add(&frame, str_from(reason));
	directory_frame_end(&frame);
	end_client(client, reason);
	return false;
}

static bool hear_receivers_hello(struct node_client *client, const struct str *words, size_t count)
{
	struct directory_frame frame;

	if (count < 3 || !str_equal(words[1], STR("1")))
		return say_bye_to_receiver(client, "it speaks another version of the protocol");
	if (!str_equal(words[2], str_from(client->peer)))
		return say_bye_to_receiver(client, "it says that it is another node");
	for (size_t i = 3; i < count; i++)
		client->answers_status |= str_equal(words[i], STR("status"));
	directory_frame_begin(&frame, &client->out, "hello");
	directory_frame_add_number(&frame, NODE_PROTOCOL);
	directory_frame_add(&frame, str_from(client->name));
	directory_frame_add_number(&frame, client->serial.epoch);
	directory_frame_add_number(&frame, client->serial.run);
	directory_frame_add_number(&frame, client->serial.connection);
	directory_frame_end(&frame);
	client->state = NODE_CLIENT_GREETED;
	return true;
}

static bool hear_kept(struct node_client *client, const struct str *words, size_t count)
{
	if (count % 2 != 1)
		return say_bye_to_receiver(client, "a package without its numbers");
	for (size_t i = 1; i < count; i += 2) {
		bool is_whole = str_equal(words[i + 1], STR("-"));

		if (!mail_package_parse(words[i], &(struct mail_package){0}))
			return say_bye_to_receiver(client, "it has what is no package's name");
		client->handler->kept(client->context, words[i], is_whole ? STR("") : words[i + 1]);
	}
	return true;
}

static bool hear_ready(struct node_client *client, const struct str *words, size_t count)
{
	(void)words;
	(void)count;
	client->state = NODE_CLIENT_READY;
	client->handler->ready(client->context);
	return true;
}

static bool hear_old(struct node_client *client, const struct str *words, size_t count)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};

	buffer_append_string(&reason, "it has seen a later start of this node");
	for (size_t i = 1; i < count && i < 4; i++)
		buffer_append_format(&reason, "%s" STR_FORMAT, i == 1 ? ": " : " ",
				     STR_ARGUMENTS(words[i]));
	buffer_append_byte(&reason, '\0');
	end_client(client, buffer_data(&reason));
	return false;
}

static bool hear_took(struct node_client *client, const struct str *words, size_t count)
{
	if (count < 2)
		return say_bye_to_receiver(client, "it has taken nothing");
	client->handler->took(client->context, words[1]);
	return client->state != NODE_CLIENT_ENDED;
}

static bool hear_later(struct node_client *client, const struct str *words, size_t count)
{
	if (count < 4)
		return say_bye_to_receiver(client, "it refuses without a reason");
	client->handler->later(client->context, words[1], words[2], words[3]);
	return client->state != NODE_CLIENT_ENDED;
}

static bool hear_status(struct node_client *client, const struct str *words, size_t count)
{
	if (!client->is_asked)
		return say_bye_to_receiver(client, "it answers what was not asked");
	if (count < 2 || words[1].length > NODE_STATUS_MAX)
		return say_bye_to_receiver(client, "its status is missing, or too long");
	client->is_asked = false;
	client->handler->status(client->context, words[1]);
	return client->state != NODE_CLIENT_ENDED;
}

static bool hear_bye(struct node_client *client, const struct str *words, size_t count)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};

	buffer_append_string(&reason, "it says: ");
	if (count > 1)
		buffer_append_str(&reason, words[1]);
	buffer_append_byte(&reason, '\0');
	end_client(client, buffer_data(&reason));
	return false;
}

#define IN(state) (1U << (NODE_CLIENT_##state))

static const struct {
	const char *verb;
	unsigned states; /* in which it may come */
	bool (*hear)(struct node_client *client, const struct str *words, size_t count);
} verbs_of_receiver[] = {
	{"hello", IN(BEGUN), hear_receivers_hello},
	{"kept", IN(GREETED), hear_kept},
	{"ready", IN(GREETED), hear_ready},
	{"old", IN(GREETED), hear_old},
	{"took", IN(READY), hear_took},
	{"later", IN(READY), hear_later},
	{"status", IN(READY), hear_status},
	{"bye", IN(BEGUN) | IN(GREETED) | IN(READY), hear_bye},
};

#undef IN

static bool hear_receivers_frame(void *context, const struct str *words, size_t count,
				 bool *has_payload_out)
{
	struct node_client *client = context;

	*has_payload_out = false;
	for (size_t i = 0; i < count; i++)
		if (str_has_control(words[i]))
			return say_bye_to_receiver(client, "a control character");
	for (size_t i = 0; i < COUNT_OF(verbs_of_receiver); i++) {
		if (!str_equal(words[0], str_from(verbs_of_receiver[i].verb)))
			continue;
		if ((verbs_of_receiver[i].states & (1U << client->state)) == 0)
			return say_bye_to_receiver(client, "it says something at a wrong time");
		return verbs_of_receiver[i].hear(client, words, count);
	}
	return true; /* of a later version */
}

static const struct node_stream_handler receiver_stream = {.frame = hear_receivers_frame};

void node_client_begin(struct node_client *client, const struct node_client_handler *handler,
		       void *context, const char *name, const char *peer,
		       const struct queue_handed_serial *serial)
{
	*client = (struct node_client){.handler = handler,
				       .context = context,
				       .name = name,
				       .peer = peer,
				       .serial = *serial};
}

void node_client_clear(struct node_client *client)
{
	node_stream_clear(&client->stream);
	buffer_clear(&client->out);
	buffer_clear(&client->reason);
}

bool node_client_read(struct node_client *client, struct str bytes)
{
	if (client->state == NODE_CLIENT_ENDED)
		return false;
	if (node_stream_read(&client->stream, &receiver_stream, client, bytes) == -EINVAL)
		return say_bye_to_receiver(client, "what it says is malformed");
	return client->state != NODE_CLIENT_ENDED;
}

void node_client_begin_take(struct node_client *client, const char *package, struct str text,
			    uint64_t size)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, &client->out, "take");
	directory_frame_add(&frame, str_from(package));
	directory_frame_end(&frame);
	node_stream_begin_netstring(&client->out, text.length);
	buffer_append_str(&client->out, text);
	buffer_append_byte(&client->out, ',');
	node_stream_begin_netstring(&client->out, size);
}

void node_client_end_take(struct node_client *client)
{
	buffer_append_byte(&client->out, ',');
}

void node_client_settle(struct node_client *client, const char *package, bool is_twice)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, &client->out, is_twice ? "drop" : "settled");
	directory_frame_add(&frame, str_from(package));
	directory_frame_end(&frame);
}

void node_client_ask_status(struct node_client *client, struct str message)
{
	struct directory_frame frame;

	client->is_asked = true;
	directory_frame_begin(&frame, &client->out, "status");
	if (message.length > 0)
		directory_frame_add(&frame, message);
	directory_frame_end(&frame);
}

void node_client_ping(struct node_client *client)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, &client->out, "ping");
	directory_frame_end(&frame);
}
