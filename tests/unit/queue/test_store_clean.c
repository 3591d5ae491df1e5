// SPDX-License-Identifier: ISC
/* What crashes and power failures left in a queue goes, and nothing else. */
#include "os/file/file.h"
#include "queue/cleaner.h"
#include "queue/trigger.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>

static bool has_name(struct queue_store *store, const char *name)
{
	struct os_file_info info;

	return os_file_info_at(queue_store_directory(store), name, &info) == 0;
}

struct hands {
	struct queue_intake *intake;
	uint64_t busy; /* 0: none */
	uint64_t forgotten;
	struct queue_store *store;
	unsigned holds;       /* that were ended */
	unsigned findings[3]; /* of each kind */
};

static bool is_busy(void *context, uint64_t number)
{
	const struct hands *hands = context;

	return number == hands->busy;
}

static void forget(void *context, uint64_t number)
{
	struct hands *hands = context;

	hands->forgotten = number;
}

static int remove_data(void *context, uint64_t number)
{
	const struct hands *hands = context;

	return queue_message_remove_data(hands->intake, number);
}

static int end_hold(void *context, struct str name)
{
	struct hands *hands = context;

	hands->holds++;
	return queue_trigger_release(hands->store, name);
}

static void found(void *context, const struct queue_cleaner_finding *finding)
{
	struct hands *hands = context;

	hands->findings[finding->kind]++;
}

static struct queue_cleaner *begin_cleaning(struct queue_store *store, struct hands *hands)
{
	static const char *const services[] = {"mailbox"};
	static const struct queue_cleaner_handler handler = {is_busy, forget, remove_data,
							     NULL,    found,  end_hold};

	hands->store = store;
	return queue_cleaner_new(store, services, 1, &handler, hands);
}

static void finish_cleaning(struct queue_cleaner *cleaner)
{
	int result = 1;

	while (result != 0) {
		result = queue_cleaner_step(cleaner);
		assert_true(result >= 0);
	}
	assert_true(queue_cleaner_is_sure(cleaner));
	queue_cleaner_free(cleaner);
}

static void clean(struct queue_store *store, struct hands *hands)
{
	finish_cleaning(begin_cleaning(store, hands));
}

static void make_name(struct queue_store *store, enum queue_folder folder, const char *service,
		      uint64_t number)
{
	char name[QUEUE_PATH_SIZE];

	queue_store_path(store, folder, service, number, name);
	assert_int_equal(os_file_link(queue_store_directory(store), "format", name), 0);
}

static bool stands(struct queue_store *store, enum queue_folder folder, const char *service,
		   uint64_t number)
{
	char name[QUEUE_PATH_SIZE];

	queue_store_path(store, folder, service, number, name);
	return has_name(store, name);
}

/* Each name that may have come back, of a message that somebody works on and of one that
 * nobody does; beside those of messages at S4 and S5. */
static void what_has_come_back_goes(void **state)
{
	static const struct {
		enum queue_folder folder;
		const char *service;
	} cases[] = {{QUEUE_INFO, NULL},
		     {QUEUE_INTD, NULL},
		     {QUEUE_REMOTE, NULL},
		     {QUEUE_BOUNCE, NULL},
		     {QUEUE_LOCAL, "mailbox"}};
	enum { GONE = 1000001 };
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct queue_update update = queue_scene_preprocessed(store, intake);
	uint64_t queued = queue_scene_enqueue(intake, NULL, "queued\r\n");
	struct queue_control *control;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct hands hands = {.intake = intake, .busy = GONE};

		make_name(store, cases[i].folder, cases[i].service, GONE);
		if (cases[i].folder == QUEUE_INFO) /* whoever wakes it finds that it has ended */
			assert_int_equal(queue_update_load(store, NULL, GONE, &control, NULL),
					 -ENOENT);
		clean(store, &hands);
		assert_true(stands(store, cases[i].folder, cases[i].service, GONE));
		hands.busy = 0;
		clean(store, &hands);
		assert_false(stands(store, cases[i].folder, cases[i].service, GONE));
		assert_int_equal(hands.forgotten, GONE);
	}
	assert_true(stands(store, QUEUE_TODO, "arrive", queued));
	assert_int_equal(queue_update_load(store, NULL, update.number, &control, NULL), 0);
	queue_control_free(control);
	assert_true(stands(store, QUEUE_LOCAL, "mailbox", update.number));
	queue_intake_close(intake);
	queue_store_close(store);
}

