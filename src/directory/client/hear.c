// SPDX-License-Identifier: ISC
/* Reads what the server sends. Its data are trusted, its adherence to the protocol is not. */
#include "base/panic.h"
#include "directory/client/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- answers --- */

enum { FEW_WORDS = 64 };

/* An answer's words, sorted into results and dependencies. */
struct sorted {
	struct str few[FEW_WORDS];
	struct str *memory; /* FEW, or on the heap */
	size_t result_count;
	const struct str *dependencies;
	size_t dependency_count;
};

static bool count_frame_words(struct str words, size_t *count_out)
{
	struct str word;

	*count_out = 0;
	while (words.length > 0) {
		if (!directory_frame_word(&words, &word))
			return false;
		(*count_out)++;
	}
	return true;
}

/* Dependencies fill the array from its end. False if WORDS are malformed. */
static bool sort_words(struct str words, struct sorted *sorted)
{
	struct str word;
	size_t count;

	sorted->memory = sorted->few;
	sorted->result_count = 0;
	sorted->dependency_count = 0;
	if (!count_frame_words(words, &count))
		return false;
	if (count > FEW_WORDS)
		sorted->memory = memory_alloc(count * sizeof *sorted->memory);
	while (directory_frame_word(&words, &word)) {
		if (str_starts_with(word, STR("on ")))
			sorted->memory[count - ++sorted->dependency_count] = str_skip(word, 3);
		else
			sorted->memory[sorted->result_count++] = word;
	}
	sorted->dependencies = sorted->memory + count - sorted->dependency_count;
	return true;
}

static void clear_sorted(struct sorted *sorted)
{
	if (sorted->memory != sorted->few)
		free(sorted->memory);
}

static void keep_answer_in_cache(struct directory_client *client,
				 const struct directory_question_private *pending,
				 const struct directory_answer_text *answer)
{
	const struct cache_answer kept = {
		.exists = answer->exists,
		.results = answer->results,
		.result_count = answer->result_count,
		.dependencies = answer->dependencies,
		.dependency_count = answer->dependency_count,
		.until_us = pending->asked_us + answer->ttl_us,
		.version = answer->version,
	};

	/* an entry without dependencies would be ended by nothing but its TTL */
	if (pending->kind == CLIENT_GET && answer->ttl_us > 0)
		cache_keep(client->cache, pending->table, pending->key, &kept);
}

/* Answers with the words after ID TTL VERSION, and those of the parts before. */
static bool answer_with(struct directory_client *client, struct directory_question_private *pending,
			const struct heard *heard, bool exists)
{
	struct str rest = heard->content;
	struct directory_answer_text answer = {.exists = exists};
	struct sorted sorted;
	struct buffer all = {0};
	struct str word;
	uint64_t ttl_ms;
	bool is_valid;

	if (!str_to_u64(heard->words[1], &ttl_ms) || ttl_ms > UINT64_C(1) << 40 ||
	    !str_to_u64(heard->words[2], &answer.version))
		return false;
	for (unsigned i = 0; i < 4; i++)
		(void)!directory_frame_word(&rest, &word);
	if (pending->parts.length > 0) {
		buffer_append_str(&all, buffer_view(&pending->parts));
		buffer_append_str(&all, rest);
		rest = buffer_view(&all);
	}
	is_valid = sort_words(rest, &sorted);
	if (is_valid) {
		answer.results = sorted.memory;
		answer.result_count = sorted.result_count;
		answer.dependencies = sorted.dependencies;
		answer.dependency_count = sorted.dependency_count;
		answer.ttl_us = (int64_t)ttl_ms * 1000;
		client_saw_version(client, answer.version);
		keep_answer_in_cache(client, pending, &answer);
		client_answer(client, pending, &answer);
	}
	clear_sorted(&sorted);
	buffer_clear(&all);
	return is_valid;
}

static bool hear_part(struct directory_client *client, struct directory_question_private *pending,
		      const struct heard *heard)
{
	struct str rest = heard->content;
	struct str word;

	(void)client;
	(void)!directory_frame_word(&rest, &word);
	(void)!directory_frame_word(&rest, &word);
	buffer_append_str(&pending->parts, rest);
	return pending->parts.length <= CLIENT_ANSWER_MAX;
}

