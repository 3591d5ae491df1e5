// SPDX-License-Identifier: ISC
/*
 * Copies in Maildirs, against a plain look at all files: a folder in the memory of this test, with
 * files of each name and content, which readers move and flag while it is listed, and of whose
 * calls one fails. Nothing is missed, nothing else is touched, nothing stays open.
 */
#include "base/timestamp.h"
#include "chance.h"
#include "filing/decode/identity.h"
#include "filing/mailstore/internal.h"
#include "filing/mailstore/maildir.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 12, TEXTS = 6, LONG = 20000, FIRST_FILE = 100, DIRECTORY = 99, TURNS = 20000 };
enum kind { A_FILE, A_LINK, A_DIRECTORY };

/* --- contents --- */

static char texts[TEXTS][LONG + 100];
static bool is_wanted[TEXTS]; /* it is the message that is looked for */
static struct mailstore_location place;
static unsigned char digest[DECODE_DIGEST_SIZE];
static char id[200], mark[MAILSTORE_MARK_SIZE];

static void identify(const char *text, struct arena *arena, struct decode_identity *identity)
{
	struct ipc_content content = {.bytes = str_from(text), .file = -1, .size = strlen(text)};

	assert_int_equal(decode_identify(&content, arena, identity), 0);
}

static void make_texts(void)
{
	struct decode_identity wanted, one;
	struct arena *arena = arena_new();
	size_t used;

	snprintf(texts[0], LONG, "Message-ID: <1@x>\nSubject: a\n\nbody\n");
	snprintf(texts[1], LONG, "Message-ID: <1@x>\r\nSubject: a\r\n\r\nbody\r\n");
	snprintf(texts[2], LONG, "Message-ID: <1@x>\nSubject: a\n\nanother\n");
	snprintf(texts[3], LONG, "Message-ID: <2@x>\nSubject: a\n\nbody\n");
	snprintf(texts[4], LONG, "Subject: a\n\nbody\n");
	/* a header that is not read whole at first */
	snprintf(texts[5], LONG, "Message-ID: <2@x>\nX: ");
	used = strlen(texts[5]);
	memset(texts[5] + used, 'x', LONG - used);
	strcpy(texts[5] + LONG, "\n\nbody\n");
	identify(texts[0], arena, &wanted);
	for (size_t i = 0; i < TEXTS; i++) {
		identify(texts[i], arena, &one);
		is_wanted[i] = str_equal(one.id, wanted.id) &&
			       memcmp(one.digest, wanted.digest, sizeof digest) == 0;
	}
	assert_true(is_wanted[1] && !is_wanted[2] && !is_wanted[3] && !is_wanted[4]);
	snprintf(id, sizeof id, STR_FORMAT, STR_ARGUMENTS(wanted.id));
	memcpy(digest, wanted.digest, sizeof digest);
	place.user = STR("ann@a.test");
	place.folder = STR("INBOX");
	place.id = str_from(id);
	place.digest = digest;
	mailstore_mark(&place, mark);
	arena_free(arena);
}

/* --- the disk --- */

static struct disk {
	struct file {
		char box[4], base[120], flags[10];
		enum kind kind;
		size_t text;
		bool is_gone, has_mark;
		bool is_open;
	} files[FILES_MAX];
	size_t count;
	bool is_missing;  /* the folder */
	bool is_restless; /* readers are at work */
	int64_t now_us, changed_us;
	int calls, fails_at; /* 0: none */
	bool has_failed;
	unsigned open, synced_all, synced_new, synced_cur;
} disk;

static bool does_call_fail(void)
{
	if (++disk.calls != disk.fails_at)
		return false;
	disk.has_failed = true;
	return true;
}

