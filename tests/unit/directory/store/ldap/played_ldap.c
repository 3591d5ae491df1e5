// SPDX-License-Identifier: ISC
#include "os/clock.h"
#include "os/socket/socket.h"
#include "played_ldap_internal.h"
#include "scratch.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

struct played_ldap played_ldap;
struct played_ldap_session played_ldap_sessions[PLAYED_LDAP_SESSIONS];

static char folder[SCRATCH_SIZE]; /* of their sockets */

/* --- time --- */

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return played_ldap.now_us;
}

/* What was sent to loopback may be there a moment later; at UNIX sockets it is there at once. */
static long look_once(struct pollfd *watched, nfds_t count)
{
	const struct timespec moment = {.tv_nsec = played_ldap.is_tcp ? 2000000 : 0};
	long ready = 0;

	for (int i = 0; i < (played_ldap.is_tcp ? 5 : 1) && ready == 0; i++) {
		played_ldap_turn();
		ready = syscall(SYS_ppoll, watched, count, &moment, NULL, 0);
	}
	return ready;
}

/* Whether something is there, after all that may come by itself. */
static int look_at(struct pollfd *watched, nfds_t count)
{
	int error = errno; /* libldap looks at it, also after a read of nothing */
	long ready;

	do
		ready = look_once(watched, count);
	while (ready == 0 && played_ldap.idle != NULL && played_ldap.idle());
	errno = error;
	return (int)ready;
}

int __wrap_os_socket_wait(int socket, bool for_writing, int64_t timeout_us);
int __wrap_os_socket_wait(int socket, bool for_writing, int64_t timeout_us)
{
	struct pollfd watched = {.fd = socket, .events = for_writing ? POLLOUT : POLLIN};

	if (look_at(&watched, 1) != 0)
		return 0;
	played_ldap.now_us += timeout_us;
	return -ETIMEDOUT;
}

/* libldap's; who does not wait at all lets no time pass. */
int poll(struct pollfd *watched, nfds_t count, int timeout_ms)
{
	const struct timespec none = {0};
	int ready;

	if (timeout_ms == 0) {
		int error = errno;

		played_ldap_turn();
		errno = error;
		return (int)syscall(SYS_ppoll, watched, count, &none, NULL, 0);
	}
	if (timeout_ms < 0)
		fail_msg("libldap waits for ever");
	ready = look_at(watched, count);
	if (ready == 0)
		played_ldap.now_us += (int64_t)timeout_ms * 1000;
	return ready;
}

/* --- what is set and installed --- */

int __real_ldap_set_option(LDAP *ld, int option, const void *value);
int __wrap_ldap_set_option(LDAP *ld, int option, const void *value);
int __wrap_ldap_set_option(LDAP *ld, int option, const void *value)
{
	struct buffer *out = &played_ldap.options;

	buffer_append_format(out, "%s%x", ld == NULL ? "all " : "", (unsigned)option);
	if (option == LDAP_OPT_NETWORK_TIMEOUT || option == LDAP_OPT_TIMEOUT)
		buffer_append_format(out, "=%lld s",
				     (long long)((const struct timeval *)value)->tv_sec);
	else if (option == LDAP_OPT_REFERRALS)
		buffer_append_string(out, value == LDAP_OPT_OFF ? "=off" : "=on");
	else if (option == LDAP_OPT_X_TLS_CACERTFILE)
		buffer_append_format(out, "=%s", (const char *)value);
	else
		buffer_append_format(out, "=%d", *(const int *)value);
	buffer_append_byte(out, '\n');
	return ld == NULL ? LDAP_OPT_SUCCESS : __real_ldap_set_option(ld, option, value);
}

int __wrap_ldap_install_tls(LDAP *ld);
int __wrap_ldap_install_tls(LDAP *ld)
{
	assert_non_null(ld);
	played_ldap.installed++;
	return played_ldap.install_code;
}

/* --- sockets --- */

static void end_session(struct played_ldap_session *session)
{
	close(session->socket);
	buffer_clear(&session->in);
	buffer_clear(&session->out);
	session->server->sync = 0;
	session->socket = -1;
	played_ldap.open--;
}

