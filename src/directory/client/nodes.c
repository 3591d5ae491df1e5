// SPDX-License-Identifier: ISC
#include "directory/client/nodes.h"
#include "base/arena.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/client/client.h"
#include "directory/record/key.h"
#include <stdlib.h>
#include <string.h>

static const int64_t LIST_AGAIN_US = SECOND_US; /* after a list that failed */

struct directory_nodes {
	struct directory_client *client;
	const struct directory_nodes_handler *handler;
	void *context;
	struct directory_question list;
	struct os_timer *again;
	bool is_listing;
	bool has_changed; /* since the list was requested: parts of it may be older */
	bool is_known;
	struct arena *arena; /* of the copy */
	struct directory_node *copy;
	size_t count;
	struct buffer text; /* the copy in one form, to be compared */
};

/* --- a list of records as nodes --- */

static bool is_node_name(struct str name)
{
	struct buffer form CLEANUP(buffer_clear) = {0};

	return directory_key_normalize(DIRECTORY_NODE, name, &form) == 0 &&
	       str_equal(buffer_view(&form), name);
}

static enum directory_node_state node_state_of_text(struct str text)
{
	if (text.length == 0 || str_equal(text, STR("active")))
		return DIRECTORY_NODE_ACTIVE;
	return str_equal(text, STR("away")) ? DIRECTORY_NODE_AWAY : DIRECTORY_NODE_DRAINING;
}

static void read_node_field(struct arena *arena, const struct directory_field *field,
			    struct directory_node *node, const char **groups)
{
	uint64_t weight;

	if (str_equal(field->name, STR("address")))
		node->address = arena_copy(arena, field->value);
	else if (str_equal(field->name, STR("group")))
		groups[node->group_count++] = arena_copy(arena, field->value);
	else if (str_equal(field->name, STR("state")))
		node->state = node_state_of_text(field->value);
	else if (str_equal(field->name, STR("weight")) && str_to_u64(field->value, &weight) &&
		 weight >= 1 && weight <= DIRECTORY_NODE_WEIGHT_MAX)
		node->weight = (unsigned)weight;
}

/* False if RECORD is not a node's: a name is to be trusted as that of a file. */
static bool read_node(struct arena *arena, const struct directory_record *record,
		      struct directory_node *node_out)
{
	const char **groups = arena_alloc(arena, (record->field_count + 1) * sizeof *groups);

	*node_out = (struct directory_node){.groups = groups, .weight = 1};
	if (!is_node_name(record->key.name))
		return false;
	node_out->name = arena_copy(arena, record->key.name);
	for (size_t i = 0; i < record->field_count; i++)
		read_node_field(arena, &record->fields[i], node_out, groups);
	return node_out->address != NULL;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct directory_node *x = a;
	const struct directory_node *y = b;

	return strcmp(x->name, y->name);
}

static void append_node_text(const struct directory_node *node, struct buffer *out)
{
	buffer_append_format(out, "%s %s %u %d", node->name, node->address, node->weight,
			     (int)node->state);
	for (size_t i = 0; i < node->group_count; i++)
		buffer_append_format(out, " %s", node->groups[i]);
	buffer_append_byte(out, '\n');
}

/* --- the copy --- */

static void replace_copy(struct directory_nodes *nodes, struct arena *arena,
			 struct directory_node *copy, size_t count, struct buffer *text)
{
	arena_free(nodes->arena);
	buffer_clear(&nodes->text);
	nodes->arena = arena;
	nodes->copy = copy;
	nodes->count = count;
	nodes->text = *text;
	nodes->is_known = true;
	nodes->handler->changed(nodes->context);
}

static void take_list_of_nodes(struct directory_nodes *nodes,
			       const struct directory_answer_text *answer)
{
	struct arena *arena = arena_new();
	struct directory_page page = directory_client_page(answer, DIRECTORY_NODE, arena);
	struct directory_node *copy = arena_alloc(arena, (page.count + 1) * sizeof *copy);
	struct buffer text = {0};
	size_t count = 0;

	for (size_t i = 0; i < page.count; i++)
		count += read_node(arena, &page.records[i], &copy[count]);
	qsort(copy, count, sizeof *copy, compare_nodes);
	for (size_t i = 0; i < count; i++)
		append_node_text(&copy[i], &text);
	if (!nodes->is_known || !str_equal(buffer_view(&text), buffer_view(&nodes->text))) {
		replace_copy(nodes, arena, copy, count, &text);
		return;
	}
	buffer_clear(&text);
	arena_free(arena);
}

