// SPDX-License-Identifier: ISC
#include "imap_server.h"
#include "base/panic.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo

struct imap_server imap_server;
#define server imap_server

struct session {
	char user[40];
	struct buffer in, out;
	struct imap_server_box *box;
	bool is_writable; /* SELECT, not EXAMINE */
	bool is_closed, is_lost, hangs;
	char tag[20];
	/* an APPEND that waits for its message */
	struct imap_server_box *appends_to;
	struct imap_server_message appended;
	size_t literal;
	size_t (*hear)(char *data, size_t size, size_t count, void *context);
	void *context;
};

void imap_server_begin(void)
{
	server = (struct imap_server){.separator = '/',
				      .has_uidplus = true,
				      .says_uids = true,
				      .chunk = 1 << 20,
				      .login_words = ""};
}

void imap_server_end(void)
{
	for (size_t i = 0; i < server.box_count; i++) {
		for (size_t k = 0; k < server.boxes[i].count; k++)
			free(server.boxes[i].messages[k].text);
		free(server.boxes[i].messages);
	}
	buffer_clear(&server.dialogue);
	server.box_count = 0;
}

struct imap_server_box *imap_server_find(const char *user, const char *name)
{
	for (size_t i = 0; i < server.box_count; i++)
		if (strcmp(server.boxes[i].user, user) == 0 &&
		    strcmp(server.boxes[i].name, name) == 0)
			return &server.boxes[i];
	return NULL;
}

struct imap_server_box *imap_server_make(const char *user, const char *name)
{
	struct imap_server_box *box = &server.boxes[server.box_count++];

	if (server.box_count > IMAP_SERVER_BOXES)
		panic("too many mailboxes");
	*box = (struct imap_server_box){.validity = 70 + server.box_count, .next_uid = 3};
	snprintf(box->user, sizeof box->user, "%s", user);
	snprintf(box->name, sizeof box->name, "%s", name);
	box->messages = calloc(IMAP_SERVER_MESSAGES, sizeof *box->messages);
	return box;
}

static struct imap_server_message *add_message(struct imap_server_box *box,
					       const struct imap_server_message *message)
{
	struct imap_server_message *added = &box->messages[box->count++];

	if (box->count > IMAP_SERVER_MESSAGES)
		panic("too many messages");
	*added = *message;
	added->uid = box->next_uid;
	box->next_uid += 2;
	return added;
}

void imap_server_put(struct imap_server_box *box, const char *text)
{
	struct imap_server_message message = {.text = memory_alloc_zero(1, 2 * strlen(text) + 1)};

	for (; *text != '\0'; text++) {
		if (*text == '\n')
			message.text[message.length++] = '\r';
		message.text[message.length++] = *text;
	}
	(void)add_message(box, &message);
}

/* ---- answers ---- */

static void say(struct session *session, const char *format, ...) PRINTF_LIKE(2, 3);
static void say(struct session *session, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	buffer_append_format_list(&session->out, format, list);
	va_end(list);
	buffer_append_string(&session->out, "\r\n");
}

static void answer(struct session *session, const char *text)
{
	if (server.extra != NULL)
		say(session, "%s", server.extra);
	say(session, "%s %s", session->tag, text);
}

/* The quoted string that TEXT begins with; the rest follows it. */
static const char *take_quoted(const char *text, char *out, size_t size)
{
	size_t length = 0;

	if (*text++ != '"')
		panic("no string: %s", text - 1);
	for (; *text != '"'; text++) {
		if (*text == '\\')
			text++;
		if (*text == '\0' || length + 1 >= size)
			panic("a string without an end");
		out[length++] = *text;
	}
	out[length] = '\0';
	return text + 1;
}

static struct imap_server_box *box_named(const struct session *session, const char *quoted)
{
	char name[300];

	(void)take_quoted(quoted, name, sizeof name);
	return imap_server_find(session->user, name);
}

static void on_capability(struct session *session, const char *rest)
{
	(void)rest;
	say(session, "* CAPABILITY IMAP4rev1%s%s%s", server.has_uidplus ? " UIDPLUS" : "",
	    server.has_quota ? " QUOTA" : "", server.namespace != NULL ? " NAMESPACE" : "");
	answer(session, "OK done");
}

static void on_list(struct session *session, const char *rest)
{
	if (strcmp(rest, "\"\" \"\"") == 0 && server.separator == '\0')
		say(session, "* LIST (\\Noselect) NIL \"\"");
	else if (strcmp(rest, "\"\" \"\"") == 0)
		say(session, "* LIST (\\Noselect) \"%s%c\" \"\"",
		    server.separator == '\\' ? "\\" : "", server.separator);
	else if (box_named(session, rest + 3) != NULL)
		say(session, "* LIST () NIL %s", rest + 3);
	answer(session, "OK done");
}

