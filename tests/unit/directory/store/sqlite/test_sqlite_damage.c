// SPDX-License-Identifier: ISC
/* The SQLite store on a disk that changes what was written: each question is answered rightly or
 * not at all, and what is not damaged can be saved. */
#include "directory/store/sqlite/repair.h"
#include "directory/store/sqlite/sqlite.h"
#include "sqlite_scene.h"
#include "unit/directory/store/record_text.h"
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BAD "-74" /* -EBADMSG */

/* As a disk does: no trigger hears of it. */
static void damage(struct sqlite_scene *scene, const char *sql)
{
	sqlite3 *database;

	assert_int_equal(sqlite3_open(scene->path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL),
			 SQLITE_OK);
	if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(database));
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void expect_list(struct sqlite_scene *scene, enum directory_table table, const char *prefix,
			const char *heard)
{
	scene_list(scene, table, prefix, "", 100, ',');
	scene_expect(scene, heard);
}

static void a_record_that_differs_is_not_answered(void **state)
{
	static const struct {
		const char *sql;
		const char *key;
	} cases[] = {
		{"UPDATE address SET kind = 'refused', text = 'x' WHERE address = 'a@d.example'",
		 "address a@d.example"},
		{"UPDATE target SET target = 'y@e.example' WHERE target = 'z@e.example'",
		 "address c@d.example"},
		{"DELETE FROM target WHERE target = 'a@e.example'", "address c@d.example"},
		{"UPDATE target SET position = 9 WHERE target = 'z@e.example'",
		 "address c@d.example"},
		{"DELETE FROM address WHERE address = 'g@d.example'", "address g@d.example"},
		{"INSERT INTO address(address, kind) VALUES('n@d.example', 'mailbox')",
		 "address n@d.example"},
		{"DELETE FROM domain WHERE name = 'd.example'", "domain d.example"},
		{"DELETE FROM password WHERE name = 'ann'", "user ann"},
		{"UPDATE server SET address = 's2.example:24'", "server s1"},
		{"DELETE FROM checksum WHERE key = 'bob'", "user bob"},
		{"UPDATE checksum SET sum = sum + 1 WHERE key = 'e.example'", "domain e.example"},
	};
	struct sqlite_scene scene;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scene_open(&scene);
		scene_put_samples(&scene);
		damage(&scene, cases[i].sql);
		scene_expect_got(&scene, cases[i].key, BAD);
		scene_expect_got(&scene, "address b@d.example", scene_samples[2]);
		/* an operator puts it in again */
		scene_put(&scene, "address a@d.example|kind mailbox");
		scene_put(&scene, "user bob");
		scene_expect_turn(&scene, NULL);
		scene_expect_got(&scene, "address a@d.example", "address a@d.example|kind mailbox");
		scene_expect_got(&scene, "user bob", "user bob");
		scene_close(&scene);
	}
}

static void a_list_is_whole_or_not_answered(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	expect_list(&scene, DIRECTORY_MEMBER, "e@d.example ",
		    "e@d.example a@x.example,e@d.example b@x.example");
	damage(&scene, "DELETE FROM member WHERE member = 'b@x.example'");
	expect_list(&scene, DIRECTORY_MEMBER, "e@d.example ", BAD);
	expect_list(&scene, DIRECTORY_MEMBER, "",
		    "e@d.example a@x.example !e@d.example b@x.example");
	damage(&scene, "DELETE FROM address WHERE address = 'b@d.example'");
	expect_list(&scene, DIRECTORY_ADDRESS, "b", "!b@d.example");
	scene_list(&scene, DIRECTORY_ADDRESS, "", "", 3, ',');
	scene_expect(&scene, "@d.example,a@d.example,c@d.example !b@d.example");
	scene_list(&scene, DIRECTORY_ADDRESS, "", "c@d.example", 2, ',');
	scene_expect(&scene, "d@d.example,e@d.example");
	scene_close(&scene);
}

