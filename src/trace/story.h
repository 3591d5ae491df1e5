// SPDX-License-Identifier: ISC
/*
 * trace/story.h - what logs say about one message, and about messages caused by it: its bounce, and
 * those to the members of a list; or about a client's session, and the messages that came by it.
 *
 * Nodes that hand a message over each have an id for it: the line of who took it has both. So the
 * logs of all nodes tell one story, by whichever of these ids.
 *
 * Logs of several processes and files have no common order, and lines about a bounce may come
 * before the line that links it to the message. So all logs are offered line by line, again and
 * again until no new id is found:
 *
 *   do {
 *           trace_story_begin(story);
 *           for each line of each log: trace_story_offer(story, line);
 *   } while (!trace_story_is_whole(story));
 */
#ifndef TRACE_STORY_H
#define TRACE_STORY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "log/line.h"

enum { TRACE_LINES_MAX = 100000, TRACE_IDS_MAX = 1000 };

struct trace_story;

/* For the message ID ("457-63f1a2b3c4d5e"), every message that had this number ("457"), or a
 * session
 * ("4711:63f1a2b3c4d5e"). NULL when it is none of these. */
struct trace_story *trace_story_new(struct str id);
void trace_story_free(struct trace_story *story);

void trace_story_begin(struct trace_story *story);
/* The lines that are offered from now on are of this node; empty, as at first: of that which a log
 * collector has written before them, if it has. If the story has lines of several, they have a
 * field "at" when EACH gets them. */
void trace_story_from(struct trace_story *story, struct str node);
/* -E2BIG: the story is too long; it is unchanged. */
MUST_CHECK int trace_story_offer(struct trace_story *story, struct str line);
bool trace_story_is_whole(const struct trace_story *story);

/* Calls EACH with every line found, ordered by time. */
void trace_story_each(struct trace_story *story,
		      void (*each)(void *context, const struct log_line *line), void *context);

/* Appends LINE as a sentence for people, with its newline; with the message's id if WITH_ID.
 * (tell.c) */
void trace_tell(const struct log_line *line, bool with_id, struct buffer *out);
/* The same as a JSON object; numbers are numbers. */
void trace_tell_json(const struct log_line *line, struct buffer *out);

/* How many messages the story covers. */
size_t trace_story_id_count(const struct trace_story *story);

#endif
