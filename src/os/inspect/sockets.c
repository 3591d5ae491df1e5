// SPDX-License-Identifier: ISC
#include "os/inspect/sockets.h"
#include "base/panic.h"
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOCKETS_LINE_SIZE = 512, ANSWER_SIZE = 64 * 1024, TCP_LISTENING = 10 };

struct os_inspect_sockets {
	struct os_inspect_socket *list; /* sorted by number */
	size_t count;
	size_t size;
};

static struct os_inspect_socket *add_inspected_socket(struct os_inspect_sockets *sockets,
						      uint64_t number, enum os_inspect_kind kind)
{
	struct os_inspect_socket *added;

	sockets->list =
		memory_grow(sockets->list, sockets->count, &sockets->size, sizeof *sockets->list);
	added = &sockets->list[sockets->count++];
	*added = (struct os_inspect_socket){.number = number, .kind = kind};
	return added;
}

/* --- UNIX sockets, by sock_diag(7) --- */

static void take_unix_socket_name(struct os_inspect_socket *socket, const char *name, size_t length)
{
	bool is_abstract = length > 0 && name[0] == '\0';

	socket->is_bound = length > 0;
	snprintf(socket->name, sizeof socket->name, "%s%.*s", is_abstract ? "@" : "",
		 (int)(length - is_abstract), name + is_abstract);
}

static void take_unix(struct os_inspect_sockets *sockets, const struct nlmsghdr *header)
{
	const struct unix_diag_msg *message = NLMSG_DATA(header);
	struct os_inspect_socket *socket =
		add_inspected_socket(sockets, message->udiag_ino, OS_INSPECT_UNIX);
	size_t left = header->nlmsg_len - NLMSG_LENGTH(sizeof *message);
	const struct rtattr *attribute = (const void *)(message + 1);

	socket->is_listening = message->udiag_state == TCP_LISTENING;
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		uint32_t peer;

		if (attribute->rta_type == UNIX_DIAG_NAME)
			take_unix_socket_name(socket, RTA_DATA(attribute), RTA_PAYLOAD(attribute));
		if (attribute->rta_type == UNIX_DIAG_PEER &&
		    RTA_PAYLOAD(attribute) == sizeof peer) {
			memcpy(&peer, RTA_DATA(attribute), sizeof peer);
			socket->peer = peer;
		}
	}
}

/* 1: that was the last one; 0: more follow. */
static int take_sock_diag_answer(struct os_inspect_sockets *sockets, const void *data,
				 size_t length)
{
	const struct nlmsghdr *header = data;

	for (; NLMSG_OK(header, length); header = NLMSG_NEXT(header, length)) {
		if (header->nlmsg_type == NLMSG_DONE)
			return 1;
		if (header->nlmsg_type == NLMSG_ERROR)
			return ((const struct nlmsgerr *)NLMSG_DATA(header))->error;
		if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY)
			take_unix(sockets, header);
	}
	return 0;
}

static int ask_unix(struct os_inspect_sockets *sockets)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} question = {
		.header = {.nlmsg_len = sizeof question,
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.request = {.sdiag_family = AF_UNIX,
			    .udiag_states = UINT32_MAX,
			    .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER},
	};
	_Alignas(struct nlmsghdr) static char answer[ANSWER_SIZE];
	int diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int result = 0;

	if (diag < 0)
		return -errno;
	if (send(diag, &question, sizeof question, 0) < 0)
		result = -errno;
	while (result == 0) {
		ssize_t length = recv(diag, answer, sizeof answer, 0);

		result = length < 0 ? -errno
				    : take_sock_diag_answer(sockets, answer, (size_t)length);
	}
	close(diag);
	return result < 0 ? result : 0;
}

/* --- other sockets, by the tables in /proc/PID/net --- */

/* "0100007F:0019", or 32 digits for IPv6: words in host byte order. */
static void parse_proc_net_address(const char *text, union os_socket_address *out)
{
	unsigned words[4];
	unsigned port;

	*out = (union os_socket_address){0};
	if (sscanf(text, "%8x:%4x", &words[0], &port) == 2) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_addr.s_addr = words[0];
		out->v4.sin_port = htons((uint16_t)port);
	} else if (sscanf(text, "%8x%8x%8x%8x:%4x", &words[0], &words[1], &words[2], &words[3],
			  &port) == 5) {
		out->v6.sin6_family = AF_INET6;
		memcpy(&out->v6.sin6_addr, words, sizeof words);
		out->v6.sin6_port = htons((uint16_t)port);
	}
}

