// SPDX-License-Identifier: ISC
/*
 * Sends messages by SMTP with STARTTLS, as smtp-source does without: the same dialogue, a command
 * at a time unless -P, in many sessions at once.
 *
 * usage: tls_source [-d] [-r] [-p] [-P] [-c CIPHERS] [-s SESSIONS] [-m MESSAGES] [-l BYTES] [-f
 * SENDER]
 *                   [-t RECIPIENT] [-u USER -w PASSWORD] [-i IDLE | -x | -n] [-R RATE]
 *                   127.0.0.1:PORT
 *   -d  keep sessions open, and send message after message in each
 *   -r  resume the TLS session of the connection before, where the server allows it
 *   -p  no TLS
 *   -P  MAIL, RCPT and DATA at once (RFC 2920)
 *   -u  log in by SCRAM-SHA-256 first, once a session
 *   -i  instead of sending: open so many sessions, say EHLO in TLS, print "ready", and keep them
 *       until standard input ends
 *   -x  instead of sending: MESSAGES sessions that log in by PLAIN, and have to be refused; each
 *       from a network of its own
 *   -n  the same with NOOP instead of the login
 *   -R  so many sessions begin in a second, whatever becomes of those before them; each sends one
 *       message. At the end, the median and the 99th percentile of how long they took are printed.
 *       With -x and -n it ends when the last one has begun
 * Certificates are not verified. At the end, the number of handshakes and of those that were
 * resumed is printed, and with -x how many logins were not judged (454); with -x and -n, how many
 * sessions were lost.
 */
#include "source.h"
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { EVENTS = 64, PATIENCE_MS = 60000, SECOND = 1000000 };

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory == NULL)
		tls_wire_fail("memory", "none");
	return memory;
}

/* --- the loop --- */

static void wait_for_events(struct source *source, int timeout_ms)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(source->epoll, events, EVENTS, timeout_ms);

	if (count == 0 && timeout_ms == PATIENCE_MS)
		tls_wire_fail("waiting", "no reply in a minute");
	for (int i = 0; i < count; i++)
		source_session_work(events[i].data.ptr);
}

static void serve_until(struct source *source, unsigned wanted)
{
	while (source->done < wanted)
		wait_for_events(source, PATIENCE_MS);
}

/* As many sessions at a time as there are to be. */
static void run_many(struct source *source)
{
	unsigned wanted = source->sessions < source->messages ? source->sessions : source->messages;
	struct source_session *sessions = allocate(wanted, sizeof *sessions);
	bool is_idle = source->kind == SOURCE_IDLES;

	/* idle ones a few at a time, so that the server's backlog is enough */
	for (unsigned i = 0; i < wanted; i++) {
		source_session_open(source, &sessions[i]);
		if (is_idle && i % 50 == 49)
			serve_until(source, i + 1);
	}
	serve_until(source, source->messages);
}

static struct source_session *take_unused(struct source *source)
{
	struct source_session *session = source->unused;

	if (session == NULL)
		return allocate(1, sizeof *session);
	source->unused = session->next;
	return session;
}

/* Nobody waits for the last of a flood, which the server may answer late. */
static bool is_over(const struct source *source)
{
	bool is_flood = source->kind == SOURCE_FAILS || source->kind == SOURCE_NOOPS;

	return (is_flood ? source->opened : source->took) == source->messages;
}

static void run_at_rate(struct source *source)
{
	int64_t began_us = source_now_us();

	source->took_us = allocate(source->messages, sizeof *source->took_us);
	while (!is_over(source)) {
		int64_t next_us = began_us + (int64_t)source->opened * SECOND / source->rate;
		int64_t left_us = next_us - source_now_us();

		if (source->opened == source->messages)
			wait_for_events(source, PATIENCE_MS);
		else if (left_us > 0)
			wait_for_events(source, (int)((left_us + 999) / 1000));
		else
			source_session_open(source, take_unused(source));
	}
}

/* --- what is printed --- */

static int compare(const void *one, const void *other)
{
	const uint32_t *a = one;
	const uint32_t *b = other;

	return (*a > *b) - (*a < *b);
}