/* --- when it is listed --- */

static void list_nodes(struct directory_nodes *nodes)
{
	if (nodes->is_listing)
		return;
	os_timer_stop(nodes->again);
	nodes->is_listing = true;
	nodes->has_changed = false;
	directory_client_list(nodes->client, directory_table_name(DIRECTORY_NODE), STR(""), STR(""),
			      DIRECTORY_NODES_MAX, &nodes->list);
}

static void on_nodes_listed(void *context, const struct directory_answer_text *answer)
{
	struct directory_nodes *nodes = context;
	bool must_list_again = nodes->has_changed;

	nodes->is_listing = false;
	if (answer->error != DIRECTORY_ERROR_NONE) {
		os_timer_start(nodes->again, LIST_AGAIN_US);
		return;
	}
	if (must_list_again)
		list_nodes(nodes);
	take_list_of_nodes(nodes, answer);
}

static void on_list_again(void *context)
{
	list_nodes(context);
}

/* An empty TABLE: anything may have changed. */
static void on_directory_change(void *context, uint64_t version, struct str table, struct str key)
{
	struct directory_nodes *nodes = context;

	(void)version;
	(void)key;
	if (table.length > 0 && directory_table_find(table) != DIRECTORY_NODE)
		return;
	nodes->has_changed = true;
	list_nodes(nodes);
}

/* A list that failed need not wait any longer. */
static void on_directory_state(void *context, bool is_up)
{
	struct directory_nodes *nodes = context;

	if (is_up && os_timer_is_running(nodes->again))
		os_timer_start(nodes->again, 0);
}

/* --- life --- */

struct directory_nodes *directory_nodes_new(struct os_loop *loop, const char *server,
					    const struct directory_nodes_handler *handler,
					    void *context)
{
	static const struct directory_client_handler client_handler = {on_directory_state};
	struct directory_nodes *nodes = memory_alloc_zero(1, sizeof *nodes);

	nodes->handler = handler;
	nodes->context = context;
	nodes->list = (struct directory_question){.answered = on_nodes_listed, .context = nodes};
	nodes->arena = arena_new();
	nodes->again = os_timer_new(loop, on_list_again, nodes);
	nodes->client = directory_client_new(loop, &server, 1, NULL, &client_handler, nodes);
	directory_client_set_capacity(nodes->client, 0);
	directory_client_watch(nodes->client, on_directory_change, nodes);
	list_nodes(nodes);
	return nodes;
}

void directory_nodes_free(struct directory_nodes *nodes)
{
	if (nodes == NULL)
		return;
	directory_client_free(nodes->client);
	os_timer_free(nodes->again);
	arena_free(nodes->arena);
	buffer_clear(&nodes->text);
	free(nodes);
}

/* --- what is known --- */

struct str directory_nodes_identity(const struct directory_nodes *nodes)
{
	return directory_client_identity(nodes->client);
}

uint64_t directory_nodes_version(const struct directory_nodes *nodes)
{
	return directory_client_version(nodes->client);
}

bool directory_nodes_is_up(const struct directory_nodes *nodes)
{
	return directory_client_is_up(nodes->client);
}

bool directory_nodes_is_known(const struct directory_nodes *nodes)
{
	return nodes->is_known;
}

size_t directory_nodes_count(const struct directory_nodes *nodes)
{
	return nodes->count;
}

const struct directory_node *directory_nodes_at(const struct directory_nodes *nodes,
						size_t position)
{
	return &nodes->copy[position];
}

/* In the order of strcmp(), which sorted them. */
static int compare_name_with_node(const void *key, const void *entry)
{
	const struct str *name = key;
	struct str other = str_from(((const struct directory_node *)entry)->name);
	size_t shorter = name->length < other.length ? name->length : other.length;
	int order = shorter > 0 ? memcmp(name->data, other.data, shorter) : 0;

	if (order != 0)
		return order;
	return (name->length > other.length) - (name->length < other.length);
}

const struct directory_node *directory_nodes_find(const struct directory_nodes *nodes,
						  struct str name)
{
	if (nodes->count == 0)
		return NULL;
	return bsearch(&name, nodes->copy, nodes->count, sizeof *nodes->copy,
		       compare_name_with_node);
}

bool directory_node_is_in(const struct directory_node *node, struct str group)
{
	for (size_t i = 0; i < node->group_count; i++)
		if (str_equal(str_from(node->groups[i]), group))
			return true;
	return false;
}
