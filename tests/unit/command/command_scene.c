// SPDX-License-Identifier: ISC
#include "command_scene.h"
#include "base/timestamp.h"
#include "command/command.h"
#include "os/clock.h"
#include "queue/listing/listing.h"
#include "test.h"
#include "unit/queue/listing/listing_scene.h"
#include "unit/queue/queue_scene.h"
#include <ctype.h>
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

enum { WORDS_MAX = 32, NUMBERS_FROM = 5000, SECONDS_MAX = 30, BIRTH_DIGITS = 12 };

static void *scene_state;
static char root[96];
static int manager = -1;
static uint64_t places[32]; /* bytes in each */
static size_t place_count;

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
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(manager, (const struct sockaddr *)&address, sizeof address), 0);
}

static int note_place(void *context, const struct listing_count *count)
{
	(void)context;
	assert_true(place_count < COUNT_OF(places));
	places[place_count++] = count->bytes;
	return 0;
}

void command_scene_begin(bool has_manager)
{
	int64_t oldest_us;
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
	place_count = 0;
	assert_int_equal(listing_count(listing_scene_store, note_place, NULL, &oldest_us), 0);
	assert_int_equal(mkdir(queue_scene_path("run"), 0700), 0);
	if (has_manager)
		open_manager();
}

void command_scene_end(void)
{
	if (manager >= 0)
		close(manager);
	manager = -1;
	assert_int_equal(listing_scene_close(&scene_state), 0);
}

/* --- names for what is known by chance --- */

/* In the files is also their number, which has as many digits as the file system likes. */
static bool is_size_of_place(uint64_t number)
{
	for (size_t i = 0; i < place_count; i++)
		if (number > 0 && number == places[i])
			return true;
	return false;
}

/* Of the oldest message, in seconds. */
static bool is_age(uint64_t number)
{
	uint64_t age = (uint64_t)((os_clock_wall_us() - listing_scene_born(0)) / SECOND_US);

	return number <= age && number + SECONDS_MAX > age;
}

static bool take_number(struct str *rest, struct buffer *out)
{
	size_t length = 0;
	uint64_t number = 0;

	while (length < rest->length && isdigit((unsigned char)rest->data[length]))
		length++;
	if (length == 0)
		return false;
	(void)!str_to_u64(str_slice(rest->data, length), &number);
	for (size_t i = 0; i < LISTING_SCENE_MESSAGES; i++)
		if (listing_scene_numbers[i] == number) {
			buffer_append_format(out, "M%zu", i);
			*rest = str_skip(*rest, length);
			return true;
		}
	if (is_age(number))
		buffer_append_string(out, "AGE");
	else if (is_size_of_place(number))
		buffer_append_string(out, "BYTES");
	else
		buffer_append(out, rest->data, length);
	*rest = str_skip(*rest, length);
	return true;
}

/* "10969277-66182cae86589", of a message that a command has queued: its birth has more digits. */
static bool take_new_id(struct str *rest, struct buffer *out)
{
	size_t dash = 0;
	size_t end;

	while (dash < rest->length && isdigit((unsigned char)rest->data[dash]))
		dash++;
	if (dash == 0 || dash == rest->length || rest->data[dash] != '-')
		return false;
	for (end = dash + 1; end < rest->length && isxdigit((unsigned char)rest->data[end]);)
		end++;
	if (end - dash - 1 < BIRTH_DIGITS)
		return false;
	buffer_append_string(out, "NEW");
	*rest = str_skip(*rest, end);
	return true;
}

/* "2026-11-30T18:39:29Z", with any fraction. */
static bool take_now(struct str *rest, struct buffer *out)
{
	char before[TIMESTAMP_SIZE], after[TIMESTAMP_SIZE];
	size_t length = strlen("2026-11-30T");

	timestamp_format(os_clock_wall_us() - SECONDS_MAX * SECOND_US, before);
	timestamp_format(os_clock_wall_us() + SECONDS_MAX * SECOND_US, after);
	if (!str_starts_with(*rest, str_slice(before, length)) &&
	    !str_starts_with(*rest, str_slice(after, length)))
		return false;
	while (length < rest->length && rest->data[length] != 'Z')
		length++;
	*rest = str_skip(*rest, length + 1);
	buffer_append_string(out, "NOW");
	return true;
}

/* The sum of a control file, in which its message's number is. */
static bool take_sum(struct str *rest, struct buffer *out)
{
	static const char form[] = "sum: bcbc86f4 ";
	size_t length = strlen(form);

	if (!str_starts_with(*rest, str_slice(form, length)))
		return false;
	buffer_append_format(out, "%sSUM", form);
	while (length < rest->length && isxdigit((unsigned char)rest->data[length]))
		length++;
	*rest = str_skip(*rest, length);
	return true;
}

/* "[4711]", a process in a line of a log. */
static bool take_process(struct str *rest, struct buffer *out)
{
	size_t length = 1;

	if (rest->data[0] != '[')
		return false;
	while (length < rest->length && isdigit((unsigned char)rest->data[length]))
		length++;
	if (length == 1 || length == rest->length || rest->data[length] != ']')
		return false;
	buffer_append_string(out, "[PID]");
	*rest = str_skip(*rest, length + 1);
	return true;
}

static void append_named(struct str text, struct buffer *out)
{
	while (text.length > 0) {
		if (str_starts_with(text, str_from(root))) {
			buffer_append_byte(out, '@');
			text = str_skip(text, strlen(root));
		} else if (!take_sum(&text, out) && !take_process(&text, out) &&
			   !take_now(&text, out) && !take_new_id(&text, out) &&
			   !take_number(&text, out)) {
			buffer_append_byte(out, text.data[0]);
			text = str_skip(text, 1);
		}
	}
}