/* What is left of a way to S5 that was cut off, by the one and by the other. */
static void a_message_at_s4_is_settled(void **state)
{
	static const struct {
		enum queue_folder folder;
		const char *name;
	} sides[] = {{QUEUE_INTD, NULL},
		     {QUEUE_LOCAL, "mailbox"},
		     {QUEUE_REMOTE, NULL},
		     {QUEUE_BOUNCE, NULL}};
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	uint64_t number = queue_scene_enqueue(intake, NULL, "queued\r\n");
	struct hands hands = {.intake = intake, .busy = number};
	static const char *const services[] = {"mailbox"};
	const struct queue_settling settling = {store, services, 1, NULL, NULL};
	enum mail_stage stage = MAIL_STAGE_ARRIVE;
	struct queue_update update = {
		.is_queued = true,
		.stage = stage,
		.control = STR("map: 1 remote <b@c>\nmapped: directory=1 count=1\n"),
		.preprocess = true,
		.link_remote = true,
	};

	(void)state;
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	for (unsigned i = 0; i < 2; i++) {
		make_name(store, QUEUE_MESS, NULL, number);
		make_name(store, QUEUE_INFO, NULL, number);
		make_name(store, QUEUE_INTD, NULL, number);
		clean(store, &hands);
		assert_true(stands(store, QUEUE_MESS, NULL, number));
		assert_true(stands(store, QUEUE_INTD, NULL, number));
		if (i == 0) {
			assert_int_equal(queue_update_settle(&settling, stage, number), 0);
			assert_false(stands(store, QUEUE_INTD, NULL, number));
		}
		hands.busy = 0;
		clean(store, &hands);
		hands.busy = number;
		assert_false(stands(store, QUEUE_MESS, NULL, number));
		assert_false(stands(store, QUEUE_INFO, NULL, number));
		assert_false(stands(store, QUEUE_INTD, NULL, number));
		queue_scene_expect_data(store, number, "queued\r\n");
	}
	/* also what is all that was left: the directories become durable in any order */
	for (size_t i = 0; i < COUNT_OF(sides); i++) {
		make_name(store, sides[i].folder, sides[i].name, number);
		assert_int_equal(queue_update_settle(&settling, stage, number), 0);
		assert_false(stands(store, sides[i].folder, sides[i].name, number));
	}
	/* one that has arrived, but for the removal from todo/, stays as it is */
	update.number = number;
	assert_int_equal(queue_scene_update(store, &update), 0);
	hands.busy = 0;
	assert_int_equal(queue_update_settle(&settling, stage, number), 0);
	clean(store, &hands);
	assert_true(stands(store, QUEUE_MESS, NULL, number));
	assert_true(stands(store, QUEUE_INFO, NULL, number));
	assert_true(stands(store, QUEUE_REMOTE, NULL, number));
	queue_intake_close(intake);
	queue_store_close(store);
}

/* A power failure has left only part of what was written: who is mapped to "none" until the
 * directory is back must not be so for ever. */
