// SPDX-License-Identifier: ISC
/* What "send" is told. */
#include "ipc/pack.h"
#include "node/send/internal.h"

static void say_to_send(struct node_sender *sender, enum ipc_job type, const struct buffer *body)
{
	if (sender->helper != NULL)
		(void)deliver_helper_say(sender->helper, type, buffer_view(body));
}

void node_sender_release(struct node_sender *sender, const char *prefix, const char *name)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct buffer trigger CLEANUP(buffer_clear) = {0};

	buffer_append_format(&trigger, "%s%s", prefix, name);
	pack_str(&body, buffer_view(&trigger));
	say_to_send(sender, IPC_JOB_RELEASE, &body);
}

void node_sender_say_kept(struct node_sender *sender, const struct node_sent *sent)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, sent->id.number);
	pack_u64(&body, (uint64_t)sent->id.born_us);
	pack_u32(&body, sent->numbers.count == 0);
	say_to_send(sender, IPC_JOB_KEPT, &body);
}

void node_sender_say_asked(struct node_sender *sender, const char *node)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, str_from(node));
	say_to_send(sender, IPC_JOB_ASKED, &body);
}

void node_sender_record_peer(struct node_sender *sender, const char *node, bool is_wanted)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, str_from(node));
	pack_u32(&body, is_wanted);
	say_to_send(sender, IPC_JOB_PEER, &body);
}

void node_sender_say_groups(struct node_sender *sender)
{
	const struct directory_node *own = directory_nodes_find(
		sender->parts.nodes, str_from(config_node_name(sender->parts.config)));
	bool is_draining = own != NULL && own->state != DIRECTORY_NODE_ACTIVE;
	struct buffer body CLEANUP(buffer_clear) = {0};

	if (!directory_nodes_is_known(sender->parts.nodes))
		return;
	pack_u32(&body, is_draining);
	for (size_t i = 0; own != NULL && !is_draining && i < own->group_count; i++)
		pack_str(&body, str_from(own->groups[i]));
	say_to_send(sender, IPC_JOB_GROUPS, &body);
}
