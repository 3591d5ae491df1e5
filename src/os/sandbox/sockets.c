// SPDX-License-Identifier: ISC
/*
 * The part of the filter that checks the arguments of socket calls; it cannot read the addresses to
 * which they point.
 *
 * A process that only accepts can neither create nor connect sockets: connect(2) could dissolve an
 * accepted connection (AF_UNSPEC) and connect it to any other address, or disable a listener that
 * others share. Connections that it needs are made for it (os/socket/connector.h). Nor is there
 * another way to connect: no TCP Fast Open, neither by a flag of a send nor by a socket option. No
 * process can bind a TCP port, but one that has source addresses before Linux 6.7; none can listen
 * at one. A listener cannot be shut down, made blocking, or given a packet filter. (Sources:
 * tcp_disconnect(), tcp_sendmsg_fastopen(), inet_shutdown() of Linux 6.1.)
 */
#include "os/sandbox/internal.h"
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/socket.h>

enum {
	SOCKET_TYPES = 0xf,
	NETWORK = OS_SANDBOX_CONNECT | OS_SANDBOX_DNS,
	PEERS = NETWORK | OS_SANDBOX_LOCAL,
};

int sandbox_allow(void *filter, const char *name, unsigned count,
		  const struct scmp_arg_cmp *conditions)
{
	int number = seccomp_syscall_resolve_name(name);

	if (number == __NR_SCMP_ERROR)
		return 0;
	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, count, conditions);
}

/* Allows sockets of FAMILY and TYPE, with any flags. */
static int allow_socket(scmp_filter_ctx filter, int family, int type)
{
	const struct scmp_arg_cmp conditions[] = {
		SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family),
		SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPES, (scmp_datum_t)type)};

	return sandbox_allow(filter, "socket", COUNT_OF(conditions), conditions);
}

static int allow_making(scmp_filter_ctx filter, unsigned calls)
{
	static const struct {
		int family;
		int type;
		unsigned calls;
	} rows[] = {
		{AF_UNIX, SOCK_STREAM, OS_SANDBOX_LOCAL}, {AF_INET, SOCK_STREAM, NETWORK},
		{AF_INET6, SOCK_STREAM, NETWORK},         {AF_INET, SOCK_DGRAM, OS_SANDBOX_DNS},
		{AF_INET6, SOCK_DGRAM, OS_SANDBOX_DNS},
	};
	/* not datagrams, as such a socket could be connected to another path */
	const struct scmp_arg_cmp pairs[] = {
		SCMP_A0(SCMP_CMP_EQ, AF_UNIX),
		SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPES, SOCK_STREAM)};
	const struct scmp_arg_cmp routes[] = {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
					      SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE)};
	int error = 0;

	for (size_t i = 0; error == 0 && i < COUNT_OF(rows); i++)
		if ((rows[i].calls & calls) != 0)
			error = allow_socket(filter, rows[i].family, rows[i].type);
	if (error == 0 && (calls & PEERS) != 0)
		error = sandbox_allow(filter, "connect", 0, NULL);
	if (error == 0 && (calls & OS_SANDBOX_DNS) != 0)
		error = sandbox_allow(filter, "socketpair", COUNT_OF(pairs), pairs);
	if (error == 0 && (calls & OS_SANDBOX_DNS) != 0)
		error = sandbox_allow(filter, "socket", COUNT_OF(routes), routes);
	return error;
}

/* A process with network access may send in any way: libunbound uses Fast Open. Others cannot pass
 * an address, unless they answer datagrams. */
static int allow_sending(scmp_filter_ctx filter, unsigned calls)
{
	const struct scmp_arg_cmp to[] = {SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0),
					  SCMP_A4(SCMP_CMP_EQ, 0)};
	const struct scmp_arg_cmp message = SCMP_A2(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0);
	bool has_network = (calls & NETWORK) != 0;
	unsigned bounds = has_network ? 0 : (calls & OS_SANDBOX_ANSWER) != 0 ? 1 : COUNT_OF(to);
	int error = sandbox_allow(filter, "sendto", bounds, to);

	if (error == 0)
		error = sandbox_allow(filter, "sendmsg", has_network ? 0 : 1, &message);
	if (error == 0 && (calls & OS_SANDBOX_DNS) != 0)
		error = sandbox_allow(filter, "sendmmsg", 0, NULL);
	return error;
}

