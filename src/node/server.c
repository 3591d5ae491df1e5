// SPDX-License-Identifier: ISC
#include "node/server.h"
#include "directory/wire/frame.h"
#include "mail/package.h"
#include <errno.h>
#include <string.h>

_Static_assert((int)sizeof((struct node_server *)NULL)->package >= (int)MAIL_PACKAGE_SIZE,
	       "a package's name does not fit");

static void say_one(struct node_server *server, const char *verb, struct str word)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, &server->out, verb);
	if (word.length > 0)
		directory_frame_add(&frame, word);
	directory_frame_end(&frame);
}

static void note_end_of_server(struct node_server *server, const char *reason)
{
	server->state = NODE_SERVER_ENDED;
	buffer_reset(&server->reason);
	buffer_append_string(&server->reason, reason);
	buffer_append_byte(&server->reason, '\0');
}

void node_server_end(struct node_server *server, const char *reason)
{
	if (server->state == NODE_SERVER_ENDED)
		return;
	say_one(server, "bye", str_from(reason));
	note_end_of_server(server, reason);
}

static bool refuse_sender(struct node_server *server, const char *reason)
{
	node_server_end(server, reason);
	return false;
}

static bool read_serial(const struct str *words, struct queue_handed_serial *serial_out)
{
	return str_to_u64(words[0], &serial_out->epoch) && str_to_u64(words[1], &serial_out->run) &&
	       str_to_u64(words[2], &serial_out->connection) && serial_out->epoch > 0 &&
	       serial_out->run > 0 && serial_out->connection > 0;
}

static bool hear_senders_hello(struct node_server *server, const struct str *words, size_t count)
{
	struct queue_handed_serial serial;

	if (count < 6 || !str_equal(words[1], STR("1")))
		return refuse_sender(server, "you speak another version of the protocol");
	if (!str_equal(words[2], str_from(server->peer)))
		return refuse_sender(server, "you say that you are another node");
	if (!read_serial(&words[3], &serial))
		return refuse_sender(server, "malformed numbers in hello");
	server->state = NODE_SERVER_GREETING;
	server->handler->hello(server->context, &serial);
	return true;
}

static bool hear_take(struct node_server *server, const struct str *words, size_t count)
{
	if (count < 2 || !mail_package_parse(words[1], &(struct mail_package){0}))
		return refuse_sender(server, "a package without a name");
	if (server->in_flight == NODE_PACKAGES_IN_FLIGHT)
		return refuse_sender(server, "too many packages that are not answered");
	memcpy(server->package, words[1].data, words[1].length);
	server->package[words[1].length] = '\0';
	server->in_flight++;
	return true;
}

static bool hear_settled(struct node_server *server, const struct str *words, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (!mail_package_parse(words[i], &(struct mail_package){0}))
			return refuse_sender(server, "what is no package's name is settled");
		server->handler->settled(server->context, words[i],
					 str_equal(words[0], STR("drop")));
	}
	return true;
}

static bool hear_senders_ping(struct node_server *server, const struct str *words, size_t count)
{
	(void)words;
	(void)count;
	say_one(server, "pong", STR(""));
	return true;
}

static bool hear_question(struct node_server *server, const struct str *words, size_t count)
{
	if (server->is_asked)
		return refuse_sender(server, "you ask before the last answer");
	server->is_asked = true;
	server->handler->status(server->context, count > 1 ? words[1] : STR(""));
	return server->state != NODE_SERVER_ENDED;
}

static bool hear_senders_bye(struct node_server *server, const struct str *words, size_t count)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};

	buffer_append_string(&reason, "it says: ");
	if (count > 1)
		buffer_append_str(&reason, words[1]);
	buffer_append_byte(&reason, '\0');
	note_end_of_server(server, buffer_data(&reason));
	return false;
}

#define IN(state) (1U << (NODE_SERVER_##state))

