// SPDX-License-Identifier: ISC
#include "command_scene.h"
#include "base/timestamp.h"
#include "command/command.h"
#include "command_directory.h"
#include "command_names.h"
#include "command_node.h"
#include "command_programs.h"
#include "command_scene_internal.h"
#include "os/clock.h"
#include "queue/listing/listing.h"
#include "test.h"
#include "unit/queue/listing/listing_scene.h"
#include "unit/queue/queue_scene.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 32, NUMBERS_FROM = 5000, SECONDS_MAX = 30 };

static void *scene_state;
static char root[96];
int command_scene_manager = -1;
static pid_t directory; /* 0: none */

static const char configuration[] =
	"hostname = mx.test\nuser = \"\"\nqueue = \"%s/queue\"\nrun = \"%s/run\"\nsplit = 3\n"
	"service box { kind = maildir path = \"%s/mail/%%d/%%u\" }\n"
	"domain local.test { service = box }\n"
	"smtproutes = \"relay.test:host.test|ann|secret\"\n";

static void write_text(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", root, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* A young file system gives out small numbers, which are also in texts. */
static void raise_file_numbers(void)
{
	struct stat info = {0};
	char path[128];

	snprintf(path, sizeof path, "%s/number", root);
	for (size_t i = 0; i < NUMBERS_FROM && info.st_ino < NUMBERS_FROM; i++) {
		int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		assert_true(file >= 0);
		assert_int_equal(fstat(file, &info), 0);
		close(file);
		unlink(path);
	}
}

static void open_manager(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof address.sun_path, "%s/run/notify", root);
	command_scene_manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(command_scene_manager, (const struct sockaddr *)&address, sizeof address), 0);
}

void command_scene_begin(enum command_scene_kind kind)
{
	char text[600];

	assert_int_equal(queue_scene_set_up(&scene_state), 0);
	snprintf(root, sizeof root, "%s", queue_scene_path(""));
	root[strlen(root) - 1] = '\0';
	raise_file_numbers();
	assert_int_equal(queue_scene_tear_down(&scene_state), 0);
	assert_int_equal(listing_scene_open(&scene_state), 0);
	snprintf(root, sizeof root, "%s", queue_scene_path(""));
	root[strlen(root) - 1] = '\0';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof text, configuration, root, root, root);
#pragma GCC diagnostic pop
	write_text("conf", text);
	assert_int_equal(chmod(queue_scene_path("conf"), 0644), 0);
	command_names_begin(root);
	assert_int_equal(mkdir(queue_scene_path("programs"), 0755), 0);
	command_programs_begin(queue_scene_path("programs"), kind == COMMAND_SCENE_NODE);
	assert_int_equal(mkdir(queue_scene_path("run"), 0700), 0);
	if (kind == COMMAND_SCENE_MANAGER)
		open_manager();
}

void command_scene_write(struct str name, struct str text)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	struct buffer content CLEANUP(buffer_clear) = {0};
	FILE *file;

	buffer_append_format(&path, "%s/" STR_FORMAT "%c", root, STR_ARGUMENTS(name), '\0');
	for (char *slash = buffer_data(&path) + strlen(root) + 1;
	     (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		assert_true(mkdir(buffer_data(&path), 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	command_names_replace(text, &content);
	file = fopen(buffer_data(&path), "we");
	assert_non_null(file);
	if (content.length > 0)
		assert_int_equal(fwrite(buffer_data(&content), 1, content.length, file),
				 content.length);
	assert_int_equal(fclose(file), 0);
}

void command_scene_change_mode(struct str mode_and_name)
{
	char text[100];

	snprintf(text, sizeof text, STR_FORMAT, STR_ARGUMENTS(str_skip(mode_and_name, 5)));
	assert_int_equal(
		chmod(queue_scene_path(text), (mode_t)strtoul(mode_and_name.data, NULL, 8)), 0);
}

static int compare_lines(const void *a, const void *b)
{
	const struct str *one = a;
	const struct str *other = b;
	size_t length = one->length < other->length ? one->length : other->length;
	int order = memcmp(one->data, other->data, length);

	return order != 0 ? order : (one->length > other->length) - (one->length < other->length);
}

void command_scene_append_sorted(struct str text, struct buffer *out)
{
	static struct str lines[400];
	size_t count = 0;

	while (text.length > 0) {
		assert_true(count < COUNT_OF(lines));
		(void)str_split(&text, '\n', &lines[count++]);
	}
	qsort(lines, count, sizeof *lines, compare_lines);
	for (size_t i = 0; i < count; i++) {
		buffer_append_str(out, lines[i]);
		buffer_append_byte(out, '\n');
	}
}

void command_scene_serve_directory(bool is_served, bool is_up)
{
	char run[128];

	snprintf(run, sizeof run, "%s/run", root);
	if (directory > 0)
		command_directory_end(directory);
	directory = is_served ? command_directory_begin(queue_scene_path("conf"), run, is_up) : 0;
}

void command_scene_begin_node(bool inherits)
{
	command_node_begin(root, inherits);
}

void command_scene_hear_node(struct buffer *out)
{
	struct buffer heard CLEANUP(buffer_clear) = {0};
	struct buffer named CLEANUP(buffer_clear) = {0};

	command_node_hear(&heard);
	command_names_append(buffer_view(&heard), &named);
	command_scene_append_sorted(buffer_view(&named), out);
}

void command_scene_end(void)
{
	command_node_end(true);
	command_scene_serve_directory(false, false);
	if (command_scene_manager >= 0)
		close(command_scene_manager);
	command_scene_manager = -1;
	assert_int_equal(listing_scene_close(&scene_state), 0);
}

/* "6 compared", before the end: what takes more than a second says how far it is. */
static bool is_progress(struct str line, struct str rest)
{
	struct str number;

	return rest.length > 0 && str_split(&line, ' ', &number) && line.length > 0 &&
	       isdigit((unsigned char)number.data[0]) && str_equal(line, STR("compared"));
}

/* Where a number has got a name, columns have no width. */
void command_scene_append_printed(struct str text, bool is_sorted, struct buffer *out)
{
	struct buffer lines CLEANUP(buffer_clear) = {0};

	while (text.length > 0) {
		struct buffer named CLEANUP(buffer_clear) = {0};
		struct str line;
		bool has_name;

		(void)str_split(&text, '\n', &line);
		if (is_progress(line, text))
			continue;
		command_names_append(line, &named);
		has_name = !str_equal(buffer_view(&named), line);
		for (size_t i = 0; i < named.length; i++)
			if (!has_name || i == 0 || buffer_data(&named)[i] != ' ' ||
			    buffer_data(&named)[i - 1] != ' ')
				buffer_append_byte(&lines, buffer_data(&named)[i]);
		buffer_append_byte(&lines, '\n');
	}
	if (is_sorted)
		command_scene_append_sorted(buffer_view(&lines), out);
	else
		buffer_append_str(out, buffer_view(&lines));
}
