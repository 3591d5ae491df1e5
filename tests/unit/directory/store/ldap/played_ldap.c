// SPDX-License-Identifier: ISC
#include "played_ldap.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "scratch.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static const char SYNC_STATE[] = "1.3.6.1.4.1.4203.1.9.1.2";
static const char SYNC_INFO[] = "1.3.6.1.4.1.4203.1.9.1.4";

struct session {
	int socket; /* -1: none */
	struct played_ldap_server *server;
	struct buffer in, out;
	bool is_closing;
};

struct played_ldap played_ldap;

static char folder[SCRATCH_SIZE]; /* of their sockets */
static struct session sessions[PLAYED_LDAP_SESSIONS];

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

/* --- BER --- */

static size_t begin_element(struct buffer *out, unsigned char tag)
{
	buffer_append(out, (const char[]){(char)tag, (char)0x84, 0, 0, 0, 0}, 6);
	return out->length;
}

static void end_element(struct buffer *out, size_t at)
{
	uint32_t length = htonl((uint32_t)(out->length - at));

	memcpy(buffer_data(out) + at - sizeof length, &length, sizeof length);
}

static void put_bytes(struct buffer *out, unsigned char tag, const void *data, size_t length)
{
	size_t at = begin_element(out, tag);

	buffer_append(out, data, length);
	end_element(out, at);
}

static void put_text(struct buffer *out, unsigned char tag, const char *text)
{
	put_bytes(out, tag, text, strlen(text));
}

static void put_number(struct buffer *out, unsigned char tag, int number)
{
	uint32_t bytes = htonl((uint32_t)number);

	put_bytes(out, tag, &bytes, sizeof bytes);
}

/* False: it is not whole. */
static bool take_element(struct str *rest, unsigned char *tag_out, struct str *content_out)
{
	size_t length, head = 2;

	if (rest->length < 2)
		return false;
	*tag_out = (unsigned char)rest->data[0];
	length = (unsigned char)rest->data[1];
	if (length > 0x80) {
		size_t count = length & 0x7f;

		head += count;
		length = 0;
		for (size_t i = 2; i < head && head <= rest->length; i++)
			length = length << 8 | (unsigned char)rest->data[i];
	}
	if (rest->length < head || rest->length - head < length)
		return false;
	*content_out = str_slice(rest->data + head, length);
	*rest = str_skip(*rest, head + length);
	return true;
}

static struct str next_content(struct str *rest)
{
	unsigned char tag = 0;
	struct str content = {0};

	assert_true(take_element(rest, &tag, &content));
	return content;
}

static int next_number(struct str *rest)
{
	struct str content = next_content(rest);
	int number = 0;

	for (size_t i = 0; i < content.length; i++)
		number = number << 8 | (unsigned char)content.data[i];
	return number;
}

/* --- answers --- */

struct message {
	size_t whole, body;
};

static struct message begin_answer(struct buffer *out, int number, unsigned char tag)
{
	struct message message = {.whole = begin_element(out, 0x30)};

	put_number(out, 0x02, number);
	message.body = begin_element(out, tag);
	return message;
}

static void end_answer(struct buffer *out, struct message message)
{
	end_element(out, message.body);
	end_element(out, message.whole);
}

static void send_result(struct buffer *out, int number, unsigned char tag, int code,
			const char *text)
{
	struct message message = begin_answer(out, number, tag);

	put_number(out, 0x0a, code);
	put_text(out, 0x04, "");
	put_text(out, 0x04, text);
	end_answer(out, message);
}

static void put_attribute(struct buffer *out, const char *name, const char *const *values)
{
	size_t attribute = begin_element(out, 0x30), set;

	put_text(out, 0x04, name);
	set = begin_element(out, 0x31);
	for (; *values != NULL; values++)
		put_text(out, 0x04, *values);
	end_element(out, set);
	end_element(out, attribute);
}