static void accept_sessions(struct played_ldap_server *server)
{
	int socket;

	while (server->listening >= 0 && !server->is_silent &&
	       (socket = accept4(server->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >=
		       0) {
		size_t i = 0;

		while (i < PLAYED_LDAP_SESSIONS && played_ldap_sessions[i].socket >= 0)
			i++;
		assert_true(i < PLAYED_LDAP_SESSIONS);
		played_ldap_sessions[i] =
			(struct played_ldap_session){.socket = socket, .server = server};
		server->accepted++;
		played_ldap.open++;
	}
}

static bool flush_session(struct played_ldap_session *session)
{
	struct str out = buffer_view(&session->out);
	ssize_t sent =
		out.length == 0 ? 0 : send(session->socket, out.data, out.length, MSG_NOSIGNAL);

	if (sent > 0)
		buffer_consume(&session->out, (size_t)sent);
	return sent > 0;
}

static void turn_session(struct played_ldap_session *session)
{
	ssize_t count = recv(session->socket, buffer_reserve(&session->in, 65536), 65536, 0);
	unsigned char tag = 0;
	struct str rest, message = {0};

	if (count > 0)
		buffer_commit(&session->in, (size_t)count);
	rest = buffer_view(&session->in);
	while (!session->is_closing && !session->server->is_silent &&
	       played_ldap_take_element(&rest, &tag, &message))
		played_ldap_answer_request(session, message);
	buffer_consume(&session->in, session->in.length - rest.length);
	while (flush_session(session))
		;
	if (count == 0 || (count < 0 && errno != EAGAIN) || session->is_closing)
		end_session(session);
}

void played_ldap_turn(void)
{
	for (size_t i = 0; i < PLAYED_LDAP_SERVERS; i++)
		accept_sessions(&played_ldap.servers[i]);
	for (size_t i = 0; i < PLAYED_LDAP_SESSIONS; i++)
		if (played_ldap_sessions[i].socket >= 0)
			turn_session(&played_ldap_sessions[i]);
}

void played_ldap_close(size_t server)
{
	for (size_t i = 0; i < PLAYED_LDAP_SESSIONS; i++)
		if (played_ldap_sessions[i].socket >= 0 &&
		    played_ldap_sessions[i].server == &played_ldap.servers[server])
			end_session(&played_ldap_sessions[i]);
}

void played_ldap_stop(size_t server)
{
	close(played_ldap.servers[server].listening);
	played_ldap.servers[server].listening = -1;
}

static int listen_at(const struct sockaddr *address, socklen_t length)
{
	int listening = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(listening >= 0);
	assert_int_equal(setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)),
			 0);
	assert_int_equal(bind(listening, address, length), 0);
	assert_int_equal(listen(listening, 16), 0);
	return listening;
}

static void start_at_loopback(struct played_ldap_server *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof address;
	unsigned port = 0;

	(void)sscanf(server->url, "ldap://127.0.0.1:%u", &port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)port);
	server->listening = listen_at((struct sockaddr *)&address, sizeof address);
	assert_int_equal(getsockname(server->listening, (struct sockaddr *)&address, &length), 0);
	snprintf(server->url, sizeof server->url, "ldap://127.0.0.1:%u", ntohs(address.sin_port));
}

static void start_at_file(struct played_ldap_server *server, size_t number)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct buffer url CLEANUP(buffer_clear) = {0};

	snprintf(address.sun_path, sizeof address.sun_path, "%s/%zu", folder, number);
	(void)unlink(address.sun_path);
	server->listening = listen_at((struct sockaddr *)&address, sizeof address);
	buffer_append_string(&url, "ldapi://");
	for (const char *at = address.sun_path; *at != '\0'; at++)
		buffer_append_format(&url, *at == '/' ? "%%2F" : "%c", *at);
	snprintf(server->url, sizeof server->url, STR_FORMAT, STR_ARGUMENTS(buffer_view(&url)));
}

void played_ldap_start(size_t server)
{
	if (played_ldap.is_tcp)
		start_at_loopback(&played_ldap.servers[server]);
	else
		start_at_file(&played_ldap.servers[server], server);
}

void played_ldap_begin(bool is_tcp)
{
	memset(&played_ldap, 0, sizeof played_ldap);
	played_ldap.is_tcp = is_tcp;
	played_ldap.now_us = 1000000;
	assert_int_equal(scratch_make(folder), 0);
	for (size_t i = 0; i < PLAYED_LDAP_SESSIONS; i++)
		played_ldap_sessions[i].socket = -1;
	for (size_t i = 0; i < PLAYED_LDAP_SERVERS; i++) {
		played_ldap.servers[i].contexts[0] = "dc=test";
		played_ldap_start(i);
	}
}

void played_ldap_end(void)
{
	for (size_t i = 0; i < PLAYED_LDAP_SERVERS; i++) {
		played_ldap_close(i);
		if (played_ldap.servers[i].listening >= 0)
			played_ldap_stop(i);
	}
	assert_int_equal(scratch_remove(folder), 0);
	buffer_clear(&played_ldap.heard);
	buffer_clear(&played_ldap.options);
}

void played_ldap_fail_at(unsigned number, enum played_ldap_fault fault, int code)
{
	played_ldap.requests = 0;
	played_ldap.fails_at = number;
	played_ldap.fault = fault;
	played_ldap.fault_code = code;
}

bool played_ldap_has_failed(void)
{
	return played_ldap.fails_at > 0 && played_ldap.requests >= played_ldap.fails_at;
}