/* A lost one is with the page where it would be, of any list, and with no other. */
static void what_is_lost_is_listed_once(void **state)
{
	static const struct {
		const char *after;
		size_t limit;
		const char *heard;
	} pages[] = {
		{"", 1, "k@d a@x"},
		{"k@d a@x", 1, "k@d c@x !k@d b@x"},
		{"k@d c@x", 1, "l@d a@x !k@d d@x"},
		{"l@d a@x", 1, "m@d a@x !l@d b@x"},
		{"l@d a@x", 2, "m@d a@x !l@d b@x !m@d b@x"},
		{"m@d a@x", 1, "!m@d b@x"},
		{"", 3, "k@d a@x,k@d c@x,l@d a@x !k@d b@x !k@d d@x"},
		{"", 9, "k@d a@x,k@d c@x,l@d a@x,m@d a@x !k@d b@x !k@d d@x !l@d b@x !m@d b@x"},
	};
	static const char *const members[] = {"k@d a@x", "k@d b@x", "k@d c@x", "k@d d@x",
					      "l@d a@x", "l@d b@x", "m@d a@x", "m@d b@x"};
	struct sqlite_scene scene;
	char record[40];

	(void)state;
	scene_open(&scene);
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		snprintf(record, sizeof record, "member %s", members[i]);
		scene_put(&scene, record);
	}
	scene_expect_turn(&scene, NULL);
	damage(&scene, "DELETE FROM member WHERE member IN ('b@x', 'd@x')");
	for (size_t i = 0; i < COUNT_OF(pages); i++) {
		scene_list(&scene, DIRECTORY_MEMBER, "", pages[i].after, pages[i].limit, ',');
		scene_expect(&scene, pages[i].heard);
	}
	scene_close(&scene);
}

/* Opens what is at the scene's path, which must fail so. */
static void expect_refusal(struct sqlite_scene *scene, int error, const char *sentence)
{
	struct directory_store *store = NULL;
	struct buffer why = {0};

	assert_int_equal(store_sqlite_open(scene->loop, scene->path, &store, &why), error);
	buffer_append_byte(&why, '\0');
	assert_string_equal(buffer_data(&why) + strlen(scene->path), sentence);
	buffer_clear(&why);
}

static void what_does_not_add_up_is_not_opened(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	scene.store->operations->free(scene.store);
	damage(&scene, "DELETE FROM \"user\" WHERE name = 'bob';"
		       "DELETE FROM checksum WHERE key = 'bob'");
	expect_refusal(&scene, -EIO,
		       ": the total of its checksums differs: run \"stagepost directory repair\"");
	damage(&scene, "INSERT INTO \"user\"(name) VALUES('bob');"
		       "INSERT INTO checksum(table_name, key, member) VALUES('user', 'bob', '')");
	expect_refusal(&scene, -EIO,
		       ": the total of its checksums differs: run \"stagepost directory repair\"");
	damage(&scene, "UPDATE meta SET total = (SELECT sum(sum) FROM checksum)");
	scene_restart(&scene);
	scene_expect_got(&scene, "user bob", "user bob");
	scene.store->operations->free(scene.store);
	damage(&scene, "PRAGMA user_version = 3");
	expect_refusal(&scene, -EIO, ": its header is damaged: run \"stagepost directory repair\"");
	damage(&scene, "PRAGMA user_version = 7; PRAGMA application_id = 7");
	expect_refusal(&scene, -EIO, ": its header is damaged: run \"stagepost directory repair\"");
	damage(&scene, "PRAGMA application_id = 1400137540");
	scene_restart(&scene);
	scene_close(&scene);
}

static int missing_sums(struct sqlite_scene *scene)
{
	return scene_count(scene, "SELECT count(*) FROM checksum WHERE sum IS NULL");
}