/* A reader moves a file, or flags it. */
static void read_mail(void)
{
	struct file *file = disk.count > 0 ? &disk.files[chance(disk.count)] : NULL;

	if (!disk.is_restless || file == NULL || chance(3) > 0 || strcmp(file->box, "tmp") == 0)
		return;
	strcpy(file->box, "cur");
	snprintf(file->flags, sizeof file->flags, ":2,%s", chance(2) == 0 ? "S" : "FS");
	disk.changed_us = disk.now_us;
}

static void name_file(const struct file *file, char *out, size_t size)
{
	snprintf(out, size, "%s%s", file->base, file->flags);
}

static struct file *file_at(const char *path)
{
	for (size_t i = 0; i < disk.count; i++) {
		char name[200], whole[300];

		name_file(&disk.files[i], name, sizeof name);
		snprintf(whole, sizeof whole, "/m/ann/%s/%s", disk.files[i].box, name);
		if (!disk.files[i].is_gone && strcmp(whole, path) == 0)
			return &disk.files[i];
	}
	return NULL;
}

int __wrap_os_file_list(int directory, const char *path,
			int (*each)(void *context, const char *name), void *context);
int __wrap_os_file_list(int directory, const char *path,
			int (*each)(void *context, const char *name), void *context)
{
	char names[FILES_MAX][200];
	size_t count = 0;
	int result = does_call_fail() ? -EIO : disk.is_missing ? -ENOENT : 0;

	assert_int_equal(directory, OS_FILE_HERE);
	assert_memory_equal(path, "/m/ann/", 7);
	/* a listing that a reader spoils: some of it is as it was, some as it will be */
	for (size_t i = 0; i < disk.count; i++) {
		if (strcmp(disk.files[i].box, path + 7) == 0 && !disk.files[i].is_gone)
			name_file(&disk.files[i], names[count++], sizeof names[0]);
		read_mail();
	}
	for (size_t i = 0; i < count && result == 0; i++)
		result = each(context, names[i]);
	return result;
}

int __wrap_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags)
{
	struct file *file;

	assert_int_equal(directory, OS_FILE_HERE);
	assert_int_equal(flags, OS_FILE_READ | OS_FILE_NO_BLOCK | OS_FILE_NO_FOLLOW);
	read_mail();
	if (does_call_fail())
		return -EIO;
	file = file_at(path);
	if (file == NULL || file->kind == A_LINK)
		return file == NULL ? -ENOENT : -ELOOP;
	assert_false(file->is_open);
	file->is_open = true;
	disk.open++;
	return FIRST_FILE + (int)(file - disk.files);
}

int __wrap_os_file_open_directory(int directory, const char *path);
int __wrap_os_file_open_directory(int directory, const char *path)
{
	assert_int_equal(directory, OS_FILE_HERE);
	assert_string_equal(path, "/m/ann");
	if (does_call_fail())
		return -EIO;
	disk.open++;
	return DIRECTORY;
}

void __wrap_os_file_close(int file);
void __wrap_os_file_close(int file)
{
	assert_true(disk.open > 0);
	disk.open--;
	if (file == DIRECTORY)
		return;
	assert_true(disk.files[file - FIRST_FILE].is_open);
	disk.files[file - FIRST_FILE].is_open = false;
}

ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset);
ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	const struct file *one = &disk.files[file - FIRST_FILE];
	size_t length = strlen(texts[one->text]), left;

	assert_true(one->is_open);
	if (does_call_fail())
		return -EIO;
	if (one->kind == A_DIRECTORY)
		return -EISDIR;
	left = offset < length ? length - (size_t)offset : 0;
	memcpy(data, texts[one->text] + length - left, left < size ? left : size);
	return (ssize_t)(left < size ? left : size);
}

int __wrap_os_file_info(int file, struct os_file_info *info_out);
int __wrap_os_file_info(int file, struct os_file_info *info_out)
{
	const struct file *one = &disk.files[file - FIRST_FILE];

	assert_true(one->is_open);
	*info_out = (struct os_file_info){.size = strlen(texts[one->text])};
	return does_call_fail() ? -EIO : 0;
}

