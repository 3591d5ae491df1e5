// SPDX-License-Identifier: ISC
/* The connection to another node: what goes over it, and what comes. */
#include "base/panic.h"
#include "log/event.h"
#include "node/send/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { BLOCK_SIZE = 64 * 1024 };

static const int64_t DIAL_AGAIN_US = SECOND_US / 4;
static const int64_t DIAL_AGAIN_MAX_US = 30 * SECOND_US;

static void set_trouble(struct node_peer *peer, const char *reason)
{
	buffer_reset(&peer->trouble);
	buffer_append_string(&peer->trouble, reason);
	buffer_append_byte(&peer->trouble, '\0');
}

/* --- sending --- */

/* Whether more of the data of the package that is being sent was added. */
static bool send_more_of_package(struct node_peer *peer)
{
	static char block[BLOCK_SIZE];
	struct node_sent *sent = peer->sending;
	struct deliver_helper_job *job = sent->job;
	struct str part;
	int error;

	if (job == NULL) { /* who waited for it has given up: it cannot be ended in the middle */
		node_peer_disconnect(peer, "a package was given up");
		return false;
	}
	error = ipc_content_next(&job->content, &sent->pass, block, sizeof block, &part);
	if (error < 0) {
		log_event(EVENT_NODE_ERROR, log_string(operation, "read data"), log_error(error),
			  log_string(node, peer->name));
		node_sent_defer(sent, "4.3.0", "the data of the message cannot be read", NULL);
		node_peer_disconnect(peer, "a package's data cannot be read");
		return false;
	}
	buffer_append_str(&peer->client.out, part);
	if (ipc_content_is_passed(&job->content, &sent->pass)) {
		node_client_end_take(&peer->client);
		peer->sending = NULL;
	}
	return true;
}

static struct node_sent *find_queued(const struct node_peer *peer)
{
	struct node_sent *sent;

	DL_FOREACH2 (peer->sent, sent, next)
		if (sent->state == NODE_PACKAGE_QUEUED)
			return sent;
	return NULL;
}

/* Whether a package was begun. */
static bool begin_next_package(struct node_peer *peer)
{
	struct node_sent *sent = find_queued(peer);

	if (sent == NULL || peer->in_flight == NODE_PACKAGES_IN_FLIGHT)
		return false;
	sent->state = NODE_PACKAGE_SENT;
	sent->pass = (struct ipc_content_pass){0};
	peer->in_flight++;
	peer->sending = sent;
	node_client_begin_take(&peer->client, sent->name, sent->job->text, sent->job->content.size);
	if (sent->job->content.size == 0) {
		node_client_end_take(&peer->client);
		peer->sending = NULL;
	}
	return true;
}

/* Between packages. */
static void tell_settled(struct node_peer *peer)
{
	struct node_sent *sent;
	struct node_sent *next;

	if (!peer->has_settled || !node_peer_is_ready(peer))
		return;
	peer->has_settled = false;
	DL_FOREACH_SAFE2 (peer->sent, sent, next, next) {
		if (sent->state != NODE_PACKAGE_SETTLED)
			continue;
		node_client_settle(&peer->client, sent->name, sent->is_dropped);
		node_sent_free(sent);
	}
}

static void fill_output(void *context)
{
	struct node_peer *peer = context;

	if (peer->sending == NULL)
		tell_settled(peer);
	if (peer->sending == NULL && node_peer_is_ready(peer))
		node_question_say(peer);
	while (node_peer_is_ready(peer) && peer->is_recorded &&
	       peer->client.out.length < NODE_LINK_OUT_MAX)
		if (!(peer->sending != NULL ? send_more_of_package(peer)
					    : begin_next_package(peer)))
			return;
}

/* --- what the node says --- */

static void on_receiver_kept(void *context, struct str package, struct str text)
{
	struct node_peer *peer = context;
	struct node_sent *sent = node_sent_find(peer, package);
	struct node_numbers numbers = {0};
	char name[MAIL_PACKAGE_SIZE];

	if (sent == NULL) {
		if (text.length > 0 && !node_numbers_parse(text, &numbers)) {
			node_peer_disconnect(peer, "it has malformed numbers of deliveries");
			return;
		}
		memcpy(name, package.data, package.length);
		name[package.length] = '\0';
		sent = node_sent_new(peer, name, numbers);
		sent->state = NODE_PACKAGE_THERE;
	}
	sent->is_kept = true;
}

