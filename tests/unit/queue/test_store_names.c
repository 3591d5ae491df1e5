// SPDX-License-Identifier: ISC
/*
 * Names that are missing, and names that came back: a row for each one, and each pair, that a state
 * can lose or get. Each is cleaned on a real disk, as where order is kept and as elsewhere; after
 * that a repair finds nothing more.
 */
#include "os/file/file.h"
#include "queue/cleaner.h"
#include "queue/control/checksum.h"
#include "queue/repair.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum outcome {
	KEPT,    /* the message is where it was, and nothing is said of it; at S5 nothing in intd */
	SETTLED, /* it is at S4, and what came back is gone */
	REBUILT, /* it is at S5 again, with what is known of its deliveries */
	RETRIED, /* it is at S5 again, and all its recipients are to be mapped */
	REPORTED, /* what is left is in damaged/, and its sender gets a report */
	DAMAGED,  /* what is left is in damaged/ */
	LITTER,   /* what is left is in litter/ */
	REMOVED,  /* it had ended: nothing is left */
};

/* T todo, M mess, I info, R remote, L local, B bounce, D intd. "!": marked as ended; "=": all is
 * decided; "?": a control file that cannot be read; "~": that of an earlier message, "^" of a later
 * one, whose data were put back, "#" of one with another number, "@" empty. "0": its data are
 * empty.
 */
struct row {
	const char *state;
	const char *missing;
	const char *more; /* names that came back */
	enum outcome ordered;
	enum outcome elsewhere;
};

