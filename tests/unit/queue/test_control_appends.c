// SPDX-License-Identifier: ISC
/*
 * Messages at S5 to which anything is appended, by processes that end anywhere, over power failures
 * that leave holes and take ends: what could still be lost is never called damage; and a byte that
 * changes is damage exactly if the process that wrote the last synced record knew it to be durable.
 */
#include "chance.h"
#include "os/file/file.h"
#include "queue_scene.h"
#include "test.h"
#include <string.h>

enum {
	MESSAGES = 40,
	STEPS = 25, /* of each */
	LOOKS = 15, /* at each step, of each kind */
	DELIVERIES = 12,
	MARKS_MAX = 2 * STEPS,
};

static const char cancel = '\030';

/* A synced record, which says that DURABLE bytes of the file were durable. */
struct mark {
	size_t begin;
	size_t end;
	size_t durable;
};

struct scene {
	struct queue_store *store;
	struct queue_intake *intake;
	struct queue_control *control; /* of the process that runs */
	struct buffer text;            /* the file as it is read now */
	uint64_t number;
	size_t durable; /* bytes of it that a power failure leaves as they are */
	size_t known;   /* and of which the process knows that */
	struct mark marks[MARKS_MAX];
	size_t mark_count;
};

/* --- the judge --- */

/* What was written from FROM on has one more synced record. */
static void note_mark(struct scene *scene, size_t from, size_t durable)
{
	struct str rest = str_skip(buffer_view(&scene->text), from);
	const char *found = memmem(rest.data, rest.length, "synced: ", strlen("synced: "));
	struct mark *mark = &scene->marks[scene->mark_count++];

	assert_true(scene->mark_count <= MARKS_MAX);
	assert_non_null(found);
	mark->begin = from + (size_t)(found - rest.data);
	mark->end = mark->begin +
		    (size_t)str_find(str_skip(rest, (size_t)(found - rest.data)), '\n') + 1;
	mark->durable = durable == SIZE_MAX ? mark->begin : durable;
}

/* What those say that a change of the byte AT leaves as they are. */
static size_t said_without(const struct scene *scene, size_t at)
{
	size_t durable = 0;

	for (size_t i = 0; i < scene->mark_count; i++) {
		const struct mark *mark = &scene->marks[i];

		if ((at + 1 < mark->begin || at >= mark->end) && mark->durable > durable)
			durable = mark->durable;
	}
	return durable;
}

/* Otherwise the file counts as an earlier writer's. */
static bool has_mark_without(const struct scene *scene, size_t at)
{
	for (size_t i = 0; i < scene->mark_count; i++)
		if (at + 1 < scene->marks[i].begin || at >= scene->marks[i].end)
			return true;
	return false;
}

/* Whether a change of the byte AT is to be called damage. A map that has no end is. */
static bool is_damage(const struct scene *scene, size_t at)
{
	struct str text = buffer_view(&scene->text);
	const char *mapped = memmem(text.data, text.length, "\nmapped: ", strlen("\nmapped: "));
	const char *end;

	assert_non_null(mapped);
	end = memchr(mapped + 1, '\n', text.length - (size_t)(mapped + 1 - text.data));
	return text.data + at <= end || at < said_without(scene, at);
}

/* Those that are not in LEFT as they were are gone. */
static void forget_marks(struct scene *scene, struct str left)
{
	size_t kept = 0;

	for (size_t i = 0; i < scene->mark_count; i++) {
		const struct mark mark = scene->marks[i];

		if (mark.end <= left.length &&
		    memcmp(left.data + mark.begin - 1, buffer_data(&scene->text) + mark.begin - 1,
			   mark.end - mark.begin + 1) == 0)
			scene->marks[kept++] = mark;
	}
	scene->mark_count = kept;
}

/* --- what is seen --- */

static unsigned damage_of(const struct scene *scene, struct str text)
{
	struct queue_control *control = NULL;
	unsigned damaged;

	assert_int_equal(queue_control_parse(text, &control, NULL), 0);
	assert_int_equal(control->envelope->id.number, scene->number);
	damaged = control->damaged;
	queue_control_free(control);
	return damaged;
}