/* NAME NULL: an entry without attributes. */
static void put_entry_body(struct buffer *out, const char *dn, const char *name,
			   const char *const *values)
{
	size_t attributes;

	put_text(out, 0x04, dn);
	attributes = begin_element(out, 0x30);
	if (name != NULL)
		put_attribute(out, name, values);
	end_element(out, attributes);
}

static void send_entry(struct buffer *out, int number, const char *dn, const char *name,
		       const char *const *values)
{
	struct message message = begin_answer(out, number, 0x64);

	put_entry_body(out, dn, name, values);
	end_answer(out, message);
}

static void send_reference(struct buffer *out, int number)
{
	struct message message = begin_answer(out, number, 0x73);

	put_text(out, 0x04, "ldap://elsewhere/");
	end_answer(out, message);
}

static void send_intermediate(struct buffer *out, int number, const char *kind, struct str data)
{
	struct message message = begin_answer(out, number, 0x79);

	put_text(out, 0x80, kind);
	put_bytes(out, 0x81, data.data, data.length);
	end_answer(out, message);
}

/* --- requests --- */

static void hear(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void hear(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	buffer_append_format_list(&played_ldap.heard, format, arguments);
	va_end(arguments);
}

static void hear_filter(struct str filter)
{
	unsigned char tag = 0;
	struct str content = {0};

	while (take_element(&filter, &tag, &content)) {
		if (tag == 0xa1) {
			hear("(|");
			hear_filter(content);
			hear(")");
		} else if (tag == 0xa3) {
			struct str name = next_content(&content);
			struct str value = next_content(&content);

			hear("(" STR_FORMAT "=" STR_FORMAT ")", STR_ARGUMENTS(name),
			     STR_ARGUMENTS(value));
		} else if (tag == 0x87) {
			hear("(" STR_FORMAT "=*)", STR_ARGUMENTS(content));
		} else {
			hear("(%02x)", tag);
		}
	}
}

static void answer_bind(struct session *session, int number, struct str body)
{
	int version = next_number(&body);
	struct str dn = next_content(&body), password = next_content(&body);
	int code = session->server->bind_code;

	hear("bind %d \"" STR_FORMAT "\" \"" STR_FORMAT "\"\n", version, STR_ARGUMENTS(dn),
	     STR_ARGUMENTS(password));
	if (session->server->password != NULL && str_starts_with(dn, STR("uid=")) &&
	    !str_equal(password, str_from(session->server->password)))
		code = LDAP_INVALID_CREDENTIALS;
	send_result(&session->out, number, 0x61, code, code == 0 ? "" : "not you");
}

static void send_more(struct session *session, int number)
{
	if (!session->server->says_more)
		return;
	send_reference(&session->out, number);
	send_intermediate(&session->out, number, "1.2.3", STR("x"));
}

static void answer_csns(struct session *session, int number, const char *base)
{
	const struct played_ldap_server *server = session->server;
	const char *values[4] = {server->csn, NULL};

	if (server->csn_code == 0)
		send_entry(&session->out, number, base, server->csn != NULL ? "contextCSN" : NULL,
			   values);
	send_result(&session->out, number, 0x65, server->csn_code, "");
}

static void answer_found(struct session *session, int number)
{
	const char *const values[] = {"x", NULL};
	char dn[40];

	for (unsigned i = 0; i < session->server->found; i++) {
		snprintf(dn, sizeof dn, "uid=%u,dc=test", i + 1);
		send_entry(&session->out, number, dn, "uid", values);
	}
	send_result(&session->out, number, 0x65, session->server->search_code, "");
}

static void answer_search(struct session *session, int number, struct str body, bool is_sync)
{
	char base[100], first[40] = "";
	struct str text = next_content(&body), filter, names;
	int scope, size;

	snprintf(base, sizeof base, STR_FORMAT, STR_ARGUMENTS(text));
	scope = next_number(&body);
	(void)next_number(&body);
	size = next_number(&body);
	hear("search \"%s\" %d, %d at most, time %d, ", base, scope, size, next_number(&body));
	hear("types %d ", next_number(&body) != 0);
	filter = body;
	(void)next_content(&body);
	filter.length -= body.length;
	hear_filter(filter);
	names = next_content(&body);
	while (names.length > 0) {
		struct str name = next_content(&names);

		if (*first == '\0')
			snprintf(first, sizeof first, STR_FORMAT, STR_ARGUMENTS(name));
		if (!is_sync)
			hear(" " STR_FORMAT, STR_ARGUMENTS(name));
	}
	hear("%s\n", is_sync ? " sync" : "");
	if (is_sync) {
		session->server->sync = number;
		return;
	}
	if (session->server->answers_no_probe && session->server->sync != 0)
		return;
	send_more(session, number);
	if (strcmp(first, "namingContexts") == 0) {
		send_entry(&session->out, number, "", first, session->server->contexts);
		send_result(&session->out, number, 0x65, 0, "");
	} else if (strcmp(first, "contextCSN") == 0) {
		answer_csns(session, number, base);
	} else {
		answer_found(session, number);
	}
}

static bool does_request_fail(struct session *session, int number, unsigned char tag)
{
	if (++played_ldap.requests != played_ldap.fails_at)
		return false;
	switch (played_ldap.fault) {
	case PLAYED_LDAP_REFUSES:
		send_result(&session->out, number,
			    tag == 0x60   ? 0x61
			    : tag == 0x77 ? 0x78
					  : 0x65,
			    played_ldap.fault_code, "it is refused");
		break;
	case PLAYED_LDAP_CLOSES:
		session->is_closing = true;
		break;
	case PLAYED_LDAP_IS_SILENT:
		session->server->is_silent = true;
		break;
	case PLAYED_LDAP_BABBLES:
		buffer_append_string(&session->out, "\x30\x05what is this?");
		break;
	default:
		return false;
	}
	return true;
}

static void answer_request(struct session *session, struct str message)
{
	int number = next_number(&message);
	unsigned char tag = 0;
	struct str body = {0};

	assert_true(take_element(&message, &tag, &body));
	if (tag == 0x42) {
		hear("unbind\n");
		session->is_closing = true;
	} else if (tag == 0x50) {
		hear("abandon\n");
	} else if (does_request_fail(session, number, tag)) {
		hear("fault\n");
	} else if (tag == 0x60) {
		answer_bind(session, number, body);
	} else if (tag == 0x63) {
		answer_search(session, number, body, message.length > 0);
	} else if (tag == 0x77) {
		body = next_content(&body);
		hear("extended " STR_FORMAT "\n", STR_ARGUMENTS(body));
		send_result(&session->out, number, 0x78, session->server->tls_code, "no TLS");
	} else {
		fail_msg("a request %02x", tag);
	}
}

/* --- sockets --- */

static void end_session(struct session *session)
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

		while (i < PLAYED_LDAP_SESSIONS && sessions[i].socket >= 0)
			i++;
		assert_true(i < PLAYED_LDAP_SESSIONS);
		sessions[i] = (struct session){.socket = socket, .server = server};
		server->accepted++;
		played_ldap.open++;
	}
}

