// SPDX-License-Identifier: ISC
/* A node that is made up, with real sockets of this process, against the table of rights. */
#include "base/arena.h"
#include "base/buffer.h"
#include "program/rights_check.h"
#include "test.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWN = 1000, PAGE_MAX = 1 << 20 };

static struct config *config;

static int read_config(void **state)
{
	static const char text[] = "hostname = mx.test\n"
				   "queue = /var\n"
				   "run = /run\n"
				   "listen smtp { address = { \"127.0.0.1:2525\" } }\n"
				   "service maildir { kind = maildir path = \"/usr/%d/%u\" }\n"
				   "domain a.test { service = maildir }\n";
	struct config_problems problems = {0};

	(void)state;
	assert_int_equal(config_parse("test.conf", str_from(text), &config, &problems), 0);
	config_problems_clear(&problems);
	return 0;
}

static int free_config(void **state)
{
	(void)state;
	config_free(config);
	return 0;
}

/* The page shows the table as the program has it. */
static void test_page(void **state)
{
	static char page[PAGE_MAX];
	struct buffer table = {0};
	FILE *file = fopen(getenv("SECURITY_PAGE"), "re");
	const char *begin;

	(void)state;
	assert_non_null(file);
	page[fread(page, 1, sizeof page - 1, file)] = '\0';
	fclose(file);
	rights_append_table(&table);
	begin = strstr(page, "| process | user |");
	if (begin == NULL || strncmp(begin, buffer_data(&table), table.length) != 0 ||
	    strncmp(begin + table.length, "<!-- end -->", 12) != 0) {
		fprintf(stderr, "doc/security.md should have:\n" STR_FORMAT,
			STR_ARGUMENTS(buffer_view(&table)));
		fail();
	}
	buffer_clear(&table);
}

/* --- a node of two, or three --- */

struct scene {
	struct node node;
	struct node_process processes[3];
	struct node_descriptor descriptors[2];
};

static struct os_inspect_status status_of(uid_t user)
{
	return (struct os_inspect_status){
		.parent = 1,
		.users = {user, user, user, user},
		.groups = {user, user, user, user},
		.capabilities[OS_INSPECT_BOUNDING] = UINT64_MAX,
		.may_not_gain = true,
		.seccomp = 2,
		.filters = 1,
	};
}

static void make(struct scene *scene, const char *program)
{
	*scene = (struct scene){0};
	scene->processes[0] = (struct node_process){
		.pid = 10, .program = "stagepost", .path = "/usr/bin/stagepost"};
	scene->processes[0].rights = rights_find("stagepost");
	scene->processes[0].status = status_of(OWN);
	scene->processes[0].status.filters = 0;
	scene->processes[1] = (struct node_process){.pid = 11,
						    .program = program,
						    .path = "/usr/libexec/stagepost/x",
						    .parent = &scene->processes[0],
						    .descriptors = scene->descriptors};
	scene->processes[1].rights = rights_find(program);
	scene->processes[1].status = status_of(OWN);
	scene->node.processes = scene->processes;
	scene->node.count = 2;
	assert_int_equal(os_inspect_sockets_new(getpid(), &scene->node.sockets), 0);
}

/* What is found first begins with WORDS; "": nothing is found. */
static void expect(struct scene *scene, const char *words)
{
	const struct rights_expected expected = {.config = config};
	struct rights_findings findings;

	rights_findings_init(&findings);
	rights_check(&scene->node, &expected, &findings);
	if (*words == '\0' && findings.count > 0)
		fail_msg("found: %s", findings.list[0].found);
	if (*words != '\0') {
		if (findings.count == 0)
			fail_msg("nothing is found, and not %s", words);
		if (strncmp(findings.list[0].found, words, strlen(words)) != 0)
			fail_msg("found: %s, and not %s", findings.list[0].found, words);
	}
	rights_findings_clear(&findings);
	os_inspect_sockets_free(scene->node.sockets);
}

static void set_real_user(struct os_inspect_status *status)
{
	status->users[0] = 7;
}
static void set_saved_user(struct os_inspect_status *status)
{
	status->users[2] = 0;
}
static void set_file_user(struct os_inspect_status *status)
{
	status->users[3] = 0;
}
static void set_group(struct os_inspect_status *status)
{
	status->groups[1] = 7;
}

static void set_other(struct os_inspect_status *status)
{
	status->others[0] = 0;
	status->other_count = 1;
}

static void set_many(struct os_inspect_status *status)
{
	for (size_t i = 0; i < OS_INSPECT_GROUPS_MAX; i++)
		status->others[i] = OWN;
	status->other_count = OS_INSPECT_GROUPS_MAX + 1;
}