int __wrap_os_file_info_at(int directory, const char *path, struct os_file_info *info_out);
int __wrap_os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	assert_int_equal(directory, OS_FILE_HERE);
	if (strcmp(path, "/") == 0) { /* which file system is the root */
		*info_out = (struct os_file_info){.device = 1};
		return 0;
	}
	assert_string_equal(path, "/m/ann/cur");
	read_mail();
	*info_out = (struct os_file_info){.modified_us = disk.changed_us};
	return does_call_fail() ? -EIO : disk.is_missing ? -ENOENT : 0;
}

int __wrap_os_file_unlink(int directory, const char *path);
int __wrap_os_file_unlink(int directory, const char *path)
{
	struct file *file;

	assert_int_equal(directory, OS_FILE_HERE);
	read_mail();
	if (does_call_fail())
		return -EIO;
	file = file_at(path);
	if (file == NULL)
		return -ENOENT;
	file->is_gone = true;
	return 0;
}

int __wrap_os_file_sync_directory(int directory, const char *path);
int __wrap_os_file_sync_directory(int directory, const char *path)
{
	assert_int_equal(directory, OS_FILE_HERE);
	if (does_call_fail())
		return -EIO;
	disk.synced_new += strcmp(path, "/m/ann/new") == 0;
	disk.synced_cur += strcmp(path, "/m/ann/cur") == 0;
	return 0;
}

int __wrap_os_file_sync_filesystem(int file);
int __wrap_os_file_sync_filesystem(int file)
{
	assert_int_equal(file, DIRECTORY);
	if (does_call_fail())
		return -EIO;
	disk.synced_all++;
	return 0;
}

int64_t __wrap_os_clock_wall_us(void);
int64_t __wrap_os_clock_wall_us(void)
{
	return disk.now_us;
}

void __wrap_os_clock_pause_ms(unsigned milliseconds);
void __wrap_os_clock_pause_ms(unsigned milliseconds)
{
	assert_int_equal(milliseconds, 20);
	disk.now_us += 20001;
	if (chance(3) == 0)
		disk.is_restless = false; /* they go to sleep */
}

/* --- a folder --- */

static void make_file(struct file *file, size_t number)
{
	static const char *const boxes[] = {"new", "cur", "tmp"};
	char marks[MAILSTORE_MARK_SIZE + 10] = "";
	bool is_hidden = chance(12) == 0;

	*file = (struct file){.kind = chance(5) > 0 ? A_FILE : (enum kind)(1 + chance(2)),
			      .text = chance(TEXTS)};
	strcpy(file->box, boxes[chance(3)]);
	if (chance(3) == 0) {
		file->has_mark = chance(2) == 0;
		snprintf(marks, sizeof marks, ",I=%s", mark);
		if (!file->has_mark)
			marks[3 + chance(32)] ^= 1;
	}
	snprintf(file->base, sizeof file->base, "%s%zu.M%zuP7.host,S=5%s%s", is_hidden ? "." : "",
		 1000 + chance(3), chance(1000001) * 10 + number % 10, marks,
		 marks[0] != '\0' && chance(2) == 0 ? ",W=7" : "");
	if (strcmp(file->box, "cur") == 0)
		strcpy(file->flags, chance(2) == 0 ? ":2," : ":2,FS");
}

static void make_disk(void)
{
	disk = (struct disk){.count = chance(FILES_MAX + 1), .now_us = 1000 * SECOND_US};
	/* long ago, just now, at the clock's step, or in the future */
	switch (chance(4)) {
	case 0:
		disk.changed_us = disk.now_us - 20000 + (int64_t)chance(3) - 1;
		break;
	case 1:
		disk.changed_us = disk.now_us + 20000 + (int64_t)chance(3) - 1;
		break;
	default:
		disk.changed_us = disk.now_us - HOUR_US;
	}
	disk.is_missing = chance(20) == 0;
	if (disk.is_missing)
		disk.count = 0;
	disk.is_restless = chance(3) == 0;
	for (size_t i = 0; i < disk.count; i++)
		make_file(&disk.files[i], i);
	if (chance(2) == 0)
		disk.fails_at = 1 + (int)chance(12);
}