static const struct row rows[] = {
	/* S4: without its only name nothing is known of it */
	{"T", "T", "", REMOVED, REMOVED},
	{"T", "", "M", SETTLED, SETTLED},
	{"T", "", "I", KEPT, KEPT}, /* whoever reads it makes the other names of S5 again */
	{"T", "", "R", SETTLED, SETTLED},
	{"T", "", "L", SETTLED, SETTLED},
	{"T", "", "B", SETTLED, SETTLED},
	{"T", "", "D", SETTLED, SETTLED},
	{"T", "", "MI", KEPT, KEPT}, /* S5, but for the removal from todo/ */
	{"T", "", "MR", SETTLED, SETTLED},
	{"T", "", "ML", SETTLED, SETTLED},
	{"T", "", "MB", SETTLED, SETTLED},
	{"T", "", "MD", SETTLED, SETTLED},
	{"T", "", "IR", KEPT, KEPT},
	{"T", "", "IL", KEPT, KEPT},
	{"T", "", "IB", KEPT, KEPT},
	{"T", "", "ID", KEPT, KEPT},
	{"T", "", "RL", SETTLED, SETTLED},
	{"T", "", "RB", SETTLED, SETTLED},
	{"T", "", "RD", SETTLED, SETTLED},
	{"T", "", "LB", SETTLED, SETTLED},
	{"T", "", "LD", SETTLED, SETTLED},
	{"T", "", "BD", SETTLED, SETTLED},
	/* S4 on its way to S5 */
	{"TD", "T", "", REPORTED, LITTER},
	{"TD", "TD", "", REMOVED, REMOVED},
	{"TDM", "T", "", REBUILT, LITTER},
	{"TDM", "TD", "", RETRIED, LITTER},
	{"TDM", "TM", "", REPORTED, LITTER},
	{"TDMR", "T", "", REBUILT, LITTER},
	{"TDMR", "TD", "", REBUILT, LITTER},
	{"TDMR", "TM", "", REPORTED, LITTER},
	{"TDMR", "TR", "", REBUILT, LITTER},
	{"TMRI", "T", "", KEPT, KEPT}, /* S5 */
	/* S5, remote */
	{"MIR", "", "", KEPT, KEPT},
	{"MIR", "M", "", REPORTED, LITTER},
	{"MIR", "I", "", REBUILT, LITTER},
	{"MIR", "R", "", KEPT, KEPT},
	{"MIR", "MI", "", REPORTED, LITTER},
	{"MIR", "MR", "", REPORTED, LITTER},
	{"MIR", "IR", "", RETRIED, LITTER},
	/* S5, local */
	{"MIL", "", "", KEPT, KEPT},
	{"MIL", "M", "", REPORTED, LITTER},
	{"MIL", "I", "", REBUILT, LITTER},
	{"MIL", "L", "", KEPT, KEPT},
	{"MIL", "MI", "", REPORTED, LITTER},
	{"MIL", "ML", "", REPORTED, LITTER},
	{"MIL", "IL", "", RETRIED, LITTER},
	/* S5, both */
	{"MIRL", "M", "", REPORTED, LITTER},
	{"MIRL", "I", "", REBUILT, LITTER},
	{"MIRL", "R", "", KEPT, KEPT},
	{"MIRL", "L", "", KEPT, KEPT},
	{"MIRL", "MI", "", REPORTED, LITTER},
	{"MIRL", "MR", "", REPORTED, LITTER},
	{"MIRL", "ML", "", REPORTED, LITTER},
	{"MIRL", "IR", "", REBUILT, LITTER},
	{"MIRL", "IL", "", REBUILT, LITTER},
	{"MIRL", "RL", "", KEPT, KEPT},
	/* S5, with a failure to be reported */
	{"MIRB", "M", "", REPORTED, LITTER},
	{"MIRB", "I", "", REBUILT, LITTER},
	{"MIRB", "R", "", KEPT, KEPT},
	{"MIRB", "B", "", KEPT, KEPT},
	{"MIRB", "MI", "", REPORTED, LITTER},
	{"MIRB", "MR", "", REPORTED, LITTER},
	{"MIRB", "MB", "", REPORTED, LITTER},
	{"MIRB", "IR", "", RETRIED, LITTER},
	{"MIRB", "IB", "", REBUILT, LITTER},
	{"MIRB", "RB", "", KEPT, KEPT},
	/* S5, all decided, and the failures still to be reported */
	{"MIB=", "M", "", REPORTED, LITTER},
	{"MIB=", "I", "", RETRIED, LITTER},
	{"MIB=", "B", "", KEPT, KEPT},
	{"MIB=", "MI", "", DAMAGED, LITTER},
	{"MIB=", "MB", "", REMOVED, REMOVED},
	{"MIB=", "IB", "", RETRIED, LITTER},
	/* S5, while the control file is rewritten */
	{"MIRD", "M", "", REPORTED, LITTER},
	{"MIRD", "I", "", REBUILT, LITTER},
	{"MIRD", "R", "", KEPT, KEPT},
	{"MIRD", "D", "", KEPT, KEPT},
	{"MIRD", "MI", "", REPORTED, LITTER},
	{"MIRD", "MR", "", REPORTED, LITTER},
	{"MIRD", "MD", "", REPORTED, LITTER},
	{"MIRD", "IR", "", REBUILT, LITTER},
	{"MIRD", "ID", "", REBUILT, LITTER},
	{"MIRD", "RD", "", KEPT, KEPT},
	/* the end, and what a power failure brings back of it */
	{"M!", "", "", REMOVED, REMOVED},
	{"I!", "", "", REMOVED, REMOVED},
	{"R!", "", "", REMOVED, REMOVED},
	{"L!", "", "", REMOVED, REMOVED},
	{"MI!", "", "", KEPT, KEPT}, /* nothing has gone yet: a second delivery, as ever */
	{"MR!", "", "", REMOVED, REMOVED},
	{"ML!", "", "", REMOVED, REMOVED},
	{"MD!", "", "", REMOVED, REMOVED},
	{"MB!", "", "", REMOVED, REMOVED},
	{"IR!", "", "", REMOVED, REMOVED},
	{"IL!", "", "", REMOVED, REMOVED},
	{"ID!", "", "", REMOVED, REMOVED},
	{"RL!", "", "", REMOVED, REMOVED},
	/* the end, of a message that an earlier version has ended: only its records tell */
	{"I=", "", "", REMOVED, REMOVED},
	{"R=", "", "", REMOVED, REMOVED},
	{"MR=", "", "", REMOVED, REMOVED},
	{"M", "", "", RETRIED, LITTER},
	/* no name leads to anything */
	{"R?", "", "", DAMAGED, LITTER},
	{"I?", "", "", DAMAGED, LITTER},
	{"D?", "", "", REMOVED, REMOVED}, /* under construction: nothing was in it yet */
	{"B", "", "", DAMAGED, LITTER},
	{"MR?", "", "", RETRIED, LITTER},
	{"MR~", "", "", RETRIED, LITTER},
	/* files of other messages */
	{"MR^", "", "", REPORTED, LITTER},
	{"MR#", "", "", RETRIED, LITTER},
	{"R#", "", "", DAMAGED, LITTER},
	/* emptied */
	{"IR@", "", "", DAMAGED, REMOVED},
	{"D@", "", "", REMOVED, REMOVED},
	/* a message without data that stands for a damaged one, and whose making was interrupted:
	 * what it stands for is there still, and all begins again */
	{"M0", "", "", REMOVED, REMOVED},
	{"MB0", "", "", REMOVED, REMOVED},
	{"MD0", "", "", REMOVED, REMOVED},
	{"MBD0", "", "", REMOVED, REMOVED},
	{"MBD?0", "", "", REMOVED, REMOVED},
	{"MR0", "", "", DAMAGED, LITTER}, /* none that was at S5 */
};