static void on_ready(void *context)
{
	struct node_peer *peer = context;
	struct node_sender *sender = peer->sender;
	const struct directory_node *node =
		directory_nodes_find(sender->parts.nodes, str_from(peer->name));
	const struct node_sent *sent;
	int64_t count = 0;

	DL_FOREACH2 (peer->sent, sent, next)
		count += sent->is_kept;
	log_event(EVENT_NODE_READY, log_string(node, peer->name), log_number(packages, count));
	peer->delay_us = 0;
	buffer_reset(&peer->trouble);
	node_peer_end_doubts(peer);
	node_peer_expect_nothing(peer);
	if (peer->must_answer) {
		peer->must_answer = false;
		node_sender_say_asked(sender, peer->name);
	}
	node_sender_release(sender, "node.", peer->name);
	for (size_t i = 0;
	     node != NULL && node->state == DIRECTORY_NODE_ACTIVE && i < node->group_count; i++)
		node_sender_release(sender, "nodes.", node->groups[i]);
	node_link_send(peer->link);
}

static struct node_sent *find_sent(const struct node_peer *peer, struct str package)
{
	struct node_sent *sent = node_sent_find(peer, package);

	return sent != NULL && sent->state == NODE_PACKAGE_SENT && sent != peer->sending ? sent
											 : NULL;
}

static void on_took(void *context, struct str package)
{
	struct node_peer *peer = context;
	struct node_sent *sent = find_sent(peer, package);

	if (sent == NULL) {
		node_peer_disconnect(peer, "it has taken what was not sent");
		return;
	}
	peer->in_flight--;
	peer->outstanding -= sent->size;
	sent->state = NODE_PACKAGE_THERE;
	node_sent_take(sent);
	node_link_send(peer->link);
}

static void on_later(void *context, struct str package, struct str status, struct str text)
{
	struct node_peer *peer = context;
	struct node_sent *sent = find_sent(peer, package);
	struct deliver_helper_job *job;
	struct mail_verdict verdict;
	char code[MAIL_STATUS_SIZE] = "4.3.0";

	if (sent == NULL) {
		node_peer_disconnect(peer, "it has refused what was not sent");
		return;
	}
	if (status.length < sizeof code && status.length > 2 && status.data[0] == '4') {
		memcpy(code, status.data, status.length);
		code[status.length] = '\0';
	}
	mail_verdict_set(&verdict, code, "node %s: " STR_FORMAT, peer->name, STR_ARGUMENTS(text));
	job = sent->job;
	node_sent_free(sent);
	if (job != NULL) {
		node_refuse(job, peer->name, &verdict);
		node_sender_place(peer->sender, job);
	}
	node_link_send(peer->link);
}

static void on_receivers_status(void *context, struct str text)
{
	node_question_answered(context, text);
}

static const struct node_client_handler client_handler = {on_receiver_kept, on_ready, on_took,
							  on_later, on_receivers_status};

/* --- the connection --- */

static bool read_from_receiver(void *context, struct str bytes)
{
	struct node_peer *peer = context;

	return node_client_read(&peer->client, bytes);
}

static void ping_receiver(void *context)
{
	struct node_peer *peer = context;

	/* not inside of a package */
	if (peer->sending == NULL && peer->client.state != NODE_CLIENT_ENDED)
		node_client_ping(&peer->client);
	node_link_send(peer->link);
}

/* One that was only asked for its status is not dialled again before the next question. */
static bool is_peer_wanted(const struct node_peer *peer)
{
	return peer->is_needed || peer->must_answer || peer->sent != NULL;
}

static void dial_later(struct node_peer *peer)
{
	if (!is_peer_wanted(peer))
		return;
	os_timer_start(peer->timer, peer->delay_us);
	peer->delay_us = peer->delay_us == 0 ? DIAL_AGAIN_US : 2 * peer->delay_us;
	if (peer->delay_us > DIAL_AGAIN_MAX_US)
		peer->delay_us = DIAL_AGAIN_MAX_US;
}

