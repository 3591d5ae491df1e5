// SPDX-License-Identifier: ISC
#include "command_node.h"
#include "os/socket/address.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS_MAX = 30, REST_MS = 50, FIRST_INHERITED = 3 };

static char folder[96];
static size_t heard_length; /* of the log */
static bool has_begun;

/* What the service manager would be told is said in the log. */
int notify(const char *text) __asm__("__wrap_os_notify");
int notify_store(const char *name, int descriptor) __asm__("__wrap_os_notify_store");
int notify_barrier(int wait_ms) __asm__("__wrap_os_notify_barrier");

int notify(const char *text)
{
	char line[1000];

	snprintf(line, sizeof line, "? %s\n", text);
	for (char *at = line; at[0] != '\0' && at[1] != '\0'; at++)
		*at = *at == '\n' ? ' ' : *at;
	(void)!write(STDERR_FILENO, line, strlen(line));
	return 0;
}

int notify_store(const char *name, int descriptor)
{
	char line[200];

	assert_true(descriptor >= 0);
	snprintf(line, sizeof line, "FDSTORE %s", name);
	return notify(line);
}

int notify_barrier(int wait_ms)
{
	(void)wait_ms;
	return 0;
}

/* Of the supervisor that runs; 0: none. */
static pid_t pid_of_node(void)
{
	char path[128];
	long pid = 0;
	FILE *file;

	snprintf(path, sizeof path, "%s/run/stagepost.pid", folder);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%ld", &pid) != 1)
		pid = 0;
	fclose(file);
	return (pid_t)pid;
}

/* Of a test that has failed. */
static void kill_node(void)
{
	pid_t pid = has_begun ? pid_of_node() : 0;

	if (pid > 0)
		kill(pid, SIGKILL);
}

/* What is looked for at the end of a process, by a sanitizer, is closed to one in a sandbox. */
static void do_without_leak_check(void)
{
	const char *now = getenv("ASAN_OPTIONS");
	char options[400];

	snprintf(options, sizeof options, "%s:detect_leaks=0", now != NULL ? now : "");
	setenv("ASAN_OPTIONS", options, 1);
}

/* Those of a service manager that has kept them: one that is wanted again, and two that are not. */
static void inherit_sockets(void)
{
	static const struct {
		const char *name;
		int kind;
	} all[] = {{"smtp", SOCK_STREAM}, {"stray", SOCK_STREAM}, {"run/stray", SOCK_SEQPACKET}};
	char path[128], number[20];

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		int made;

		snprintf(path, sizeof path, "%s/%s", folder, all[i].name);
		made = os_socket_listen_unix(path, all[i].kind, 0666);
		assert_true(made >= 0);
		if (made != FIRST_INHERITED + (int)i)
			dup2(made, FIRST_INHERITED + (int)i);
		(void)fcntl(FIRST_INHERITED + (int)i, F_SETFD, 0);
	}
	snprintf(number, sizeof number, "%d", getpid());
	setenv("LISTEN_PID", number, 1);
	setenv("LISTEN_FDS", "3", 1);
	setenv("LISTEN_FDNAMES", "listen smtp:stray:run stray", 1);
}

/* "serve" with its output in the log. */
static _Noreturn void run_supervisor(bool inherits)
{
	char path[128], program[128];
	int output;

	do_without_leak_check();
	snprintf(path, sizeof path, "%s/log", folder);
	output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	snprintf(path, sizeof path, "%s/conf", folder);
	if (inherits)
		inherit_sockets();
	snprintf(program, sizeof program, "%s/programs/stagepost", folder);
	execl(program, "stagepost", "serve", "-c", path, (char *)NULL);
	_exit(1);
}

/* All of it until now; valid until the next call. */
static struct str read_log(void)
{
	static char text[1 << 18];
	char path[128];
	ssize_t length;
	int file;

	snprintf(path, sizeof path, "%s/log", folder);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return STR("");
	length = pread(file, text, sizeof text, 0);
	close(file);
	assert_true(length >= 0 && (size_t)length < sizeof text);
	return str_slice(text, (size_t)length);
}

static size_t count_in_log(struct str text)
{
	struct str rest = read_log();
	const char *found;
	size_t count = 0;

	while ((found = memmem(rest.data, rest.length, text.data, text.length)) != NULL) {
		rest = str_skip(rest, (size_t)(found - rest.data) + text.length);
		count++;
	}
	return count;
}

static void pause_ms(int wait_ms)
{
	(void)poll(NULL, 0, wait_ms);
}

