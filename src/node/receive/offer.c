// SPDX-License-Identifier: ISC
/* What is taken from other nodes: only what the configuration gives to a group of this node's. */
#include "node/receive/internal.h"

static const struct directory_node *own_node(const struct node_receiver *receiver)
{
	return directory_nodes_find(receiver->parts.nodes,
				    str_from(config_node_name(receiver->parts.config)));
}

/* Whether other nodes may have this one do what TRANSPORT does. */
static bool is_transport_offered(const struct node_receiver *receiver,
				 const struct directory_node *own, struct str transport)
{
	const struct config *config = receiver->parts.config;
	const struct config_transport *found = config_transport_find(config, transport);
	const char *group = found != NULL ? config_transport_nodes(config, found->name) : "";

	return *group != '\0' && directory_node_is_in(own, str_from(group));
}

/* The name of the transport that DELIVERY needs; empty: none. */
static struct str transport_of_delivery(const struct queue_delivery *delivery)
{
	if (delivery->route == QUEUE_ROUTE_LOCAL)
		return delivery->service;
	return delivery->route == QUEUE_ROUTE_REMOTE ? STR("remote") : STR("");
}

/* The first transport that CONTROL needs and is not offered; empty: all are. */
static struct str find_unoffered(const struct node_receiver *receiver,
				 const struct directory_node *own,
				 const struct queue_control *control)
{
	struct str stage = str_from(mail_stage_name(control->envelope->stage));

	if (!control->is_mapped)
		return is_transport_offered(receiver, own, stage) ? STR("") : stage;
	for (size_t i = 0; i < control->delivery_count; i++) {
		struct str transport = transport_of_delivery(&control->deliveries[i]);

		if (!is_transport_offered(receiver, own, transport))
			return transport.length > 0 ? transport : STR("none");
	}
	return STR("");
}

bool node_offer_refuses(const struct node_receiver *receiver, const struct queue_control *control,
			struct mail_verdict *verdict_out)
{
	const struct directory_node *own = own_node(receiver);
	struct str unoffered;

	if (receiver->is_stopping) {
		mail_verdict_set(verdict_out, "4.3.2", "it stops");
		return true;
	}
	if (own == NULL || own->state != DIRECTORY_NODE_ACTIVE) {
		mail_verdict_set(verdict_out, "4.3.2",
				 own == NULL ? "it has no record in the table of nodes"
					     : "it is not active");
		return true;
	}
	if (control->envelope->via >= MAIL_VIA_MAX) {
		mail_verdict_set(verdict_out, "4.4.6",
				 "the message was handed over %u times: the nodes' "
				 "configurations make a loop",
				 control->envelope->via);
		return true;
	}
	unoffered = find_unoffered(receiver, own, control);
	if (unoffered.length == 0)
		return false;
	mail_verdict_set(verdict_out, "4.3.5",
			 "it is in no group that is configured for " STR_FORMAT,
			 STR_ARGUMENTS(unoffered));
	return true;
}
