// SPDX-License-Identifier: ISC
/* Connections by libcurl: it connects, speaks TLS and logs in, then bytes pass through it. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/mailstore/imap/internal.h"
#include "mail/text/text.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	READ_SIZE = 16 << 10,
	LITERAL_DIGITS = 10,
	GREETING_MAX = 64 << 10, /* bytes of all that the server says until the login is done */
};

int imap_connection_break(struct imap_connection *connection, int error, const char *format, ...)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer safe CLEANUP(buffer_clear) = {0};
	va_list arguments;

	connection->is_broken = true;
	va_start(arguments, format);
	buffer_append_format_list(&text, format, arguments);
	va_end(arguments);
	mail_text_append(&safe, buffer_view(&text), MAIL_TEXT_8BIT);
	snprintf(connection->problem, sizeof connection->problem, STR_FORMAT,
		 STR_ARGUMENTS(buffer_view(&safe)));
	return error;
}

/* ---- making it ---- */

/* The library passes each line that the server says before the login is done. */
static size_t hear_login_line(char *data, size_t size, size_t count, void *context)
{
	struct imap_connection *connection = context;
	size_t length = size * count;

	if (length > connection->left)
		return 0; /* ends it */
	connection->left -= length;
	buffer_reset(&connection->words);
	buffer_append(&connection->words, data, length < READ_SIZE ? length : READ_SIZE);
	return length;
}

static void append_url(const struct imap_settings *settings, struct buffer *out)
{
	bool is_v6 = strchr(settings->host, ':') != NULL;

	buffer_append_format(
		out, "%s://%s%s%s:%u/", settings->tls == MAILSTORE_IMAP_IMPLICIT ? "imaps" : "imap",
		is_v6 ? "[" : "", settings->host, is_v6 ? "]" : "", (unsigned)settings->port);
	buffer_append_byte(out, '\0');
}

static void set_imap_tls(CURL *easy, const struct imap_settings *settings)
{
	if (settings->tls == MAILSTORE_IMAP_PLAIN)
		return;
	(void)curl_easy_setopt(easy, CURLOPT_USE_SSL, (long)CURLUSESSL_ALL);
	(void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	(void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	if (settings->authorities[0] != '\0') {
		(void)curl_easy_setopt(easy, CURLOPT_CAINFO, settings->authorities);
		(void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
}

static void set_imap_limits(CURL *easy, const struct imap_settings *settings)
{
	long milliseconds = (long)(settings->timeout_us * 1000 / SECOND_US);
	long seconds = (milliseconds + 999) / 1000;

	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds);
	(void)curl_easy_setopt(easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, seconds);
}

/* False: the library has refused a setting that is needed. */
static bool set_up_imap_connection(struct imap_connection *connection, struct curl_slist *resolve)
{
	const struct imap_settings *settings = connection->settings;
	struct buffer url CLEANUP(buffer_clear) = {0};
	CURL *easy = connection->easy;
	bool is_set;

	append_url(settings, &url);
	is_set = curl_easy_setopt(easy, CURLOPT_URL, buffer_data(&url)) == CURLE_OK &&
		 curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "imap,imaps") == CURLE_OK &&
		 curl_easy_setopt(easy, CURLOPT_USERNAME, connection->login) == CURLE_OK &&
		 curl_easy_setopt(easy, CURLOPT_PASSWORD, settings->password) == CURLE_OK &&
		 /* what RFC 3501 demands of servers; other mechanisms would look for tickets of
		  * this machine's user, and know no master's login */
		 curl_easy_setopt(easy, CURLOPT_LOGIN_OPTIONS, "AUTH=PLAIN") == CURLE_OK &&
		 curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK;
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* whatever the environment says */
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, connection->curl_error);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, hear_login_line);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, connection);
	if (resolve != NULL)
		(void)curl_easy_setopt(easy, CURLOPT_RESOLVE, resolve);
	set_imap_limits(easy, settings);
	set_imap_tls(easy, settings);
	return is_set;
}

static struct curl_slist *resolve_list(const struct imap_settings *settings)
{
	struct buffer line CLEANUP(buffer_clear) = {0};
	bool is_v6 = strchr(settings->address, ':') != NULL;

	if (settings->address[0] == '\0' || strchr(settings->host, ':') != NULL)
		return NULL;
	buffer_append_format(&line, "%s:%u:%s%s%s", settings->host, (unsigned)settings->port,
			     is_v6 ? "[" : "", settings->address, is_v6 ? "]" : "");
	buffer_append_byte(&line, '\0');
	return curl_slist_append(NULL, buffer_data(&line));
}