static const struct {
	const char *verb;
	unsigned states; /* in which it may come */
	bool (*hear)(struct node_server *server, const struct str *words, size_t count);
} verbs_of_sender[] = {
	{"hello", IN(BEGUN), hear_senders_hello},
	{"take", IN(READY), hear_take},
	{"settled", IN(READY) | IN(GREETING), hear_settled},
	{"drop", IN(READY) | IN(GREETING), hear_settled},
	{"ping", IN(GREETING) | IN(READY), hear_senders_ping},
	{"status", IN(READY), hear_question},
	{"bye", IN(BEGUN) | IN(GREETING) | IN(READY), hear_senders_bye},
};

#undef IN

static bool hear_senders_frame(void *context, const struct str *words, size_t count,
			       bool *has_payload_out)
{
	struct node_server *server = context;

	for (size_t i = 0; i < count; i++)
		if (str_has_control(words[i]))
			return refuse_sender(server, "a control character");
	*has_payload_out = str_equal(words[0], STR("take"));
	for (size_t i = 0; i < COUNT_OF(verbs_of_sender); i++) {
		if (!str_equal(words[0], str_from(verbs_of_sender[i].verb)))
			continue;
		if ((verbs_of_sender[i].states & (1U << server->state)) == 0)
			return refuse_sender(server, "you say something at a wrong time");
		return verbs_of_sender[i].hear(server, words, count);
	}
	return true; /* of a later version */
}

static bool hear_text(void *context, struct str text, uint64_t size)
{
	struct node_server *server = context;

	return server->handler->take(server->context, str_from(server->package), text, size);
}

static bool hear_data(void *context, struct str part)
{
	struct node_server *server = context;

	return server->handler->data(server->context, part);
}

static bool hear_end_of_data(void *context)
{
	struct node_server *server = context;

	server->package[0] = '\0';
	return server->handler->end(server->context);
}

static const struct node_stream_handler sender_stream = {hear_senders_frame, hear_text, hear_data,
							 hear_end_of_data};

void node_server_begin(struct node_server *server, const struct node_server_handler *handler,
		       void *context, const char *name, const char *peer)
{
	struct directory_frame frame;

	*server = (struct node_server){.handler = handler, .context = context, .peer = peer};
	directory_frame_begin(&frame, &server->out, "hello");
	directory_frame_add_number(&frame, NODE_PROTOCOL);
	directory_frame_add(&frame, str_from(name));
	directory_frame_add(&frame, STR("status"));
	directory_frame_end(&frame);
}

void node_server_clear(struct node_server *server)
{
	node_stream_clear(&server->stream);
	buffer_clear(&server->out);
	buffer_clear(&server->reason);
}

bool node_server_read(struct node_server *server, struct str bytes)
{
	if (server->state == NODE_SERVER_ENDED)
		return false;
	if (node_stream_read(&server->stream, &sender_stream, server, bytes) == -EINVAL)
		return refuse_sender(server, "what you say is malformed");
	return server->state != NODE_SERVER_ENDED;
}

void node_server_kept(struct node_server *server, struct str package, struct str numbers)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, &server->out, "kept");
	directory_frame_add(&frame, package);
	directory_frame_add(&frame, numbers.length > 0 ? numbers : STR("-"));
	directory_frame_end(&frame);
}

void node_server_ready(struct node_server *server)
{
	server->state = NODE_SERVER_READY;
	say_one(server, "ready", STR(""));
}

void node_server_old(struct node_server *server, const struct queue_handed_serial *highest)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, &server->out, "old");
	directory_frame_add_number(&frame, highest->epoch);
	directory_frame_add_number(&frame, highest->run);
	directory_frame_add_number(&frame, highest->connection);
	directory_frame_end(&frame);
	note_end_of_server(server, "it has begun again since");
}

void node_server_took(struct node_server *server, const char *package)
{
	server->in_flight--;
	say_one(server, "took", str_from(package));
}

void node_server_later(struct node_server *server, const char *package, const char *status,
		       const char *text)
{
	struct directory_frame frame;

	server->in_flight--;
	directory_frame_begin(&frame, &server->out, "later");
	directory_frame_add(&frame, str_from(package));
	directory_frame_add(&frame, str_from(status));
	directory_frame_add(&frame, str_from(text));
	directory_frame_end(&frame);
}

void node_server_status(struct node_server *server, struct str text)
{
	server->is_asked = false;
	say_one(server, "status", text);
}