static bool is_listed(const struct file *file)
{
	return strcmp(file->box, "tmp") != 0 && file->base[0] != '.' && !file->is_gone;
}

/* Whether it has the message: by its mark, or, without one, by what it holds. */
static bool is_copy(const struct file *file)
{
	if (!is_listed(file))
		return false;
	if (strstr(file->base, ",I=") != NULL)
		return file->has_mark;
	return file->kind == A_FILE && is_wanted[file->text];
}

static uint64_t time_of(const struct file *file)
{
	unsigned long long seconds, microseconds;

	assert_int_equal(sscanf(file->base, "%llu.M%lluP", &seconds, &microseconds), 2);
	return seconds * 1000000 + microseconds % 1000000;
}

static const struct file *file_of(const char *copy)
{
	const struct file *found = NULL;

	for (size_t i = 0; i < disk.count; i++)
		if (strcmp(disk.files[i].base, copy) == 0)
			found = &disk.files[i];
	return found;
}

static bool are_bases_different(void)
{
	for (size_t i = 0; i < disk.count; i++)
		for (size_t n = 0; n < i; n++)
			if (strcmp(disk.files[i].base, disk.files[n].base) == 0)
				return false;
	return true;
}

/* --- what is asked --- */

static void check_found(struct mailstore *store)
{
	struct arena *arena = arena_new();
	struct mailstore_found *found;
	size_t count = 77, expected = 0;
	int result = mailstore_find(store, &place, arena, &found, &count);

	if (disk.has_failed) {
		assert_int_equal(result, -EIO);
		assert_true(store->error[0] != '\0');
	}
	if (result == 0) {
		for (size_t i = 0; i < disk.count; i++)
			expected += is_copy(&disk.files[i]);
		assert_int_equal(count, expected);
		for (size_t i = 0; i < count; i++) {
			const struct file *file = file_of(found[i].copy);

			assert_non_null(file);
			assert_true(is_copy(file));
			if (i > 0)
				assert_true(time_of(file_of(found[i - 1].copy)) <= time_of(file));
		}
		assert_int_equal(disk.synced_all, count > 0);
	} else {
		assert_true(disk.has_failed || (result == -EAGAIN && disk.is_restless));
	}
	arena_free(arena);
}

static void check_fence(struct mailstore *store)
{
	int result = mailstore_fence(store, &place);

	if (disk.has_failed) {
		assert_int_equal(result, -EIO);
		assert_true(store->error[0] != '\0');
		return;
	}
	assert_int_equal(result, 0);
	for (size_t i = 0; i < disk.count; i++)
		assert_int_equal(disk.files[i].is_gone,
				 disk.files[i].has_mark && strcmp(disk.files[i].box, "tmp") == 0);
}

static void check_remove(struct mailstore *store)
{
	struct file *file = disk.count > 0 ? &disk.files[chance(disk.count)] : NULL;
	const char *copy = file != NULL && chance(5) > 0 ? file->base : "none";
	const struct file *wanted = file_of(copy);
	bool is_there = wanted != NULL && is_listed(wanted);
	int result = mailstore_remove(store, &place, copy);

	if (disk.has_failed) {
		assert_int_equal(result, -EIO);
		assert_true(store->error[0] != '\0');
		return;
	}
	if (result == -EAGAIN && disk.is_restless)
		return;
	assert_int_equal(result, is_there ? 0 : -ENOENT);
	for (size_t i = 0; i < disk.count; i++)
		assert_int_equal(disk.files[i].is_gone, is_there && &disk.files[i] == wanted);
	assert_int_equal(disk.synced_new + disk.synced_cur, is_there);
	if (is_there)
		assert_int_equal(disk.synced_cur, strcmp(wanted->box, "cur") == 0);
}

