// SPDX-License-Identifier: ISC
/* Whether a process that is in its sandbox can go on with another configuration, and what it says
 * when it enters it. */
#include "heard.h"
#include "sandbox_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>

#define SERVICE_D "service d { kind = maildir path = \"/mail/%d/%u\" }\n"
#define SERVICE_E "service e { kind = maildir path = \"/more/%d/%u\" }\n"
#define SERVICE_F "service f { kind = mbox path = \"/mail/%u\" }\n"
#define SERVERS(user)                                                                   \
	"directory { backend = postgresql database = { \"host=a.test user=" user "\", " \
	"\"host=b.test\" } "

/* Whether PROGRAM that has entered its sandbox by BEFORE can go on by AFTER: by all that it may
 * need, and by that of a part. */
static void expect_fit(const char *program, const char *before, const char *after, bool fits,
		       bool fits_still)
{
	struct config *first = sandbox_scene_config(before), *second = sandbox_scene_config(after);
	struct sandbox *sandbox = sandbox_scene_enter(program, first);

	if (sandbox_fits(sandbox, second) != fits ||
	    sandbox_fits_still(sandbox, second) != fits_still)
		fail_msg("%s with\n%sand then\n%s", program, before, after);
	sandbox_scene_leave(sandbox);
	config_free(first);
	config_free(second);
}

static void less_fits_and_more_does_not(void **state)
{
	(void)state;
	expect_fit("local", SERVICE_D SERVICE_E, SERVICE_D SERVICE_E, true, true);
	expect_fit("local", SERVICE_D SERVICE_E, SERVICE_E, true, true);
	expect_fit("local", SERVICE_D, SERVICE_D SERVICE_E, false, true); /* a path */
	expect_fit("local", SERVICE_D, SERVICE_F, false, true);           /* a call */
	expect_fit("local", SERVICE_F, SERVICE_D, true, true);
	/* of links the paths are asked for again */
	expect_fit("keys", "certificate a { chain = /x/a.pem }\n",
		   "certificate a { chain = /y/a.pem }\n", false, false);
	expect_fit("auth", "",
		   "directory { }\nauth { token_keys = /tokens/a.pem token_issuer = i "
		   "token_audience = a }\n",
		   false, false);
	/* the servers of users, and how long what they say holds */
	expect_fit("directory-postgresql", SERVERS("u") "}\n", SERVERS("u") "}\n", true, true);
	expect_fit("directory-postgresql", SERVERS("u") "}\n", SERVERS("v") "}\n", false, true);
	expect_fit("directory-postgresql", SERVERS("u") "}\n", SERVERS("u") "ttl = 77s }\n", false,
		   true);
}

/* Whose paths lead elsewhere has no right there. What cannot be told now is no reason to end. */
static void what_has_moved_does_not_fit(void **state)
{
	struct config *config = sandbox_scene_config(SERVICE_D SERVICE_E);
	struct sandbox *sandbox = sandbox_scene_enter("local", config);

	(void)state;
	kernel.moved = "/mail";
	assert_false(sandbox_fits(sandbox, config));
	assert_false(sandbox_fits_still(sandbox, config));
	kernel.moved = "/more";
	assert_false(sandbox_fits(sandbox, config));
	assert_false(sandbox_fits_still(sandbox, config));
	kernel.lost = "/more";
	assert_true(sandbox_fits(sandbox, config));
	assert_true(sandbox_fits_still(sandbox, config));
	kernel.moved = kernel.lost = NULL;
	sandbox_scene_leave(sandbox);
	config_free(config);
}

/* As many as there are mailboxes, whatever their number. */
static void many_paths(void **state)
{
	enum { SERVICES = 70 };

	(void)state;
	for (size_t count = 1; count <= SERVICES; count += count < 40 ? 1 : 30) {
		struct buffer text CLEANUP(buffer_clear) = {0};
		struct config *config;
		struct sandbox *sandbox;

		for (size_t i = 0; i < count; i++)
			buffer_append_format(
				&text, "service s%zu { kind = maildir path = /m%zu/%%u }\n", i, i);
		buffer_append_byte(&text, '\0');
		config = sandbox_scene_config(buffer_data(&text));
		sandbox = sandbox_scene_enter("local", config);
		assert_int_equal(sandbox->count, count + 2); /* for the order of the filesystem */
		for (size_t i = 0; i < count; i++) {
			char path[16];

			snprintf(path, sizeof path, "/m%zu", i);
			assert_string_equal(sandbox->paths[i].path, path);
		}
		assert_true(sandbox_fits(sandbox, config));
		sandbox_scene_leave(sandbox);
		config_free(config);
	}
}