/* Whatever their statement does where there is a conflict. */
static void what_others_change_is_good_and_gets_a_checksum(void **state)
{
	static const struct {
		const char *sql;
		const char *key;
		const char *record;
	} cases[] = {
		{"UPDATE address SET service = 'box' WHERE address = 'a@d.example'",
		 "address a@d.example", "address a@d.example|kind mailbox|service box"},
		{"INSERT OR REPLACE INTO address(address, kind) VALUES('b@d.example', 'mailbox')",
		 "address b@d.example", "address b@d.example|kind mailbox"},
		{"INSERT OR IGNORE INTO address(address, kind) VALUES('b@d.example', 'alias')",
		 "address b@d.example", "address b@d.example|kind mailbox"},
		{"INSERT INTO address(address, kind) VALUES('b@d.example', 'mailbox')"
		 " ON CONFLICT DO UPDATE SET service = 'x'",
		 "address b@d.example", "address b@d.example|kind mailbox|service x"},
		{"UPDATE OR REPLACE address SET address = 'g@d.example'"
		 " WHERE address = 'b@d.example'",
		 "address g@d.example", "address g@d.example|kind mailbox|service x"},
		{"DELETE FROM address WHERE address = 'g@d.example'", "address g@d.example",
		 "none"},
		{"INSERT INTO target VALUES('c@d.example', 3, 'last@e.example')",
		 "address c@d.example",
		 "address c@d.example|kind forward|target z@e.example|target a@e.example|target "
		 "c@d.example|target last@e.example"},
		{"UPDATE OR REPLACE target SET position = 0 WHERE target = 'last@e.example'",
		 "address c@d.example",
		 "address c@d.example|kind forward|target last@e.example|target a@e.example|target "
		 "c@d.example"},
		{"UPDATE \"user\" SET name = 'bobby' WHERE name = 'bob'", "user bobby",
		 "user bobby"},
		{"INSERT OR REPLACE INTO member VALUES('e@d.example', 'a@x.example')",
		 "member e@d.example a@x.example", "member e@d.example a@x.example"},
	};
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_put_samples(&scene);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scene_sql(&scene, cases[i].sql);
		scene_expect_got(&scene, cases[i].key, cases[i].record);
		for (unsigned turns = 0; missing_sums(&scene) > 0; turns++) {
			assert_in_range(turns, 0, 100);
			scene_wait(&scene);
			buffer_reset(&scene.heard);
		}
		scene_expect_got(&scene, cases[i].key, cases[i].record);
		scene_reopen(&scene); /* they add up */
	}
	damage(&scene, "UPDATE address SET service = 'boy' WHERE address = 'a@d.example'");
	scene_expect_got(&scene, "address a@d.example", BAD);
	scene_close(&scene);
}

/* More of them than get theirs at a time; and who opens the file next goes on. */
static void many_get_checksums(void **state)
{
	struct sqlite_scene scene;

	(void)state;
	scene_open(&scene);
	scene_sql(&scene, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
			  " i < 5000) INSERT INTO \"user\"(name) SELECT 'u' || i FROM n");
	scene_wait(&scene);
	buffer_reset(&scene.heard);
	scene_reopen(&scene);
	for (unsigned turns = 0; missing_sums(&scene) > 0; turns++) {
		assert_in_range(turns, 0, 1000);
		scene_turn(&scene);
		usleep(1000);
	}
	buffer_reset(&scene.heard);
	scene_reopen(&scene);
	scene_expect_got(&scene, "user u4999", "user u4999");
	scene_close(&scene);
}

/* ---- damage of all kinds, at random ---- */

enum { RECORDS = 700, MEMBERS = 60, SPOTS = 900 };

struct known {
	char key[80];
	char record[200]; /* "": there is none */
	bool is_lost;     /* says the repair */
};

struct campaign {
	struct sqlite_scene scene;
	struct known known[RECORDS];
	unsigned char *old, *bytes, *damaged; /* the file, earlier and now */
	size_t old_size, size;
	uint64_t seed;
	struct str problem;                          /* as the repair said */
	size_t refused, whole, saved, lost, unnamed; /* over all damage */
};

