// SPDX-License-Identifier: ISC
#include "deliver/list/graph.h"
#include "deliver/list/copy.h"
#include "log/event.h"
#include "mail/localpart.h"
#include "mail/verp.h"
#include <stdlib.h>

struct list_graph_member {
	struct list_graph *graph;
	struct directory_request request;
	struct str address; /* in the page's arena */
};

struct list_graph_name {
	UT_hash_handle hh;
};

static bool has_name_in_set(const struct list_graph_name *set, struct str name)
{
	struct list_graph_name *found;

	HASH_FIND(hh, set, name.data, name.length, found);
	return found != NULL;
}

static void add_name_to_set(struct list_graph *graph, struct list_graph_name **set, struct str name)
{
	struct list_graph_name *added;

	if (has_name_in_set(*set, name))
		return;
	added = arena_alloc(graph->arena, sizeof *added);
	name = arena_copy_str(graph->arena, name);
	HASH_ADD_KEYPTR(hh, *set, name.data, name.length, added);
}

bool list_graph_is_list(const struct list_graph *graph, struct str member)
{
	return has_name_in_set(graph->nested, member);
}

static void fail_list_graph(struct list_graph *graph, const char *status, const char *text)
{
	mail_verdict_set(&graph->verdict, status, "%s", text);
}

static bool has_graph_failed(const struct list_graph *graph)
{
	return graph->verdict.class != MAIL_OK;
}

/* --- a list --- */

/* The owner, or its VERP form (mail/verp.h), which becomes a different sender for each member. */
static struct str sender_of(struct list_graph *graph, const struct directory_target *list)
{
	struct mail_parts owner = mail_parts_of(list->owner);
	struct buffer local CLEANUP(buffer_clear) = {0};
	struct buffer sender CLEANUP(buffer_clear) = {0};

	if (list->verp) {
		mail_local_unquote(owner.local, &local);
		buffer_append_byte(&local, '+');
		mail_address_write(buffer_view(&local), owner.domain, &sender);
		buffer_append_string(&sender, "-@[]");
	}
	return arena_copy_str(graph->arena, mail_verp_is(buffer_view(&sender))
						    ? buffer_view(&sender)
						    : list->owner);
}

static void add_node(struct list_graph *graph, const struct directory_target *list,
		     const struct list_node *parent)
{
	struct list_node *node = arena_alloc(graph->arena, sizeof *node);
	struct buffer head CLEANUP(buffer_clear) = {0};

	list_copy_head(graph->key, list->address, parent == NULL ? graph->via : STR(""), &head);
	if (parent != NULL)
		buffer_append_str(&head, parent->head);
	*node = (struct list_node){
		.address = arena_copy_str(graph->arena, list->address),
		.sender = sender_of(graph, list),
		.head = arena_copy_str(graph->arena, buffer_view(&head)),
		.parent = parent,
		.depth = parent != NULL ? parent->depth + 1 : 0,
	};
	HASH_ADD_KEYPTR(hh, graph->nodes, node->address.data, node->address.length, node);
}

static void log_loop(const struct list_graph *graph, struct str list, struct str way)
{
	log_event(EVENT_LIST_LOOP, log_id(graph->job->id), log_str(list, list), log_str(way, way));
}

/* "one@d > two@d > one@d", where NODE, or one of its ancestors, is LIST. */
static void append_way(const struct list_node *node, const struct list_node *list,
		       struct buffer *way)
{
	if (node != list)
		append_way(node->parent, list, way);
	buffer_append_str(way, node->address);
	buffer_append_string(way, " > ");
}

/* LIST was found again. If it is a loop, that is logged. */
static void meet_again(const struct list_graph *graph, const struct list_node *list)
{
	struct buffer way CLEANUP(buffer_clear) = {0};

	for (const struct list_node *above = graph->node; above != NULL; above = above->parent) {
		if (above != list)
			continue;
		append_way(graph->node, list, &way);
		buffer_append_str(&way, list->address);
		log_loop(graph, list->address, buffer_view(&way));
	}
}

static void enter_list_into_graph(struct list_graph *graph, const struct directory_target *list)
{
	struct buffer way CLEANUP(buffer_clear) = {0};
	struct list_node *node;
	int looped;

	HASH_FIND(hh, graph->nodes, list->address.data, list->address.length, node);
	if (node != NULL) {
		meet_again(graph, node);
		return;
	}
	looped =
		list_copy_find_loop(&graph->job->content, graph->key, list->address, STR(""), &way);
	if (looped > 0)
		log_loop(graph, list->address, buffer_view(&way));
	else if (looped < 0)
		fail_list_graph(graph, "4.3.0", "the message cannot be read");
	else if (list->owner.length == 0)
		fail_list_graph(graph, "4.3.5", "a list that the list leads to has no owner");
	else if (graph->node->depth + 1 >= DIRECTORY_DEPTH_MAX ||
		 HASH_COUNT(graph->nodes) >= DIRECTORY_TARGETS_MAX)
		fail_list_graph(graph, "4.4.6", "the list leads to more lists than are allowed");
	else
		add_node(graph, list, graph->node);
}