static void on_namespace(struct session *session, const char *rest)
{
	(void)rest;
	say(session, "* NAMESPACE %s", server.namespace);
	answer(session, "OK done");
}

static void on_create(struct session *session, const char *rest)
{
	char name[300];

	if (server.refuses_create != NULL) {
		answer(session, server.refuses_create);
		return;
	}
	(void)take_quoted(rest, name, sizeof name);
	(void)imap_server_make(session->user, name);
	answer(session, "OK made");
}

static void open_box(struct session *session, const char *rest, bool is_writable)
{
	session->box = box_named(session, rest);
	session->is_writable = is_writable;
	if (server.refuses_select != NULL) {
		answer(session, server.refuses_select);
		return;
	}
	if (session->box == NULL) {
		answer(session, "NO no such mailbox");
		return;
	}
	say(session, "* %zu EXISTS", session->box->count);
	say(session, "* OK [UIDVALIDITY %" PRIu64 "] it is", session->box->validity);
	answer(session, "OK opened");
}

static void on_select(struct session *session, const char *rest)
{
	open_box(session, rest, true);
}

static void on_examine(struct session *session, const char *rest)
{
	open_box(session, rest, false);
}

static void on_quota(struct session *session, const char *rest)
{
	(void)rest;
	if (server.quota_line != NULL)
		say(session, "* QUOTA \"user (any)\" %s", server.quota_line);
	answer(session, "OK done");
}

/* ---- messages ---- */

static bool has_text(const struct imap_server_message *message, const char *text)
{
	return memmem(message->text, message->length, text, strlen(text)) != NULL;
}

static void on_uid_search(struct session *session, const char *rest)
{
	char id[300] = "";
	const char *separator = server.is_extended ? "" : " ";
	uint64_t uid = 0;

	if (strncmp(rest, "HEADER MESSAGE-ID ", 18) == 0)
		(void)take_quoted(rest + 18, id, sizeof id);
	else
		uid = strtoull(rest + 4, NULL, 10);
	buffer_append_format(&session->out,
			     server.is_extended ? "* ESEARCH (TAG \"%s\") UID ALL " : "* SEARCH",
			     session->tag);
	for (size_t i = session->box->count; i-- > 0;) {
		const struct imap_server_message *message = &session->box->messages[i];

		if (uid != 0 ? message->uid != uid : !has_text(message, id))
			continue;
		for (unsigned times = server.says_twice ? 2 : 1; times > 0; times--) {
			buffer_append_format(&session->out, "%s%" PRIu64, separator, message->uid);
			separator = server.is_extended ? "," : " ";
		}
	}
	say(session, "%s", "");
	answer(session, "OK done");
}

static void say_message(struct session *session, size_t i, const char *what)
{
	const struct imap_server_message *message = &session->box->messages[i];
	const char *id = strcasestr(message->text, "message-id:");
	uint64_t size = server.says_size != 0 ? server.says_size : message->length;
	int length = id != NULL ? (int)strcspn(id, "\n") + 1 : 0;

	if (strstr(what, "RFC822.SIZE") != NULL) {
		say(session, "* %zu FETCH (UID %" PRIu64 " RFC822.SIZE %" PRIu64 ")", i + 1,
		    message->uid, size);
	} else if (strstr(what, "HEADER") != NULL) {
		say(session,
		    "* %zu FETCH (UID %" PRIu64
		    " BODY[HEADER.FIELDS (MESSAGE-ID)] {%d}\r\n%.*s\r\n)",
		    i + 1, message->uid, length + 2, length, id != NULL ? id : "");
	} else {
		buffer_append_format(&session->out, "* %zu FETCH (UID %" PRIu64 " BODY[] {%zu}\r\n",
				     i + 1, message->uid, message->length);
		buffer_append(&session->out, message->text, message->length);
		say(session, " FLAGS ())");
	}
}

static void on_uid_fetch(struct session *session, const char *rest)
{
	bool is_all = strncmp(rest, "1:* ", 4) == 0;
	uint64_t uid = strtoull(rest, NULL, 10);

	for (size_t i = 0; i < session->box->count; i++)
		if (is_all || session->box->messages[i].uid == uid)
			say_message(session, i, rest);
	answer(session, "OK done");
}

static void on_uid_store(struct session *session, const char *rest)
{
	uint64_t uid = strtoull(rest, NULL, 10);

	if (!session->is_writable)
		panic("it was only examined");
	for (size_t i = 0; i < session->box->count; i++)
		if (session->box->messages[i].uid == uid)
			session->box->messages[i].is_deleted = true;
	answer(session, "OK done");
}