static uint64_t next(struct campaign *campaign, uint64_t limit)
{
	campaign->seed = campaign->seed * 6364136223846793005U + 1442695040888963407U;
	return (campaign->seed >> 33) % limit;
}

static void make_known(struct known *known, unsigned i, unsigned round)
{
	if (i < MEMBERS) {
		snprintf(known->key, sizeof known->key, "member list@d.example m%02u@x.example", i);
		snprintf(known->record, sizeof known->record, "%s", known->key);
	} else if (i % 5 == 0) {
		snprintf(known->key, sizeof known->key, "address f%u@d.example", i);
		snprintf(known->record, sizeof known->record,
			 "%s|kind forward|target one%u@e.example|target two%u@e.example",
			 known->key, i, i + round);
	} else if (i % 5 == 1) {
		snprintf(known->key, sizeof known->key, "user u%u", i);
		snprintf(known->record, sizeof known->record,
			 "%s|password $y$j9T$%u$%u|name No. %u", known->key, i, round, i);
	} else {
		snprintf(known->key, sizeof known->key, "address a%u@d.example", i);
		snprintf(known->record, sizeof known->record, "%s|kind mailbox|service box%u",
			 known->key, round);
	}
}

static unsigned char *read_file(const char *path, size_t *size_out)
{
	struct stat status;
	int file = open(path, O_RDONLY);
	unsigned char *bytes;

	assert_true(file >= 0);
	assert_int_equal(fstat(file, &status), 0);
	*size_out = (size_t)status.st_size;
	bytes = malloc(*size_out);
	assert_int_equal(read(file, bytes, *size_out), *size_out);
	close(file);
	return bytes;
}

