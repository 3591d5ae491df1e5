// SPDX-License-Identifier: ISC
/* What functions on processes, threads and the machine return when a call of the system fails. */
#include "os/process/access.h"
#include "os/process/account.h"
#include "os/process/capability.h"
#include "os/process/output.h"
#include "os/process/program.h"
#include "refusal.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct os_process_user nobody_else = {0};

static int closed_process_end(int descriptor)
{
	if (descriptor < 0)
		return descriptor;
	assert_int_equal(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
	close(descriptor);
	return 0;
}

/* --- other processes --- */

/* But one that could not be waited for. */
static void check_no_child(void)
{
	assert_true(waitpid(-1, NULL, 0) < 0 || refusal_was("waitpid"));
}

static int run_true(void)
{
	static const char *const words[] = {"/bin/true", NULL}, *const environment[] = {NULL};
	struct os_program program;
	int status, result;

	refusal_fill(&program, sizeof program);
	result = REFUSED(os_program_start(words, environment, &nobody_else, &program));
	refusal_check(result, &program, sizeof program);
	if (result < 0) {
		check_no_child();
		return result;
	}
	assert_true(os_program_has_ended(&program, true, &status));
	assert_int_equal(status, 0);
	os_program_close(&program);
	return 0;
}

static int wait_for_true(void)
{
	static const char *const words[] = {"/bin/true", NULL}, *const environment[] = {NULL};
	struct os_program program;
	int status = -1;
	bool has_ended;

	assert_int_equal(os_program_start(words, environment, &nobody_else, &program), 0);
	has_ended = REFUSED(os_program_has_ended(&program, true, &status));
	if (!has_ended)
		assert_true(os_program_has_ended(&program, true, &status));
	os_program_close(&program);
	return has_ended ? 0 : -EXFULL;
}

static int start_true(void)
{
	static const char *const words[] = {"true", NULL};
	pid_t process =
		REFUSED(os_process_start("/bin/true", -1, words, &nobody_else, STDERR_FILENO, -1));

	if (process < 0)
		return process;
	assert_int_equal(waitpid(process, NULL, 0), process);
	return 0;
}

static int child_that_ended(void)
{
	pid_t child = fork(), ended;
	siginfo_t info;
	int status = -1;

	if (child == 0)
		_exit(3);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	ended = REFUSED(os_process_ended(&status));
	if (ended == 0) { /* then there was none, it says */
		assert_int_equal(waitpid(child, &status, 0), child);
		return -EXFULL;
	}
	assert_int_equal(ended, child);
	return WEXITSTATUS(status);
}

static int output_of_echo(void)
{
	static const char *const words[] = {"/bin/echo", "said", NULL};
	struct buffer out = {0};
	int result = REFUSED(os_process_output(words, 100, &out));

	if (result == 0)
		assert_true(str_equal(buffer_view(&out), STR("said\n")));
	buffer_clear(&out);
	check_no_child();
	return result;
}

static int access_to_root(void)
{
	struct os_access asked[] = {{.path = "/", .wanted = OS_ACCESS_PASS},
				    {.path = "/none", .wanted = OS_ACCESS_READ}};
	int result = REFUSED(os_access_as(&nobody_else, asked, 2));

	if (result == 0)
		assert_int_equal(asked[1].error, -ENOENT);
	check_no_child();
	return result;
}

static int open_accounts(void)
{
	int socket = REFUSED(os_process_account_open());

	if (socket >= 0) {
		close(socket);
		assert_true(waitpid(-1, NULL, 0) > 0);
		return 0;
	}
	return socket;
}

static int ask_for_account(void)
{
	int ends[2], result;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	result = REFUSED(os_process_account_ask(ends[0], "name"));
	close(ends[0]);
	close(ends[1]);
	return result;
}

static int answer_about_account(void)
{
	int ends[2], result, error = 1;
	struct os_process_account account;

	refusal_fill(&account, sizeof account);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	close(ends[1]);
	result = REFUSED(os_process_account_answer(ends[0], &error, &account));
	refusal_check(-1, &account, sizeof account);
	assert_int_equal(error, 1);
	close(ends[0]);
	return result == -EPIPE ? 0 : result;
}

static int find_user(void)
{
	struct os_process_user user;
	int result;

	refusal_fill(&user, sizeof user);
	result = REFUSED(os_process_user_find("root", &user));
	refusal_check(result, &user, sizeof user);
	return result;
}

static int find_account(void)
{
	struct os_process_account account;
	int result;

	refusal_fill(&account, sizeof account);
	result = REFUSED(os_process_account_find("root", &account));
	refusal_check(result, &account, sizeof account);
	return result;
}

static int find_group(void)
{
	gid_t group;
	int result;

	refusal_fill(&group, sizeof group);
	result = REFUSED(os_process_group_find("root", &group));
	refusal_check(result, &group, sizeof group);
	return result;
}

static int signal_own(void)
{
	return REFUSED(os_process_signal_of(getpid(), getuid(), 0));
}

/* --- this one --- */

static int keep_capabilities(void)
{
	return REFUSED(os_capability_keep(UINT64_MAX, false));
}

static int open_true(void)
{
	return closed_process_end(REFUSED(os_process_open_program("/bin/true")));
}

static int new_pipe(void)
{
	int ends[2], result;

	refusal_fill(ends, sizeof ends);
	result = REFUSED(os_process_pipe(4096, ends));
	refusal_check(result, ends, sizeof ends);
	return result < 0 ? result : closed_process_end(ends[0]) + closed_process_end(ends[1]);
}

static int new_socket_pair(void)
{
	int ends[2], result;

	refusal_fill(ends, sizeof ends);
	result = REFUSED(os_process_socket_pair(ends));
	refusal_check(result, ends, sizeof ends);
	return result < 0 ? result : closed_process_end(ends[0]) + closed_process_end(ends[1]);
}

static int own_directory(void)
{
	char path[OS_PROCESS_PATH_SIZE];
	int result;

	refusal_fill(path, sizeof path);
	result = REFUSED(os_process_own_directory(path));
	refusal_check(result, path, sizeof path);
	return result;
}

static int present_directory(void)
{
	char path[OS_PROCESS_PATH_SIZE];

	return REFUSED(os_process_directory(path));
}

static int owner_of_root(void)
{
	uid_t owner;
	int result;

	refusal_fill(&owner, sizeof owner);
	result = REFUSED(os_process_owner_of("/", &owner));
	refusal_check(result, &owner, sizeof owner);
	return result;
}

static int owns_root(void)
{
	return REFUSED(os_process_owns("/"));
}

static int limit_time(void)
{
	return REFUSED(os_process_limit_time(60, 1));
}

static int share_text(void)
{
	return closed_process_end(REFUSED(os_process_share_text(STR("text"))));
}

static int read_text(void)
{
	int text = os_process_share_text(STR("text")), result;
	struct buffer out = {0};

	result = REFUSED(os_process_read_text(text, 10, &out));
	if (result == 0)
		assert_true(str_equal(buffer_view(&out), STR("text")));
	buffer_clear(&out);
	close(text);
	return result;
}

static int host_name(void)
{
	char name[100];

	return REFUSED(os_host_name(name, sizeof name));
}

static const struct refusal_case cases[] = {
	{"os_program_start", run_true, NULL, "F_SETFD"},
	{"os_program_has_ended", wait_for_true, "waitpid", NULL},
	{"os_process_start", start_true, NULL, NULL},
	{"os_process_ended", child_that_ended, "waitpid", NULL},
	{"os_process_output", output_of_echo, "read waitpid", "waitpid"},
	{"os_access_as", access_to_root, "read waitpid", "waitpid", "read", -EIO},
	{"os_process_account_open", open_accounts, NULL, NULL},
	{"os_process_account_ask", ask_for_account, "send", NULL},
	{"os_process_account_answer", answer_about_account, "recv", NULL},
	{"os_process_account_find", find_account, NULL, NULL},
	{"os_process_user_find", find_user, NULL, NULL},
	{"os_process_group_find", find_group, NULL, NULL},
	{"os_process_signal_of", signal_own, NULL, NULL, "open64 read", -ENOTUNIQ},
	{"os_capability_keep", keep_capabilities, NULL, "prctl"},
	{"os_process_open_program", open_true, NULL, NULL},
	{"os_process_pipe", new_pipe, NULL, "fcntl64"},
	{"os_process_socket_pair", new_socket_pair, NULL, NULL},
	{"os_process_own_directory", own_directory, NULL, NULL},
	{"os_process_directory", present_directory, NULL, NULL},
	{"os_process_owner_of", owner_of_root, NULL, NULL},
	{"os_process_owns", owns_root, NULL, NULL},
	{"os_process_limit_time", limit_time, NULL, NULL},
	{"os_process_share_text", share_text, "write", "fcntl64"},
	{"os_process_read_text", read_text, "pread64", NULL},
	{"os_host_name", host_name, NULL, NULL},
};

static void each_call_fails_once(void **state)
{
	(void)state;
	refusal_try(cases, COUNT_OF(cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_fails_once),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
