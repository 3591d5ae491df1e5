// SPDX-License-Identifier: ISC
/*
 * session_flood - opens SMTP sessions as fast as it can and drops each with a reset.
 *
 * usage: session_flood [-p PROCESSES] [-r RATE] PORT SECONDS AT_ONCE ADDRESSES
 *
 * Connects to 127.0.0.1:PORT from the first ADDRESSES of 127.66.0.0/16 in turn, AT_ONCE at a time,
 * at most RATE a second (0, the default: as fast as it can), in PROCESSES processes (1).
 * By turns a session is dropped as soon as it is there or after the first bytes from the server,
 * and one in eight after a login with a wrong password was answered. Prints how often, as JSON:
 * "opened" connections, those "refused" by the system, sessions "greeted", those that were
 * "turned_away" by 421, and logins that "failed".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE_MAX = 4096, EVENTS = 256, SOURCES = 0x7f420000, PROCESSES_MAX = 8 };

enum kind { KIND_DROPS, KIND_LOOKS, KIND_LOGS_IN };
enum step { STEP_CONNECT, STEP_GREETING, STEP_EHLO, STEP_AUTH };

struct session {
	int socket;
	enum kind kind;
	enum step step;
};

struct counts {
	unsigned long opened, refused, greeted, turned_away, failed;
};

/* Of one process. */
struct flood {
	struct sockaddr_in to;
	unsigned addresses, at_once;
	double seconds, rate, since;
	unsigned long begun, first; /* the sessions' numbers begin with FIRST */
	unsigned step;              /* and increase by this */
	int poll;
	struct session *waiting[AT_ONCE_MAX]; /* for their time */
	unsigned waiting_count;
	struct counts *counts;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void say(const struct session *session, const char *text)
{
	(void)!send(session->socket, text, strlen(text), MSG_NOSIGNAL);
}

/* Logins are few: each takes its time, and a place meanwhile. */
static const enum kind kinds[] = {KIND_DROPS, KIND_LOOKS, KIND_DROPS, KIND_LOOKS,
				  KIND_DROPS, KIND_LOOKS, KIND_DROPS, KIND_LOGS_IN};

/* A socket that will end with a reset, and without a port that waits. */
static int make_socket(struct flood *flood, unsigned long number)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 0};
	struct sockaddr_in from = {.sin_family = AF_INET};
	int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int one = 1;

	if (made < 0)
		fail("socket");
	setsockopt(made, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	from.sin_addr.s_addr = htonl(SOURCES + (uint32_t)(number % flood->addresses));
	setsockopt(made, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
	if (bind(made, (struct sockaddr *)&from, sizeof from) < 0)
		fail("bind");
	return made;
}

/* Connects; true: it is connected already, as mostly on loopback. */
static bool connect_now(struct flood *flood, int made)
{
	const struct sockaddr *to = (struct sockaddr *)&flood->to;

	if (connect(made, to, sizeof flood->to) < 0 && errno != EINPROGRESS &&
	    errno != ECONNREFUSED)
		fail("connect");
	return connect(made, to, sizeof flood->to) == 0;
}

/* False: it was dropped at once. */
static bool begin(struct flood *flood, struct session *session)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = session};
	unsigned long number = flood->first + flood->begun * flood->step;

	session->kind = kinds[flood->begun++ % (sizeof kinds / sizeof *kinds)];
	session->step = STEP_CONNECT;
	session->socket = make_socket(flood, number);
	if (connect_now(flood, session->socket)) {
		flood->counts->opened++;
		session->step = STEP_GREETING;
		if (session->kind == KIND_DROPS) {
			close(session->socket);
			return false;
		}
	}
	if (epoll_ctl(flood->poll, EPOLL_CTL_ADD, session->socket, &event) < 0)
		fail("epoll_ctl");
	return true;
}

/* How many sessions may have begun by now. */
static double allowed(const struct flood *flood)
{
	return (now() - flood->since) * flood->rate;
}

static bool must_wait(const struct flood *flood)
{
	return flood->rate > 0 && (double)flood->begun >= allowed(flood);
}

static void begin_next(struct flood *flood, struct session *session)
{
	while (!must_wait(flood))
		if (begin(flood, session))
			return;
	flood->waiting[flood->waiting_count++] = session;
}

static void begin_waiting(struct flood *flood)
{
	while (flood->waiting_count > 0 && !must_wait(flood))
		begin_next(flood, flood->waiting[--flood->waiting_count]);
}

