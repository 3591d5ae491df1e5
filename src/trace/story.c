// SPDX-License-Identifier: ISC
#include "trace/story.h"
#include "base/panic.h"
#include "mail/envelope.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct found {
	int64_t time_us;
	size_t order; /* of lines with the same time: as they were read */
	struct str text;
	struct str node; /* whose line it is; empty: unknown */
};

enum subject { MESSAGE, NUMBER, SESSION };

enum { TRACE_NODE_SIZE = 256 };

struct trace_story {
	struct arena *ids_arena;
	struct arena *lines_arena; /* of the current pass */
	struct arena *scratch;
	enum subject subject;
	struct str wanted; /* as given */
	struct str ids[TRACE_IDS_MAX];
	size_t id_count;
	struct found *lines; /* owned */
	size_t line_count;
	size_t line_capacity;
	char node[TRACE_NODE_SIZE]; /* of the lines that are offered; "": not said */
	bool has_several_nodes;
	bool is_whole;
};

/* 4711:63f1a2b3c4d5e */
static bool is_session(struct str text)
{
	struct str process;
	uint64_t number;

	return str_find(text, ':') > 0 && str_split(&text, ':', &process) &&
	       str_to_u64(process, &number) && str_to_u64_hex(text, &number);
}

struct trace_story *trace_story_new(struct str id)
{
	struct trace_story *story;
	struct mail_id parsed;
	uint64_t number;
	enum subject subject = str_to_u64(id, &number) ? NUMBER
			       : is_session(id)        ? SESSION
						       : MESSAGE;

	if (subject == MESSAGE && !mail_id_parse(id, &parsed))
		return NULL;
	story = memory_alloc_zero(1, sizeof *story);
	story->ids_arena = arena_new();
	story->lines_arena = arena_new();
	story->scratch = arena_new();
	story->subject = subject;
	story->wanted = arena_copy_str(story->ids_arena, id);
	return story;
}

void trace_story_free(struct trace_story *story)
{
	if (story == NULL)
		return;
	arena_free(story->ids_arena);
	arena_free(story->lines_arena);
	arena_free(story->scratch);
	free(story->lines);
	free(story);
}

void trace_story_begin(struct trace_story *story)
{
	arena_reset(story->lines_arena);
	story->line_count = 0;
	story->has_several_nodes = false;
	story->is_whole = true;
}

void trace_story_from(struct trace_story *story, struct str node)
{
	size_t length = node.length < TRACE_NODE_SIZE ? node.length : TRACE_NODE_SIZE - 1;

	if (length > 0)
		memcpy(story->node, node.data, length);
	story->node[length] = '\0';
}

/* The word before "TAG:" or "TAG[PID]:" at the end of what a log collector has written before an
 * event; empty: there is none. */
static struct str host_of_prefix(struct str text)
{
	const char *event = memmem(text.data, text.length, "time=", 5);
	struct str prefix;
	struct str host = STR("");
	struct str tag = STR("");

	if (event == NULL)
		event = memmem(text.data, text.length, "{\"time\":", 8);
	prefix = str_trim(str_slice(text.data, event != NULL ? (size_t)(event - text.data) : 0));
	while (prefix.length > 0) {
		struct str word;

		(void)str_split(&prefix, ' ', &word);
		if (word.length == 0)
			continue;
		host = tag;
		tag = word;
	}
	return tag.length > 0 && tag.data[tag.length - 1] == ':' ? host : STR("");
}

/* ID or SESSION of a line may be empty. */
static bool is_line_of_subject(const struct trace_story *story, struct str id, struct str session)
{
	switch (story->subject) {
	case MESSAGE:
		return str_equal(id, story->wanted);
	case NUMBER:
		return id.length > story->wanted.length && str_starts_with(id, story->wanted) &&
		       id.data[story->wanted.length] == '-';
	case SESSION:
		return str_equal(session, story->wanted);
	}
	return false;
}

static bool is_known_message_id(const struct trace_story *story, struct str id)
{
	for (size_t i = 0; i < story->id_count; i++)
		if (str_equal(story->ids[i], id))
			return true;
	return false;
}

static int add_id(struct trace_story *story, struct str id)
{
	if (id.length == 0 || is_known_message_id(story, id))
		return 0;
	if (story->id_count == TRACE_IDS_MAX)
		return -E2BIG;
	story->ids[story->id_count++] = arena_copy_str(story->ids_arena, id);
	story->is_whole = false;
	return 0;
}