/* --- the queue --- */

struct scene {
	const struct row *row;
	struct queue_store *store;
	struct queue_intake *intake;
	uint64_t number;
	unsigned findings[3];
	uint64_t report;
};

static const char *const services[] = {"mailbox"};
static const char letters[] = "MIRLBD";

static enum queue_folder place_of(char letter, const char **name)
{
	*name = letter == 'L' ? services[0] : letter == 'T' ? "arrive" : NULL;
	switch (letter) {
	case 'T':
		return QUEUE_TODO;
	case 'M':
		return QUEUE_MESS;
	case 'R':
		return QUEUE_REMOTE;
	case 'L':
		return QUEUE_LOCAL;
	case 'B':
		return QUEUE_BOUNCE;
	case 'D':
		return QUEUE_INTD;
	default:
		return QUEUE_INFO;
	}
}

static void path_of(const struct scene *scene, char letter, char path[QUEUE_PATH_SIZE])
{
	const char *name;
	enum queue_folder folder = place_of(letter, &name);

	queue_store_path(scene->store, folder, name, scene->number, path);
}

static bool is_there(const struct scene *scene, char letter)
{
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];

	path_of(scene, letter, path);
	return os_file_info_at(queue_store_directory(scene->store), path, &info) == 0;
}

static bool has(const char *text, char letter)
{
	return strchr(text, letter) != NULL;
}

static void drop(const struct scene *scene, char letter)
{
	char path[QUEUE_PATH_SIZE];
	int result;

	path_of(scene, letter, path);
	result = os_file_unlink(queue_store_directory(scene->store), path);
	assert_true(result == 0 || result == -ENOENT);
}

static void write_file(const struct scene *scene, char letter, const char *text)
{
	char path[QUEUE_PATH_SIZE];
	int file;

	drop(scene, letter);
	path_of(scene, letter, path);
	file = os_file_open(queue_store_directory(scene->store), path,
			    OS_FILE_WRITE | OS_FILE_CREATE);
	assert_true(file >= 0);
	assert_int_equal(os_file_write(file, text, strlen(text), 0), 0);
	os_file_close(file);
}

/* All names of S5, and that in todo/ if the state has it. */
static void make_all(struct scene *scene, bool is_decided)
{
	struct queue_update update = {
		.is_queued = true,
		.stage = MAIL_STAGE_ARRIVE,
		.control = is_decided ? STR("map: 1 remote <b@c>\nmapped: directory=1 count=1\n"
					    "fail: 1 2026-11-20T08:33:11Z 5.1.1 no\n")
				      : STR("map: 1 remote <b@c>\nmapped: directory=1 count=1\n"),
		.preprocess = true,
		.link_remote = true,
		.link_services = services,
		.link_service_count = 1,
	};
	struct buffer text = {0};
	const enum mail_stage stage = MAIL_STAGE_ARRIVE;

	scene->number = queue_scene_enqueue(scene->intake, NULL, "data\r\n");
	update.number = scene->number;
	assert_int_equal(queue_scene_update(scene->store, &update), 0);
	assert_int_equal(queue_update_read(scene->store, &stage, scene->number, &text), 0);
	buffer_append_byte(&text, '\0');
	write_file(scene, 'D', buffer_data(&text));
	write_file(scene, 'B', "fail: 2 2026-11-20T08:33:11Z 5.1.1 no\n");
	buffer_clear(&text);
}

/* The file at LETTER becomes the control file of another message: ID's. */
static void make_other(const struct scene *scene, char letter, struct mail_id id)
{
	struct mail_envelope *envelope = queue_scene_envelope_to_one();
	struct buffer text = {0};
	size_t before;

	envelope->id = id;
	envelope->size = strlen("data\r\n");
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	mail_envelope_free(envelope);
	queue_checksum_add_head(&text, buffer_view(&text), 0);
	before = text.length;
	buffer_append_string(&text, "map: 1 remote <b@c>\nmapped: directory=1 count=1\n");
	queue_checksum_add_records(&text, before, id.born_us);
	buffer_append_byte(&text, '\0');
	write_file(scene, letter, buffer_data(&text));
	buffer_clear(&text);
}