static void on_uid_expunge(struct session *session, const char *rest)
{
	struct imap_server_box *box = session->box;
	uint64_t uid = strtoull(rest, NULL, 10);

	for (size_t i = 0; i < box->count; i++) {
		if (box->messages[i].uid != uid || !box->messages[i].is_deleted)
			continue;
		free(box->messages[i].text);
		box->count--;
		memmove(&box->messages[i], &box->messages[i + 1],
			(box->count - i) * sizeof box->messages[0]);
	}
	answer(session, "OK done");
}

static void on_append(struct session *session, const char *rest)
{
	struct imap_server_message *appended = &session->appended;

	session->appends_to = box_named(session, rest);
	if (session->appends_to == NULL) {
		answer(session, "NO [TRYCREATE] no such mailbox");
		return;
	}
	if (server.refuses_append != NULL && !server.refuses_after_literal) {
		answer(session, server.refuses_append);
		return;
	}
	rest = strchr(rest, '(') + 1;
	*appended = (struct imap_server_message){0};
	snprintf(appended->flags, sizeof appended->flags, "%.*s", (int)strcspn(rest, ")"), rest);
	rest = take_quoted(strchr(rest, '"'), appended->date, sizeof appended->date);
	session->literal = strtoull(rest + 2, NULL, 10) + 2;
	say(session, "+ go on");
}

static void take_literal(struct session *session, struct str bytes)
{
	char text[100] = "OK stored";

	session->literal = 0;
	if (server.refuses_append != NULL) {
		answer(session, server.refuses_append);
		return;
	}
	session->appended.text = memory_copy_string("");
	session->appended.text = realloc(session->appended.text, bytes.length);
	memcpy(session->appended.text, bytes.data, bytes.length);
	session->appended.length = bytes.length - 2;
	if (memcmp(bytes.data + bytes.length - 2, "\r\n", 2) != 0)
		panic("no CRLF after a literal");
	session->appended.text[bytes.length - 2] = '\0';
	if (server.says_uids)
		snprintf(text, sizeof text, "OK [APPENDUID %" PRIu64 " %" PRIu64 "] stored",
			 session->appends_to->validity,
			 add_message(session->appends_to, &session->appended)->uid);
	else
		(void)add_message(session->appends_to, &session->appended);
	answer(session, text);
}

static void run_command(struct session *session, char *line)
{
	static const struct {
		const char *verb;
		void (*call)(struct session *session, const char *rest);
	} verbs[] = {{"CAPABILITY", on_capability},    {"LIST ", on_list},
		     {"NAMESPACE", on_namespace},      {"CREATE ", on_create},
		     {"SELECT ", on_select},           {"EXAMINE ", on_examine},
		     {"GETQUOTAROOT ", on_quota},      {"UID SEARCH ", on_uid_search},
		     {"UID FETCH ", on_uid_fetch},     {"UID STORE ", on_uid_store},
		     {"UID EXPUNGE ", on_uid_expunge}, {"APPEND ", on_append}};
	char *rest = strchr(line, ' ');

	snprintf(session->tag, sizeof session->tag, "%.*s", (int)(rest - line), line);
	buffer_append_format(&server.dialogue, "%s\n", rest + 1);
	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		if (strncmp(rest + 1, verbs[i].verb, strlen(verbs[i].verb)) == 0) {
			verbs[i].call(session, rest + 1 + strlen(verbs[i].verb));
			return;
		}
	panic("unknown: %s", line);
}

static void serve(struct session *session)
{
	for (;;) {
		struct str in = buffer_view(&session->in);
		ptrdiff_t end = str_find(in, '\n');
		char line[2000];

		if (session->literal > 0 && in.length < session->literal)
			return;
		if (session->literal > 0) {
			size_t length = session->literal;

			take_literal(session, str_slice(in.data, length));
			buffer_consume(&session->in, length);
			continue;
		}
		if (end < 0)
			return;
		if (end < 1 || in.data[end - 1] != '\r' || (size_t)end >= sizeof line)
			panic("no line");
		memcpy(line, in.data, (size_t)end - 1);
		line[end - 1] = '\0';
		buffer_consume(&session->in, (size_t)end + 1);
		run_command(session, line);
	}
}

/* ---- libcurl ---- */

CURLcode curl_global_init(long flags)
{
	(void)flags;
	return CURLE_OK;
}

void curl_global_cleanup(void)
{
}

CURL *curl_easy_init(void)
{
	server.open++;
	return memory_alloc_zero(1, sizeof(struct session));
}

void curl_easy_cleanup(CURL *easy)
{
	struct session *session = easy;

	if (session == NULL)
		return;
	server.open--;
	buffer_clear(&session->in);
	buffer_clear(&session->out);
	free(session);
}