static void on_receiver_lost(void *context, const char *reason)
{
	struct node_peer *peer = context;
	bool is_said = *reason == '\0' && peer->client.reason.length > 0;

	set_trouble(peer, is_said ? buffer_data(&peer->client.reason) : reason);
	log_event(EVENT_NODE_LOST, log_string(node, peer->name), log_string(direction, "out"),
		  log_string(peer, peer->name), log_string(reason, buffer_data(&peer->trouble)));
	node_link_free(peer->link);
	peer->link = NULL;
	node_client_clear(&peer->client);
	node_peer_doubt(peer);
	dial_later(peer);
	node_question_failed(peer);
}

static const struct node_link_handler link_handler = {read_from_receiver, fill_output,
						      on_receiver_lost, ping_receiver};

static void on_receiver_dialed(void *context, int error, const char *reason,
			       const struct directory_transport *transport)
{
	struct node_peer *peer = context;
	struct node_sender *sender = peer->sender;

	peer->dial = NULL;
	if (error < 0) {
		if (peer->trouble.length == 0 || strcmp(buffer_data(&peer->trouble), reason) != 0)
			log_event(EVENT_NODE_UNREACHED, log_string(node, peer->name),
				  log_string(reason, reason));
		set_trouble(peer, reason);
		dial_later(peer);
		node_question_failed(peer);
		return;
	}
	set_trouble(peer, "it has not said yet what it has");
	node_client_begin(
		&peer->client, &client_handler, peer, config_node_name(sender->parts.config),
		peer->name,
		&(struct queue_handed_serial){sender->epoch, sender->run, ++sender->connections});
	peer->link = node_link_new(sender->loop, transport, &peer->client.out, &link_handler, peer);
	log_event(EVENT_NODE_CONNECTED, log_string(node, peer->name), log_string(direction, "out"),
		  log_string(peer, peer->name));
}

static void dial_peer(void *context)
{
	struct node_peer *peer = context;
	const struct node_sender *sender = peer->sender;
	const struct directory_node *node =
		directory_nodes_find(sender->parts.nodes, str_from(peer->name));

	if (peer->link != NULL || peer->dial != NULL)
		return;
	if (node == NULL) {
		set_trouble(peer, "it is not in the table of nodes");
		return; /* until that changes */
	}
	peer->dial = sender->parts.dialer->dial(sender->parts.dialer->context, node->address,
						peer->name, on_receiver_dialed, peer);
}

void node_peer_connect(struct node_peer *peer)
{
	if (is_peer_wanted(peer) || node_question_wants(peer))
		dial_peer(peer);
}

/* --- all --- */

struct node_peer *node_peer_get(struct node_sender *sender, struct str name)
{
	struct node_peer *peer = node_peer_find(sender, name);

	if (peer != NULL)
		return peer;
	peer = memory_alloc_zero(1, sizeof *peer);
	peer->sender = sender;
	memcpy(peer->name, name.data, name.length);
	peer->timer = os_timer_new(sender->loop, dial_peer, peer);
	peer->doubt_timer = os_timer_new(sender->loop, node_peer_count_doubts, peer);
	os_timer_start(peer->doubt_timer, SECOND_US);
	DL_APPEND2(sender->peers, peer, previous, next);
	return peer;
}

void node_peer_free(struct node_peer *peer)
{
	struct node_sent *sent;
	struct node_sent *next;

	DL_DELETE2(peer->sender->peers, peer, previous, next);
	DL_FOREACH_SAFE2 (peer->sent, sent, next, next) {
		struct deliver_helper_job *job = sent->job;

		node_sent_free(sent);
		if (job != NULL)
			deliver_helper_finish(job);
	}
	if (peer->dial != NULL)
		peer->sender->parts.dialer->cancel(peer->dial);
	node_link_free(peer->link);
	node_client_clear(&peer->client);
	os_timer_free(peer->timer);
	os_timer_free(peer->doubt_timer);
	buffer_clear(&peer->trouble);
	free(peer);
}