static void empty_data(const struct scene *scene)
{
	char path[QUEUE_PATH_SIZE];
	int file;

	path_of(scene, 'M', path);
	file = os_file_open(queue_store_directory(scene->store), path, OS_FILE_WRITE);
	assert_true(file >= 0);
	assert_int_equal(os_file_truncate(file, 0), 0);
	os_file_close(file);
}

static void make_state(struct scene *scene)
{
	const char *state = scene->row->state;

	make_all(scene, has(state, '='));
	if (has(state, '0'))
		empty_data(scene);
	if (has(state, '!'))
		assert_int_equal(queue_update_mark_ended(
					 scene->store, (struct mail_id){scene->number, SECOND_US}),
				 0);
	for (const char *c = "RIDLMBT"; *c != '\0'; c++) {
		if (has(state, '?') && *c != 'M' && has(state, *c))
			write_file(scene, *c, "nothing of the kind\n");
		if (has(state, '@') && *c != 'M' && has(state, *c))
			write_file(scene, *c, "");
		if (has(state, '~') && *c == 'R')
			make_other(scene, *c, (struct mail_id){scene->number, SECOND_US - 1});
		if (has(state, '^') && *c == 'R')
			make_other(scene, *c, (struct mail_id){scene->number, SECOND_US + 1});
		if (has(state, '#') && *c == 'R')
			make_other(scene, *c, (struct mail_id){scene->number + 1, SECOND_US});
		if ((!has(state, *c) && !has(scene->row->more, *c)) || has(scene->row->missing, *c))
			drop(scene, *c);
	}
}

/* --- cleaning --- */

static bool is_busy(void *context, uint64_t number)
{
	(void)context;
	(void)number;
	return false;
}

static int remove_data(void *context, uint64_t number)
{
	const struct scene *scene = context;

	return queue_message_remove_data(scene->intake, number);
}

static void found(void *context, const struct queue_cleaner_finding *finding)
{
	struct scene *scene = context;
	struct os_file_info info;

	assert_int_equal(finding->number, scene->number);
	scene->findings[finding->kind]++;
	scene->report = finding->report;
	assert_int_equal(os_file_info_at(queue_store_directory(scene->store), finding->path, &info),
			 0);
	if (finding->control != NULL)
		assert_true(str_equal(finding->control->envelope->sender, STR("a@example.org")));
}

static void clean(struct scene *scene)
{
	static const struct queue_cleaner_handler handler = {
		.is_busy = is_busy, .remove_data = remove_data, .found = found};
	struct queue_cleaner *cleaner =
		queue_cleaner_new(scene->store, services, 1, &handler, scene);
	int result = 1;

	while (result != 0) {
		result = queue_cleaner_step(cleaner);
		assert_true(result >= 0);
	}
	assert_true(queue_cleaner_is_sure(cleaner));
	queue_cleaner_free(cleaner);
}

/* --- what became of it --- */

static unsigned names_left(const struct scene *scene)
{
	unsigned count = 0;

	for (const char *c = letters; *c != '\0'; c++)
		count += is_there(scene, *c);
	return count;
}

static void expect_findings(const struct scene *scene, unsigned rebuilt, unsigned damaged,
			    unsigned litter)
{
	assert_int_equal(scene->findings[QUEUE_CLEANER_REBUILT], rebuilt);
	assert_int_equal(scene->findings[QUEUE_CLEANER_DAMAGED], damaged);
	assert_int_equal(scene->findings[QUEUE_CLEANER_LITTER], litter);
	assert_int_equal(scene->report != 0, scene->report != 0 && damaged == 1);
	assert_int_equal(queue_scene_names_in(scene->store, "damaged") > 0, damaged > 0);
	assert_int_equal(queue_scene_names_in(scene->store, "litter") > 0, litter > 0);
}

static void expect_at_s5(const struct scene *scene, bool is_to_map)
{
	struct queue_control *control;

	assert_true(is_there(scene, 'I') && is_there(scene, 'M'));
	assert_false(is_there(scene, 'D'));
	assert_int_equal(queue_update_load(scene->store, NULL, scene->number, &control, NULL), 0);
	assert_true(control->is_mapped);
	assert_int_equal(control->deliveries[0].is_requeued, is_to_map);
	queue_control_free(control);
}

/* Another message, whose deliveries are all decided. */
static void expect_report(const struct scene *scene)
{
	struct queue_control *control;

	assert_true(scene->report != 0);
	assert_int_equal(queue_update_load(scene->store, NULL, scene->report, &control, NULL), 0);
	assert_true(queue_control_is_finished(control));
	assert_int_equal(control->deliveries[0].outcome, QUEUE_FAIL);
	assert_int_equal(control->envelope->size, 0);
	assert_true(str_equal(control->envelope->sender, STR("a@example.org")));
	assert_int_equal(control->envelope->id.born_us, SECOND_US + has(scene->row->state, '^'));
	queue_control_free(control);
}

