// SPDX-License-Identifier: ISC
/* Several processes: who dies loses its lock; many file the same messages at once. */
#include "record_scene.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4, STORIES = 25, ROOM = 4096 };

/* Stands for the mailboxes: how often each story's message was appended to Sent. */
struct mailbox {
	int appended[STORIES];
	int inside[STORIES]; /* workers that have the lock */
	int overlaps;
	int failures;
};

static bool is_again(int error)
{
	return error == -EAGAIN || error == -EDEADLK;
}

/* One story of one worker: 0, or an error of filing/record/record.h. */
static int file_one(struct record *record, struct mailbox *mailbox, int story,
		    const struct record_token *token)
{
	char id[40];
	struct record_message message;
	struct lock_name name;
	struct record_filing filing;
	int64_t number;
	bool is_new;
	unsigned different;
	int error;

	snprintf(id, sizeof id, "<%d@example.com>", story);
	message = record_scene_message(id, 1);
	name = record_scene_name(id);
	if ((error = record_begin(record)) != 0 || (error = record_lock(record, &name)) != 0)
		return error;
	if (__atomic_add_fetch(&mailbox->inside[story], 1, __ATOMIC_SEQ_CST) != 1)
		__atomic_add_fetch(&mailbox->overlaps, 1, __ATOMIC_SEQ_CST);
	if ((error = record_put(record, &message, &number, &is_new, &different)) == 0 &&
	    (error = record_open(record, number, &SENT, token, 1, &filing)) == 0 &&
	    filing.state != RECORD_FILED) {
		__atomic_add_fetch(&mailbox->appended[story], 1, __ATOMIC_SEQ_CST);
		error = record_filed(record, filing.number, token, STR("x"), 1);
	}
	__atomic_sub_fetch(&mailbox->inside[story], 1, __ATOMIC_SEQ_CST);
	return error == 0 ? record_commit(record) : error;
}

static void work(struct mailbox *mailbox, int worker)
{
	struct record *record = backend->connect();
	struct record_token token = {0};

	for (int story = 0; story < STORIES; story++) {
		int error;

		token.bytes[0] = (unsigned char)worker;
		token.bytes[1] = (unsigned char)story;
		while (is_again(error = file_one(record, mailbox, story, &token))) {
			record_rollback(record);
			usleep(500);
		}
		if (error != 0) {
			fprintf(stderr, "worker %d: %s: %s\n", worker, strerror(-error),
				record_error(record));
			__atomic_add_fetch(&mailbox->failures, 1, __ATOMIC_SEQ_CST);
		}
	}
	record_free(record);
}

static void of_all_at_once_one_appends(void **state)
{
	struct mailbox *mailbox = mmap(NULL, sizeof *mailbox, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t workers[WORKERS];

	(void)state;
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = fork();
		if (workers[i] == 0) {
			work(mailbox, i);
			_exit(0);
		}
	}
	for (int i = 0; i < WORKERS; i++) {
		int status;

		waitpid(workers[i], &status, 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(mailbox->failures, 0);
	assert_int_equal(mailbox->overlaps, 0);
	for (int story = 0; story < STORIES; story++)
		assert_int_equal(mailbox->appended[story], 1);
	assert_int_equal(record_scene_list((struct record_query){.mailbox = &SENT}).count, STORIES);
	munmap(mailbox, sizeof *mailbox);
}

static void a_lock_dies_with_its_process(void **state)
{
	struct lock_name one = record_scene_name("<1@example.com>");
	int ready[2];
	char byte;
	pid_t child;
	int error;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if the test fails */
		struct record *record = backend->connect();
		struct record_message message = record_scene_message("<1@example.com>", 1);
		int64_t number;
		bool is_new;
		unsigned different;

		if (record_begin(record) == 0 && record_lock(record, &one) == 0 &&
		    record_put(record, &message, &number, &is_new, &different) == 0 &&
		    write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_fine(world.a, record_begin(world.a));
	assert_int_equal(record_lock(world.a, &one), -EAGAIN);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* a server notices when it reads from the connection */
	for (int i = 0; (error = record_lock(world.a, &one)) == -EAGAIN && i < 5000; i++)
		usleep(1000);
	assert_fine(world.a, error);
	record_scene_opened("<1@example.com>");
	record_rollback(world.a);
}

int record_contract_race(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_lock_dies_with_its_process),
		CASE(of_all_at_once_one_appends),
	};

	return cmocka_run_group_tests_name("record_contract_race", tests, NULL, NULL);
}