static void print_end(struct source *source)
{
	printf("%s %u handshakes %u resumed\n", source->kind == SOURCE_IDLES ? "ready" : "sent",
	       source->handshakes, source->resumed);
	if (source->kind == SOURCE_FAILS)
		printf("not judged %u of %u\n", source->deferred, source->done);
	if (source->kind == SOURCE_FAILS || source->kind == SOURCE_NOOPS)
		printf("lost %u of %u\n", source->lost, source->done);
	if (source->took > 0) {
		qsort(source->took_us, source->took, sizeof *source->took_us, compare);
		printf("sessions %u p50 %u us p99 %u us\n", source->took,
		       source->took_us[source->took / 2], source->took_us[source->took * 99 / 100]);
	}
	fflush(stdout);
}

/* --- the options --- */

static void make_message(struct source *source)
{
	size_t room = source->size + strlen(source->sender) + 256;
	size_t length;

	source->message = allocate(room, 1);
	length = (size_t)snprintf(source->message, room, "From: <%s>\r\nSubject: load\r\n\r\n",
				  source->sender);
	while (length < source->size) {
		memset(source->message + length, 'x', 78);
		memcpy(source->message + length + 78, "\r\n", 2);
		length += 80;
	}
	memcpy(source->message + length, ".\r\n", 3);
	source->message_length = length + 3;
}

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

/* Options that say what sessions do. False: it is another one. */
static bool read_kind(struct source *source, int option)
{
	switch (option) {
	case 'd':
		source->keeps = true;
		break;
	case 'r':
		source->resumes = true;
		break;
	case 'p':
		source->plain = true;
		break;
	case 'P':
		source->pipelines = true;
		break;
	case 'x':
		source->kind = SOURCE_FAILS;
		break;
	case 'n':
		source->kind = SOURCE_NOOPS;
		break;
	case 'i':
		source->kind = SOURCE_IDLES;
		source->sessions = source->messages = number(optarg);
		break;
	default:
		return false;
	}
	return true;
}

static void read_value(struct source *source, int option, const char **ciphers)
{
	switch (option) {
	case 's':
		source->sessions = number(optarg);
		break;
	case 'm':
		source->messages = number(optarg);
		break;
	case 'R':
		source->rate = number(optarg);
		break;
	case 'l':
		source->size = number(optarg);
		break;
	case 'f':
		source->sender = optarg;
		break;
	case 't':
		source->recipient = optarg;
		break;
	case 'u':
		source->user = optarg;
		break;
	case 'w':
		source->password = optarg;
		break;
	case 'c':
		*ciphers = optarg;
		break;
	default:
		exit(2);
	}
}

static void read_server(struct source *source, char *text)
{
	char *colon = strchr(text, ':');

	if (colon == NULL)
		exit(2);
	*colon = '\0';
	source->server.sin_family = AF_INET;
	source->server.sin_port = htons((uint16_t)number(colon + 1));
	if (inet_pton(AF_INET, text, &source->server.sin_addr) != 1)
		tls_wire_fail("address", text);
}

static void read_options(struct source *source, int argc, char **argv)
{
	const char *ciphers = NULL;
	int option;

	while ((option = getopt(argc, argv, "drpPxns:m:R:l:f:t:u:w:i:c:")) != -1)
		if (!read_kind(source, option))
			read_value(source, option, &ciphers);
	if (optind != argc - 1 || (source->user == NULL) != (source->password == NULL) ||
	    (source->kind == SOURCE_FAILS && source->user == NULL) ||
	    (source->rate > 0 && (source->keeps || source->kind == SOURCE_IDLES)))
		exit(2);
	read_server(source, argv[optind]);
	source->tls = SSL_CTX_new(TLS_client_method());
	tls_wire_prepare(source->tls, ciphers);
	SSL_CTX_set_session_cache_mode(source->tls, SSL_SESS_CACHE_OFF);
}

int main(int argc, char **argv)
{
	struct source source = {.sessions = 1,
				.messages = 1,
				.size = 1024,
				.sender = "sender@client.example",
				.recipient = "user@held.example"};

	read_options(&source, argc, argv);
	source.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (source.epoll < 0)
		tls_wire_fail("epoll_create1", strerror(errno));
	make_message(&source);
	if (source.rate > 0)
		run_at_rate(&source);
	else
		run_many(&source);
	print_end(&source);
	while (source.kind == SOURCE_IDLES && getchar() != EOF)
		continue;
	return 0;
}
