// SPDX-License-Identifier: ISC
#include "command_directory.h"
#include "config/text.h"
#include "directory/server/server.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/directory/store/memory_store.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ALL = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST | DIRECTORY_ROLE_SECRET |
	      DIRECTORY_ROLE_CHANGE
};

static pid_t child; /* 0: none */

struct answering {
	struct directory_server *server;
	int listening;
};

static void on_command(void *context, unsigned events)
{
	struct answering *answering = context;
	struct directory_transport transport;
	union os_socket_address address;
	int socket = os_socket_accept(answering->listening, &address);

	(void)events;
	if (socket < 0)
		return;
	directory_transport_plain(socket, &transport);
	directory_server_accept(answering->server, &transport, ALL, "test");
}

/* Until it is killed. */
static _Noreturn void answer_commands(int listening)
{
	struct os_loop *loop = os_loop_new();
	struct memory_store *store = memory_store_new(loop);
	struct config_problems problems;
	struct config *config = NULL;
	struct answering answering = {.listening = listening};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (config_parse("t", STR("hostname = mx.test\ndirectory { }\n"), &config, &problems) != 0)
		_exit(1);
	answering.server = directory_server_new(loop, &store->base, config);
	(void)os_watch_new(loop, listening, OS_WATCH_READ, on_command, &answering);
	os_loop_run(loop);
	_exit(1);
}

void command_directory_begin(const char *path)
{
	int listening = os_socket_listen_unix(path, SOCK_STREAM, 0600);

	assert_true(listening >= 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		answer_commands(listening);
	os_socket_close(listening);
}

void command_directory_end(void)
{
	if (child == 0)
		return;
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	child = 0;
}