static void set_ambient(struct os_inspect_status *status)
{
	status->capabilities[OS_INSPECT_AMBIENT] = 1;
}

static void set_effective(struct os_inspect_status *status)
{
	status->capabilities[OS_INSPECT_EFFECTIVE] = UINT64_C(1) << CAP_KILL;
}

static void set_inheritable(struct os_inspect_status *status)
{
	status->capabilities[OS_INSPECT_INHERITABLE] = 1;
}

static void set_gain(struct os_inspect_status *status)
{
	status->may_not_gain = false;
}
static void set_mode(struct os_inspect_status *status)
{
	status->seccomp = 0;
}
static void set_filters(struct os_inspect_status *status)
{
	status->filters = 0;
}
static void set_nothing(struct os_inspect_status *status)
{
	(void)status;
}

/* Of a container that gave all of it one: it has none of its own. */
static void set_shared(struct os_inspect_status *status)
{
	status->filters = 3;
}

static void test_status(void **state)
{
	static const struct {
		void (*set)(struct os_inspect_status *status);
		unsigned supervisor_filters;
		const char *found;
	} cases[] = {
		{set_nothing, 0, ""},
		{set_real_user, 0, "real user 7"},
		{set_saved_user, 0, "saved user 0"},
		{set_file_user, 0, "file user 0"},
		{set_group, 0, "effective group 7"},
		{set_other, 0, "supplementary group 0"},
		{set_many, 0, "65 groups"},
		{set_ambient, 0, "ambient capabilities 1"},
		{set_effective, 0, "effective capabilities 20"},
		{set_inheritable, 0, "inheritable capabilities 1"},
		{set_gain, 0, "it may gain rights"},
		{set_mode, 0, "no filter of its own, seccomp mode 0"},
		{set_filters, 0, ""}, /* an old kernel */
		{set_shared, 2, ""},
		{set_shared, 3, "no filter of its own, seccomp mode 2"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scene scene;

		make(&scene, "smtpd");
		scene.processes[0].status.filters = cases[i].supervisor_filters;
		cases[i].set(&scene.processes[1].status);
		expect(&scene, cases[i].found);
	}
}

/* Root's: those of the row, and no others. */
static void test_roots_capabilities(void **state)
{
	static const struct {
		const char *program;
		unsigned number;
		const char *found;
	} cases[] = {{"local", CAP_SETUID, ""},
		     {"local", CAP_KILL, "permitted capabilities 20"},
		     {"launch", CAP_KILL, ""},
		     {"launch", CAP_DAC_OVERRIDE, "permitted capabilities 2"},
		     {"pipe", CAP_KILL, "permitted capabilities 20"},
		     {"smtpd", CAP_SETUID, "permitted capabilities 80"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scene scene;

		make(&scene, cases[i].program);
		scene.processes[0].status = scene.processes[1].status = status_of(0);
		scene.processes[0].status.filters = 0;
		scene.processes[1].status.capabilities[OS_INSPECT_PERMITTED] = UINT64_C(1)
									       << cases[i].number;
		expect(&scene, cases[i].found);
	}
}

static void test_files(void **state)
{
	static const struct {
		const char *program;
		const char *target;
		unsigned flags;
		const char *found;
	} cases[] = {
		{"smtpd", "/dev/null", O_RDWR, ""},
		{"smtpd", "anon_inode:[eventpoll]", O_RDWR, ""},
		{"smtpd", "anon_inode:[io_uring]", O_RDWR, "descriptor 5: anon_inode:[io_uring]"},
		{"smtpd", "/etc/passwd", O_RDONLY, "descriptor 5: /etc/passwd"},
		{"smtpd", "/var/pid/7", O_RDWR, ""},
		{"smtpd", "/var/pid/7 (deleted)", O_RDWR, ""},
		{"smtpd", "/var/pidother/7", O_RDWR, "descriptor 5: /var/pidother/7"},
		{"smtpd", "/variable/pid/7", O_RDWR, "descriptor 5: /variable/pid/7"},
		{"smtpd", "/var/mess/7", O_RDONLY, "descriptor 5: /var/mess/7"},
		{"remote", "/var/todo/arrive/1/7", O_RDONLY, ""},
		{"remote", "/var/todo/arrive/1/7", O_RDWR,
		 "descriptor 5: /var/todo/arrive/1/7, open"},
		{"queue", "/var", O_RDONLY, ""},
		{"queue", "/var", O_RDWR, "descriptor 5: /var, open for writing"},
		{"send", "/var/info/7", O_RDWR, ""},
		{"send", "/var/pid/7", O_RDWR, "descriptor 5: /var/pid/7, open for writing"},
		{"send", "/var", O_RDONLY, ""},
		{"send", "/var/format", O_RDONLY, "descriptor 5: /var/format"},
		{"send", "/var/pid/7", O_RDONLY, "descriptor 5: /var/pid/7"},
		{"local", "/usr/a.test/anna/tmp/x", O_WRONLY, ""},
		{"local", "/usr", O_PATH, ""},
		{"local", "/var/info/7", O_RDONLY, "descriptor 5: /var/info/7"},
		{"remote", "pipe:[1]", O_RDONLY, "descriptor 5: pipe:[1]"},
		{"pipe", "pipe:[1]", O_RDONLY, ""},
		{"pipe", "anon_inode:[pidfd]", O_RDWR, ""},
		{"pipe", "pidfd:[7]", O_RDWR, ""},
		{"remote", "anon_inode:[pidfd]", O_RDWR, "descriptor 5: anon_inode:[pidfd]"},
		{"remote", "/memfd:content (deleted)", O_RDONLY, ""},
		{"remote", "socket:[999999999]", O_RDWR, ""}, /* is about to be connected */
		{"smtpd", "socket:[999999999]", O_RDWR, "descriptor 5: a socket that is not conn"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scene scene;
		unsigned long socket = 0;

		make(&scene, cases[i].program);
		(void)sscanf(cases[i].target, "socket:[%lu]", &socket);
		scene.descriptors[0] =
			(struct node_descriptor){5, cases[i].flags, cases[i].target, socket};
		scene.processes[1].count = 1;
		expect(&scene, cases[i].found);
	}
}

/* Each has a pipe of its own for its log, but for those who write it themselves. */
static void test_logs(void **state)
{
	static const struct {
		const char *program;
		const char *supervisors; /* what it reads, or writes its own log to */
		int number;              /* where the supervisor has it */
		const char *target;
		const char *others; /* what another process logs to */
		const char *found;
	} cases[] = {
		{"smtpd", "pipe:[1]", 9, "pipe:[1]", "pipe:[2]", ""},
		{"smtpd", "pipe:[1]", 9, "pipe:[2]", "", "descriptor 2: pipe:[2]"},
		{"smtpd", "pipe:[1]", 9, "pipe:[1]", "pipe:[1]", "descriptor 2: pipe:[1]"},
		{"smtpd", "pipe:[1]", 2, "pipe:[1]", "", "descriptor 2: pipe:[1]"},
		{"smtpd", "/var/log/mail", 2, "/var/log/mail", "", "descriptor 2: /var/log/mail"},
		{"queue", "/var/log/mail", 2, "/var/log/mail", "", ""},
		{"queue", "pipe:[1]", 2, "pipe:[1]", "pipe:[1]", ""},
		{"queue", "pipe:[1]", 9, "pipe:[1]", "", "descriptor 2: pipe:[1]"},
		{"launch", "/var/log/mail", 1, "/var/log/mail", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct node_descriptor read = {cases[i].number, O_RDONLY, cases[i].supervisors, 0};
		struct node_descriptor other = {2, O_WRONLY, cases[i].others, 0};
		struct scene scene;

		make(&scene, cases[i].program);
		scene.descriptors[0] = (struct node_descriptor){2, O_WRONLY, cases[i].target, 0};
		scene.processes[0].descriptors = &read;
		scene.processes[2] = scene.processes[1];
		scene.processes[2].rights = rights_find("launch");
		scene.processes[2].descriptors = &other;
		scene.processes[0].count = scene.processes[1].count = 1;
		scene.processes[2].count = *cases[i].others != '\0';
		scene.processes[2].status.may_be_trapped = false;
		scene.node.count = 3;
		expect(&scene, cases[i].found);
	}
}

/* --- sockets --- */

static uint64_t number_of(int socket)
{
	struct stat status;

	assert_int_equal(fstat(socket, &status), 0);
	return status.st_ino;
}

static int make_udp(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}
static int make_netlink(void)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK};
	int made = socket(AF_NETLINK, SOCK_RAW, 0);

	assert_int_equal(bind(made, (const struct sockaddr *)&address, sizeof address), 0);
	return made;
}

static int make_bound(int kind, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int made = socket(AF_INET, kind, 0);

	assert_int_equal(bind(made, (const struct sockaddr *)&address, sizeof address), 0);
	return made;
}

static int make_bound_udp(void)
{
	return make_bound(SOCK_DGRAM, 0);
}

static int make_listening(void)
{
	int made = make_bound(SOCK_STREAM, 0);

	assert_int_equal(listen(made, 1), 0);
	return made;
}

static int make_unix(void)
{
	static const struct sockaddr_un address = {AF_UNIX, "\0test_rights"};
	int made = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(bind(made, (const struct sockaddr *)&address, 14), 0);
	assert_int_equal(listen(made, 1), 0);
	return made;
}

static void test_sockets(void **state)
{
	static const struct {
		const char *program;
		int (*make)(void);
		const char *found;
	} cases[] = {
		{"remote", make_bound_udp, ""},
		{"lmtp", make_bound_udp, "descriptor 5: a UDP socket"},
		{"smtpd", make_udp, "descriptor 5: a socket that is not connected"},
		{"remote", make_netlink, ""},
		{"lmtp", make_netlink, "descriptor 5: a netlink socket"},
		{"remote", make_listening, "descriptor 5: a TCP socket that listens at 127.0.0.1"},
		{"smtpd", make_listening, "descriptor 5: a TCP socket that listens at 127.0.0.1"},
		{"queue", make_unix, "descriptor 5: a UNIX socket that listens at @test_rights"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int socket = cases[i].make();
		struct scene scene;

		assert_true(socket >= 0);
		make(&scene, cases[i].program);
		scene.descriptors[0] =
			(struct node_descriptor){5, O_RDWR, "socket", number_of(socket)};
		scene.processes[1].count = 1;
		expect(&scene, cases[i].found);
		close(socket);
	}
}

/* Which processes may be connected: what the one side may, the other may. */
static void test_connections(void **state)
{
	static const struct {
		const char *programs[2];
		bool may;
	} cases[] = {
		{{"smtpd", "queue"}, true},     {{"smtpd", "send"}, false},
		{{"smtpd", "directory"}, true}, {{"smtpd", "directory-ldap"}, true},
		{{"smtpd", "smtpd"}, true},     {{"remote", "send"}, true},
		{{"remote", "queue"}, false},   {{"remote", "local"}, false},
		{{"pipe", "directory"}, false}, {{"send", "queue"}, true},
		{{"list", "queue"}, true},      {{"stagepost", "pipe"}, true},
		{{"pipe", "launch"}, true},     {{"send", "launch"}, false},
		{{"lmtp", "launch"}, false},    {{"directory", "launch"}, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct rights *left = rights_find(cases[i].programs[0]);
		const struct rights *right = rights_find(cases[i].programs[1]);

		assert_int_equal(rights_may_connect(left, right), cases[i].may);
		assert_int_equal(rights_may_connect(right, left), cases[i].may);
	}
	assert_null(rights_find("sendmail"));
}

static void test_peers(void **state)
{
	static const struct {
		const char *program; /* at one end; "stagepost" is at the other */
		bool is_other_ours;
		const char *found;
	} cases[] = {
		{"queue", true, ""},
		{"queue", false, "descriptor 5: a UNIX connection with another process"},
		{"lmtp", false, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scene scene;
		struct node_descriptor other;
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		make(&scene, cases[i].program);
		scene.descriptors[0] =
			(struct node_descriptor){5, O_RDWR, "socket", number_of(pair[0])};
		other = (struct node_descriptor){6, O_RDWR, "socket", number_of(pair[1])};
		scene.processes[1].count = 1;
		scene.processes[0].descriptors = &other;
		scene.processes[0].count = cases[i].is_other_ours;
		expect(&scene, cases[i].found);
		close(pair[0]);
		close(pair[1]);
	}
}

/* What is seen by one of two looks was a moment's. */
static void test_moments(void **state)
{
	struct rights_findings findings[2];
	struct rights_check check = {.node = NULL};
	const struct node_process process = {.pid = 5, .program = "send"};

	(void)state;
	check.process = &process;
	for (unsigned i = 0; i < 2; i++) {
		rights_findings_init(&findings[i]);
		check.findings = &findings[i];
		rights_report(&check, "nothing", "stays");
		rights_report(&check, "nothing", "comes %u", i);
	}
	for (unsigned i = 0; i < 2; i++) { /* each at the same descriptor */
		check.findings = &findings[i];
		check.socket = 100 + i;
		rights_report(&check, "nothing", "a socket");
	}
	rights_findings_keep(&findings[0], &findings[1]);
	assert_int_equal(findings[0].count, 1);
	assert_string_equal(findings[0].list[0].found, "stays");
	for (unsigned i = 0; i < 2; i++)
		rights_findings_clear(&findings[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_roots_capabilities),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_logs),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_moments),
	};

	return cmocka_run_group_tests(tests, read_config, free_config);
}