static void take_proc_net_line(struct os_inspect_sockets *sockets, const char *line,
			       enum os_inspect_kind kind)
{
	char local[64];
	char remote[64];
	unsigned state;
	unsigned long number;
	struct os_inspect_socket *socket;

	if (sscanf(line, "%*s %63s %63s %x %*s %*s %*s %*s %*s %lu", local, remote, &state,
		   &number) != 4)
		return;
	socket = add_inspected_socket(sockets, number, kind);
	socket->is_listening = kind == OS_INSPECT_TCP && state == TCP_LISTENING;
	parse_proc_net_address(local, &socket->local);
	parse_proc_net_address(remote, &socket->remote);
}

/* In these tables the number is the last word. */
static void take_last(struct os_inspect_sockets *sockets, const char *line,
		      enum os_inspect_kind kind)
{
	size_t end = strlen(line);
	unsigned long number;

	while (end > 0 && (line[end - 1] == '\n' || line[end - 1] == ' '))
		end--;
	while (end > 0 && line[end - 1] != ' ')
		end--;
	number = strtoul(line + end, NULL, 10);
	if (number > 0)
		add_inspected_socket(sockets, number, kind);
}

static void read_proc_net_table(struct os_inspect_sockets *sockets, pid_t pid, const char *name,
				enum os_inspect_kind kind)
{
	char line[SOCKETS_LINE_SIZE];
	FILE *file;

	snprintf(line, sizeof line, "/proc/%ld/net/%s", (long)pid, name);
	file = fopen(line, "re");
	if (file == NULL)
		return; /* this kernel does not have IPv6, or packet sockets */
	while (fgets(line, sizeof line, file) != NULL)
		if (kind == OS_INSPECT_NETLINK || strcmp(name, "packet") == 0)
			take_last(sockets, line, kind);
		else
			take_proc_net_line(sockets, line, kind);
	fclose(file);
}

static int compare_socket_numbers(const void *left, const void *right)
{
	const struct os_inspect_socket *a = left;
	const struct os_inspect_socket *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

int os_inspect_sockets_new(pid_t pid, struct os_inspect_sockets **out)
{
	static const struct {
		const char *name;
		enum os_inspect_kind kind;
	} tables[] = {{"tcp", OS_INSPECT_TCP},     {"tcp6", OS_INSPECT_TCP},
		      {"udp", OS_INSPECT_UDP},     {"udp6", OS_INSPECT_UDP},
		      {"udplite", OS_INSPECT_UDP}, {"raw", OS_INSPECT_RAW},
		      {"raw6", OS_INSPECT_RAW},    {"packet", OS_INSPECT_RAW},
		      {"icmp", OS_INSPECT_RAW},    {"netlink", OS_INSPECT_NETLINK}};
	struct os_inspect_sockets *sockets = memory_alloc_zero(1, sizeof *sockets);
	int error = ask_unix(sockets);

	if (error < 0) {
		os_inspect_sockets_free(sockets);
		return error;
	}
	for (size_t i = 0; i < COUNT_OF(tables); i++)
		read_proc_net_table(sockets, pid, tables[i].name, tables[i].kind);
	if (sockets->count > 0)
		qsort(sockets->list, sockets->count, sizeof *sockets->list, compare_socket_numbers);
	*out = sockets;
	return 0;
}

void os_inspect_sockets_free(struct os_inspect_sockets *sockets)
{
	if (sockets == NULL)
		return;
	free(sockets->list);
	free(sockets);
}

const struct os_inspect_socket *os_inspect_sockets_find(const struct os_inspect_sockets *sockets,
							uint64_t number)
{
	const struct os_inspect_socket key = {.number = number};

	if (sockets->count == 0)
		return NULL;
	return bsearch(&key, sockets->list, sockets->count, sizeof key, compare_socket_numbers);
}
