// SPDX-License-Identifier: ISC
/*
 * Accepts connections and closes them at once, in as many processes as are wanted: the least that a
 * server can do with a flood of sessions.
 *
 * usage: accept_only PROCESSES
 * Prints the port on 127.0.0.1; ends with its standard input.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { A_TURN = 16 };

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int open_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (listening < 0 || bind(listening, (struct sockaddr *)&address, size) != 0 ||
	    listen(listening, SOMAXCONN) != 0 ||
	    getsockname(listening, (struct sockaddr *)&address, &size) != 0)
		fail("listen");
	printf("%u\n", (unsigned)ntohs(address.sin_port));
	fflush(stdout);
	return listening;
}

/* As the event loop of a server does it. */
static _Noreturn void serve(int listening)
{
	struct epoll_event event = {.events = EPOLLIN};
	int poll = epoll_create1(EPOLL_CLOEXEC);

	if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, listening, &event) != 0)
		fail("epoll");
	for (;;) {
		int socket = 0;

		(void)epoll_wait(poll, &event, 1, -1);
		for (unsigned i = 0; i < A_TURN && socket >= 0; i++) {
			socket = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
			if (socket >= 0)
				close(socket);
		}
	}
}

int main(int argc, char **argv)
{
	int listening = open_port();
	char byte;

	for (int i = argc == 2 ? atoi(argv[1]) : 1; i > 0; i--) {
		pid_t child = fork();

		if (child < 0)
			fail("fork");
		if (child > 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(listening);
	}
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	return 0;
}
