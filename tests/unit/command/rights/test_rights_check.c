// SPDX-License-Identifier: ISC
/*
 * What "stagepost check --running" finds in a node: each thing that a process may have open, each
 * connection and each change of its rights, with each program in turn. The file rights.txt says for
 * each what is found, and of which programs; with WRITE=yes in the environment it is written anew:
 * look at what has changed.
 */
#include "rights_found.h"
#include "rights_scene.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* --- files --- */

struct opened {
	const char *target; /* "@" is the directory of the test */
	unsigned flags;
};

static void print_file(const struct opened *file, struct buffer *out)
{
	static const char *const ways[] = {"read", "written", "read and written"};
	struct rights_found groups = {.count = 0};
	char target[200], head[240];

	snprintf(target, sizeof target, "%s%s", file->target[0] == '@' ? rights_scene.root : "",
		 file->target + (file->target[0] == '@'));
	for (size_t i = 0; i < RIGHTS_SCENE_PROGRAMS; i++) {
		rights_scene_make_node();
		rights_scene_give(i, target, file->flags, 0, NUMBER);
		rights_found_add(&groups, NULL, rights_scene.processes[i].pid);
	}
	snprintf(head, sizeof head, "%s, %s%s", target, ways[file->flags & O_ACCMODE],
		 (file->flags & O_PATH) != 0 ? ", as a place only" : "");
	rights_found_print(head, &groups, out);
}

static void files_are_compared(struct buffer *out)
{
	static const struct opened files[] = {
		{"/dev/null", O_RDWR},
		{"anon_inode:[eventpoll]", O_RDWR},
		{"anon_inode:[eventfd]", O_RDWR},
		{"anon_inode:[pidfd]", O_RDWR},
		{"pidfd:[7]", O_RDWR},
		{"anon_inode:inotify", O_RDWR},
		{"anon_inode:[perf_event]", O_RDWR},
		{"/memfd:x (deleted)", O_RDWR},
		{"pipe:[77]", O_WRONLY},
		{"@/queue", O_RDONLY},
		{"@/queue", O_PATH | O_RDWR},
		{"@/queuex", O_RDONLY},
		{"@/queue/pid/7", O_RDONLY},
		{"@/queue/pid/7", O_WRONLY},
		{"@/queue/pid/7 (deleted)", O_RDWR},
		{"@/queue/pidx", O_RDONLY},
		{"@/queue/lock/queue", O_WRONLY},
		{"@/queue/lock/send", O_WRONLY},
		{"@/queue/lock/trigger", O_WRONLY},
		{"@/queue/mess/1/7", O_RDONLY},
		{"@/queue/mess/1/7", O_WRONLY},
		{"@/queue/directory/seen", O_RDWR},
		{"@/run/stagepost.pid", O_RDWR},
		{"@/run/other", O_RDWR},
		{"@/policy/a.test", O_RDWR},
		{"@/policyx", O_RDWR},
		{"@/ca/all.pem", O_RDONLY},
		{"@/ca/all.pem", O_RDWR},
		{"@/mail/a.test/ann/new/1", O_RDWR},
		{"@/once/a.test/ann/new/1", O_RDWR},
		{"@/record/record.sqlite-wal", O_RDWR},
		{"@/data/directory.sqlite-wal", O_RDWR},
		{"/proc/fs/ext4/sda1/x", O_RDONLY},
		{"/proc/stat", O_RDONLY},
		{"/proc/100/mountinfo", O_RDONLY},
		{"/proc/115/mountinfo", O_RDONLY},
		{"/proc/self/mountinfo", O_RDONLY},
		{"/etc/hosts", O_RDONLY},
		{"/etc/hosts", O_RDWR},
		{"/dev/urandom", O_RDONLY},
		{"/libexec/send", O_RDONLY},
		{"/usr/libexec/stagepost/send", O_RDONLY},
		{"/etc/shadow", O_RDONLY},
	};

	for (size_t i = 0; i < COUNT_OF(files); i++)
		print_file(&files[i], out);
}

/* --- standard descriptors and pipes --- */

static void print_now(const char *head, struct buffer *out)
{
	struct rights_found groups = {.count = 0};

	rights_found_add(&groups, NULL, 0);
	rights_found_print(head, &groups, out);
}