/* The opposite. */
static void append_meant(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		bool is_number = text.data[i] == 'M' && i + 1 < text.length &&
				 isdigit((unsigned char)text.data[i + 1]);

		if (is_number)
			buffer_append_number(out, listing_scene_numbers[text.data[++i] - '0']);
		else if (text.data[i] == '@' &&
			 (i == 0 || text.data[i - 1] == ' ' || text.data[i - 1] == '='))
			buffer_append_string(out, root);
		else
			buffer_append_byte(out, text.data[i]);
	}
}

static int compare_lines(const void *a, const void *b)
{
	const struct str *one = a;
	const struct str *other = b;
	size_t length = one->length < other->length ? one->length : other->length;
	int order = memcmp(one->data, other->data, length);

	return order != 0 ? order : (one->length > other->length) - (one->length < other->length);
}

static void append_sorted(struct str text, struct buffer *out)
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

/* Where a number has got a name, columns have no width. */
static void append_printed(struct str text, bool is_sorted, struct buffer *out)
{
	struct buffer lines CLEANUP(buffer_clear) = {0};

	while (text.length > 0) {
		struct buffer named CLEANUP(buffer_clear) = {0};
		struct str line;
		bool has_name;

		(void)str_split(&text, '\n', &line);
		append_named(line, &named);
		has_name = !str_equal(buffer_view(&named), line);
		for (size_t i = 0; i < named.length; i++)
			if (!has_name || i == 0 || buffer_data(&named)[i] != ' ' ||
			    buffer_data(&named)[i - 1] != ' ')
				buffer_append_byte(&lines, buffer_data(&named)[i]);
		buffer_append_byte(&lines, '\n');
	}
	if (is_sorted)
		append_sorted(buffer_view(&lines), out);
	else
		buffer_append_str(out, buffer_view(&lines));
}

/* --- running --- */

/* It ends without what the test would do at its end. */
static _Noreturn void run_command(char **words, int count, int input, int output)
{
	const struct command *command;

	alarm(SECONDS_MAX);
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	setvbuf(stdout, NULL, _IONBF, 0);
	setenv("STAGEPOST_CONF", queue_scene_path("conf"), 1);
	setenv("TZ", "UTC", 1);
	command_use(commands);
	command = command_find(str_from(words[0]));
	if (command == NULL) {
		fprintf(stderr, "there is no command %s\n", words[0]);
		_exit(COMMAND_USAGE);
	}
	_exit(command_check_output(command->run(command, count, words)));
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
	ssize_t length = recvfrom(manager, text, sizeof text, 0, (struct sockaddr *)&from, &size);
	struct buffer order CLEANUP(buffer_clear) = {0};
	struct buffer answer CLEANUP(buffer_clear) = {0};

	assert_true(length >= 0);
	append_named(str_slice(text, (size_t)length), &order);
	buffer_append_string(told, "< ");
	buffer_append_str(told, buffer_view(&order));
	buffer_append_byte(told, '\n');
	append_meant(answer_to(line, buffer_view(&order)), &answer);
	(void)!sendto(manager, buffer_data(&answer), answer.length, 0, (struct sockaddr *)&from,
		      size);
}

static int wait_for_command(pid_t pid, const struct command_scene_line *line, struct buffer *told)
{
	int status = 0;

	for (;;) {
		struct pollfd order = {.fd = manager, .events = POLLIN};

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

static int split_words(char *text, char **words)
{
	int count = 0;

	for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
		assert_true(count < WORDS_MAX);
		words[count++] = word;
	}
	return count;
}

/* "queue show" is one command, whose first word is its name's last. */
static int name_command(char **words, int count, char *name, size_t size)
{
	const struct command *first = command_find(str_from(words[0]));
	bool is_sub =
		first != NULL && first->subcommands != NULL && count > 1 && words[1][0] != '-';

	snprintf(name, size, "%s%s%s", words[0], is_sub ? " " : "", is_sub ? words[1] : "");
	return is_sub && command_find(str_from(name)) != NULL ? 1 : 0;
}

void command_scene_run(const struct command_scene_line *line, struct buffer *out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer told CLEANUP(buffer_clear) = {0};
	static char printed[1 << 18];
	char *words[WORDS_MAX + 1] = {NULL};
	char name[64];
	struct buffer given CLEANUP(buffer_clear) = {0};
	int output = file_of(STR(""));
	int input;
	int count, skipped, status;
	ssize_t length;
	pid_t pid;

	append_meant(line->input, &given);
	input = file_of(buffer_view(&given));
	append_meant(line->words, &text);
	buffer_append_byte(&text, '\0');
	count = split_words(buffer_data(&text), words);
	skipped = name_command(words, count, name, sizeof name);
	words[skipped] = name;
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_command(words + skipped, count - skipped, input, output);
	status = wait_for_command(pid, line, &told);
	length = pread(output, printed, sizeof printed, 0);
	assert_true(length >= 0);
	append_printed(str_slice(printed, (size_t)length), line->is_sorted, out);
	append_sorted(buffer_view(&told), out);
	if (WIFSIGNALED(status))
		buffer_append_format(out, "(killed by %d)\n", WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		buffer_append_format(out, "(%d)\n", WEXITSTATUS(status));
	close(input);
	close(output);
}
