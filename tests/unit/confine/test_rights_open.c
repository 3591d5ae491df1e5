// SPDX-License-Identifier: ISC
/* What a process of a node has open, with real sockets of this process, against the table of
 * rights. */
#include "rights_scene.h"
#include "test.h"
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

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
		{"directory", "anon_inode:inotify", O_RDONLY, ""},
		{"smtpd", "anon_inode:inotify", O_RDONLY, "descriptor 5: anon_inode:inotify"},
		{"remote", "/memfd:content (deleted)", O_RDONLY, ""},
		{"remote", "socket:[999999999]", O_RDWR, ""}, /* is about to be connected */
		{"smtpd", "socket:[999999999]", O_RDWR, "descriptor 5: a socket that is not conn"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct rights_scene scene;
		unsigned long socket = 0;

		rights_scene_make(&scene, cases[i].program);
		(void)sscanf(cases[i].target, "socket:[%lu]", &socket);
		scene.descriptors[0] =
			(struct node_descriptor){5, cases[i].flags, cases[i].target, socket};
		scene.processes[1].count = 1;
		rights_scene_expect(&scene, cases[i].found);
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
		struct rights_scene scene;

		rights_scene_make(&scene, cases[i].program);
		scene.descriptors[0] = (struct node_descriptor){2, O_WRONLY, cases[i].target, 0};
		scene.processes[0].descriptors = &read;
		scene.processes[2] = scene.processes[1];
		scene.processes[2].rights = rights_find("launch");
		scene.processes[2].descriptors = &other;
		scene.processes[0].count = scene.processes[1].count = 1;
		scene.processes[2].count = *cases[i].others != '\0';
		scene.processes[2].status.may_be_trapped = false;
		scene.node.count = 3;
		rights_scene_expect(&scene, cases[i].found);
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
		{"resolve", make_bound_udp, "descriptor 5: a UDP socket"},
		{"smtpd", make_udp, "descriptor 5: a socket that is not connected"},
		{"remote", make_netlink, ""},
		{"resolve", make_netlink, "descriptor 5: a netlink socket"},
		{"remote", make_listening, "descriptor 5: a TCP socket that listens at 127.0.0.1"},
		{"smtpd", make_listening, "descriptor 5: a TCP socket that listens at 127.0.0.1"},
		{"queue", make_unix, "descriptor 5: a UNIX socket that listens at @test_rights"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int socket = cases[i].make();
		struct rights_scene scene;

		assert_true(socket >= 0);
		rights_scene_make(&scene, cases[i].program);
		scene.descriptors[0] =
			(struct node_descriptor){5, O_RDWR, "socket", number_of(socket)};
		scene.processes[1].count = 1;
		rights_scene_expect(&scene, cases[i].found);
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
		{"send", false, "descriptor 5: a UNIX connection with another process"},
		{"queue", false, ""}, /* "sendmail" of a user */
		{"lmtp", false, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct rights_scene scene;
		struct node_descriptor other;
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		rights_scene_make(&scene, cases[i].program);
		scene.descriptors[0] =
			(struct node_descriptor){5, O_RDWR, "socket", number_of(pair[0])};
		other = (struct node_descriptor){6, O_RDWR, "socket", number_of(pair[1])};
		scene.processes[1].count = 1;
		scene.processes[0].descriptors = &other;
		scene.processes[0].count = cases[i].is_other_ours;
		rights_scene_expect(&scene, cases[i].found);
		close(pair[0]);
		close(pair[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),   cmocka_unit_test(test_logs),
		cmocka_unit_test(test_sockets), cmocka_unit_test(test_connections),
		cmocka_unit_test(test_peers),
	};

	return cmocka_run_group_tests(tests, rights_scene_read_config, rights_scene_free_config);
}
