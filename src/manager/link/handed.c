// SPDX-License-Identifier: ISC
#include "manager/link/handed.h"
#include "base/panic.h"
#include "base/table.h"
#include "log/event.h"
#include "mail/package.h"
#include "queue/peers.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCH = 1 }; /* no disk is adopted yet */

/* A node whose answer is awaited. */
struct doubt {
	struct doubt *next;
	char node[MAIL_NODE_MAX + 1];
};

/* A message of which another node has all. */
struct kept {
	struct mail_id id;
	UT_hash_handle hh; /* by number */
};

struct handed {
	struct queue_store *store;
	struct helpers *helpers;
	const struct config *config;
	const struct handed_handler *handler;
	void *context;
	struct doubt *doubts;
	struct kept *kept;
	struct mail_id *later; /* [later_count]; owned */
	size_t later_count, later_capacity;
	struct buffer groups; /* of this node, each packed; empty before they are known */
	bool knows_groups;
	bool is_draining; /* what waits is to go to other nodes */
	bool hands_over;  /* the configuration names groups */
};

/* --- doubts --- */

static int add_doubt(void *context, struct str node)
{
	struct handed *handed = context;
	struct doubt *doubt = memory_alloc_zero(1, sizeof *doubt);

	memcpy(doubt->node, node.data, node.length);
	doubt->next = handed->doubts;
	handed->doubts = doubt;
	return 0;
}

static void end_doubt(struct handed *handed, struct str node)
{
	struct buffer trigger CLEANUP(buffer_clear) = {0};

	for (struct doubt **place = &handed->doubts; *place != NULL; place = &(*place)->next) {
		struct doubt *doubt = *place;

		if (!str_equal(node, str_from(doubt->node)))
			continue;
		*place = doubt->next;
		free(doubt);
		break;
	}
	buffer_append_format(&trigger, "node." STR_FORMAT, STR_ARGUMENTS(node));
	handed->handler->released(handed->context, buffer_view(&trigger));
}

bool handed_is_doubtful(const struct handed *handed, struct buffer *name)
{
	if (handed->doubts == NULL)
		return false;
	buffer_append_format(name, "node.%s", handed->doubts->node);
	return true;
}

bool handed_is_kept(const struct handed *handed, struct mail_id id)
{
	struct kept *kept;

	HASH_FIND(hh, handed->kept, &id.number, sizeof id.number, kept);
	return kept != NULL && kept->id.born_us == id.born_us;
}

/* --- groups --- */

static bool is_own_group(const struct handed *handed, const char *group)
{
	struct unpack body = {buffer_view(&handed->groups), false};

	while (body.rest.length > 0)
		if (str_equal(unpack_str(&body), str_from(group)))
			return true;
	return false;
}

bool handed_is_configured(const struct handed *handed)
{
	return handed->hands_over;
}

bool handed_knows_groups(const struct handed *handed)
{
	return handed->knows_groups;
}

const char *handed_group_of(const struct handed *handed, const char *transport)
{
	const char *group;

	if (!handed->hands_over)
		return "";
	group = config_transport_nodes(handed->config, transport);
	return *group != '\0' && is_own_group(handed, group) ? "" : group;
}

/* --- the helper --- */

static int pack_peer_name(void *context, struct str node)
{
	pack_str(context, node);
	return 0;
}

void handed_joined(struct handed *handed)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct buffer peers CLEANUP(buffer_clear) = {0};
	uint64_t run = 0;
	int error = queue_peers_begin_run(handed->store, &run);

	if (error == 0)
		error = queue_peers_each(handed->store, pack_peer_name, &peers);
	if (error < 0) { /* it hands nothing over without a run, and its mail waits */
		log_event(EVENT_QUEUE_ERROR, log_string(operation, "peers"), log_error(error));
		return;
	}
	pack_u64(&body, EPOCH);
	pack_u64(&body, run);
	buffer_append_str(&body, buffer_view(&peers));
	helpers_tell(handed->helpers, HANDED_SERVICE, IPC_JOB_RUN, buffer_view(&body));
}

static bool hear_groups(struct handed *handed, struct unpack body)
{
	struct buffer groups = {0};
	struct unpack rest = body;
	bool is_draining = unpack_u32(&rest) != 0;
	bool has_changed;

	while (rest.rest.length > 0 && !rest.failed)
		pack_str(&groups, unpack_str(&rest));
	has_changed = !handed->knows_groups ||
		      !str_equal(buffer_view(&groups), buffer_view(&handed->groups));
	buffer_clear(&handed->groups);
	handed->groups = groups;
	handed->knows_groups = true;
	if (has_changed)
		handed->handler->groups_changed(handed->context);
	if (is_draining != handed->is_draining) {
		handed->is_draining = is_draining;
		handed->handler->draining(handed->context);
	}
	return !rest.failed;
}

bool handed_is_draining(const struct handed *handed)
{
	return handed->is_draining;
}

