// SPDX-License-Identifier: ISC
/* What the filter of calls lets through by their arguments, for each thing that a process may be
 * allowed besides: tried in a process of its own. */
#include "base/descriptor.h"
#include "base/str.h"
#include "os/sandbox/sandbox.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NETWORK = OS_SANDBOX_CONNECT | OS_SANDBOX_DNS,
	PEERS = NETWORK | OS_SANDBOX_LOCAL,
	ALL = (1 << 11) - 1, /* every bit of enum os_sandbox_calls */
	NONE = 0,
#ifdef __SANITIZE_ADDRESS__
	PATHS = ALL, /* it looks for what it tells of */
#else
	PATHS = OS_SANDBOX_OPEN,
#endif
};

static int listening; /* TCP */
static int pair[2];   /* a UNIX stream */

static const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};

static int take_apart(void)
{
	return connect(listening, &nowhere, sizeof nowhere);
}

static int make_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int make_unix_datagrams(void)
{
	return socket(AF_UNIX, SOCK_DGRAM, 0);
}

static int make_tcp(void)
{
	return socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
}

static int make_udp(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}

/* Some port: also where bind(2) says that it did what it did not, there is none. */
static int bind_tcp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof address;
	int made = socket(AF_INET, SOCK_STREAM, 0);

	if (made < 0)
		return -1;
	if (bind(made, (const struct sockaddr *)&address, sizeof address) != 0) {
		errno = errno == EACCES ? EPERM : errno; /* by Landlock */
		return -1;
	}
	if (getsockname(made, (struct sockaddr *)&address, &size) == 0 && address.sin_port != 0)
		return 0;
	errno = EPERM;
	return -1;
}

static int bind_udp(void)
{
	const struct sockaddr_in6 address = {.sin6_family = AF_INET6};

	return bind(make_udp(), (const struct sockaddr *)&address, sizeof address);
}

/* The number that it has then is compared with what answers bring. */
static int bind_routes(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK};
	socklen_t size = sizeof address;
	int made = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (made < 0 || bind(made, (const struct sockaddr *)&address, sizeof address) != 0 ||
	    getsockname(made, (struct sockaddr *)&address, &size) != 0)
		return -1;
	errno = EPERM;
	return address.nl_pid != 0 ? 0 : -1;
}

