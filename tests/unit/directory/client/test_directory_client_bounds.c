// SPDX-License-Identifier: ISC
/* How much the directory's client asks at once, and that each question is answered where nobody can
 * be asked. */
#include "client_scene.h"
#include "directory/client/internal.h"
#include <stdlib.h>
#include <string.h>

typedef void ask(struct directory_client *client, const struct str *fields, size_t count,
		 struct directory_question *question);

static void put(struct directory_client *client, const struct str *fields, size_t count,
		struct directory_question *question)
{
	directory_client_put(client, "address", STR("a@b"), fields, count, question);
}

static void edit(struct directory_client *client, const struct str *fields, size_t count,
		 struct directory_question *question)
{
	directory_client_edit(client, "address", STR("a@b"), 7, fields, count, question);
}

static void remove_one(struct directory_client *client, const struct str *fields, size_t count,
		       struct directory_question *question)
{
	(void)fields;
	(void)count;
	directory_client_remove(client, "address", STR("a@b"), question);
}

static void list(struct directory_client *client, const struct str *fields, size_t count,
		 struct directory_question *question)
{
	(void)fields;
	(void)count;
	directory_client_list(client, "address", STR(""), STR(""), 10, question);
}

static void ask_stats(struct directory_client *client, const struct str *fields, size_t count,
		      struct directory_question *question)
{
	(void)fields;
	(void)count;
	directory_client_stats(client, question);
}

static void accept_all(struct directory_client *client, const struct str *fields, size_t count,
		       struct directory_question *question)
{
	(void)fields;
	(void)count;
	directory_client_accept(client, question);
}

static void get(struct directory_client *client, const struct str *fields, size_t count,
		struct directory_question *question)
{
	(void)fields;
	(void)count;
	directory_client_get(client, "address", STR("a@b"), SECOND_US, question);
}

/* The bytes of a frame of put, or of edit, but for its fields. */
static size_t head_of_frame(const struct directory_client *client, bool is_edit)
{
	struct directory_frame frame;
	struct buffer out CLEANUP(buffer_clear) = {0};

	directory_frame_begin(&frame, &out, is_edit ? "edit" : "put");
	directory_frame_add_number(&frame, client->next_id);
	directory_frame_add(&frame, STR("address"));
	directory_frame_add(&frame, STR("a@b"));
	if (is_edit)
		directory_frame_add_number(&frame, 7);
	return directory_frame_size(&frame);
}

/* What is not sent is answered before the call returns; what is sent, by the server. */
static void check_sent(struct client_scene *scene, ask *function, const struct str *fields,
		       size_t count, bool is_sent)
{
	struct asked asked;

	scene_prepare(scene, &asked);
	function(scene->client, fields, count, &asked.question);
	assert_int_equal(asked.is_answered, !is_sent);
	assert_int_equal(asked.question.private != NULL, is_sent);
	assert_string_equal(asked_answer(&asked), "bad");
}

static void a_record_fits_into_a_frame(void **state)
{
	static char bytes[DIRECTORY_FRAME_MAX + 10];
	static struct str words[DIRECTORY_WORDS_MAX];
	struct client_scene scene;

	(void)state;
	memset(bytes, 'x', sizeof bytes);
	for (size_t i = 0; i < COUNT_OF(words); i++)
		words[i] = STR("x y");
	scene_open(&scene, "r");
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	for (int is_edit = 0; is_edit <= 1; is_edit++)
		for (size_t beyond = 0; beyond <= 1; beyond++) {
			size_t left = DIRECTORY_FRAME_MAX - head_of_frame(scene.client, is_edit);
			/* "65496:" and "," */
			struct str field = str_slice(bytes, left + beyond - 7);

			check_sent(&scene, is_edit ? edit : put, &field, 1, beyond == 0);
			check_sent(&scene, is_edit ? edit : put, words,
				   DIRECTORY_WORDS_MAX - 5 + beyond, beyond == 0);
		}
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	scene_close(&scene);
}