static bool hear_peer(struct handed *handed, struct unpack body)
{
	struct str node = unpack_str(&body);
	bool is_wanted = unpack_u32(&body) != 0;
	struct buffer answer CLEANUP(buffer_clear) = {0};
	int error;

	if (!unpack_is_whole(&body) || !mail_node_is_valid(node))
		return false;
	error = is_wanted ? queue_peers_add(handed->store, node)
			  : queue_peers_remove(handed->store, node);
	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_string(operation, "peers"), log_error(error));
	pack_str(&answer, node);
	pack_u32(&answer, is_wanted);
	pack_u32(&answer, (uint32_t)-error);
	helpers_tell(handed->helpers, HANDED_SERVICE, IPC_JOB_PEERED, buffer_view(&answer));
	return true;
}

static void note_kept(struct handed *handed, struct mail_id id)
{
	struct kept *kept;

	HASH_FIND(hh, handed->kept, &id.number, sizeof id.number, kept);
	if (kept == NULL) {
		kept = memory_alloc_zero(1, sizeof *kept);
		kept->id = id;
		HASH_ADD(hh, handed->kept, id.number, sizeof id.number, kept);
	}
	kept->id = id;
}

static bool hear_kept_package(struct handed *handed, struct unpack body)
{
	while (body.rest.length > 0 && !body.failed) {
		struct mail_id id;
		bool is_whole;

		id.number = unpack_u64(&body);
		id.born_us = (int64_t)unpack_u64(&body);
		is_whole = unpack_u32(&body) != 0;
		if (body.failed)
			break;
		if (is_whole)
			note_kept(handed, id);
		handed->handler->kept(handed->context, id);
	}
	return !body.failed;
}

static bool hear_asked(struct handed *handed, struct unpack body)
{
	struct str node = unpack_str(&body);

	if (!unpack_is_whole(&body) || !mail_node_is_valid(node))
		return false;
	end_doubt(handed, node);
	return true;
}

static bool hear_release(struct handed *handed, struct unpack body)
{
	struct str trigger = unpack_str(&body);

	if (!unpack_is_whole(&body))
		return false;
	handed->handler->released(handed->context, trigger);
	return true;
}

bool handed_hear(struct handed *handed, enum ipc_job type, struct str body)
{
	const struct unpack unpack = {body, false};

	switch (type) {
	case IPC_JOB_GROUPS:
		return hear_groups(handed, unpack);
	case IPC_JOB_PEER:
		return hear_peer(handed, unpack);
	case IPC_JOB_KEPT:
		return hear_kept_package(handed, unpack);
	case IPC_JOB_ASKED:
		return hear_asked(handed, unpack);
	case IPC_JOB_RELEASE:
		return hear_release(handed, unpack);
	default:
		return false;
	}
}

void handed_settle(struct handed *handed, struct mail_id id, const uint32_t *numbers, size_t count)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct kept *kept;

	pack_u64(&body, id.number);
	pack_u64(&body, (uint64_t)id.born_us);
	pack_u32(&body, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		pack_u32(&body, numbers[i]);
	helpers_tell(handed->helpers, HANDED_SERVICE, IPC_JOB_SETTLED, buffer_view(&body));
	HASH_FIND(hh, handed->kept, &id.number, sizeof id.number, kept);
	if (kept == NULL || count > 0)
		return;
	HASH_DELETE(hh, handed->kept, kept);
	free(kept);
}

void handed_ask_later(struct handed *handed, struct mail_id id)
{
	handed->later = memory_grow(handed->later, handed->later_count, &handed->later_capacity,
				    sizeof *handed->later);
	handed->later[handed->later_count++] = id;
}

void handed_ask_again(struct handed *handed)
{
	struct mail_id *ids = handed->later;
	size_t count = handed->later_count;

	handed->later = NULL;
	handed->later_count = handed->later_capacity = 0;
	for (size_t i = 0; i < count; i++)
		handed->handler->kept(handed->context, ids[i]);
	free(ids);
}

/* --- all --- */

struct handed *handed_new(struct queue_store *store, struct helpers *helpers,
			  const struct config *config, const struct handed_handler *handler,
			  void *context)
{
	struct handed *handed = memory_alloc_zero(1, sizeof *handed);
	int error;

	handed->store = store;
	handed->helpers = helpers;
	handed_configure(handed, config);
	handed->handler = handler;
	handed->context = context;
	error = queue_peers_each(store, add_doubt, handed);
	if (error < 0 && error != -ENOENT) /* a queue without this directory has never had peers */
		cannot_begin("the queue's directory peers cannot be read", error);
	return handed;
}

void handed_configure(struct handed *handed, const struct config *config)
{
	handed->config = config;
	handed->hands_over = config_hands_over(config);
}

void handed_free(struct handed *handed)
{
	struct kept *kept;
	struct kept *next;

	HASH_ITER (hh, handed->kept, kept, next) {
		HASH_DELETE(hh, handed->kept, kept);
		free(kept);
	}
	while (handed->doubts != NULL) {
		struct doubt *doubt = handed->doubts;

		handed->doubts = doubt->next;
		free(doubt);
	}
	buffer_clear(&handed->groups);
	free(handed->later);
	free(handed);
}