/* A power failure: holes in what is not durable, and perhaps no end. */
static void make_holes(const struct scene *scene, struct buffer *left)
{
	size_t block = (size_t)16 << chance(6);
	size_t at = scene->durable;

	buffer_reset(left);
	buffer_append_str(left, buffer_view(&scene->text));
	while (at < left->length) {
		size_t next = at / block * block + block;

		if (next > left->length)
			next = left->length;
		if (chance(3) == 0)
			memset(buffer_data(left) + at, 0, next - at);
		at = next;
	}
	if (left->length > scene->durable && chance(2) == 0)
		buffer_truncate(left, scene->durable + chance(left->length - scene->durable));
}

/* Whether the byte AT is in a line that counts as cut. */
static bool is_in_cut_line(struct str text, size_t at)
{
	ptrdiff_t end = str_find(str_skip(text, at), '\n');

	return end > 0 ? text.data[at + (size_t)end - 1] == cancel
		       : end == 0 && at > 0 && text.data[at - 1] == cancel;
}

/* The byte AT becomes another one. */
static void change_byte(const struct scene *scene, size_t at)
{
	struct str text = buffer_view(&scene->text);
	char *byte = buffer_data(&scene->text) + at;
	char was = *byte;
	bool is_expected = is_damage(scene, at);
	bool is_found;

	*byte = (char)(was ^ (char)(1 + chance(255)));
	is_found = damage_of(scene, text) > 0;
	if (is_in_cut_line(text, at) || was == cancel || *byte == cancel)
		is_found = is_expected; /* nothing can be said of that line */
	if (is_found != is_expected &&
	    (!is_found || at >= scene->durable || has_mark_without(scene, at)))
		fail_msg("the byte %zu of %zu, %02x, becomes %02x: %u lines are damaged; "
			 "%zu bytes were durable",
			 at, text.length, (unsigned char)was, (unsigned char)*byte,
			 damage_of(scene, text), said_without(scene, at));
	*byte = was;
}

static void look(struct scene *scene)
{
	size_t head = scene->control->head.length;
	struct buffer left = {0};

	assert_int_equal(damage_of(scene, buffer_view(&scene->text)), 0);
	for (unsigned i = 0; i < LOOKS; i++) {
		make_holes(scene, &left);
		assert_int_equal(damage_of(scene, buffer_view(&left)), 0);
	}
	for (unsigned i = 0; i < LOOKS && !scene->control->must_be_whole; i++)
		change_byte(scene, head + chance(scene->text.length - head));
	buffer_clear(&left);
}

/* --- what happens --- */

static void read_file(struct scene *scene)
{
	buffer_reset(&scene->text);
	assert_int_equal(queue_update_read(scene->store, NULL, scene->number, &scene->text), 0);
}

/* A process begins. */
static void load(struct scene *scene)
{
	queue_control_free(scene->control);
	assert_int_equal(
		queue_update_load(scene->store, NULL, scene->number, &scene->control, NULL), 0);
	assert_int_equal(scene->control->damaged, 0);
	assert_int_equal(scene->control->delivery_count, DELIVERIES);
	scene->known = said_without(scene, SIZE_MAX - 1);
	assert_int_equal(scene->known, scene->control->head.length + scene->control->synced);
}

static void begin_message(struct scene *scene)
{
	struct buffer records = {0};

	scene->number = queue_scene_enqueue(scene->intake, NULL, "data\r\n");
	buffer_append_string(&records, "map: 1 remote <b@c>\n");
	for (unsigned i = 2; i <= DELIVERIES; i++)
		buffer_append_format(&records, "map: 1 remote %u <b@c>\n", i);
	buffer_append_format(&records, "mapped: directory=1 count=%d\n", DELIVERIES);
	if (chance(2) == 0)
		buffer_append_string(&records, "done: 1 2026-11-20T08:33:11Z 2.0.0 stored\n");
	buffer_append_byte(&records, '\0');
	queue_scene_preprocess(scene->store, scene->intake, scene->number, buffer_data(&records),
			       "");
	buffer_clear(&records);
	read_file(scene);
	scene->durable = scene->text.length;
	scene->mark_count = 0;
	note_mark(scene, 0, SIZE_MAX);
	load(scene);
}