/* False: it is over. */
static bool connected(struct flood *flood, struct session *session, unsigned events)
{
	if ((events & EPOLLERR) != 0) {
		flood->counts->refused++;
		return false;
	}
	if ((events & EPOLLOUT) == 0)
		return true;
	flood->counts->opened++;
	session->step = STEP_GREETING;
	return session->kind != KIND_DROPS;
}

/* The server has said something; likewise. */
static bool told(struct flood *flood, struct session *session)
{
	char text[4096];
	ssize_t count = recv(session->socket, text, sizeof text, 0);

	if (count < 0 && errno == EAGAIN)
		return true;
	if (count < 3)
		return false;
	if (memcmp(text, "421", 3) == 0) {
		flood->counts->turned_away++;
		return false;
	}
	switch (session->step) {
	case STEP_GREETING:
		flood->counts->greeted++;
		say(session, "EHLO flood.test\r\n");
		session->step = STEP_EHLO;
		return session->kind == KIND_LOGS_IN;
	case STEP_EHLO:
		say(session, "AUTH PLAIN AGFubgB3cm9uZw==\r\n");
		session->step = STEP_AUTH;
		return true;
	case STEP_AUTH:
		flood->counts->failed += memcmp(text, "535", 3) == 0;
		return false;
	case STEP_CONNECT:
		break;
	}
	return false;
}

static bool take(struct flood *flood, struct session *session, unsigned events)
{
	if (session->step == STEP_CONNECT && !connected(flood, session, events))
		return false;
	return (events & EPOLLIN) == 0 || told(flood, session);
}

static void run(struct flood *flood)
{
	static struct session sessions[AT_ONCE_MAX];
	struct epoll_event events[EVENTS];

	flood->poll = epoll_create1(0);
	flood->since = now();
	for (unsigned i = 0; i < flood->at_once; i++)
		begin_next(flood, &sessions[i]);
	while (now() < flood->since + flood->seconds) {
		int count = epoll_wait(flood->poll, events, EVENTS, flood->rate > 0 ? 1 : 100);

		for (int i = 0; i < count; i++) {
			struct session *session = events[i].data.ptr;

			if (take(flood, session, events[i].events))
				continue;
			close(session->socket);
			begin_next(flood, session);
		}
		begin_waiting(flood);
	}
}

static void run_all(struct flood *flood, unsigned processes)
{
	struct counts *counts = flood->counts;
	double rate = flood->rate / processes;
	int status;

	for (unsigned i = 0; i < processes; i++) {
		pid_t child = fork();

		if (child < 0)
			fail("fork");
		if (child > 0)
			continue;
		flood->first = i;
		flood->step = processes;
		flood->at_once /= processes;
		flood->rate = rate;
		flood->counts = &counts[i];
		run(flood);
		_exit(0);
	}
	while (wait(&status) > 0)
		if (status != 0)
			exit(1);
}

static void print(const struct counts *counts)
{
	struct counts sum = {0};

	for (unsigned i = 0; i < PROCESSES_MAX; i++) {
		sum.opened += counts[i].opened;
		sum.refused += counts[i].refused;
		sum.greeted += counts[i].greeted;
		sum.turned_away += counts[i].turned_away;
		sum.failed += counts[i].failed;
	}
	printf("{\"opened\": %lu, \"refused\": %lu, \"greeted\": %lu, \"turned_away\": %lu, "
	       "\"failed\": %lu}\n",
	       sum.opened, sum.refused, sum.greeted, sum.turned_away, sum.failed);
}

int main(int argc, char **argv)
{
	static struct flood flood = {.to = {.sin_family = AF_INET}};
	unsigned processes = 1;
	int option;

	while ((option = getopt(argc, argv, "p:r:")) != -1) {
		if (option == 'p')
			processes = (unsigned)atoi(optarg);
		else if (option == 'r')
			flood.rate = atof(optarg);
		else
			return 2;
	}
	if (argc != optind + 4 || processes == 0 || processes > PROCESSES_MAX)
		return 2;
	flood.to.sin_port = htons((uint16_t)atoi(argv[optind]));
	flood.to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	flood.seconds = atof(argv[optind + 1]);
	flood.at_once = (unsigned)atoi(argv[optind + 2]);
	flood.addresses = (unsigned)atoi(argv[optind + 3]);
	if (flood.at_once > AT_ONCE_MAX || flood.addresses == 0)
		return 2;
	flood.counts = mmap(NULL, PROCESSES_MAX * sizeof *flood.counts, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (flood.counts == MAP_FAILED)
		fail("mmap");
	run_all(&flood, processes);
	print(flood.counts);
	return 0;
}
