// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_socketmap.c - what another mail system asks the directory: netstrings that are
 * taken are written to the bytes they came from, and each request has one answer that is allowed.
 */
#include "base/panic.h"
#include "config/text.h"
#include "directory/socketmap/internal.h"
#include "input.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char CONFIG[] = "hostname = \"mx.d.example\"\n"
			     "service maildir { kind = maildir path = \"/m/%d/%u\" }\n"
			     "service far { kind = lmtp address = \"192.0.2.7:24\" }\n"
			     "domain \"d.example\" { service = maildir }\n"
			     "domain \"e.example\" { service = far addresses = { \"ann\" } }\n";

static size_t answers;

static void check_answer(struct socketmap_question *question, const char *word, struct str text)
{
	struct buffer out = {0};
	struct str content;
	size_t length;

	(void)question;
	answers++;
	if (strcmp(word, "OK") != 0 && strcmp(word, "PERM") != 0 && strcmp(word, "NOTFOUND") != 0)
		panic("the answer is %s, though nothing can fail", word);
	if (strcmp(word, "OK") == 0 && text.length == 0)
		panic("an answer of nothing");
	socketmap_append(&out, word, text);
	if (socketmap_take(buffer_view(&out), &content, &length) != 1 || length != out.length ||
	    content.length > DIRECTORY_SOCKETMAP_MAX)
		panic("the answer is no netstring");
	buffer_clear(&out);
}

static void check_request(struct str request, const struct config *config)
{
	struct directory_expander *expander = directory_expander_new(NULL, config);
	struct socketmap_question question = {
		.expander = expander, .config = &config, .answered = check_answer};

	answers = 0;
	socketmap_ask(&question, request);
	if (answers != 1)
		panic("%zu answers", answers);
	directory_expander_free(expander);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config *config;
	struct str rest = {(const char *)data, size};
	struct str content;
	size_t length;

	if (config == NULL) {
		struct config_problems problems = {0};

		if (config_parse("f", str_from(CONFIG), &config, &problems) < 0)
			panic("the configuration is wrong");
		config_problems_clear(&problems);
	}
	check_request(rest, config);
	while (socketmap_take(rest, &content, &length) == 1) {
		struct buffer again = {0};

		buffer_append_format(&again, "%zu:", content.length);
		buffer_append_str(&again, content);
		buffer_append_byte(&again, ',');
		check_equal(buffer_view(&again), str_slice(rest.data, length), "netstrings");
		buffer_clear(&again);
		check_request(content, config);
		rest = str_skip(rest, length);
	}
	return 0;
}