static int error_of_curl_code(CURLcode code)
{
	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_LOGIN_DENIED:
		return -EACCES;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_USE_SSL_FAILED:
		return -EKEYREJECTED;
	case CURLE_WRITE_ERROR: /* hear_login_line() has ended it */
		return -EMSGSIZE;
	case CURLE_WEIRD_SERVER_REPLY:
		return -EPROTO;
	default:
		return -ENOTCONN;
	}
}

/* A server may say again what it refuses. */
static bool has_password(const struct imap_connection *connection, struct str words)
{
	const char *password = connection->settings->password;

	return password[0] != '\0' &&
	       memmem(words.data, words.length, password, strlen(password)) != NULL;
}

/* What the server said last tells more than the library does, if that is a refusal. */
static int refuse_imap_login(struct imap_connection *connection, CURLcode code)
{
	const char *error = connection->curl_error[0] != '\0' ? connection->curl_error
							      : curl_easy_strerror(code);
	struct str words = str_trim(buffer_view(&connection->words));

	while (words.length > 0 &&
	       (words.data[words.length - 1] == '\n' || words.data[words.length - 1] == '\r'))
		words.length--;
	if (words.length > 160)
		words.length = 160;
	if ((code != CURLE_LOGIN_DENIED && code != CURLE_WEIRD_SERVER_REPLY) ||
	    has_password(connection, words))
		words.length = 0;
	return imap_connection_break(connection, error_of_curl_code(code), "%s%s" STR_FORMAT, error,
				     words.length > 0 ? ": " : "", STR_ARGUMENTS(words));
}

int imap_connection_open(const struct imap_settings *settings, const char *login,
			 struct imap_connection **out)
{
	struct imap_connection *connection = memory_alloc_zero(1, sizeof *connection);
	struct curl_slist *resolve = resolve_list(settings);
	curl_socket_t socket = CURL_SOCKET_BAD;
	CURLcode code = CURLE_FAILED_INIT;

	*out = connection;
	connection->settings = settings;
	connection->login = memory_copy_string(login);
	connection->socket = -1;
	connection->left = GREETING_MAX;
	connection->easy = curl_easy_init();
	if (connection->easy != NULL && set_up_imap_connection(connection, resolve))
		code = curl_easy_perform(connection->easy);
	if (code == CURLE_OK)
		code = curl_easy_getinfo(connection->easy, CURLINFO_ACTIVESOCKET, &socket);
	if (connection->easy != NULL)
		(void)curl_easy_setopt(connection->easy, CURLOPT_RESOLVE, NULL);
	curl_slist_free_all(resolve);
	if (code != CURLE_OK)
		return refuse_imap_login(connection, code);
	connection->socket = (int)socket;
	return 0;
}

void imap_connection_close(struct imap_connection *connection)
{
	if (connection == NULL)
		return;
	/* the library says LOGOUT and waits for the answer: a server that is not to be talked to
	 * any more must not hold it up */
	if (connection->is_broken && connection->socket >= 0)
		os_socket_shut(connection->socket);
	curl_easy_cleanup(connection->easy);
	buffer_clear(&connection->in);
	buffer_clear(&connection->text);
	buffer_clear(&connection->literal);
	buffer_clear(&connection->words);
	free(connection->login);
	free(connection);
}

/* ---- bytes ---- */

void imap_connection_allow(struct imap_connection *connection, uint64_t size)
{
	connection->deadline_us = os_clock_monotonic_us() + connection->settings->timeout_us +
				  (int64_t)(size / IMAP_SLOWEST) * SECOND_US;
	connection->left = IMAP_ANSWERS_MAX + (size_t)size;
}

static int wait_for_imap_socket(struct imap_connection *connection, bool for_writing)
{
	int64_t left_us = connection->deadline_us - os_clock_monotonic_us();
	int result =
		left_us > 0 ? os_socket_wait(connection->socket, for_writing, left_us) : -ETIMEDOUT;

	if (result == -ETIMEDOUT)
		return imap_connection_break(connection, -ETIMEDOUT,
					     "the server did not answer in time");
	if (result < 0)
		return imap_connection_break(connection, -ENOTCONN, "%s", strerror(-result));
	return 0;
}

static int lose_imap_connection(struct imap_connection *connection, CURLcode code)
{
	return imap_connection_break(connection, -ENOTCONN, "the connection was lost: %s",
				     curl_easy_strerror(code));
}