static void check_open(struct mailstore *store)
{
	struct file *file = disk.count > 0 ? &disk.files[chance(disk.count)] : NULL;
	const char *copy = file != NULL && chance(5) > 0 ? file->base : "none";
	const struct file *wanted = file_of(copy);
	bool is_there = wanted != NULL && is_listed(wanted);
	struct ipc_content content = {.file = -77};
	int result = mailstore_open(store, place.user, place.folder, copy, &content);

	if (disk.has_failed)
		assert_int_equal(result, -EIO);
	else if (result != -EAGAIN || !disk.is_restless)
		assert_int_equal(result, !is_there ? -ENOENT : wanted->kind == A_LINK ? -ELOOP : 0);
	if (result < 0) {
		assert_int_equal(content.file, -77);
		return;
	}
	assert_int_equal(content.file, FIRST_FILE + (int)(wanted - disk.files));
	assert_int_equal(content.size, strlen(texts[wanted->text]));
	__wrap_os_file_close(content.file);
}

static struct {
	unsigned count[FILES_MAX];
} surveyed;

static void on_surveyed(void *context, const char *copy, const char *its_mark)
{
	const struct file *file = file_of(copy);

	assert_ptr_equal(context, &surveyed);
	assert_non_null(file);
	assert_memory_equal(strstr(file->base, ",I=") + 3, its_mark, MAILSTORE_MARK_SIZE - 1);
	assert_int_equal(strlen(its_mark), MAILSTORE_MARK_SIZE - 1);
	surveyed.count[file - disk.files]++;
}

static void check_survey(struct mailstore *store)
{
	int result;

	memset(&surveyed, 0, sizeof surveyed);
	result = mailstore_survey(store, place.user, place.folder, on_surveyed, &surveyed);
	if (disk.has_failed) {
		assert_int_equal(result, -EIO);
		assert_true(store->error[0] != '\0');
	} else if (result != -EAGAIN || !disk.is_restless) {
		assert_int_equal(result, 0);
	}
	for (size_t i = 0; i < disk.count && result == 0; i++)
		assert_int_equal(surveyed.count[i] > 0,
				 is_listed(&disk.files[i]) &&
					 strstr(disk.files[i].base, ",I=") != NULL);
}

static void any_folder(void **state)
{
	static void (*const checks[])(struct mailstore * store) = {
		check_found, check_fence, check_remove, check_open, check_survey};
	const struct mailstore_maildir_settings settings = {.path = "/m/%u", .host = "h"};
	struct mailstore *store = mailstore_maildir_new(&settings);

	(void)state;
	make_texts();
	for (unsigned turn = 0; turn < TURNS; turn++) {
		make_disk();
		if (!are_bases_different())
			continue;
		checks[turn % COUNT_OF(checks)](store);
		assert_int_equal(disk.open, 0);
	}
	mailstore_free(store);
	mailstore_free(NULL);
}

static int gate_result;

static int pass_gate(void *context)
{
	assert_ptr_equal(context, &gate_result);
	return gate_result;
}

/* Nothing is appended once the lock is lost. */
static void a_gate(void **state)
{
	const struct mailstore_gate gate = {pass_gate, &gate_result};
	struct mailstore_append append = {.recipient = STR("")};

	(void)state;
	assert_true(mailstore_may_append(NULL, &append));
	for (gate_result = -1; gate_result <= 1; gate_result++) {
		append.verdict = (struct mail_verdict){0};
		assert_int_equal(mailstore_may_append(&gate, &append), gate_result == 0);
		assert_string_equal(append.verdict.status, gate_result == 0 ? "" : "4.3.0");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(any_folder), cmocka_unit_test(a_gate)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
