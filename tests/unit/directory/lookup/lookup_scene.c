// SPDX-License-Identifier: ISC
#include "lookup_scene.h"
#include "base/panic.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

struct directory_client {
	int unused;
};

struct lookup_scene lookup_scene;

struct directory_client *directory_client_new(struct os_loop *loop, const char *const *servers,
					      size_t server_count,
					      const struct directory_dialer *dialer,
					      const struct directory_client_handler *handler,
					      void *context)
{
	(void)loop, (void)servers, (void)server_count, (void)dialer, (void)handler, (void)context;
	return memory_alloc_zero(1, sizeof(struct directory_client));
}

void directory_client_free(struct directory_client *client)
{
	free(client);
}

void directory_client_when_greeted(struct directory_client *client, void (*call)(void *context),
				   void *context)
{
	(void)client, (void)call, (void)context;
}

static void tell(const struct directory_question_private *asked,
		 struct directory_question *question)
{
	static struct str results[DIRECTORY_LIST_MAX];
	struct directory_answer_text text = {.results = results};

	lookup_scene.answer(asked, &text, results);
	question->private = NULL;
	question->answered(question->context, &text);
}

static void copy(struct str text, char *out)
{
	assert_true(text.length < LOOKUP_SCENE_TEXT_SIZE);
	memcpy(out, text.data, text.length);
	out[text.length] = '\0';
}

static void ask(struct directory_question_private asked, struct str key, struct str after)
{
	copy(key, asked.key);
	copy(after, asked.after);
	if (!lookup_scene.is_late) {
		tell(&asked, asked.question);
		return;
	}
	assert_true(lookup_scene.late_count < LOOKUP_SCENE_LATE_MAX);
	lookup_scene.late[lookup_scene.late_count] = asked;
	asked.question->private = &lookup_scene.late[lookup_scene.late_count++];
}

void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question)
{
	assert_non_null(client);
	assert_true(patience_us > 0);
	ask((struct directory_question_private){.question = question, .table = table}, key,
	    STR(""));
}

void directory_client_list(struct directory_client *client, const char *table, struct str prefix,
			   struct str after, size_t limit, struct directory_question *question)
{
	assert_non_null(client);
	assert_int_equal(limit, DIRECTORY_LIST_MAX);
	ask((struct directory_question_private){.question = question,
						.table = table,
						.is_list = true},
	    prefix, after);
}

void directory_question_cancel(struct directory_client *client, struct directory_question *question)
{
	assert_non_null(client);
	question->private->question = NULL;
	question->private = NULL;
}

void lookup_scene_open(lookup_scene_answer *answer)
{
	static struct config_service services[] = {{.name = "maildir"}};

	lookup_scene = (struct lookup_scene){
		.answer = answer,
		.config = {.hostname = "mx.test",
			   .recipient_delimiter = "+",
			   .services = services,
			   .service_count = COUNT_OF(services),
			   .directory = {.backend = CONFIG_BACKEND_SQLITE}},
		.loop = os_loop_new(),
	};
	lookup_scene.directory =
		directory_new(lookup_scene.loop, &lookup_scene.config, "/run/directory");
}

void lookup_scene_close(void)
{
	directory_free(lookup_scene.directory);
	os_loop_free(lookup_scene.loop);
}

void lookup_scene_tell(size_t index)
{
	tell(&lookup_scene.late[index], lookup_scene.late[index].question);
}

void lookup_scene_tell_all(void)
{
	for (size_t i = 0; i < lookup_scene.late_count; i++)
		if (lookup_scene.late[i].question != NULL)
			lookup_scene_tell(i);
	lookup_scene.late_count = 0;
}

void lookup_scene_expect_cancelled(size_t first)
{
	for (size_t i = first; i < lookup_scene.late_count; i++)
		assert_null(lookup_scene.late[i].question);
}