static int allow_option(scmp_filter_ctx filter, int level, enum scmp_compare compare, int option)
{
	const struct scmp_arg_cmp conditions[] = {SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)level),
						  SCMP_A2(compare, (scmp_datum_t)option)};

	return sandbox_allow(filter, "setsockopt", COUNT_OF(conditions), conditions);
}

/* All options except those for Fast Open, filters and devices. */
static int allow_options(scmp_filter_ctx filter, unsigned calls)
{
	static const struct {
		int level;
		int option;
		enum scmp_compare compare;
		unsigned calls;
	} rows[] = {
		{SOL_SOCKET, SO_BINDTODEVICE, SCMP_CMP_LT, PEERS},
		{IPPROTO_TCP, TCP_REPAIR, SCMP_CMP_LT, NETWORK},
		{IPPROTO_IP, 256, SCMP_CMP_LT, NETWORK},
		{IPPROTO_IPV6, 256, SCMP_CMP_LT, NETWORK},
		{SOL_SOCKET, SO_KEEPALIVE, SCMP_CMP_EQ, OS_SANDBOX_KEEP_ALIVE},
		{IPPROTO_TCP, TCP_KEEPIDLE, SCMP_CMP_EQ, OS_SANDBOX_KEEP_ALIVE},
		{IPPROTO_TCP, TCP_KEEPINTVL, SCMP_CMP_EQ, OS_SANDBOX_KEEP_ALIVE},
		{IPPROTO_TCP, TCP_KEEPCNT, SCMP_CMP_EQ, OS_SANDBOX_KEEP_ALIVE},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, SCMP_CMP_EQ, OS_SANDBOX_KEEP_ALIVE},
	};
	int error = 0;

	for (size_t i = 0; error == 0 && i < COUNT_OF(rows); i++)
		if ((rows[i].calls & calls) != 0)
			error = allow_option(filter, rows[i].level, rows[i].compare,
					     rows[i].option);
	return error;
}

/* A filter cannot distinguish a TCP socket from one for DNS queries. If Landlock can forbid TCP, it
 * does. Otherwise bind(2) is not executed, but returns 0: the kernel then chooses a UDP socket's
 * port when it first sends, which DNS libraries do not notice. Netlink sockets have shorter
 * addresses than all others, and so can be bound. */
static int allow_binding(scmp_filter_ctx filter, unsigned calls)
{
	const struct scmp_arg_cmp routes = SCMP_A2(SCMP_CMP_EQ, sizeof(struct sockaddr_nl));
	const struct scmp_arg_cmp others = SCMP_A2(SCMP_CMP_NE, sizeof(struct sockaddr_nl));
	int error;

	if ((calls & OS_SANDBOX_DNS) == 0)
		return 0;
	if (sandbox_refuses_ports() || (calls & OS_SANDBOX_SOURCE) != 0)
		return sandbox_allow(filter, "bind", 0, NULL);
	error = sandbox_allow(filter, "bind", 1, &routes);
	return error < 0 ? error
			 : seccomp_rule_add(filter, SCMP_ACT_ERRNO(0),
					    seccomp_syscall_resolve_name("bind"), 1, others);
}

/* Only SHUT_WR, which does not affect a listener, where there may be one. Libraries change the
 * flags of their descriptors; processes that use them have no shared listener. */
static int allow_changing(scmp_filter_ctx filter, unsigned calls)
{
	const struct scmp_arg_cmp half = SCMP_A1(SCMP_CMP_EQ, SHUT_WR);
	const struct scmp_arg_cmp flags = SCMP_A1(SCMP_CMP_EQ, F_SETFL);
	bool has_own = (calls & OS_SANDBOX_FLAGS) != 0 && (calls & OS_SANDBOX_ACCEPT) == 0;
	int error = sandbox_allow(filter, "shutdown", has_own ? 0 : 1, &half);

	if (error == 0 && (calls & (OS_SANDBOX_DNS | OS_SANDBOX_FLAGS)) != 0)
		error = sandbox_allow(filter, "fcntl", 1, &flags);
	return error;
}

int sandbox_allow_sockets(void *filter, unsigned calls)
{
	int error = allow_making(filter, calls);

	if (error == 0)
		error = allow_binding(filter, calls);
	if (error == 0)
		error = allow_sending(filter, calls);
	if (error == 0)
		error = allow_options(filter, calls);
	if (error == 0)
		error = allow_changing(filter, calls);
	return error;
}
