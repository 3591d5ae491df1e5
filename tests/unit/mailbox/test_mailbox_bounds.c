// SPDX-License-Identifier: ISC
/* Paths of mailboxes that are as long as they may be, and one byte longer. */
#include "mailbox/internal.h"
#include "mailbox/internal_mbox.h"
#include "test.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* LENGTH bytes: folders, none of which is there. */
static struct str long_path(char *out, size_t length)
{
	for (size_t i = 0; i < length; i++)
		out[i] = i % 200 == 0 ? '/' : 'x';
	return str_slice(out, length);
}

static void a_path_in_a_maildir_is_so_long(void **state)
{
	static const struct {
		const char *folder, *name;
	} cases[] = {{"tmp", NULL}, {"new", "1.M2P3Q4I5.host"}};
	char text[MAILDIR_PATH_MAX + 1];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		size_t below = 1 + strlen(cases[i].folder) +
			       (cases[i].name != NULL ? 1 + strlen(cases[i].name) : 0);
		size_t most = MAILDIR_PATH_MAX - 1 - below;
		struct maildir_path path;

		assert_int_equal(maildir_path_join(&path, long_path(text, most), cases[i].folder,
						   cases[i].name),
				 0);
		assert_int_equal(strlen(path.text), MAILDIR_PATH_MAX - 1);
		assert_int_equal(maildir_path_join(&path, long_path(text, most + 1),
						   cases[i].folder, cases[i].name),
				 -ENAMETOOLONG);
	}
}

/* The lock file has the longest one. */
static void a_path_of_an_mbox_file_is_so_long(void **state)
{
	struct mbox *mbox = mbox_new("a-host");
	size_t most = MBOX_PATH_MAX - 1 - (sizeof ".lk.a-host." - 1);
	char text[MBOX_PATH_MAX + 1];

	(void)state;
	for (size_t length = most - 20; length <= sizeof text; length++) {
		struct mbox_file box;

		assert_int_equal(mbox_file_open(mbox, long_path(text, length), getuid(), &box),
				 length <= most ? -ENOENT : -ENAMETOOLONG);
	}
	mbox_free(mbox);
}

static void a_name_of_a_host_is_so_long(void **state)
{
	char host[MBOX_HOST_MAX + 2] = "";

	(void)state;
	memset(host, 'h', MBOX_HOST_MAX + 1);
	for (size_t length = MBOX_HOST_MAX - 1; length <= MBOX_HOST_MAX + 1; length++) {
		struct mbox *mbox = mbox_new(host + MBOX_HOST_MAX + 1 - length);

		assert_int_equal(strlen(mbox->host),
				 length < MBOX_HOST_MAX ? length : MBOX_HOST_MAX);
		mbox_free(mbox);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_in_a_maildir_is_so_long),
		cmocka_unit_test(a_path_of_an_mbox_file_is_so_long),
		cmocka_unit_test(a_name_of_a_host_is_so_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