/* The first that is known; if there is none yet, that of the last line. */
static const struct str *first_node_of_story(const struct trace_story *story)
{
	size_t i = 0;

	while (i < story->line_count && story->lines[i].node.length == 0)
		i++;
	return &story->lines[i].node;
}

static int add_line_to_story(struct trace_story *story, struct str text,
			     const struct log_line *line)
{
	struct found *found;

	if (story->line_count == TRACE_LINES_MAX)
		return -E2BIG;
	story->lines = memory_grow(story->lines, story->line_count, &story->line_capacity,
				   sizeof *story->lines);
	found = &story->lines[story->line_count];
	*found = (struct found){.order = story->line_count};
	found->text = arena_copy_str(story->lines_arena, text);
	found->node =
		arena_copy_str(story->lines_arena, story->node[0] != '\0' ? str_from(story->node)
									  : host_of_prefix(text));
	if (found->node.length > 0)
		story->has_several_nodes |= !str_equal(found->node, *first_node_of_story(story));
	(void)timestamp_parse(log_line_get(line, "time"), &found->time_us);
	story->line_count++;
	return 0;
}

/* A quick test: most lines of a system's log are not ours. */
static bool may_be_event(struct str text)
{
	return memmem(text.data, text.length, "time=", 5) != NULL ||
	       memmem(text.data, text.length, "{\"time\":", 8) != NULL;
}

/* The message's id at the node that has handed it over; empty: LINE is of no package. */
static struct str id_of_package(const struct log_line *line)
{
	struct str package = log_line_get(line, "package");
	ptrdiff_t part = str_find(package, '.');

	return part >= 0 ? str_slice(package.data, (size_t)part) : package;
}

int trace_story_offer(struct trace_story *story, struct str text)
{
	struct log_line line;
	struct str handed;
	struct str made;
	struct str id;
	bool is_ours;
	int error = 0;

	if (!may_be_event(text))
		return 0;
	arena_reset(story->scratch);
	if (!log_line_parse(story->scratch, text, &line))
		return 0;
	id = log_line_get(&line, "id");
	made = log_line_get(&line, "bounce");
	if (made.length == 0)
		made = log_line_get(&line, "message");
	is_ours = is_line_of_subject(story, id, log_line_get(&line, "session"));
	if (is_ours)
		error = add_id(story, id);
	handed = id_of_package(&line);
	is_ours |= is_known_message_id(story, id) ||
		   (handed.length > 0 && (is_known_message_id(story, handed) ||
					  is_line_of_subject(story, handed, STR(""))));
	if (error == 0 && is_ours)
		error = add_id(story, made);
	if (error == 0 && is_ours && handed.length > 0)
		error = add_id(story, id);
	if (error == 0 && is_ours && handed.length > 0)
		error = add_id(story, handed);
	/* the first line of a bounce, or of a list's message, names the message that it comes
	 * from */
	if (error < 0 ||
	    !(is_ours || (made.length > 0 && is_line_of_subject(story, made, STR("")))))
		return error;
	return add_line_to_story(story, text, &line);
}

bool trace_story_is_whole(const struct trace_story *story)
{
	return story->is_whole;
}

size_t trace_story_id_count(const struct trace_story *story)
{
	return story->id_count;
}

static int compare_lines_by_time(const void *a, const void *b)
{
	const struct found *left = a;
	const struct found *right = b;

	if (left->time_us != right->time_us)
		return left->time_us < right->time_us ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

void trace_story_each(struct trace_story *story,
		      void (*each)(void *context, const struct log_line *line), void *context)
{
	if (story->line_count > 0)
		qsort(story->lines, story->line_count, sizeof *story->lines, compare_lines_by_time);
	for (size_t i = 0; i < story->line_count; i++) {
		struct log_line line;

		arena_reset(story->scratch);
		if (!log_line_parse(story->scratch, story->lines[i].text, &line))
			continue;
		if (story->has_several_nodes && story->lines[i].node.length > 0 &&
		    line.count < LOG_LINE_FIELDS_MAX)
			line.pairs[line.count++] =
				(struct log_pair){.key = STR("at"), .value = story->lines[i].node};
		each(context, &line);
	}
}
