// SPDX-License-Identifier: ISC
#include "command_directory.h"
#include "command/command.h"
#include "directory/server/server.h"
#include "ipc/listener.h"
#include "log/event.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/directory/store/memory_store.h"
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_client(void *context, int socket)
{
	struct directory_transport transport;

	directory_transport_plain(socket, &transport);
	directory_server_accept(context, &transport,
				DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST | DIRECTORY_ROLE_SECRET |
					DIRECTORY_ROLE_CHANGE,
				"uid 0");
}

/* Until it is killed: nothing that it has outlives the process. */
static _Noreturn void serve_directory(const char *file, int listening, bool is_up)
{
	struct buffer text = {0};
	struct os_loop *loop = os_loop_new();
	struct config *config;
	struct memory_store *store = memory_store_new(loop);
	struct directory_server *server;

	assert_non_null(freopen("/dev/null", "we", stderr)); /* its log */
	if (command_config_load(file, &text, &config) != 0)
		_exit(1);
	log_open("directory", LOG_ERROR_LEVEL);
	server = directory_server_new(loop, &store->base, config);
	memory_store_set_up(store, is_up);
	(void)ipc_listener_new(loop, listening, on_client, server);
	os_loop_run(loop);
	_exit(0);
}

pid_t command_directory_begin(const char *file, const char *run, bool is_up)
{
	char path[128];
	int listening;
	pid_t pid;

	snprintf(path, sizeof path, "%s/directory", run);
	unlink(path);
	listening = os_socket_listen_unix(path, SOCK_STREAM, 0600);
	assert_true(listening >= 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve_directory(file, listening, is_up);
	}
	close(listening);
	return pid;
}

void command_directory_end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}
