// SPDX-License-Identifier: ISC
/* Commands, each in a process. */
#include "command_names.h"
#include "command_node.h"
#include "command_programs.h"
#include "command_scene.h"
#include "command_scene_internal.h"
#include "test.h"
#include "unit/queue/queue_scene.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 32, SECONDS_MAX = 30, REST_MS = 200 };

/* A sanitizer's, where there is one: whether something was not freed. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* It ends without what the test would do at its end. */
static _Noreturn void run_command(char **words, int count, int input, int output)
{
	int status;

	alarm(SECONDS_MAX);
	setsid(); /* nobody sits before it */
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	setvbuf(stdout, NULL, _IONBF, 0);
	setenv("STAGEPOST_CONF", queue_scene_path("conf"), 1);
	setenv("TZ", "UTC", 1);
	if (strcmp(words[1], "talk") == 0)
		command_node_talk(words[2]);
	status = stagepost_main(count, words);
	/* it tells of threads that were not forked, too */
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
	if (__lsan_do_recoverable_leak_check != NULL && __lsan_do_recoverable_leak_check() != 0)
		puts("it has not freed all");
	_exit(status);
}

static struct str answer_to(const struct command_scene_line *line, struct str order)
{
	for (size_t i = 0; i < line->answer_count; i++) {
		struct str answer = line->answers[i];

		if (str_starts_with(answer, order) &&
		    str_starts_with(str_skip(answer, order.length), STR(" = ")))
			return str_skip(answer, order.length + 3);
	}
	return STR("ok");
}

static void answer_order(const struct command_scene_line *line, struct buffer *told)
{
	struct sockaddr_un from;
	socklen_t size = sizeof from;
	char text[1200];
	ssize_t length = recvfrom(command_scene_manager, text, sizeof text, 0,
				  (struct sockaddr *)&from, &size);
	struct buffer order CLEANUP(buffer_clear) = {0};
	struct buffer answer CLEANUP(buffer_clear) = {0};

	assert_true(length >= 0);
	command_names_append(str_slice(text, (size_t)length), &order);
	buffer_append_string(told, "< ");
	buffer_append_str(told, buffer_view(&order));
	buffer_append_byte(told, '\n');
	command_names_replace(answer_to(line, buffer_view(&order)), &answer);
	(void)!sendto(command_scene_manager, buffer_data(&answer), answer.length, 0,
		      (struct sockaddr *)&from, size);
}

static int wait_for_command(pid_t pid, const struct command_scene_line *line, struct buffer *told)
{
	int status = 0;

	for (;;) {
		struct pollfd order = {.fd = command_scene_manager, .events = POLLIN};

		if (poll(&order, 1, 2) > 0)
			answer_order(line, told);
		else if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
	}
}

static int file_of(struct str text)
{
	int file = memfd_create("text", MFD_CLOEXEC);

	assert_true(file >= 0);
	assert_int_equal(write(file, text.data, text.length), text.length);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	return file;
}

/* A blank within a word is written as an open box. */
static void put_blanks(char *word)
{
	static const char box[] = "\u2423";
	char *to = word;

	for (const char *from = word; *from != '\0'; to++) {
		bool is_box = strncmp(from, box, strlen(box)) == 0;

		*to = is_box ? ' ' : *from;
		from += is_box ? strlen(box) : 1;
	}
	*to = '\0';
}

static int split_words(char *text, char **words)
{
	int count = 0;

	for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
		assert_true(count < WORDS_MAX);
		put_blanks(word);
		words[count++] = word;
	}
	return count;
}

struct running {
	pid_t pid;
	int input, output;
};

static void start_command(const struct command_scene_line *line, struct running *out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer given CLEANUP(buffer_clear) = {0};
	char program[] = "stagepost";
	char *words[WORDS_MAX + 2] = {program};
	int count;

	command_names_replace(line->input, &given);
	out->input = file_of(buffer_view(&given));
	out->output = file_of(STR(""));
	command_names_replace(line->words, &text);
	buffer_append_byte(&text, '\0');
	count = 1 + split_words(buffer_data(&text), words + 1);
	fflush(NULL);
	out->pid = fork();
	assert_true(out->pid >= 0);
	if (out->pid == 0)
		run_command(words, count, out->input, out->output);
}

static void end_command(struct running *running, const struct command_scene_line *line,
			struct buffer *out)
{
	struct buffer told CLEANUP(buffer_clear) = {0};
	static char printed[1 << 18];
	int status = wait_for_command(running->pid, line, &told);
	ssize_t length = pread(running->output, printed, sizeof printed, 0);

	assert_true(length >= 0);
	command_scene_append_printed(str_slice(printed, (size_t)length), line->is_sorted, out);
	command_scene_append_sorted(buffer_view(&told), out);
	if (WIFSIGNALED(status))
		buffer_append_format(out, "(killed by %d)\n", WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		buffer_append_format(out, "(%d)\n", WEXITSTATUS(status));
	close(running->input);
	close(running->output);
	running->pid = 0;
}

void command_scene_run(const struct command_scene_line *line, struct buffer *out)
{
	struct running running;

	start_command(line, &running);
	end_command(&running, line, out);
}

/* --- those that go on --- */

static struct running watching;

/* Until it prints no more for a while, once it has begun to. */
static void wait_for_output(int output)
{
	off_t before, now = 0;

	for (int i = 0; now == 0 && i < SECONDS_MAX * 100; i++) {
		(void)poll(NULL, 0, 10);
		now = lseek(output, 0, SEEK_END);
	}
	do {
		before = now;
		(void)poll(NULL, 0, REST_MS);
		now = lseek(output, 0, SEEK_END);
	} while (now > before);
}

void command_scene_watch(struct str words)
{
	const struct command_scene_line line = {.words = words};

	assert_int_equal(watching.pid, 0);
	start_command(&line, &watching);
	(void)poll(NULL, 0, REST_MS);
}

void command_scene_end_watch(struct buffer *out)
{
	static const struct command_scene_line line = {.is_sorted = false};

	wait_for_output(watching.output);
	kill(watching.pid, SIGTERM);
	end_command(&watching, &line, out);
}