static void expect_kept(const struct scene *scene)
{
	expect_findings(scene, 0, 0, 0);
	if (has(scene->row->state, 'T') && !has(scene->row->missing, 'T'))
		assert_true(is_there(scene, 'T'));
	else
		expect_at_s5(scene, false);
}

static void expect(const struct scene *scene, enum outcome outcome)
{
	switch (outcome) {
	case KEPT:
		expect_kept(scene);
		break;
	case SETTLED:
		expect_kept(scene);
		assert_int_equal(names_left(scene), 0);
		break;
	case REBUILT:
	case RETRIED:
		expect_findings(scene, 1, 0, 0);
		expect_at_s5(scene, outcome == RETRIED);
		break;
	case REPORTED:
	case DAMAGED:
		expect_findings(scene, 0, 1, 0);
		assert_int_equal(names_left(scene), 0);
		if (outcome == REPORTED)
			expect_report(scene);
		else
			assert_int_equal(scene->report, 0);
		break;
	case LITTER:
		expect_findings(scene, 0, 0, 1);
		assert_int_equal(names_left(scene), 0);
		break;
	case REMOVED:
		expect_findings(scene, 0, 0, 0);
		assert_int_equal(names_left(scene), 0);
		assert_false(is_there(scene, 'T'));
		break;
	}
}

/* --- a repair finds nothing more --- */

static void on_renumbered(void *context, uint64_t old, uint64_t number)
{
	(void)context;
	fail_msg("%llu is renumbered as %llu", (unsigned long long)old, (unsigned long long)number);
}

static void on_set_aside(void *context, const char *path, const char *why)
{
	fail_msg("%s: %s", path, why);
	(void)context;
}

static void on_progress(void *context, uint64_t count)
{
	(void)context;
	(void)count;
}

static void repair(struct scene *scene)
{
	const struct queue_repair options = {.renumbered = on_renumbered,
					     .set_aside = on_set_aside,
					     .progress = on_progress,
					     .context = scene};

	assert_int_equal(queue_repair(scene->store, &options), 0);
}

static void play(const struct row *row, enum queue_sync sync)
{
	static unsigned count;
	struct scene scene = {.row = row};
	char name[32];

	snprintf(name, sizeof name, "queue%u", count++);
	print_message("%s without \"%s\" and with \"%s\" (%s)\n", row->state, row->missing,
		      row->more, queue_sync_name(sync));
	scene.store = queue_scene_open(name, sync);
	assert_int_equal(queue_store_add_service(scene.store, services[0]), 0);
	scene.intake = queue_scene_intake(scene.store);
	make_state(&scene);
	clean(&scene);
	expect(&scene, sync == QUEUE_SYNC_ORDERED ? row->ordered : row->elsewhere);
	memset(scene.findings, 0, sizeof scene.findings);
	clean(&scene); /* nothing is found twice */
	assert_int_equal(scene.findings[0] + scene.findings[1] + scene.findings[2], 0);
	repair(&scene);
	queue_intake_close(scene.intake);
	queue_store_close(scene.store);
}

static void names_where_order_is_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		play(&rows[i], QUEUE_SYNC_ORDERED);
}

static void names_elsewhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		play(&rows[i], QUEUE_SYNC_FILES);
}

/* --- litter --- */

static void litter_stays_for_a_time(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct os_file_info info;
	int file = os_file_open(queue_store_directory(store), "litter/info_1_4",
				OS_FILE_WRITE | OS_FILE_CREATE);

	(void)state;
	assert_int_equal(os_file_info(file, &info), 0);
	os_file_close(file);
	assert_int_equal(
		queue_cleaner_sweep(store, info.changed_us + QUEUE_LITTER_AGE_US, NULL, NULL), 0);
	assert_int_equal(queue_scene_names_in(store, "litter"), 1);
	assert_int_equal(
		queue_cleaner_sweep(store, info.changed_us + QUEUE_LITTER_AGE_US + 1, NULL, NULL),
		0);
	assert_int_equal(queue_scene_names_in(store, "litter"), 0);
	queue_store_close(store);
}

#define NAMES_TEST(test) \
	cmocka_unit_test_setup_teardown(test, queue_scene_set_up, queue_scene_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NAMES_TEST(names_where_order_is_kept),
		NAMES_TEST(names_elsewhere),
		NAMES_TEST(litter_stays_for_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