int imap_connection_send(struct imap_connection *connection, struct str bytes)
{
	if (connection->is_broken)
		return -ENOTCONN;
	while (bytes.length > 0) {
		size_t sent = 0;
		CURLcode code = curl_easy_send(connection->easy, bytes.data, bytes.length, &sent);

		if (code == CURLE_AGAIN) {
			int result = wait_for_imap_socket(connection, true);

			if (result < 0)
				return result;
		} else if (code != CURLE_OK) {
			return lose_imap_connection(connection, code);
		}
		bytes = str_skip(bytes, sent);
	}
	return 0;
}

/* Reads at least one more byte. */
static int fill_imap_input(struct imap_connection *connection)
{
	size_t most = connection->left < READ_SIZE ? connection->left : READ_SIZE;
	size_t count = 0;
	CURLcode code;

	if (most == 0)
		return imap_connection_break(connection, -EMSGSIZE,
					     "the server's answer has no end");
	for (;;) {
		int result;

		code = curl_easy_recv(connection->easy, buffer_reserve(&connection->in, most), most,
				      &count);
		if (code != CURLE_AGAIN)
			break;
		result = wait_for_imap_socket(connection, false);
		if (result < 0)
			return result;
	}
	if (code != CURLE_OK)
		return lose_imap_connection(connection, code);
	if (count == 0)
		return imap_connection_break(connection, -ENOTCONN,
					     "the server has closed the connection");
	buffer_commit(&connection->in, count);
	connection->left -= count;
	return 0;
}

/* ---- responses ---- */

/* Moves a line without its end from what was read to the response's text. */
static int read_imap_line(struct imap_connection *connection)
{
	size_t searched = 0;

	for (;;) {
		struct str in = buffer_view(&connection->in);
		ptrdiff_t end = str_find(str_skip(in, searched), '\n');
		size_t length;
		int result;

		if (end >= 0) {
			length = searched + (size_t)end;
			buffer_append(&connection->text, in.data,
				      length > 0 && in.data[length - 1] == '\r' ? length - 1
										: length);
			buffer_consume(&connection->in, length + 1);
			return 0;
		}
		searched = in.length;
		if (searched + connection->text.length > IMAP_LINE_MAX)
			return imap_connection_break(connection, -EMSGSIZE,
						     "the server's line is too long");
		result = fill_imap_input(connection);
		if (result < 0)
			return result;
	}
}

/* Whether TEXT announces a literal by its last "{SIZE}", and where that begins. */
static bool has_literal(struct str text, size_t *begin_out, uint64_t *size_out)
{
	ptrdiff_t open = str_find_last(text, '{');
	struct str digits;

	if (open < 0 || text.data[text.length - 1] != '}')
		return false;
	digits = str_skip(text, (size_t)open + 1);
	digits.length--;
	if (digits.length > 0 && digits.data[digits.length - 1] == '+')
		digits.length--;
	*begin_out = (size_t)open;
	return digits.length <= LITERAL_DIGITS && str_to_u64(digits, size_out);
}

static int read_literal(struct imap_connection *connection, uint64_t size)
{
	struct buffer *literal = &connection->literal;

	buffer_reset(literal);
	if (size > connection->left + connection->in.length)
		return imap_connection_break(connection, -EMSGSIZE,
					     "the server sends more than it was asked for");
	for (;;) {
		struct str in = buffer_view(&connection->in);
		size_t missing = (size_t)size - literal->length;
		int result;

		buffer_append(literal, in.data, in.length < missing ? in.length : missing);
		buffer_consume(&connection->in, missing);
		if (literal->length == size)
			return 0;
		result = fill_imap_input(connection);
		if (result < 0)
			return result;
	}
}

int imap_connection_read(struct imap_connection *connection, struct imap_response *out)
{
	bool has_any = false;
	size_t begin;
	uint64_t size;

	if (connection->is_broken)
		return -ENOTCONN;
	buffer_reset(&connection->text);
	buffer_reset(&connection->literal);
	for (;;) {
		int result = read_imap_line(connection);

		if (result < 0)
			return result;
		if (!has_literal(buffer_view(&connection->text), &begin, &size))
			break;
		buffer_truncate(&connection->text, begin);
		buffer_append_string(&connection->text, "{}");
		has_any = true;
		result = read_literal(connection, size);
		if (result < 0)
			return result;
	}
	*out = (struct imap_response){.text = buffer_view(&connection->text)};
	if (has_any)
		out->literal =
			str_slice(buffer_data(&connection->literal), connection->literal.length);
	return 0;
}