/* News of some deliveries; IS_LATER: only when to try them again. */
static void make_news(struct scene *scene, bool is_later, struct buffer *records)
{
	static const char *const texts[] = {
		"no", "not now", "a reply of some sixty bytes, as most are that come from hosts"};
	uint32_t indexes[DELIVERIES];
	size_t count = 0;

	for (uint32_t i = (uint32_t)chance(3); i < DELIVERIES; i += 1 + (uint32_t)chance(5)) {
		struct queue_delivery *delivery = &scene->control->deliveries[i];

		indexes[count++] = i;
		delivery->outcome = is_later || chance(2) == 0 ? QUEUE_WAIT : QUEUE_DONE;
		delivery->changed_us = SECOND_US;
		delivery->until_us = delivery->outcome == QUEUE_WAIT ? 2 * SECOND_US : 0;
		delivery->trigger = STR("");
		delivery->status = delivery->outcome == QUEUE_WAIT ? STR("4.2.2") : STR("2.0.0");
		delivery->text = str_from(texts[chance(COUNT_OF(texts))]);
	}
	assert_int_equal(queue_control_write_outcomes(records, scene->control, indexes, count, false), 0);
	for (size_t i = 0; !is_later && i < DELIVERIES; i++)
		if (chance(2) == 0)
			assert_int_equal(queue_control_write_requeued(
						 records, &scene->control->deliveries[i]),
					 0);
}

/* Appends, or writes the whole file, as the manager does. IS_ALIVE: until that is durable. */
static void append(struct scene *scene, bool is_later, bool is_alive)
{
	struct buffer records = {0};
	struct buffer whole = {0};
	struct queue_update update = {
		.number = scene->number, .synced = scene->control->synced, .link_remote = true};
	size_t before = scene->text.length;

	make_news(scene, is_later, &records);
	scene->control->must_be_whole |= chance(12) == 0;
	update.is_whole = queue_control_outgrown(scene->control, records.length, &whole);
	update.may_be_lost = is_later && !update.is_whole;
	update.control = buffer_view(update.is_whole ? &whole : &records);
	assert_int_equal(queue_scene_update(scene->store, &update), 0);
	read_file(scene);
	assert_int_equal(update.size, scene->text.length);
	if (update.is_whole) {
		scene->mark_count = 0;
		note_mark(scene, 0, SIZE_MAX);
	} else if (!update.may_be_lost) {
		note_mark(scene, before, scene->known);
	}
	if (update.is_whole || (is_alive && !update.may_be_lost))
		scene->durable = scene->known = scene->text.length;
	if (is_alive) {
		queue_update_account(scene->control, &update);
		assert_int_equal(scene->known,
				 scene->control->head.length + scene->control->synced);
	}
	buffer_clear(&records);
	buffer_clear(&whole);
}

/* What is there after it came from the disk. */
static void fail_power(struct scene *scene)
{
	struct buffer left = {0};
	char path[QUEUE_PATH_SIZE];
	int file;

	make_holes(scene, &left);
	queue_store_path(scene->store, QUEUE_INFO, NULL, scene->number, path);
	file = os_file_open(queue_store_directory(scene->store), path, OS_FILE_WRITE);
	assert_true(file >= 0);
	assert_int_equal(os_file_write(file, buffer_data(&left), left.length, 0), 0);
	assert_int_equal(os_file_truncate(file, left.length), 0);
	os_file_close(file);
	forget_marks(scene, buffer_view(&left));
	read_file(scene);
	scene->durable = scene->text.length;
	buffer_clear(&left);
}

static void take_step(struct scene *scene)
{
	switch (chance(8)) {
	case 0:
	case 1:
	case 2:
		append(scene, false, true);
		break;
	case 3:
	case 4:
		append(scene, true, true);
		break;
	case 5: /* a process ends, and another begins */
		load(scene);
		break;
	case 6: /* the same between writing and sync */
		append(scene, false, false);
		load(scene);
		break;
	default: /* the machine does */
		if (chance(2) == 0)
			append(scene, false, false);
		fail_power(scene);
		load(scene);
		break;
	}
}

static void only_what_was_durable_can_be_damaged(void **state)
{
	struct scene scene = {.store = queue_scene_open("queue", QUEUE_SYNC_FILES)};

	(void)state;
	scene.intake = queue_scene_intake(scene.store);
	for (unsigned i = 0; i < MESSAGES; i++) {
		begin_message(&scene);
		for (unsigned step = 0; step < STEPS; step++) {
			look(&scene);
			take_step(&scene);
		}
		look(&scene);
	}
	queue_control_free(scene.control);
	buffer_clear(&scene.text);
	queue_intake_close(scene.intake);
	queue_store_close(scene.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_what_was_durable_can_be_damaged,
						queue_scene_set_up, queue_scene_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