static void pipes_are_compared(struct buffer *out)
{
	rights_scene_make_node();
	for (size_t i = 0; i < RIGHTS_SCENE_STRANGER; i++)
		for (int j = 1; j < 3; j++)
			rights_scene_give(i, "/var/log/mail", O_WRONLY, 0, j);
	print_now("each has the supervisor's own output", out);
	rights_scene_make_node();
	for (size_t i = 1; i < RIGHTS_SCENE_CAT; i++) {
		rights_scene_give(0, "pipe:[1]", O_RDONLY, 0, 5);
		rights_scene.processes[0].count--;
		rights_scene_give(i, "pipe:[2]", O_WRONLY, 0, 2);
	}
	rights_scene_give(0, "pipe:[2]", O_RDONLY, 0, 5);
	print_now("all have one pipe to the supervisor as their log", out);
	rights_scene_make_node();
	rights_scene_give(0, "pipe:[2]", O_RDONLY, 0, 5);
	rights_scene_give(1, "pipe:[2]", O_WRONLY, 0, 2);
	print_now("one has a pipe to the supervisor as its log", out);
	rights_scene_give(2, "pipe:[2]", O_WRONLY, 0, 3);
	print_now("another one has it as descriptor 3", out);
	rights_scene_make_node();
	rights_scene_give(0, "pipe:[2]", O_RDONLY, 0, 2);
	rights_scene_give(1, "pipe:[2]", O_WRONLY, 0, 2);
	print_now("one has a pipe that is the supervisor's error output", out);
	rights_scene_make_node();
	for (size_t i = 1; i < RIGHTS_SCENE_PROGRAMS; i++) {
		rights_scene_give(i, "pipe:[9]", O_RDONLY, 0, 8);
		rights_scene_give(i, "pipe:[9]", O_WRONLY, 0, 9);
	}
	print_now("each has both ends of a pipe", out);
}

/* --- sockets --- */

static union os_socket_address address_of(const char *host, uint16_t port)
{
	union os_socket_address address;

	assert_true(os_socket_address_parse(host, port, &address));
	return address;
}

/* Each program in turn has a descriptor of rights_scene.sockets[0]. */
static void print_socket(const char *head, const struct os_inspect_socket *socket, bool is_hidden,
			 struct buffer *out)
{
	struct rights_found groups = {.count = 0};

	for (size_t i = 0; i < RIGHTS_SCENE_PROGRAMS; i++) {
		rights_scene_make_node();
		rights_scene.processes[RIGHTS_SCENE_STRANGER].error = is_hidden ? -EACCES : 0;
		rights_scene.sockets[0] = *socket;
		rights_scene.sockets[0].number = 1;
		rights_scene_give(i, "socket:[1]", O_RDWR, 1, NUMBER);
		rights_found_add(&groups, NULL, rights_scene.processes[i].pid);
	}
	rights_found_print(head, &groups, out);
}

static void network_sockets_are_compared(struct buffer *out)
{
	static const struct {
		const char *host;
		uint16_t port;
	} places[] = {{"127.0.0.1", 25}, {"::1", 25},         {"::ffff:127.0.0.1", 25},
		      {"192.0.2.1", 26}, {"2001:db8::1", 27}, {"127.0.0.1", 28},
		      {"127.0.0.1", 29}, {"127.0.0.2", 25},   {"127.0.0.1", 30}};
	char head[100];

	for (size_t i = 0; i < COUNT_OF(places); i++)
		for (int listens = 0; listens < 2; listens++) {
			const struct os_inspect_socket socket = {
				.kind = OS_INSPECT_TCP,
				.is_listening = listens,
				.local = address_of(places[i].host, places[i].port),
				.remote = address_of("192.0.2.9", 999),
			};

			snprintf(head, sizeof head, "TCP at %s port %u%s", places[i].host,
				 places[i].port, listens ? ", listening" : "");
			print_socket(head, &socket, false, out);
		}
	print_socket("UDP", &(struct os_inspect_socket){.kind = OS_INSPECT_UDP}, false, out);
	print_socket("netlink", &(struct os_inspect_socket){.kind = OS_INSPECT_NETLINK}, false,
		     out);
	print_socket("raw", &(struct os_inspect_socket){.kind = OS_INSPECT_RAW}, false, out);
	print_socket("not connected", &(struct os_inspect_socket){.kind = OS_INSPECT_UNKNOWN},
		     false, out);
}

static void unix_sockets_are_compared(struct buffer *out)
{
	static const char *const names[] = {
		"@/run/directory", "@/run/limits", "@/run/bogus", "@/smtp",
		"@/map",           "@/other",      "@abstract",   ""};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		for (unsigned bits = 0; bits < 5; bits++) {
			struct os_inspect_socket socket = {
				.kind = OS_INSPECT_UNIX,
				.is_bound = (bits & 1) != 0,
				.is_listening = (bits & 2) != 0,
				.peer = (bits & 4) != 0 ? 99 : 0,
			};
			bool is_path = strncmp(names[i], "@/", 2) == 0;
			char head[200];

			snprintf(socket.name, sizeof socket.name, "%s%s",
				 is_path ? rights_scene.root : "", names[i] + is_path);
			snprintf(head, sizeof head, "UNIX \"%s\"%s%s%s", socket.name,
				 socket.is_bound ? ", bound" : "",
				 socket.is_listening ? ", listening" : "",
				 socket.peer != 0 ? ", with a peer elsewhere" : "");
			print_socket(head, &socket, false, out);
		}
	print_socket("UNIX with a peer elsewhere, and a process that cannot be looked into",
		     &(struct os_inspect_socket){.kind = OS_INSPECT_UNIX, .peer = 99}, true, out);
}