static void who_is_to_be_mapped_again_is_whole(void **state)
{
	static const struct {
		struct str control;
		bool is_whole;
	} cases[] = {
#define WAITS_1 "wait: 1 2026-11-20T08:33:11Z until=2026-11-20T08:33:11Z 4.4.3 it is away\n"
		{STR("map: 1 none <b@c>\nmapped: directory=1 count=1\n"), false},
		{STR("map: 1 none <b@c>\nmapped: directory=1 count=1\n" WAITS_1), false},
		{STR("map: 1 none <b@c>\nmapped: directory=1 count=1\n" WAITS_1 "requeue: 1\n"),
		 true},
		{STR("map: 1 none <b@c>\nmapped: directory=1 count=1\n"
		     "fail: 1 2026-11-20T08:33:11Z 5.1.1 no\n"),
		 true},
		{STR("map: 1 remote <b@c>\nmapped: directory=1 count=1\n" WAITS_1), true},
	};
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	const struct queue_settling settling = {store, NULL, 0, NULL, NULL};
	enum mail_stage stage = MAIL_STAGE_ARRIVE;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct queue_update update = {
			.number = queue_scene_enqueue(intake, NULL, "queued\r\n"),
			.is_queued = true,
			.stage = stage,
			.control = cases[i].control,
			.preprocess = true,
		};
		struct queue_control *control;

		assert_int_equal(queue_scene_update(store, &update), 0);
		assert_int_equal(queue_update_settle(&settling, stage, update.number), 0);
		assert_int_equal(stands(store, QUEUE_INFO, NULL, update.number), cases[i].is_whole);
		assert_int_equal(queue_update_load(store, &stage, update.number, &control, NULL),
				 0);
		assert_int_equal(control->is_mapped, cases[i].is_whole);
		queue_control_free(control);
	}
	queue_intake_close(intake);
	queue_store_close(store);
}

/* Its directories could not be made, or a power failure took them: nothing is left there. */
static void a_service_without_directories_is_clean(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct hands hands = {.intake = intake};
	uint64_t number = queue_scene_enqueue(intake, NULL, "queued\r\n");

	(void)state;
	make_name(store, QUEUE_MESS, NULL, number);
	clean(store, &hands);
	assert_false(stands(store, QUEUE_MESS, NULL, number));
	queue_intake_close(intake);
	queue_store_close(store);
}

static void cleaning_spares_the_living(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	uint64_t queued = queue_scene_enqueue(intake, NULL, "queued\r\n");
	struct queue_message *ours = queue_scene_write(intake, NULL, "ours\r\n");
	struct hands hands = {.intake = intake};
	int directory = queue_store_directory(store);
	int64_t now_us = INT64_C(4102444800) * SECOND_US;
	char name[QUEUE_PATH_SIZE];
	char live[QUEUE_PATH_SIZE];
	struct os_file_info info;

	(void)state;
	/* what other processes left: one was writing a message, one had ended one */
	assert_int_equal(os_file_link(directory, "format", "pid/n1-1"), 0);
	assert_int_equal(os_file_info_at(directory, "format", &info), 0);
	queue_store_path(store, QUEUE_MESS, NULL, info.inode, name);
	assert_int_equal(os_file_link(directory, "format", name), 0);
	queue_store_path(store, QUEUE_TODO, "arrive", queued, live);
	assert_int_equal(queue_intake_clean(intake, now_us, now_us, NULL, NULL), 0);
	assert_true(has_name(store, "pid/n1-1"));
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	hands.busy = info.inode;
	clean(store, &hands);
	assert_true(has_name(store, name));
	hands.busy = 0;
	clean(store, &hands);
	assert_false(has_name(store, name));
	assert_int_equal(queue_intake_clean(intake, now_us, HOUR_US, NULL, NULL), 0);
	assert_false(has_name(store, "pid/n1-1"));
	assert_true(has_name(store, live));
	queue_scene_expect_data(store, queued, "queued\r\n");
	assert_int_equal(queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, queued), 0);
	queue_message_abandon(ours);
	queue_intake_close(intake);
	queue_store_close(store);
}

static void hold(struct queue_store *store, uint64_t number)
{
	const struct mail_id id = {number, 1000};
	char name[MAIL_ID_SIZE + 8] = "hold.";

	mail_id_format(id, name + strlen(name));
	assert_int_equal(queue_trigger_set(store, str_from(name), 0, STR("held")), 0);
}