static bool flush_session(struct session *session)
{
	struct str out = buffer_view(&session->out);
	ssize_t sent =
		out.length == 0 ? 0 : send(session->socket, out.data, out.length, MSG_NOSIGNAL);

	if (sent > 0)
		buffer_consume(&session->out, (size_t)sent);
	return sent > 0;
}

static void turn_session(struct session *session)
{
	ssize_t count = recv(session->socket, buffer_reserve(&session->in, 65536), 65536, 0);
	unsigned char tag = 0;
	struct str rest, message = {0};

	if (count > 0)
		buffer_commit(&session->in, (size_t)count);
	rest = buffer_view(&session->in);
	while (!session->is_closing && !session->server->is_silent &&
	       take_element(&rest, &tag, &message))
		answer_request(session, message);
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
		if (sessions[i].socket >= 0)
			turn_session(&sessions[i]);
}

void played_ldap_close(size_t server)
{
	for (size_t i = 0; i < PLAYED_LDAP_SESSIONS; i++)
		if (sessions[i].socket >= 0 && sessions[i].server == &played_ldap.servers[server])
			end_session(&sessions[i]);
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
		sessions[i].socket = -1;
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

/* --- messages of the search that does not end --- */

static struct buffer *output_of(size_t server)
{
	for (size_t i = 0; i < PLAYED_LDAP_SESSIONS; i++)
		if (sessions[i].socket >= 0 && sessions[i].server == &played_ldap.servers[server] &&
		    sessions[i].server->sync != 0)
			return &sessions[i].out;
	fail_msg("nobody follows server %zu", server);
	return NULL;
}

static void put_uuid(struct buffer *out, uint8_t uuid)
{
	uint8_t bytes[SYNC_UUID_SIZE] = {0};

	bytes[SYNC_UUID_SIZE - 1] = uuid;
	put_bytes(out, 0x04, bytes, sizeof bytes);
}

static void put_sync_state(struct buffer *out, enum sync_state state, uint8_t uuid,
			   const char *cookie)
{
	size_t controls = begin_element(out, 0xa0), control = begin_element(out, 0x30), value;
	size_t sequence;

	put_text(out, 0x04, SYNC_STATE);
	value = begin_element(out, 0x04);
	sequence = begin_element(out, 0x30);
	put_number(out, 0x0a, state);
	put_uuid(out, uuid);
	if (cookie != NULL)
		put_text(out, 0x04, cookie);
	end_element(out, sequence);
	end_element(out, value);
	end_element(out, control);
	end_element(out, controls);
}

void played_ldap_entry(size_t server, enum sync_state state, uint8_t uuid, const char *dn,
		       const char *attribute, const char *value, const char *cookie)
{
	struct buffer *out = output_of(server);
	struct message message = begin_answer(out, played_ldap.servers[server].sync, 0x64);

	put_entry_body(out, dn, attribute, (const char *const[]){value, NULL});
	end_element(out, message.body);
	put_sync_state(out, state, uuid, cookie);
	end_element(out, message.whole);
}

void played_ldap_plain_entry(size_t server, const char *dn)
{
	send_entry(output_of(server), played_ldap.servers[server].sync, dn, NULL, NULL);
}

void played_ldap_intermediate(size_t server, const char *kind, struct str data)
{
	send_intermediate(output_of(server), played_ldap.servers[server].sync, kind, data);
}

void played_ldap_refreshed(size_t server, enum sync_info info, bool is_done, const char *cookie)
{
	struct buffer data CLEANUP(buffer_clear) = {0};
	size_t at;

	if (info == SYNC_NEW_COOKIE) {
		put_text(&data, 0x80, cookie);
	} else {
		at = begin_element(&data, info == SYNC_REFRESH_DELETE ? 0xa1 : 0xa2);
		if (cookie != NULL)
			put_text(&data, 0x04, cookie);
		put_bytes(&data, 0x01, is_done ? "\xff" : "\0", 1);
		end_element(&data, at);
	}
	played_ldap_intermediate(server, SYNC_INFO, buffer_view(&data));
}

void played_ldap_uuids(size_t server, bool are_deleted, const uint8_t *uuids, size_t count)
{
	struct buffer data CLEANUP(buffer_clear) = {0};
	size_t at = begin_element(&data, 0xa3), set;

	put_bytes(&data, 0x01, are_deleted ? "\xff" : "\0", 1);
	set = begin_element(&data, 0x31);
	for (size_t i = 0; i < count; i++)
		put_uuid(&data, uuids[i]);
	end_element(&data, set);
	end_element(&data, at);
	played_ldap_intermediate(server, SYNC_INFO, buffer_view(&data));
}

void played_ldap_reference(size_t server)
{
	send_reference(output_of(server), played_ldap.servers[server].sync);
}

void played_ldap_sync_ends(size_t server, int code, const char *text)
{
	send_result(output_of(server), played_ldap.servers[server].sync, 0x65, code, text);
}

void played_ldap_unsolicited(size_t server)
{
	send_intermediate(output_of(server), 0, "1.2.3", STR("hear"));
}