static int make_pair(void)
{
	int sockets[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
}

static int send_plainly(void)
{
	return (int)send(pair[0], "x", 1, MSG_NOSIGNAL);
}

static int send_fast(void)
{
	return (int)sendto(pair[0], "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, NULL, 0);
}

static int send_to_address(void)
{
	return (int)sendto(pair[0], "x", 1, MSG_NOSIGNAL, &nowhere, sizeof nowhere);
}

static int send_message(int flags)
{
	char byte = 'x';
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	return (int)sendmsg(pair[0], &message, flags);
}

static int send_message_plainly(void)
{
	return send_message(MSG_NOSIGNAL);
}

static int send_message_fast(void)
{
	return send_message(MSG_NOSIGNAL | MSG_FASTOPEN);
}

static int shut_reading(void)
{
	return shutdown(listening, SHUT_RD);
}

static int shut_wholly(void)
{
	return shutdown(pair[0], SHUT_RDWR);
}

static int shut_writing(void)
{
	return shutdown(pair[0], SHUT_WR);
}

static int change_flags(void)
{
	return fcntl(listening, F_SETFL, 0);
}

static int read_flags(void)
{
	return fcntl(listening, F_GETFL);
}

static int copy_descriptor(void)
{
	return fcntl(listening, F_DUPFD_CLOEXEC, 3);
}

static int have_signals_sent(void)
{
	return fcntl(listening, F_SETOWN, getpid());
}

static int lock_file(void)
{
	struct flock lock = {.l_type = F_RDLCK};

	return fcntl(STDIN_FILENO, F_GETLK, &lock);
}

static int let_block(void)
{
	int off = 0;

	return ioctl(listening, FIONBIO, &off);
}

static int set_option(int level, int option)
{
	int on = 1;

	return setsockopt(listening, level, option, &on, sizeof on);
}

static int keep_filter(void)
{
	return set_option(SOL_SOCKET, SO_LOCK_FILTER);
}

static int connect_later(void)
{
	return set_option(IPPROTO_TCP, TCP_FASTOPEN_CONNECT);
}

static int keep_alive(void)
{
	return set_option(SOL_SOCKET, SO_KEEPALIVE);
}

static int no_delay(void)
{
	return set_option(IPPROTO_TCP, TCP_NODELAY);
}

static int receive_much(void)
{
	return set_option(SOL_SOCKET, SO_RCVBUF);
}

static int take_connection(void)
{
	return accept4(listening, NULL, NULL, SOCK_NONBLOCK);
}

static int ask_about_file(void)
{
	struct stat status;

	return stat("/", &status);
}

static int ask_about_descriptor(void)
{
	struct stat status;

	return descriptor_status(pair[0], &status);
}

static int ask_for_space(void)
{
	struct statvfs space;

	return fstatvfs(pair[0], &space);
}

static int sync_bytes(void)
{
	return fdatasync(pair[0]);
}

static int sync_names(void)
{
	return fsync(pair[0]);
}

static const struct row {
	const char *name;
	int (*attempt)(void);
	unsigned allowed; /* with any of these, ALL also without */
} rows[] = {
	{"take a listener apart", take_apart, PEERS},
	{"make a UNIX socket", make_unix, OS_SANDBOX_LOCAL},
	{"make one for datagrams", make_unix_datagrams, NONE},
	{"make a TCP socket", make_tcp, NETWORK},
	{"make a UDP socket", make_udp, OS_SANDBOX_DNS},
	{"bind a TCP port", bind_tcp, NONE},
	{"bind a UDP port", bind_udp, OS_SANDBOX_DNS},
	{"bind a socket for routes", bind_routes, OS_SANDBOX_DNS},
	{"make a pair", make_pair, OS_SANDBOX_DNS},
	{"send", send_plainly, ALL},
	{"send by Fast Open", send_fast, NETWORK},
	{"send to an address", send_to_address, NETWORK | OS_SANDBOX_ANSWER},
	{"send a message", send_message_plainly, ALL},
	{"send a message by Fast Open", send_message_fast, NETWORK},
	{"shut a listener down", shut_reading, OS_SANDBOX_FLAGS}, /* who has that has none */
	{"shut down", shut_wholly, OS_SANDBOX_FLAGS},
	{"say the last word", shut_writing, ALL},
	{"change flags", change_flags, OS_SANDBOX_DNS | OS_SANDBOX_FLAGS},
	{"read flags", read_flags, ALL},
	{"copy a descriptor", copy_descriptor, ALL},
	{"have signals sent", have_signals_sent, NONE},
	{"lock", lock_file, OS_SANDBOX_DATABASE},
	{"let a listener block", let_block, NONE},
	{"keep a filter of packets", keep_filter, NONE},
	{"connect later", connect_later, NONE},
	{"keep alive", keep_alive, PEERS | OS_SANDBOX_KEEP_ALIVE},
	{"no delay", no_delay, NETWORK},
	{"receive much", receive_much, PEERS},
	{"accept", take_connection, OS_SANDBOX_ACCEPT},
	{"ask about a file", ask_about_file, PATHS},
	{"ask about a descriptor", ask_about_descriptor, ALL},
	{"ask for space", ask_for_space, OS_SANDBOX_OPEN | OS_SANDBOX_SPACE},
	{"make bytes durable", sync_bytes, OS_SANDBOX_CHANGE | OS_SANDBOX_SYNC},
	{"make names durable", sync_names, OS_SANDBOX_CHANGE},
};

static _Noreturn void try(const struct row *row, unsigned calls)
{
	const struct os_sandbox sandbox = {.calls = calls};
	unsigned lacks = 0;

	if (os_sandbox_enter(&sandbox, &lacks) < 0 || (lacks & OS_SANDBOX_NO_SECCOMP) != 0)
		_exit(255);
	errno = 0;
	_exit(row->attempt() < 0 ? errno : 0);
}

/* Whether ROW is refused to who may CALLS. Another error is the business of the call. */
static bool is_refused(const struct row *row, unsigned calls)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		try(row, calls);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 255);
	return WEXITSTATUS(status) == EPERM;
}

static void calls_are_known_by_their_arguments(void **state)
{
	static const unsigned may[] = {0,
				       OS_SANDBOX_OPEN,
				       OS_SANDBOX_CHANGE,
				       OS_SANDBOX_ACCEPT,
				       OS_SANDBOX_CONNECT,
				       OS_SANDBOX_DNS,
				       OS_SANDBOX_ANSWER,
				       OS_SANDBOX_DATABASE,
				       OS_SANDBOX_LOCAL,
				       OS_SANDBOX_KEEP_ALIVE,
				       OS_SANDBOX_SYNC,
				       OS_SANDBOX_FLAGS,
				       OS_SANDBOX_SPACE};
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		for (size_t j = 0; j < COUNT_OF(may); j++) {
			bool is_allowed = rows[i].allowed == ALL || (rows[i].allowed & may[j]) != 0;

			if (is_refused(&rows[i], may[j]) != is_allowed)
				continue;
			fprintf(stderr, "%s, with %#x: %s\n", rows[i].name, may[j],
				is_allowed ? "refused" : "not refused");
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

static int make_sockets(void **state)
{
	union os_socket_address address;

	(void)state;
	if (!os_socket_address_parse("127.0.0.1", 0, &address))
		return -1;
	listening = os_socket_listen(&address, 1);
	return listening < 0 ? -1 : socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

static int close_sockets(void **state)
{
	(void)state;
	os_socket_close(listening);
	os_socket_close(pair[0]);
	os_socket_close(pair[1]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_known_by_their_arguments),
	};

	return cmocka_run_group_tests(tests, make_sockets, close_sockets);
}