/* Which programs may be connected with each other. */
static void connections_are_compared(struct buffer *out)
{
	for (size_t i = 0; i < RIGHTS_SCENE_PROGRAMS; i++) {
		struct rights_found groups = {.count = 0};
		char head[100];

		for (size_t j = 0; j < RIGHTS_SCENE_PROGRAMS; j++) {
			rights_scene_make_node();
			rights_scene.processes[RIGHTS_SCENE_STRANGER].error = 0;
			rights_scene.sockets[0] = (struct os_inspect_socket){
				.number = 1, .kind = OS_INSPECT_UNIX, .peer = 2};
			rights_scene.sockets[1] = (struct os_inspect_socket){
				.number = 2, .kind = OS_INSPECT_UNIX, .peer = 1, .name = "peer"};
			rights_scene_give(j, "socket:[1]", O_RDWR, 1, NUMBER);
			rights_scene_give(i, "socket:[2]", O_RDWR, 2, NUMBER);
			rights_found_add(&groups, NULL, rights_scene.processes[j].pid);
		}
		snprintf(head, sizeof head, "UNIX connection with %s", rights_scene_programs[i]);
		rights_found_print(head, &groups, out);
	}
}

/* --- rights --- */

static void rights_are_compared(struct buffer *out)
{
	for (unsigned change = 0; change < CHANGES; change++)
		for (int has_users = 0; has_users < 2; has_users++) {
			struct rights_found groups = {.count = 0};
			char head[100];

			for (size_t i = 0; i < RIGHTS_SCENE_PROGRAMS; i++) {
				rights_scene_make_node();
				if (has_users) /* it may change its user */
					rights_scene.processes[0]
						.status.capabilities[OS_INSPECT_EFFECTIVE] =
						UINT64_MAX;
				rights_scene_change(&rights_scene.processes[i], change);
				rights_found_add(&groups, has_users ? &rights_scene.users : NULL,
						 rights_scene.processes[i].pid);
			}
			snprintf(head, sizeof head, "%s%s", rights_scene_changes[change],
				 has_users ? ", by users of their own" : "");
			rights_found_print(head, &groups, out);
		}
}

/* "smtpd" has a user of its own, and "local" keeps a capability. */
static void users_are_compared(struct buffer *out)
{
	struct rights_found groups = {.count = 0};

	for (size_t i = 0; i < SUPERVISOR_PROGRAMS; i++) {
		struct os_process_user *user = &rights_scene.users.programs[i].user;

		if (strcmp(supervisor_programs[i].name, "smtpd") == 0)
			*user = (struct os_process_user){
				.change = true, .uid = USER + 5, .gid = GROUP + 5};
		if (strcmp(supervisor_programs[i].name, "local") == 0)
			user->capabilities = 0xf0;
	}
	rights_scene_make_node();
	rights_found_add(&groups, &rights_scene.users, 0);
	rights_found_print("users of their own", &groups, out);
	groups.count = 0;
	for (size_t i = 1; i < RIGHTS_SCENE_PROGRAMS; i++)
		rights_scene.processes[i].status.users[1] = 0;
	rights_scene.processes[0].status.users[1] = 0;
	for (size_t i = 1; i < RIGHTS_SCENE_PROGRAMS; i++)
		rights_scene.processes[i].status.capabilities[OS_INSPECT_PERMITTED] = UINT64_MAX;
	rights_found_add(&groups, &rights_scene.users, 0);
	rights_found_print("they are root", &groups, out);
	groups.count = 0;
	rights_scene_make_node();
	rights_scene.processes[0].status.capabilities[OS_INSPECT_EFFECTIVE] = UINT64_MAX;
	rights_scene.processes[RIGHTS_SCENE_CAT].status.users[1] = USER + 5;
	rights_scene.processes[1].status.users[1] = USER + 5;
	rights_found_add(&groups, &rights_scene.users, 0);
	rights_found_print("a program that a service runs has the user of \"smtpd\"", &groups, out);
}

/* --- all --- */

static const char *golden;

static void what_is_found_is_what_is_written(void **state)
{
	struct buffer found CLEANUP(buffer_clear) = {0};

	(void)state;
	buffer_append_string(&found, "% SPDX-License-Identifier: ISC\n");
	files_are_compared(&found);
	pipes_are_compared(&found);
	network_sockets_are_compared(&found);
	unix_sockets_are_compared(&found);
	connections_are_compared(&found);
	rights_are_compared(&found);
	users_are_compared(&found);
	rights_found_compare(golden, buffer_view(&found));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_found_is_what_is_written,
						rights_scene_set_up, rights_scene_tear_down),
	};

	assert_int_equal(argc, 2);
	golden = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