static void write_file(const struct campaign *campaign, const unsigned char *bytes, size_t size)
{
	char path[SCRATCH_SIZE + 32];
	int file;

	snprintf(path, sizeof path, "%s-wal", campaign->scene.path);
	(void)unlink(path);
	snprintf(path, sizeof path, "%s-shm", campaign->scene.path);
	(void)unlink(path);
	file = open(campaign->scene.path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(file >= 0);
	assert_int_equal(write(file, bytes, size), size);
	close(file);
}

/* What is there once all changes are in the file: some were changed, some removed. */
static void begin_campaign(struct campaign *campaign, uint64_t seed)
{
	struct sqlite_scene *scene = &campaign->scene;

	*campaign = (struct campaign){.seed = seed};
	scene_open(scene);
	scene_put(scene, "domain d.example|kind local|service maildir");
	for (unsigned i = 0; i < RECORDS; i++) {
		make_known(&campaign->known[i], i, 0);
		scene_put(scene, campaign->known[i].record);
	}
	scene_expect_turn(scene, NULL);
	scene->store->operations->free(scene->store);
	campaign->old = read_file(scene->path, &campaign->old_size);
	scene_restart(scene);
	for (unsigned i = MEMBERS / 2; i < RECORDS; i += 3) {
		struct known *known = &campaign->known[i];

		make_known(known, i, 1);
		if (i % 2 == 0) {
			scene_remove(scene, known->key);
			known->record[0] = '\0';
		} else {
			scene_put(scene, known->record);
		}
	}
	scene_turn(scene);
	buffer_reset(&scene->heard);
	scene->store->operations->free(scene->store);
	campaign->bytes = read_file(scene->path, &campaign->size);
	campaign->damaged = malloc(campaign->size);
}

static void end_campaign(struct campaign *campaign)
{
	free(campaign->old);
	free(campaign->bytes);
	free(campaign->damaged);
	os_loop_free(campaign->scene.loop);
	buffer_clear(&campaign->scene.heard);
	assert_int_equal(scratch_remove(campaign->scene.directory), 0);
}

enum { PAGE = 4096, PAGE_KINDS = 8, KINDS = 12 };

/* The first PAGE_KINDS are of one page. Returns the size of the file. */
static size_t harm(struct campaign *campaign, unsigned kind)
{
	unsigned char *bytes = campaign->damaged;
	size_t pages = campaign->size / PAGE;
	size_t at = next(campaign, campaign->size);
	size_t page = next(campaign, pages) * PAGE;
	size_t other = next(campaign, pages) * PAGE;
	unsigned char kept[PAGE];

	memcpy(bytes, campaign->bytes, campaign->size);
	switch (kind) {
	case 0: /* a bit */
	case 1:
		bytes[at] ^= (unsigned char)(1U << next(campaign, 8));
		break;
	case 2: /* a few bytes */
		for (size_t i = at; i < at + 8 && i < campaign->size && i / PAGE == at / PAGE; i++)
			bytes[i] = (unsigned char)next(campaign, 256);
		break;
	case 3: /* a sector */
		memset(bytes + at / 512 * 512, 0, 512);
		break;
	case 4: /* a page, of nothing */
		memset(bytes + page, 0, PAGE);
		break;
	case 5: /* of noise */
		for (size_t i = 0; i < PAGE; i++)
			bytes[page + i] = (unsigned char)next(campaign, 256);
		break;
	case 6: /* an older one */
		if (page < campaign->old_size)
			memcpy(bytes + page, campaign->old + page, PAGE);
		break;
	case 7: /* another one */
		memcpy(bytes + page, campaign->bytes + other, PAGE);
		break;
	case 8: /* two that are exchanged */
		memcpy(kept, bytes + page, PAGE);
		memcpy(bytes + page, bytes + other, PAGE);
		memcpy(bytes + other, kept, PAGE);
		break;
	case 9: /* bits all over it */
		for (unsigned i = 0; i < 5; i++)
			bytes[next(campaign, campaign->size)] ^=
				(unsigned char)(1U << next(campaign, 8));
		break;
	case 10: /* it ends early, at a page */
		return page;
	default: /* or within one */
		return at;
	}
	return campaign->size;
}

struct answer {
	char text[4000];
};

static void got(void *context, int error, const struct directory_record *const *records,
		uint64_t version)
{
	struct answer *answer = context;
	struct buffer text = {0};

	(void)version;
	if (error < 0)
		buffer_append_format(&text, "%d", error);
	else if (records[0] != NULL)
		record_append_text(&text, records[0]);
	snprintf(answer->text, sizeof answer->text, STR_FORMAT, STR_ARGUMENTS(buffer_view(&text)));
	buffer_clear(&text);
}

static void ask(struct directory_store *store, const char *key, struct answer *answer)
{
	struct arena *arena = arena_new();
	struct directory_key asked = record_of_text(arena, key).key;

	store->operations->get(store, &asked, 1, got, answer);
	arena_free(arena);
}

static void listed(void *context, int error, const struct directory_page *page, uint64_t version)
{
	struct answer *answer = context;
	struct buffer text = {0};

	(void)version;
	if (error < 0)
		buffer_append_format(&text, "%d", error);
	for (size_t i = 0; i < page->count; i++)
		buffer_append_format(&text, STR_FORMAT ",",
				     STR_ARGUMENTS(page->records[i].key.name));
	snprintf(answer->text, sizeof answer->text, STR_FORMAT, STR_ARGUMENTS(buffer_view(&text)));
	buffer_clear(&text);
}

/* Of the records that are there, but of those that the repair has lost. */
static void judge_list(struct campaign *campaign, struct directory_store *store, unsigned kind,
		       bool may_fail)
{
	struct answer answer;
	struct buffer wanted = {0};

	for (unsigned i = 0; i < MEMBERS; i++)
		if (campaign->known[i].record[0] != '\0' && !campaign->known[i].is_lost)
			buffer_append_format(&wanted, "%s,",
					     campaign->known[i].key + strlen("member "));
	buffer_append_byte(&wanted, '\0');
	store->operations->list(store, DIRECTORY_MEMBER, STR("list@d.example "), STR(""), 1000,
				listed, &answer);
	if (strcmp(answer.text, buffer_data(&wanted)) != 0 && (!may_fail || answer.text[0] != '-'))
		fail_msg("kind %u: members: %s", kind, answer.text);
	buffer_clear(&wanted);
	store->operations->list(store, DIRECTORY_MEMBERSHIP, STR("m01@x.example "), STR(""), 10,
				listed, &answer);
	if (strcmp(answer.text,
		   campaign->known[1].is_lost ? "" : "m01@x.example list@d.example,") != 0 &&
	    (!may_fail || answer.text[0] != '-'))
		fail_msg("kind %u: memberships: %s", kind, answer.text);
}

/* Each answer is right, or none. */
static void judge_damaged(struct campaign *campaign, struct directory_store *store, unsigned kind)
{
	struct answer answer;
	bool is_refused = false;

	for (unsigned i = 0; i < RECORDS; i++) {
		const struct known *known = &campaign->known[i];

		ask(store, known->key, &answer);
		if (answer.text[0] == '-')
			is_refused = true;
		else if (strcmp(answer.text, known->record) != 0)
			fail_msg("kind %u: %s: \"%s\" instead of \"%s\"", kind, known->key,
				 answer.text, known->record);
	}
	ask(store, "domain d.example", &answer);
	assert_true(answer.text[0] == '-' ||
		    strcmp(answer.text, "domain d.example|kind local|service maildir") == 0);
	judge_list(campaign, store, kind, true);
	campaign->refused += is_refused;
}

static void on_lost(void *context, struct str table, struct str key, const char *why)
{
	struct campaign *campaign = context;
	char text[400];

	assert_non_null(why);
	snprintf(text, sizeof text, STR_FORMAT " " STR_FORMAT, STR_ARGUMENTS(table),
		 STR_ARGUMENTS(key));
	for (unsigned i = 0; i < RECORDS; i++)
		campaign->known[i].is_lost |= strcmp(campaign->known[i].key, text) == 0;
}

/* All that is not reported as lost is there, and nothing else. */
static void judge_repaired(struct campaign *campaign, unsigned kind, bool may_lack)
{
	struct directory_store *store;
	struct answer answer;
	struct buffer why = {0};

	if (store_sqlite_open(campaign->scene.loop, campaign->scene.path, &store, &why) < 0)
		fail_msg("kind %u: " STR_FORMAT, kind, STR_ARGUMENTS(buffer_view(&why)));
	for (unsigned i = 0; i < RECORDS; i++) {
		const struct known *known = &campaign->known[i];
		const char *wanted = known->is_lost ? "" : known->record;

		ask(store, known->key, &answer);
		if (may_lack && answer.text[0] == '\0') {
			campaign->unnamed++;
			continue;
		}
		if (strcmp(answer.text, wanted) != 0)
			fail_msg("kind %u, repaired: %s: \"%s\" instead of \"%s\"; " STR_FORMAT,
				 kind, known->key, answer.text, wanted,
				 STR_ARGUMENTS(campaign->problem));
		campaign->saved += wanted[0] != '\0';
		campaign->lost += known->is_lost;
	}
	if (!may_lack)
		judge_list(campaign, store, kind, false);
	store->operations->free(store);
}

static void repair_and_judge(struct campaign *campaign, unsigned kind, bool was_right)
{
	struct store_sqlite_repair repair = {.applies = true, .lost = on_lost, .context = campaign};
	struct buffer why = {0};
	int error = store_sqlite_repair(campaign->scene.loop, campaign->scene.path, &repair, &why);

	if (error != 0 && error != -EINVAL)
		fail_msg("kind %u: %d " STR_FORMAT, kind, error, STR_ARGUMENTS(buffer_view(&why)));
	campaign->problem = buffer_view(&repair.problem);
	if (error == 0 && repair.state == STORE_SQLITE_UNREADABLE)
		assert_int_equal(access(campaign->scene.path, F_OK), -1);
	else if (error == 0) /* of two lists, one page is only in one */
		judge_repaired(campaign, kind, repair.has_unnamed && kind >= PAGE_KINDS);
	if (error == 0 && repair.state == STORE_SQLITE_WHOLE)
		assert_true(was_right);
	campaign->whole += error == 0 && repair.state == STORE_SQLITE_WHOLE;
	if (repair.kept.length > 0) {
		buffer_append_byte(&repair.kept, '\0');
		assert_int_equal(unlink(buffer_data(&repair.kept)), 0);
	}
	for (unsigned i = 0; i < RECORDS; i++)
		campaign->known[i].is_lost = false;
	buffer_clear(&repair.problem);
	buffer_clear(&repair.kept);
	buffer_clear(&why);
}

static void harm_and_judge(struct campaign *campaign, unsigned kind)
{
	struct directory_store *store = NULL;
	struct buffer why = {0};
	size_t size = harm(campaign, kind);
	size_t refused = campaign->refused;

	write_file(campaign, campaign->damaged, size);
	if (size > 0 &&
	    store_sqlite_open(campaign->scene.loop, campaign->scene.path, &store, &why) == 0) {
		judge_damaged(campaign, store, kind);
		store->operations->free(store);
	} else if (size > 0) {
		buffer_append_byte(&why, '\0');
		if (strstr(buffer_data(&why), "\"stagepost directory repair\"") == NULL)
			fail_msg("kind %u: %s", kind, buffer_data(&why));
		campaign->refused++;
	}
	buffer_clear(&why);
	write_file(campaign, campaign->damaged, size);
	repair_and_judge(campaign, kind, campaign->refused == refused);
}

static unsigned rounds(unsigned usual)
{
	const char *given = getenv("DAMAGE_ROUNDS");

	return given != NULL ? (unsigned)atoi(given) : usual;
}

static void whatever_is_damaged_no_answer_is_wrong(void **state)
{
	struct campaign campaign;

	(void)state;
	begin_campaign(&campaign, 1);
	for (unsigned i = 0; i < rounds(8 * KINDS); i++)
		harm_and_judge(&campaign, i % KINDS);
	print_message("%zu refused, %zu whole; %zu records saved, %zu lost, %zu without a name\n",
		      campaign.refused, campaign.whole, campaign.saved, campaign.lost,
		      campaign.unnamed);
	assert_true(campaign.refused > 0 && campaign.lost > 0);
	assert_true(campaign.saved > 2 * (campaign.lost + campaign.unnamed));
	end_campaign(&campaign);
}

/* While the file is open: the kernel shows the change at once. */
static void what_is_damaged_while_it_is_open_is_not_answered(void **state)
{
	struct campaign campaign;

	(void)state;
	begin_campaign(&campaign, 2);
	for (unsigned i = 0; i < rounds(6 * PAGE_KINDS); i++) {
		struct directory_store *store = NULL;
		struct buffer why = {0};
		int file;

		write_file(&campaign, campaign.bytes, campaign.size);
		assert_int_equal(
			store_sqlite_open(campaign.scene.loop, campaign.scene.path, &store, &why),
			0);
		assert_int_equal(harm(&campaign, i % PAGE_KINDS), campaign.size);
		file = open(campaign.scene.path, O_WRONLY);
		assert_int_equal(write(file, campaign.damaged, campaign.size), campaign.size);
		close(file);
		judge_damaged(&campaign, store, i % PAGE_KINDS);
		store->operations->free(store);
		buffer_clear(&why);
	}
	assert_true(campaign.refused > 0);
	end_campaign(&campaign);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_that_differs_is_not_answered),
		cmocka_unit_test(a_list_is_whole_or_not_answered),
		cmocka_unit_test(what_is_lost_is_listed_once),
		cmocka_unit_test(what_does_not_add_up_is_not_opened),
		cmocka_unit_test(what_others_change_is_good_and_gets_a_checksum),
		cmocka_unit_test(many_get_checksums),
		cmocka_unit_test(whatever_is_damaged_no_answer_is_wrong),
		cmocka_unit_test(what_is_damaged_while_it_is_open_is_not_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
