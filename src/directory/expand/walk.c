// SPDX-License-Identifier: ISC
/* Walks the finished graph depth first: makes routes in the order of targets, detects loops. */
#include "directory/expand/internal.h"
#include <string.h>

enum {
	LOOP_TEXT_MAX = 300, /* bytes of addresses; those in the middle are omitted */
	ROUTES_FIRST = 8,    /* initial capacity, a power of two */
};

struct seen { /* a route, as text */
	UT_hash_handle hh;
};

struct walk {
	struct expansion *expansion;
	struct seen *seen;
	bool has_several; /* paths from the root */
};

/* Grows the array by doubling in the arena, so N routes cost O(N). */
static void append_expanded_route(struct expansion *expansion, const struct directory_route *route)
{
	size_t count = expansion->route_count;
	struct directory_route *grown;

	if (count >= ROUTES_FIRST ? (count & (count - 1)) == 0 : count == 0) {
		grown = arena_alloc(expansion->arena,
				    (count == 0 ? ROUTES_FIRST : 2 * count) * sizeof *grown);
		if (count > 0)
			memcpy(grown, expansion->routes, count * sizeof *grown);
		expansion->routes = grown;
	}
	expansion->routes[expansion->route_count++] = *route;
}

static bool is_seen(struct walk *walk, const struct directory_route *route)
{
	struct expansion *expansion = walk->expansion;
	struct seen *seen;
	struct str text;

	buffer_reset(&expansion->scratch);
	directory_route_write(route, &expansion->scratch);
	text = buffer_view(&expansion->scratch);
	HASH_FIND(hh, walk->seen, text.data, text.length, seen);
	if (seen != NULL)
		return true;
	seen = arena_alloc(expansion->arena, sizeof *seen);
	text = arena_copy_str(expansion->arena, text);
	HASH_ADD_KEYPTR(hh, walk->seen, text.data, text.length, seen);
	return false;
}

static void emit_expanded_route(struct walk *walk, const struct directory_route *route)
{
	struct expansion *expansion = walk->expansion;

	/* a chain of aliases has one route, and needs no set */
	if (walk->has_several && is_seen(walk, route))
		return;
	if (expansion->route_count == DIRECTORY_TARGETS_MAX)
		expansion->is_too_big = true;
	else
		append_expanded_route(expansion, route);
}

/* A fault of the data, so a temporary refusal: the mail waits until it is corrected. */
static void emit_refusal(struct walk *walk, const struct expand_node *node, const char *text)
{
	struct expand_node end = {.shown = node->shown};

	expand_refuse(walk->expansion, &end, "4.4.6", "%s", text);
	emit_expanded_route(walk, &end.route);
}

static void append_step(struct buffer *out, struct str address)
{
	if (out->length > 0)
		buffer_append_string(out, " > ");
	buffer_append_str(out, address);
}

/* NODE is already on the path, along which each has the next one: a@d > b@d > a@d. */
static void emit_loop(struct walk *walk, const struct expand_node *node)
{
	const struct expand_node *step = node;
	struct buffer steps = {0};
	struct buffer text = {0};

	do {
		if (steps.length + step->address.length > LOOP_TEXT_MAX) {
			append_step(&steps, STR("..."));
			break;
		}
		append_step(&steps, step->address);
		step = step->next;
	} while (step != node);
	append_step(&steps, node->address);
	buffer_append_format(&text, "The address leads to itself: " STR_FORMAT,
			     STR_ARGUMENTS(buffer_view(&steps)));
	buffer_append_byte(&text, '\0');
	emit_refusal(walk, node, buffer_data(&text));
	buffer_clear(&steps);
	buffer_clear(&text);
}

/* The path to NODE may be longer than its depth, which alone is bounded. */
static void visit_expanded_node(struct walk *walk, struct expand_node *node)
{
	if (node->is_on_path) {
		emit_loop(walk, node);
		return;
	}
	if (node->is_walked)
		return;
	if (node->is_end) {
		node->is_walked = true;
		emit_expanded_route(walk, &node->route);
		return;
	}
	if (node->depth >= DIRECTORY_DEPTH_MAX) {
		emit_refusal(walk, node, "The address is more steps away than are allowed");
		return;
	}
	node->is_on_path = true;
	walk->has_several |= node->child_count > 1;
	for (size_t i = 0; i < node->child_count && !walk->expansion->is_too_big; i++) {
		node->next = node->children[i];
		visit_expanded_node(walk, node->children[i]);
	}
	node->is_on_path = false;
	node->is_walked = true;
}

void expand_walk(struct expansion *expansion)
{
	struct walk walk = {.expansion = expansion};

	expansion->route_count = 0;
	if (!expansion->is_too_big)
		visit_expanded_node(&walk, expansion->root);
	HASH_CLEAR(hh, walk.seen);
	if (expansion->is_too_big) {
		expansion->route_count = 0;
		expansion->is_too_big = false;
		walk.has_several = false;
		emit_refusal(&walk, expansion->root,
			     "The address becomes more others than are allowed");
	}
	if (expansion->dependency_count > DIRECTORY_DEPENDENCIES_MAX)
		expansion->is_kept = false;
}
