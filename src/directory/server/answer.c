// SPDX-License-Identifier: ISC
/* Builds an answer from frames of bounded size, cut between two results. */
#include "base/panic.h"
#include "directory/server/internal.h"
#include <stdlib.h>

/* Leaves room for what precedes the results. */
enum { RESULTS_MAX = DIRECTORY_FRAME_MAX - 256, WORDS_MAX = DIRECTORY_WORDS_MAX - 8 };

void answer_reset(struct answer *answer)
{
	buffer_reset(&answer->words);
	answer->cut_count = 0;
	answer->frame_words = 0;
}

static size_t last_cut(const struct answer *answer)
{
	return answer->cut_count > 0 ? answer->cuts[answer->cut_count - 1] : 0;
}

static void cut_answer_frame(struct answer *answer)
{
	answer->cuts = memory_grow(answer->cuts, answer->cut_count, &answer->cut_capacity,
				   sizeof *answer->cuts);
	answer->cuts[answer->cut_count++] = answer->words.length;
	answer->frame_words = 0;
}

/* Starts a new frame if a result of LENGTH bytes does not fit into this one. */
static void make_room_for_result(struct answer *answer, size_t length)
{
	if (answer->words.length - last_cut(answer) + length + 8 > RESULTS_MAX ||
	    answer->frame_words == WORDS_MAX)
		cut_answer_frame(answer);
	answer->frame_words++;
}

void answer_add(struct answer *answer, const char *word, struct str rest)
{
	struct directory_frame frame = {&answer->words, 0};

	make_room_for_result(answer, str_from(word).length + 1 + rest.length);
	directory_frame_add_result(&frame, word, rest);
}

/* Adds the result in SCRATCH. */
static void add_scratch(struct answer *answer)
{
	struct directory_frame frame = {&answer->words, 0};

	make_room_for_result(answer, answer->scratch.length);
	directory_frame_add(&frame, buffer_view(&answer->scratch));
	buffer_reset(&answer->scratch);
}

void answer_add_route(struct answer *answer, const struct directory_route *route)
{
	directory_route_write(route, &answer->scratch);
	add_scratch(answer);
}

void answer_add_dependency(struct answer *answer, const struct directory_key *key)
{
	buffer_append_string(&answer->scratch, "on ");
	buffer_append_string(&answer->scratch, directory_table_name(key->table));
	buffer_append_byte(&answer->scratch, ' ');
	buffer_append_str(&answer->scratch, key->name);
	add_scratch(answer);
}

static void send_part_of_answer(struct buffer *out, struct str id, struct str words)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, out, "part");
	directory_frame_add(&frame, id);
	buffer_append_str(out, words);
	directory_frame_end(&frame);
}

/* Sends the frames that are full; returns the rest. */
static struct str send_full(const struct answer *answer, struct buffer *out, struct str id)
{
	struct str words = buffer_view(&answer->words);
	size_t start = 0;

	for (size_t i = 0; i < answer->cut_count; i++) {
		send_part_of_answer(out, id,
				    str_slice(words.data + start, answer->cuts[i] - start));
		start = answer->cuts[i];
	}
	return str_skip(words, start);
}

void answer_send(struct answer *answer, struct buffer *out, const char *verb, struct str id,
		 uint64_t ttl_ms, uint64_t version)
{
	struct str rest = send_full(answer, out, id);
	struct directory_frame frame;

	directory_frame_begin(&frame, out, verb);
	directory_frame_add(&frame, id);
	directory_frame_add_number(&frame, ttl_ms);
	directory_frame_add_number(&frame, version);
	buffer_append_str(out, rest);
	directory_frame_end(&frame);
}

void answer_send_parts(struct answer *answer, struct buffer *out, struct str id)
{
	send_part_of_answer(out, id, send_full(answer, out, id));
}

void answer_clear(struct answer *answer)
{
	buffer_clear(&answer->words);
	buffer_clear(&answer->scratch);
	free(answer->cuts);
	*answer = (struct answer){0};
}