/* Only where another device has the same number, or another number is on the same device. */
static void a_file_is_its_device_and_number(void **state)
{
	struct config *config = sandbox_scene_config(SERVICE_D);
	struct sandbox *sandbox = sandbox_scene_enter("local", config);

	(void)state;
	assert_true(sandbox_fits(sandbox, config));
	sandbox->files[0].device++;
	assert_false(sandbox_fits(sandbox, config));
	sandbox->files[0].device--;
	sandbox->files[sandbox->count - 1].inode++;
	assert_false(sandbox_fits(sandbox, config));
	sandbox_scene_leave(sandbox);
	config_free(config);
}

static void who_looks_up_names(void **state)
{
	struct config *config = sandbox_scene_config("");
	struct sandbox *remote = sandbox_scene_enter("remote", config),
		       *lmtp = sandbox_scene_enter("lmtp", config);

	(void)state;
	assert_true(sandbox_looks_up_names(remote));
	assert_false(sandbox_looks_up_names(lmtp));
	sandbox_scene_leave(remote);
	sandbox_scene_leave(lmtp);
	config_free(config);
}

/* With rights of root mailboxes have owners. */
static void owners_need_rights(void **state)
{
	(void)state;
	kernel.may_change_user = true;
	expect_fit("local", SERVICE_D, "service d { kind = maildir path = /mail/%u user = %u }\n",
		   false, true);
	expect_fit("local", SERVICE_D, SERVICE_D, true, true);
	kernel.may_change_user = false;
	expect_fit("local", SERVICE_D, "service d { kind = maildir path = /mail/%u user = %u }\n",
		   true, true);
}

/* What the kernel lacks is logged, but not what the supervisor has logged. */
static void what_the_kernel_lacks_is_logged_once(void **state)
{
	struct config *config = sandbox_scene_config("");

	(void)state;
	kernel.lacks = OS_SANDBOX_NO_LANDLOCK | OS_SANDBOX_NO_SECCOMP;
	sandbox_scene_leave(sandbox_scene_enter("remote", config));
	assert_string_equal(heard_take(),
			    "sandbox_lacks feature=landlock\nsandbox_lacks feature=seccomp\n");
	kernel.lacked = OS_SANDBOX_NO_LANDLOCK;
	sandbox_scene_leave(sandbox_scene_enter("remote", config));
	assert_string_equal(heard_take(), "sandbox_lacks feature=seccomp\n");
	kernel.lacked = kernel.lacks;
	sandbox_scene_leave(sandbox_scene_enter("remote", config));
	assert_string_equal(heard_take(), "");
	kernel.lacks = kernel.lacked = 0;
	config_free(config);
}

static void without_a_sandbox_nothing_is_done(void **state)
{
	struct config *config = sandbox_scene_config(SERVICE_D);
	struct sandbox *sandbox = (void *)&kernel;

	(void)state;
	kernel.result = -ENOSYS;
	assert_int_equal(sandbox_enter("local", config, &sandbox), -ENOSYS);
	kernel.result = 0;
	kernel.lost = "/mail";
	buffer_reset(&kernel.lines);
	assert_int_equal(sandbox_enter("local", config, &sandbox), -EIO);
	assert_int_equal(kernel.lines.length, 0);
	assert_ptr_equal(sandbox, &kernel);
	kernel.lost = NULL;
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(less_fits_and_more_does_not),
		cmocka_unit_test(what_has_moved_does_not_fit),
		cmocka_unit_test(many_paths),
		cmocka_unit_test(a_file_is_its_device_and_number),
		cmocka_unit_test(who_looks_up_names),
		cmocka_unit_test(owners_need_rights),
		cmocka_unit_test(what_the_kernel_lacks_is_logged_once),
		cmocka_unit_test(without_a_sandbox_nothing_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, sandbox_scene_forget);
}