/* At once, after it was tried. */
static void each_question_where_nobody_is(void **state)
{
	static ask *const questions[] = {put, edit, remove_one, list, ask_stats, accept_all, get};
	struct client_scene scene;

	(void)state;
	scene_open(&scene, "n");
	scene_turn(&scene, SECOND_US / 10);
	for (size_t i = 0; i < COUNT_OF(questions); i++) {
		struct str field = STR("kind mailbox");
		struct asked asked;

		scene_prepare(&scene, &asked);
		questions[i](scene.client, &field, 1, &asked.question);
		assert_true(asked.is_answered);
		assert_null(asked.question.private);
		assert_string_equal(asked.text, "later");
	}
	scene_close(&scene);
	directory_client_free(NULL);
}

/* More than the socket takes waits until the server reads on. */
static void what_the_server_does_not_read_waits(void **state)
{
	enum { QUESTIONS = 800 };
	static struct asked asked[QUESTIONS];
	struct client_scene scene;
	struct directory_peer *peer;
	static char key[DIRECTORY_KEY_MAX];

	(void)state;
	memset(key, 'k', sizeof key);
	scene_open(&scene, "p");
	peer = host_greet(&scene.hosts[0], "hello|1|id|1|read");
	scene_turn(&scene, SECOND_US / 50);
	directory_peer_read(peer, false);
	for (size_t i = 0; i < QUESTIONS; i++) {
		scene_prepare(&scene, &asked[i]);
		directory_client_list(scene.client, "address", str_slice(key, sizeof key), STR(""),
				      1, &asked[i].question);
		directory_question_cancel(scene.client, &asked[i].question);
	}
	scene_turn(&scene, SECOND_US / 20);
	assert_true(scene.client->output.length > 0);
	directory_peer_read(peer, true);
	for (unsigned turn = 0; turn < 200 && scene.client->output.length > 0; turn++)
		scene_turn(&scene, SECOND_US / 50);
	assert_int_equal(scene.client->output.length, 0);
	assert_true(directory_client_is_up(scene.client));
	scene_close(&scene);
}

static void so_much_is_kept(void **state)
{
	struct client_scene scene;

	(void)state;
	scene_open(&scene, "r");
	directory_client_set_capacity(scene.client, 1);
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	assert_true(scene_keeps(&scene, "address", "ann@example.org"));
	assert_string_equal(scene_ask(&scene, "address", "bob@example.org"), "none");
	assert_true(scene_keeps(&scene, "address", "bob@example.org"));
	assert_false(scene_keeps(&scene, "address", "ann@example.org"));
	directory_client_set_capacity(scene.client, 0);
	assert_false(scene_keeps(&scene, "address", "bob@example.org"));
	scene_close(&scene);
}

/* Which server it is, or what the last problem was. */
static void who_answers_is_told(void **state)
{
	struct client_scene scene;
	struct buffer problem = {0}, wanted = {0};

	(void)state;
	scene_open(&scene, "nr");
	assert_null(directory_client_server(scene.client));
	directory_client_problem(scene.client, &problem);
	assert_int_equal(problem.length, 0);
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	assert_string_equal(directory_client_server(scene.client), scene.hosts[1].server);
	directory_client_problem(scene.client, &problem);
	assert_int_equal(problem.length, 0);
	scene_close(&scene);
	scene_open(&scene, "n");
	scene_turn(&scene, SECOND_US / 10);
	assert_null(directory_client_server(scene.client));
	directory_client_problem(scene.client, &problem);
	buffer_append_format(&wanted, "%s: No such file or directory", scene.hosts[0].path);
	assert_true(str_equal(buffer_view(&problem), buffer_view(&wanted)));
	scene_close(&scene);
	buffer_clear(&problem);
	buffer_clear(&wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_fits_into_a_frame),
		cmocka_unit_test(each_question_where_nobody_is),
		cmocka_unit_test(what_the_server_does_not_read_waits),
		cmocka_unit_test(so_much_is_kept),
		cmocka_unit_test(who_answers_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