static bool hear_val(struct directory_client *client, struct directory_question_private *pending,
		     const struct heard *heard)
{
	return answer_with(client, pending, heard, true);
}

static bool hear_none(struct directory_client *client, struct directory_question_private *pending,
		      const struct heard *heard)
{
	return answer_with(client, pending, heard, false);
}

static bool hear_ok(struct directory_client *client, struct directory_question_private *pending,
		    const struct heard *heard)
{
	struct directory_answer_text answer = {.exists = true};

	if (!str_to_u64(heard->words[1], &answer.version))
		return false;
	client_saw_version(client, answer.version);
	client_answer(client, pending, &answer);
	return true;
}

static bool hear_err(struct directory_client *client, struct directory_question_private *pending,
		     const struct heard *heard)
{
	enum directory_error error = directory_error_find(heard->words[1]);
	char text[500];

	snprintf(text, sizeof text, STR_FORMAT, STR_ARGUMENTS(heard->words[2]));
	client_answer_error(client, pending, error == 0 ? DIRECTORY_ERROR_LATER : error, text);
	return true;
}

/* --- verbs --- */

static const struct {
	const char *name;
	size_t least; /* words after the verb */
	bool (*news)(struct directory_client *client, const struct heard *heard);
	bool (*answer)(struct directory_client *client, struct directory_question_private *pending,
		       const struct heard *heard);
} verbs[] = {
	{"val", 3, NULL, hear_val},
	{"none", 3, NULL, hear_none},
	{"part", 1, NULL, hear_part},
	{"err", 3, NULL, hear_err},
	{"ok", 2, NULL, hear_ok},
	{"new", 3, client_news_new, NULL},
	{"now", 1, client_news_now, NULL},
	{"reset", 2, client_news_reset, NULL},
	{"hello", 0, client_news_hello, NULL},
	{"down", 0, client_news_down, NULL},
	{"up", 0, client_news_up, NULL},
};

/* Whether it is "err 0 CODE TEXT": why the server ends the connection. */
static bool is_farewell(struct directory_client *client, const struct heard *heard, size_t verb)
{
	char text[160];

	if (verbs[verb].answer != hear_err || !str_equal(heard->words[0], STR("0")))
		return false;
	snprintf(text, sizeof text, "it says: " STR_FORMAT, STR_ARGUMENTS(heard->words[2]));
	client_lose(client, text);
	return true;
}

/* Servers say nothing nearly as long in one word, and a relay must be able to say it, too, which
 * leaves less room in its frames. */
enum { WORD_MAX = 8 * 1024 };

static bool has_long(const struct str *words, int count)
{
	for (int i = 0; i < count; i++)
		if (words[i].length > WORD_MAX)
			return true;
	return false;
}

static bool hear_frame(struct directory_client *client, struct str content)
{
	static struct str words[DIRECTORY_WORDS_MAX];
	int count = directory_frame_words(content, words, DIRECTORY_WORDS_MAX);
	struct heard heard = {words + 1, (size_t)count - 1, content};
	struct directory_question_private *pending;
	size_t i = 0;

	if (count < 1 || has_long(words, count))
		return false;
	while (i < COUNT_OF(verbs) && !str_equal(words[0], str_from(verbs[i].name)))
		i++;
	if (i == COUNT_OF(verbs) || heard.count < verbs[i].least)
		return false;
	if (is_farewell(client, &heard, i))
		return true;
	if (client->state != CLIENT_GREETED && verbs[i].news != client_news_hello)
		return false;
	if (verbs[i].news != NULL)
		return verbs[i].news(client, &heard);
	pending = client_find(client, heard.words[0]);
	/* the question may have been cancelled, or have timed out */
	return pending == NULL || verbs[i].answer(client, pending, &heard);
}

void client_hear(struct directory_client *client)
{
	struct str content;
	size_t length;
	int result = 1;

	while (!client->is_broken) {
		result = directory_frame_take(&client->input, &content, &length);
		if (result != 1)
			break;
		if (!hear_frame(client, content)) {
			client_lose(client, "what it said is not of this protocol");
			return;
		}
		buffer_consume(&client->input, length);
	}
	if (result < 0)
		client_lose(client, "what it said is no frame");
}