/* One at S4, one at S5, one that somebody works on, one that is gone; and triggers of other kinds.
 */
static void holds_of_messages_that_are_gone_end(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	struct hands hands = {.intake = intake, .busy = 4000001};
	struct queue_update update;
	uint64_t queued;

	(void)state;
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	queued = queue_scene_enqueue(intake, NULL, "text\r\n");
	update = queue_scene_preprocessed(store, intake);
	hold(store, queued);
	hold(store, update.number);
	hold(store, 4000001);
	hold(store, 4000002);
	assert_int_equal(queue_trigger_set(store, STR("host.a.test"), 0, STR("away")), 0);
	assert_int_equal(queue_trigger_set(store, STR("hold.over"), 0, STR("no message")), 0);
	clean(store, &hands);
	assert_int_equal(hands.holds, 1);
	clean(store, &hands);
	assert_int_equal(hands.holds, 1);
	hands.busy = 0;
	clean(store, &hands);
	assert_int_equal(hands.holds, 2);
	queue_intake_close(intake);
	queue_store_close(store);
}

/* Of one that comes to S5 between two steps, some names are seen and others are not. */
static void cleaning_spares_who_comes_meanwhile(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	int result = 1;

	(void)state;
	for (unsigned before = 0; result != 0; before++) {
		struct hands hands = {.intake = intake};
		struct queue_cleaner *cleaner = begin_cleaning(store, &hands);
		struct queue_update update;

		assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
		result = 1;
		for (unsigned i = 0; i < before && result != 0; i++)
			result = queue_cleaner_step(cleaner);
		update = queue_scene_preprocessed(store, intake);
		finish_cleaning(cleaner);
		assert_true(stands(store, QUEUE_MESS, NULL, update.number));
		assert_true(stands(store, QUEUE_INFO, NULL, update.number));
		assert_int_equal(hands.forgotten, 0);
	}
	queue_intake_close(intake);
	queue_store_close(store);
}

/* One at S4 comes to S5 after each step in turn: once after info/ was read and before mess/, so
 * that only its data are known when it is judged. Its control file is there by then. */
static void cleaning_looks_again_for_a_control_file(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_intake *intake = queue_scene_intake(store);
	int left = 1; /* the cleaner was not through when the message came to S5 */

	(void)state;
	for (unsigned before = 0; left != 0; before++) {
		uint64_t number = queue_scene_enqueue(intake, NULL, "late\r\n");
		struct hands hands = {.intake = intake};
		struct queue_cleaner *cleaner = begin_cleaning(store, &hands);

		assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
		left = 1;
		for (unsigned i = 0; i < before && left != 0; i++)
			left = queue_cleaner_step(cleaner);
		queue_scene_preprocess(store, intake, number,
				       "map: 1 local mailbox <b@c>\nmapped: directory=1 count=1\n",
				       "");
		finish_cleaning(cleaner);
		assert_true(stands(store, QUEUE_MESS, NULL, number));
		assert_true(stands(store, QUEUE_INFO, NULL, number));
		assert_int_equal(hands.forgotten, 0);
	}
	queue_intake_close(intake);
	queue_store_close(store);
}

#define STORE_TEST(test) \
	cmocka_unit_test_setup_teardown(test, queue_scene_set_up, queue_scene_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(cleaning_spares_the_living),
		STORE_TEST(holds_of_messages_that_are_gone_end),
		STORE_TEST(cleaning_spares_who_comes_meanwhile),
		STORE_TEST(cleaning_looks_again_for_a_control_file),
		STORE_TEST(what_has_come_back_goes),
		STORE_TEST(a_message_at_s4_is_settled),
		STORE_TEST(a_service_without_directories_is_clean),
		STORE_TEST(who_is_to_be_mapped_again_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