/* --- members --- */

static void next_page(struct list_graph *graph);

static bool is_lists(const struct directory_result *result)
{
	for (size_t i = 0; i < result->target_count; i++)
		if (result->targets[i].kind != DIRECTORY_TARGET_LIST)
			return false;
	return result->answer == DIRECTORY_FOUND;
}

static void end_page(struct list_graph *graph)
{
	free(graph->members);
	graph->members = NULL;
	graph->member_count = 0;
	arena_reset(graph->page_arena);
	if (graph->is_last) {
		graph->node = graph->node->hh.next;
		buffer_reset(&graph->after);
	}
	next_page(graph);
}

static void on_member_resolved(void *context, const struct directory_result *result)
{
	struct list_graph_member *member = context;
	struct list_graph *graph = member->graph;

	if (result->answer == DIRECTORY_NOT_LOCAL) {
		add_name_to_set(graph, &graph->foreign, mail_parts_of(member->address).domain);
	} else if (result->answer == DIRECTORY_UNKNOWN && result->is_away) {
		graph->verdict = result->verdict;
		graph->trigger = "directory";
	} else if (is_lists(result)) {
		add_name_to_set(graph, &graph->nested, member->address);
		for (size_t i = 0; i < result->target_count && !has_graph_failed(graph); i++)
			enter_list_into_graph(graph, &result->targets[i]);
	}
	if (--graph->pending == 0)
		end_page(graph);
}

static void on_graph_members(void *context, const struct directory_members *page)
{
	struct list_graph *graph = context;

	if (!page->is_known) {
		graph->verdict = page->verdict;
		graph->trigger = "directory";
		next_page(graph);
		return;
	}
	graph->is_last = page->is_end;
	if (page->count > 0) {
		buffer_reset(&graph->after);
		buffer_append_str(&graph->after, page->members[page->count - 1]);
	}
	graph->members = memory_alloc_zero(page->count + 1, sizeof *graph->members);
	for (size_t i = 0; i < page->count; i++) {
		struct str domain = mail_parts_of(page->members[i]).domain;

		if (!has_name_in_set(graph->foreign, domain))
			graph->members[graph->member_count++] = (struct list_graph_member){
				.graph = graph,
				.address = arena_copy_str(graph->page_arena, page->members[i])};
	}
	graph->pending = graph->member_count + 1; /* answers may come before all are asked */
	for (size_t i = 0; i < graph->member_count; i++)
		directory_lookup(graph->directory, graph->members[i].address, on_member_resolved,
				 &graph->members[i], &graph->members[i].request);
	if (--graph->pending == 0)
		end_page(graph);
}

static void next_page(struct list_graph *graph)
{
	if (has_graph_failed(graph))
		graph->done(graph->context, &graph->verdict, graph->trigger);
	else if (graph->node == NULL)
		graph->done(graph->context, NULL, NULL);
	else
		directory_list_members(graph->directory, graph->node->address,
				       buffer_view(&graph->after), on_graph_members, graph,
				       &graph->page);
}

/* --- the list itself --- */

static void on_list_route(void *context, const struct directory_result *result)
{
	struct list_graph *graph = context;

	if (result->answer == DIRECTORY_UNKNOWN) {
		graph->verdict = result->verdict;
		graph->trigger = result->is_away ? "directory" : NULL;
	} else if (result->target_count != 1 || !is_lists(result)) {
		fail_list_graph(graph, "5.1.1", "there is no such list any more");
	} else if (result->targets[0].owner.length == 0) {
		fail_list_graph(graph, "4.3.5", "the list has no owner");
	} else {
		graph->list = result->targets[0];
		graph->list.address = arena_copy_str(graph->arena, graph->list.address);
		graph->list.owner = arena_copy_str(graph->arena, graph->list.owner);
		add_node(graph, &result->targets[0], NULL);
		graph->node = graph->nodes;
	}
	next_page(graph);
}

void list_graph_start(struct list_graph *graph, struct str list)
{
	graph->arena = arena_new();
	graph->page_arena = arena_new();
	directory_lookup(graph->directory, list, on_list_route, graph, &graph->route);
}

void list_graph_clear(struct list_graph *graph)
{
	directory_request_cancel(&graph->route);
	directory_members_cancel(&graph->page);
	for (size_t i = 0; i < graph->member_count; i++)
		directory_request_cancel(&graph->members[i].request);
	free(graph->members);
	HASH_CLEAR(hh, graph->nodes);
	HASH_CLEAR(hh, graph->nested);
	HASH_CLEAR(hh, graph->foreign);
	buffer_clear(&graph->after);
	arena_free(graph->page_arena);
	arena_free(graph->arena);
}