void command_node_begin(const char *root, bool inherits)
{
	size_t before, ready;
	bool is_over = false;
	pid_t pid;

	snprintf(folder, sizeof folder, "%s", root);
	if (!has_begun)
		atexit(kill_node);
	has_begun = true;
	before = count_in_log(STR("? READY=1"));
	ready = count_in_log(STR(" event=serve_ready "));
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* of a successor */
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_supervisor(inherits);
	}
	for (int i = 0; !is_over && i < SECONDS_MAX * 100; i++) {
		pause_ms(10);
		is_over = (count_in_log(STR("? READY=1")) > before &&
			   count_in_log(STR(" event=serve_ready ")) > ready) ||
			  waitpid(pid, NULL, WNOHANG) == pid;
	}
	assert_true(is_over);
}

/* The event of a line of the supervisor's, with its fields; others say things in any order. */
static void append_logged(struct str line, struct buffer *out)
{
	static const char own[] = " process=stagepost[";
	static const char sanitizers[] = " event=process_said ";
	struct str rest = line, word;

	if (memmem(line.data, line.length, sanitizers, strlen(sanitizers)) != NULL)
		return;
	if (memmem(line.data, line.length, own, strlen(own)) == NULL) {
		/* how often it says that it is not ready is chance */
		if (!str_starts_with(line, STR("time=")) &&
		    !str_starts_with(line, STR("? STATUS=Not ready")))
			buffer_append_format(out, STR_FORMAT "\n", STR_ARGUMENTS(line));
		return;
	}
	buffer_append_byte(out, '!');
	while (rest.length > 0 && str_split(&rest, ' ', &word))
		if (!str_starts_with(word, STR("time=")) &&
		    !str_starts_with(word, STR("process=")) &&
		    !str_starts_with(word, STR("pid=")) && !str_starts_with(word, STR("level=")))
			buffer_append_format(out, " " STR_FORMAT, STR_ARGUMENTS(word));
	buffer_append_byte(out, '\n');
}

/* What is said late comes within a moment. */
static struct str read_log_at_rest(void)
{
	struct str log = read_log();
	size_t before;

	do {
		before = log.length;
		pause_ms(REST_MS);
		log = read_log();
	} while (log.length > before);
	return log;
}

void command_node_hear(struct buffer *out)
{
	struct str rest = str_skip(read_log_at_rest(), heard_length);
	struct str line;

	heard_length += rest.length;
	while (rest.length > 0 && str_split(&rest, '\n', &line))
		append_logged(line, out);
}

void command_node_wait(struct str text)
{
	static struct {
		char text[80];
		size_t count;
	} seen[20];
	size_t i = 0;

	while (seen[i].text[0] != '\0' && !str_equal(str_from(seen[i].text), text))
		i++;
	assert_true(i + 1 < COUNT_OF(seen));
	snprintf(seen[i].text, sizeof seen[i].text, STR_FORMAT, STR_ARGUMENTS(text));
	seen[i].count++;
	for (int tries = 0; count_in_log(text) < seen[i].count; tries++) {
		if (tries == SECONDS_MAX * 100)
			fail_msg("not in the log: " STR_FORMAT, STR_ARGUMENTS(text));
		pause_ms(10);
	}
}

/* A whole reply, whose last line has a blank after its code; false: the connection has ended. */
static bool print_reply(FILE *stream)
{
	char line[1000];

	do {
		if (fgets(line, sizeof line, stream) == NULL)
			return false;
		fputs(line, stdout);
	} while (line[3] == '-');
	return true;
}

static int connect_to(const char *place)
{
	union os_socket_address address;
	char host[40] = "";
	int port = 0;
	bool is_path = sscanf(place, "%39[0-9.]:%d", host, &port) != 2;
	int server;

	assert_true(is_path ? os_socket_address_of_path(place, &address)
			    : os_socket_address_parse(host, (uint16_t)port, &address));
	server = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(server, &address.any, is_path ? sizeof address.local : sizeof address.v4) == 0)
		return server;
	puts(strerror(errno));
	_exit(1);
}

_Noreturn void command_node_talk(const char *place)
{
	int server = connect_to(place);
	bool is_text = false;
	char line[1000];
	FILE *stream;

	stream = fdopen(server, "r+");
	while ((is_text || print_reply(stream)) && fgets(line, sizeof line, stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		dprintf(server, "%s\r\n", line);
		is_text = (is_text || strcmp(line, "DATA") == 0) && strcmp(line, ".") != 0;
		if (strcmp(line, "DATA") == 0)
			(void)print_reply(stream);
	}
	_exit(0);
}

void command_node_end(bool is_told)
{
	pid_t pid = pid_of_node();

	if (!has_begun)
		return;
	if (is_told && pid > 0)
		kill(pid, SIGTERM);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	if (!is_told)
		return;
	has_begun = false;
	heard_length = 0;
}
