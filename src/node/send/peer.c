// SPDX-License-Identifier: ISC
/*
 * Another node.
 *
 *   a package   event                           becomes
 *   QUEUED      it is its turn                  SENT
 *               the connection is lost          placed elsewhere
 *   SENT        took                            THERE; its job is done
 *               later                           gone; its job is placed elsewhere, or waits
 *               the connection is lost          DOUBT
 *   DOUBT       kept, ready                     THERE; its job is done
 *               ready, and not kept             gone; its job is placed anywhere
 *               for NODE_DOUBT_GRACE_US         DOUBT; its job waits for node.NAME
 *               for setting doubt               LOST; node.NAME is released
 *   LOST        kept                            THERE, and was_lost
 *   THERE       its message is done for good    settled, or dropped: gone
 *               ready, and not kept             gone
 *
 * It is dropped if it was_lost and another node, which never was, is known to have all of it: the
 * only copy is never dropped.
 */
#include "node/send/internal.h"
#include <utlist.h>

struct node_peer *node_peer_find(const struct node_sender *sender, struct str name)
{
	struct node_peer *peer;

	DL_FOREACH2 (sender->peers, peer, next)
		if (str_equal(name, str_from(peer->name)))
			return peer;
	return NULL;
}

bool node_peer_is_ready(const struct node_peer *peer)
{
	return peer->link != NULL && peer->client.state == NODE_CLIENT_READY;
}

void node_peer_send(struct node_peer *peer)
{
	if (!peer->is_recorded && !peer->is_recording) {
		peer->is_recording = true;
		node_sender_record_peer(peer->sender, peer->name, true);
	}
	if (peer->is_recorded && peer->link != NULL)
		node_link_send(peer->link);
}

/* At the end of this turn: who calls may be in the middle of something. */
void node_peer_disconnect(struct node_peer *peer, const char *reason)
{
	if (peer->link == NULL || peer->client.state == NODE_CLIENT_ENDED)
		return;
	peer->client.state = NODE_CLIENT_ENDED;
	buffer_reset(&peer->client.reason);
	buffer_append_string(&peer->client.reason, reason);
	buffer_append_byte(&peer->client.reason, '\0');
	node_link_end(peer->link);
}

/* It is asked for in vain after a restart, so it is tried again. */
void node_peer_forgotten(struct node_peer *peer, int error)
{
	peer->is_named = error < 0;
	node_peer_expect_nothing(peer);
}

void node_peer_recorded(struct node_peer *peer, int error)
{
	peer->is_recording = false;
	peer->is_recorded = error == 0;
	if (error == 0)
		node_peer_send(peer);
	else
		node_peer_disconnect(peer, "the queue cannot note that it may have mail");
}

static bool is_settled(struct node_sent *sent, const uint32_t *numbers, size_t count)
{
	if (count == 0)
		return true;
	if (sent->numbers.count == 0)
		return false; /* of a whole message: with its end */
	for (size_t i = 0; i < count; i++)
		if (node_numbers_remove(&sent->numbers, numbers[i]))
			return true;
	return false;
}

static bool has_deliveries_of(const struct node_sent *sent, const struct node_sent *other)
{
	if (sent->numbers.count == 0)
		return true;
	for (size_t i = 0; i < other->numbers.count; i++)
		if (!node_numbers_have(&sent->numbers, other->numbers.items[i]))
			return false;
	return other->numbers.count > 0;
}

/* Whether a node that was never given up has all of SENT: only then the one that was may drop it.
 */
static bool is_at_another_node(const struct node_sent *sent)
{
	const struct node_peer *peer;
	const struct node_sent *other;

	DL_FOREACH2 (sent->peer->sender->peers, peer, next)
		DL_FOREACH2 (peer->sent, other, next)
			if (other->id.number == sent->id.number &&
			    other->id.born_us == sent->id.born_us && !other->was_lost &&
			    (other->state == NODE_PACKAGE_THERE ||
			     other->state == NODE_PACKAGE_SETTLED) &&
			    has_deliveries_of(other, sent))
				return true;
	return false;
}

void node_peer_settle(struct node_peer *peer, struct mail_id id, const uint32_t *numbers,
		      size_t count)
{
	struct node_sent *sent;
	struct node_sent *next;

	DL_FOREACH_SAFE2 (peer->sent, sent, next, next) {
		if (sent->id.number != id.number || sent->id.born_us != id.born_us ||
		    sent->state != NODE_PACKAGE_THERE || !is_settled(sent, numbers, count))
			continue;
		sent->state = NODE_PACKAGE_SETTLED;
		sent->is_dropped = sent->was_lost && is_at_another_node(sent);
		peer->has_settled = true;
	}
	if (peer->has_settled && peer->link != NULL)
		node_link_send(peer->link);
}
