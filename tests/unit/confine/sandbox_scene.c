// SPDX-License-Identifier: ISC
#include "sandbox_scene.h"
#include "config/text.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BASE                                                                          \
	"hostname = mx.test\nqueue = /q\nrun = /run\ntls_authorities = /ca/all.pem\n" \
	"policy_path = /policies\n"

struct sandbox_kernel kernel;

/* --- in the place of the system --- */

static void say_bits(unsigned bits, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((bits & 1U << i) != 0)
			buffer_append_format(&kernel.lines, " %s", names[i]);
	assert_int_equal(bits >> count, 0);
}

unsigned __wrap_os_sandbox_lacks(void);
unsigned __wrap_os_sandbox_lacks(void)
{
	return kernel.lacked;
}

int __wrap_os_sandbox_enter(const struct os_sandbox *sandbox, unsigned *lacks_out);
int __wrap_os_sandbox_enter(const struct os_sandbox *sandbox, unsigned *lacks_out)
{
	static const char *const calls[] = {
		"open",   "change",   "accept",   "connect", "dns",        "answer",
		"owners", "programs", "database", "local",   "keep_alive", "secrets",
		"sync",   "hidden",   "source",   "flags",   "space",      "locks"};
	static const char *const access[] = {"read",   "list", "write",  "make",
					     "remove", "link", "folders"};

	buffer_append_string(&kernel.lines, "may");
	say_bits(sandbox->calls, calls, COUNT_OF(calls));
	buffer_append_string(&kernel.lines, "\n");
	for (size_t i = 0; i < sandbox->path_count; i++) {
		buffer_append_string(&kernel.lines, sandbox->paths[i].path);
		say_bits(sandbox->paths[i].access, access, COUNT_OF(access));
		buffer_append_string(&kernel.lines, "\n");
	}
	*lacks_out = kernel.lacks;
	return kernel.result;
}

int __wrap_os_sandbox_file(const char *path, struct os_sandbox_file *file_out);
int __wrap_os_sandbox_file(const char *path, struct os_sandbox_file *file_out)
{
	if (kernel.lost != NULL && strcmp(path, kernel.lost) == 0)
		return -EIO;
	*file_out = (struct os_sandbox_file){1, strlen(path)};
	if (kernel.moved != NULL && strcmp(path, kernel.moved) == 0)
		file_out->inode++;
	return 0;
}

int __wrap_os_sandbox_real_path(const char *path, char real_out[OS_SANDBOX_PATH_SIZE]);
int __wrap_os_sandbox_real_path(const char *path, char real_out[OS_SANDBOX_PATH_SIZE])
{
	if (kernel.link == NULL || strcmp(path, kernel.link) != 0)
		return -ENOENT;
	snprintf(real_out, OS_SANDBOX_PATH_SIZE, "/real/cert.pem");
	return 0;
}

bool __wrap_os_process_may_change_user(void);
bool __wrap_os_process_may_change_user(void)
{
	return kernel.may_change_user;
}

/* --- what is asked for --- */

struct config *sandbox_scene_config(const char *text)
{
	struct config_problems problems = {0};
	struct buffer whole CLEANUP(buffer_clear) = {0};
	struct config *config = NULL;

	buffer_append_format(&whole, "%s%s", BASE, text);
	if (config_parse("test.conf", buffer_view(&whole), &config, &problems) < 0)
		fail_msg("%s", text);
	config_problems_clear(&problems);
	return config;
}

struct sandbox *sandbox_scene_enter(const char *program, const struct config *config)
{
	struct sandbox *sandbox = NULL;

	buffer_reset(&kernel.lines);
	assert_int_equal(sandbox_enter(program, config, &sandbox), 0);
	return sandbox;
}

void sandbox_scene_leave(struct sandbox *sandbox)
{
	arena_free(sandbox->arena);
}

int sandbox_scene_forget(void **state)
{
	(void)state;
	buffer_clear(&kernel.lines);
	return 0;
}
