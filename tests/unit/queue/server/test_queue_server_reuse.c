// SPDX-License-Identifier: ISC
/* The manager is told that a message is gone before it hears of another one with its number. */
#include "queue/client/protocol.h"
#include "queue/message.h"
#include "queue_server_scene.h"
#include "test.h"
#include <semaphore.h>

/* A group that begins and ends while the server removes something: between what the intake has done
 * and queue_intake_await(). */
static struct {
	bool is_wanted;
	sem_t has_come; /* the group waits */
	sem_t may_begin;
	sem_t has_ended;
} beside;

void __real_queue_message_commit_group(struct queue_intake *intake, struct queue_message **messages,
				       size_t count, int *results);
void __wrap_queue_message_commit_group(struct queue_intake *intake, struct queue_message **messages,
				       size_t count, int *results);
void __wrap_queue_message_commit_group(struct queue_intake *intake, struct queue_message **messages,
				       size_t count, int *results)
{
	bool is_beside = beside.is_wanted;

	if (is_beside) {
		beside.is_wanted = false;
		sem_post(&beside.has_come);
		sem_wait(&beside.may_begin);
	}
	__real_queue_message_commit_group(intake, messages, count, results);
	if (is_beside)
		sem_post(&beside.has_ended);
}

uint64_t __real_queue_intake_await(struct queue_intake *intake);
uint64_t __wrap_queue_intake_await(struct queue_intake *intake);
uint64_t __wrap_queue_intake_await(struct queue_intake *intake)
{
	sem_post(&beside.may_begin);
	sem_wait(&beside.has_ended);
	return __real_queue_intake_await(intake);
}

static int set_up(void **state)
{
	(void)state;
	beside.is_wanted = false;
	sem_init(&beside.has_come, 0, 0);
	sem_init(&beside.may_begin, 0, 0);
	sem_init(&beside.has_ended, 0, 0);
	scene_begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	scene_end();
	sem_destroy(&beside.has_come);
	sem_destroy(&beside.may_begin);
	sem_destroy(&beside.has_ended);
	return 0;
}

/* What that group has made durable is told, though it began before that was awaited: the next one
 * may have a message with the same number already. */
static void a_number_that_is_given_out_again_is_told_first(void **state)
{
	struct buffer text = {0};
	uint64_t other;
	uint64_t number;

	(void)state;
	number = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, number, true);
	other = scene_open_one(&scene.client);
	beside.is_wanted = true;
	scene_append_envelope(&text, other, 1);
	scene_say_envelope(&scene.client, other, buffer_view(&text));
	sem_wait(&beside.has_come);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_QUEUED | QUEUE_REMOVE_DURABLY,
			 MAIL_STAGE_ARRIVE, number);
	assert_int_equal(scene_hear_result(&scene.client, other), 0);
	scene_expect_queued(&scene.manager, other, true);
	assert_int_equal(scene_open_one(&scene.client), number);
	buffer_reset(&text);
	scene_append_envelope(&text, number, 2);
	assert_int_equal(scene_commit(&scene.client, number, buffer_view(&text)), 0);
	scene_expect_removed(&scene.manager, number);
	scene_expect_queued(&scene.manager, number, true);
	buffer_clear(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_number_that_is_given_out_again_is_told_first,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