static void note_option(struct session *session, CURLoption option, void *value)
{
	const struct {
		CURLoption option;
		char *to;
		size_t size;
	} texts[] = {{CURLOPT_URL, server.url, sizeof server.url},
		     {CURLOPT_USERNAME, server.user, sizeof server.user},
		     {CURLOPT_USERNAME, session->user, sizeof session->user},
		     {CURLOPT_PASSWORD, server.password, sizeof server.password},
		     {CURLOPT_CAINFO, server.authorities, sizeof server.authorities}};
	const struct {
		CURLoption option;
		long *to;
	} numbers[] = {{CURLOPT_USE_SSL, &server.tls},
		       {CURLOPT_SSL_VERIFYPEER, &server.verifies[0]},
		       {CURLOPT_SSL_VERIFYHOST, &server.verifies[1]},
		       {CURLOPT_SSLVERSION, &server.version},
		       {CURLOPT_CONNECTTIMEOUT_MS, &server.times[0]},
		       {CURLOPT_TIMEOUT_MS, &server.times[1]},
		       {CURLOPT_SERVER_RESPONSE_TIMEOUT, &server.times[2]}};

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (texts[i].option == option)
			snprintf(texts[i].to, texts[i].size, "%s", (char *)value);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (numbers[i].option == option)
			*numbers[i].to = (long)(intptr_t)value;
	if (option == CURLOPT_RESOLVE && value != NULL)
		snprintf(server.resolve, sizeof server.resolve, "%s",
			 ((struct curl_slist *)value)->data);
	if (option == CURLOPT_HEADERDATA)
		session->context = value;
}

CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
	va_list list;
	void *value;

	va_start(list, option);
	value = va_arg(list, void *);
	va_end(list);
	if (option == CURLOPT_HEADERFUNCTION)
		memcpy(&((struct session *)easy)->hear, &value, sizeof value);
	else
		note_option(easy, option, value);
	return CURLE_OK;
}

void __wrap_os_socket_shut(int socket);

void __wrap_os_socket_shut(int socket)
{
	server.shut += socket == IMAP_SERVER_SOCKET;
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
	va_list list;

	(void)easy;
	(void)info;
	va_start(list, info);
	*va_arg(list, curl_socket_t *) = IMAP_SERVER_SOCKET;
	va_end(list);
	return CURLE_OK;
}

CURLcode curl_easy_perform(CURL *easy)
{
	struct session *session = easy;
	size_t length = strlen(server.login_words);

	server.opened++;
	if (length > 0 && session->hear((char *)(uintptr_t)server.login_words, 1, length,
					session->context) != length)
		return CURLE_WRITE_ERROR;
	return server.login;
}

/* What goes wrong at this call. */
static void go_wrong(struct session *session)
{
	if (++server.calls != server.fails_at)
		return;
	session->is_lost = server.fault == IMAP_SERVER_LOSES;
	session->is_closed = server.fault == IMAP_SERVER_CLOSES ||
			     server.fault == IMAP_SERVER_SAYS_BYE ||
			     server.fault == IMAP_SERVER_BABBLES;
	session->hangs = server.fault == IMAP_SERVER_HANGS;
	if (session->is_closed || server.fault == IMAP_SERVER_LOSES)
		buffer_reset(&session->out);
	if (server.fault == IMAP_SERVER_SAYS_BYE)
		say(session, "* BYE go away");
	if (server.fault == IMAP_SERVER_BABBLES)
		say(session, "220 mail.example ESMTP");
}

CURLcode curl_easy_send(CURL *easy, const void *data, size_t size, size_t *count_out)
{
	struct session *session = easy;

	go_wrong(session);
	if (session->is_lost)
		return CURLE_SEND_ERROR;
	*count_out = size < server.chunk ? size : server.chunk;
	if (session->is_closed || session->hangs)
		return CURLE_OK; /* into the void */
	buffer_append(&session->in, data, *count_out);
	serve(session);
	if (server.calls == server.fails_at && server.fault == IMAP_SERVER_ANSWERS_AND_CLOSES)
		session->is_closed = true;
	return CURLE_OK;
}

CURLcode curl_easy_recv(CURL *easy, void *data, size_t size, size_t *count_out)
{
	struct session *session = easy;
	struct str out;

	go_wrong(session);
	if (session->is_lost)
		return CURLE_RECV_ERROR;
	if (session->hangs)
		return CURLE_AGAIN;
	out = buffer_view(&session->out);
	if (out.length == 0 && !session->is_closed)
		return CURLE_AGAIN;
	*count_out = out.length < size ? out.length : size;
	if (*count_out > server.chunk)
		*count_out = server.chunk;
	if (*count_out > 0)
		memcpy(data, out.data, *count_out);
	buffer_consume(&session->out, *count_out);
	return CURLE_OK;
}
