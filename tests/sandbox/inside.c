// SPDX-License-Identifier: ISC
/*
 * inside - makes a running process make a system call, and tells what came of it.
 *
 * usage: inside PID NAME [ARGUMENT]...
 *        inside PID
 *
 * The second stops it for longer: it reads "NAME [ARGUMENT]..." from standard input, a line
 * for each call, answers each with a line, and lets the process go on at the end of the input.
 *
 * An argument is a number (decimal, 0x..., negative) or =TEXT, which is written to the
 * process's own stack and handed over as its address; =@unix:PATH and =@inet:PORT
 * are socket addresses (127.0.0.1), ~HEX are bytes, *SIZE is that many zero bytes. &SIZE
 * is room for as many, whose first, as many as the call returns, are printed in
 * hexadecimal after the result. +DESCRIPTOR:HEX is a struct msghdr with these bytes
 * and that descriptor (-1: none), ?SIZE one with room for so many bytes, which are printed
 * in the same way, and for descriptors: these are printed after them.
 * A call that made a child is seen to: the child is killed. What the call returns is
 * printed: a number, or -ERRNO as its name. For root.
 *
 * The process is stopped by ptrace(2) wherever it is, mostly in epoll_wait(2); the
 * call is made with a "syscall" instruction of the process's own text, in its own
 * name, so under its own user, Landlock and seccomp. Then its registers are as
 * before, so that it goes on as if nothing had been. (Sources: ptrace(2),
 * unix(7), ip(7).)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __x86_64__
#error "written for x86-64"
#endif

enum {
	ARGUMENTS_MAX = 6,
	RED_ZONE = 4096,
	SCAN = 1 << 20,
	BYTES_MAX = 80 * 1024, /* of the stack that every process has */
	DESCRIPTORS_MAX = 16,
	LINE_MAX_SIZE = 4 * BYTES_MAX,
};

static pid_t target;
static int kept_signal;
static uint64_t room;    /* where what the call returns is, in the process */
static uint64_t control; /* where the descriptors are that come with it */
static uint64_t gate;    /* where a "syscall" instruction is, in the process */

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "inside: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void write_there(uint64_t address, const void *data, size_t size)
{
	struct iovec here = {(void *)(uintptr_t)data, size};
	struct iovec there = {(void *)(uintptr_t)address, size};

	if (process_vm_writev(target, &here, 1, &there, 1, 0) != (ssize_t)size)
		fail("cannot write to its stack");
}

/* In the process's memory between two addresses; 0: there is none. */
static uint64_t find_syscall_between(uint64_t from, uint64_t to)
{
	static unsigned char text[SCAN];

	while (from + 1 < to) {
		size_t size = to - from < SCAN ? to - from : SCAN;
		struct iovec here = {text, size};
		struct iovec there = {(void *)(uintptr_t)from, size};
		ssize_t length = process_vm_readv(target, &here, 1, &there, 1, 0);

		for (ssize_t i = 0; i + 1 < length; i++)
			if (text[i] == 0x0f && text[i + 1] == 0x05)
				return from + (uint64_t)i;
		from += size < SCAN ? size : SCAN - 1;
	}
	return 0;
}

/* Mostly it waits in a call, and is behind the instruction. It may have been stopped anywhere else:
 * the text of its C library has one. Other memory may have the same bytes, but cannot be executed.
 */
static uint64_t find_syscall(void)
{
	struct user_regs_struct registers;
	unsigned long from;
	unsigned long to;
	uint64_t found;
	char rights[5];
	char line[512];
	FILE *maps;

	if (ptrace(PTRACE_GETREGS, target, NULL, &registers) != 0)
		fail("cannot read its registers");
	found = find_syscall_between(registers.rip - 2, registers.rip);
	if (found != 0)
		return found;
	snprintf(line, sizeof line, "/proc/%d/maps", (int)target);
	maps = fopen(line, "r");
	if (maps == NULL)
		fail("cannot read its maps");
	while (found == 0 && fgets(line, sizeof line, maps) != NULL)
		if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && rights[0] == 'r' &&
		    rights[2] == 'x')
			found = find_syscall_between(from, to);
	fclose(maps);
	if (found != 0)
		return found;
	errno = ENOEXEC;
	fail("no syscall instruction found");
}

static size_t make_address(const char *text, void *out)
{
	struct sockaddr_in *inet = out;
	struct sockaddr_un *local = out;

	if (strncmp(text, "inet:", 5) == 0) {
		*inet = (struct sockaddr_in){.sin_family = AF_INET,
					     .sin_port = htons((uint16_t)atoi(text + 5)),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		return sizeof *inet;
	}
	*local = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(local->sun_path, sizeof local->sun_path, "%s", text + strlen("unix:"));
	return sizeof *local;
}

static size_t read_hex(const char *text, char *out)
{
	size_t length = 0;
	unsigned byte;

	while (sscanf(text + 2 * length, "%2x", &byte) == 1)
		out[length++] = (char)byte;
	return length;
}

static uint64_t push(const void *data, size_t size, uint64_t *stack)
{
	*stack = (*stack - size) & ~63ULL;
	write_there(*stack, data, size);
	return *stack;
}

/* A struct msghdr around DATA, with DESCRIPTOR, or with room for descriptors. */
static uint64_t push_message(const void *data, size_t size, const int *descriptor, bool is_room,
			     uint64_t *stack)
{
	union {
		char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
		struct cmsghdr header;
	} ancillary = {{0}};
	struct msghdr message = {0};
	struct iovec piece;

	piece = (struct iovec){(void *)(uintptr_t)push(data, size, stack), size};
	if (descriptor != NULL) {
		ancillary.header =
			(struct cmsghdr){CMSG_LEN(sizeof *descriptor), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(&ancillary.header), descriptor, sizeof *descriptor);
		message.msg_controllen = CMSG_SPACE(sizeof *descriptor);
	}
	if (is_room) {
		room = (uintptr_t)piece.iov_base;
		message.msg_controllen = sizeof ancillary;
	}
	message.msg_control = (void *)(uintptr_t)push(&ancillary, sizeof ancillary, stack);
	control = is_room ? (uintptr_t)message.msg_control : 0;
	message.msg_iov = (void *)(uintptr_t)push(&piece, sizeof piece, stack);
	message.msg_iovlen = 1;
	return push(&message, sizeof message, stack);
}

/* The value of ARGUMENT, what it points to being written below *STACK. */
static uint64_t place_argument(const char *argument, uint64_t *stack)
{
	static char bytes[BYTES_MAX];
	size_t size = (size_t)atoi(argument + 1);
	int descriptor = atoi(argument + 1);

	if (strlen(argument) / 2 >= sizeof bytes)
		fail("too long");
	memset(bytes, 0, sizeof bytes);
	if (size > sizeof bytes)
		size = sizeof bytes;
	switch (argument[0]) {
	case '*':
		return push(bytes, size, stack);
	case '&':
		return room = push(bytes, size, stack);
	case '~':
		return push(bytes, read_hex(argument + 1, bytes), stack);
	case '?':
		return push_message(bytes, size, NULL, true, stack);
	case '+':
		size = read_hex(strchr(argument, ':') + 1, bytes);
		return push_message(bytes, size, descriptor >= 0 ? &descriptor : NULL, false,
				    stack);
	case '=':
		if (strlen(argument) >= sizeof bytes)
			fail("too long");
		size = argument[1] == '@' ? make_address(argument + 2, bytes)
					  : strlen(strcpy(bytes, argument + 1)) + 1;
		return push(bytes, size, stack);
	default:
		return (uint64_t)strtoll(argument, NULL, 0);
	}
}

/* Why it stopped: an enum __ptrace_eventcodes, or 0. A signal that comes meanwhile is
 * kept for later. */
static int wait_stop(void)
{
	int status;

	if (waitpid(target, &status, __WALL) != target || !WIFSTOPPED(status))
		fail("it did not stop");
	if (status >> 16 == 0 && WSTOPSIG(status) != SIGTRAP)
		kept_signal = WSTOPSIG(status);
	return status >> 16;
}

/* A new process comes to us, stopped. */
static void end_child(void)
{
	unsigned long child = 0;

	if (ptrace(PTRACE_GETEVENTMSG, target, NULL, &child) != 0)
		fail("cannot ask for its child");
	(void)kill((pid_t)child, SIGKILL);
	(void)waitpid((pid_t)child, NULL, __WALL);
}

/* Steps until the call is made: at first there may be stops for other reasons. */
static int64_t call(struct user_regs_struct registers)
{
	const unsigned long long place = registers.rip;

	if (ptrace(PTRACE_SETREGS, target, NULL, &registers) != 0)
		fail("cannot make it call");
	do {
		int event;

		if (ptrace(PTRACE_SINGLESTEP, target, NULL, NULL) != 0)
			fail("cannot make it go on");
		event = wait_stop();
		if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		    event == PTRACE_EVENT_CLONE) {
			end_child();
			registers.rip = place; /* it is still in the call */
		} else if (ptrace(PTRACE_GETREGS, target, NULL, &registers) != 0) {
			fail("cannot read its registers");
		}
	} while (registers.rip == place);
	return (int64_t)registers.rax;
}

static int64_t call_inside(int number, int count, char **arguments)
{
	struct user_regs_struct before;
	struct user_regs_struct during;
	uint64_t values[ARGUMENTS_MAX] = {0};
	uint64_t stack;
	int64_t result;

	if (ptrace(PTRACE_GETREGS, target, NULL, &before) != 0)
		fail("cannot read its registers");
	stack = before.rsp - RED_ZONE;
	room = 0;
	control = 0;
	for (int i = 0; i < count; i++)
		values[i] = place_argument(arguments[i], &stack);
	during = before;
	during.rsp = stack - 256;
	during.rip = gate;
	during.rax = (unsigned long long)number;
	during.orig_rax = ~0ULL; /* nothing is to be begun again */
	during.rdi = values[0];
	during.rsi = values[1];
	during.rdx = values[2];
	during.r10 = values[3];
	during.r8 = values[4];
	during.r9 = values[5];
	result = call(during);
	if (ptrace(PTRACE_SETREGS, target, NULL, &before) != 0)
		fail("cannot restore its registers");
	return result;
}

static int number_of(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	if (number < 0) {
		errno = EINVAL;
		fail(name);
	}
	return number;
}

static void read_there(uint64_t address, void *data, size_t size)
{
	struct iovec here = {data, size};
	struct iovec there = {(void *)(uintptr_t)address, size};

	if (process_vm_readv(target, &here, 1, &there, 1, 0) != (ssize_t)size)
		fail("cannot read its stack");
}

static void print_descriptors(void)
{
	union {
		char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
		struct cmsghdr header;
	} ancillary;
	int descriptors[DESCRIPTORS_MAX];
	size_t size;

	read_there(control, &ancillary, sizeof ancillary);
	if (ancillary.header.cmsg_level != SOL_SOCKET || ancillary.header.cmsg_type != SCM_RIGHTS)
		return;
	size = ancillary.header.cmsg_len - CMSG_LEN(0);
	if (size > sizeof descriptors)
		return;
	memcpy(descriptors, CMSG_DATA(&ancillary.header), size);
	for (size_t i = 0; i < size / sizeof *descriptors; i++)
		printf(" %d", descriptors[i]);
}

static void print_result(int64_t result)
{
	static unsigned char bytes[BYTES_MAX];

	if (result < 0 && result > -4096)
		printf("-%s", strerrorname_np((int)-result));
	else
		printf("%lld", (long long)result);
	if (room != 0 && result >= 0 && result <= BYTES_MAX) {
		read_there(room, bytes, (size_t)result);
		putchar(' ');
		for (int64_t i = 0; i < result; i++)
			printf("%02x", bytes[i]);
		if (control != 0)
			print_descriptors();
	}
	putchar('\n');
	fflush(stdout);
}

static void run_session(void)
{
	static char line[LINE_MAX_SIZE];

	while (fgets(line, sizeof line, stdin) != NULL) {
		char *words[ARGUMENTS_MAX + 2] = {NULL};
		int count = 0;

		for (char *word = strtok(line, " \n"); word != NULL && count <= ARGUMENTS_MAX;
		     word = strtok(NULL, " \n"))
			words[count++] = word;
		if (count > 0)
			print_result(call_inside(number_of(words[0]), count - 1, words + 1));
	}
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3 + ARGUMENTS_MAX) {
		fputs("usage: inside PID [NAME [ARGUMENT]...]\n", stderr);
		return 2;
	}
	target = atoi(argv[1]);
	if (ptrace(PTRACE_SEIZE, target, NULL,
		   PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE) != 0 ||
	    ptrace(PTRACE_INTERRUPT, target, NULL, NULL) != 0)
		fail("cannot stop it");
	(void)wait_stop();
	gate = find_syscall();
	if (argc > 2)
		print_result(call_inside(number_of(argv[2]), argc - 3, argv + 3));
	else
		run_session();
	if (ptrace(PTRACE_DETACH, target, NULL, kept_signal) != 0)
		fail("cannot let it go");
	return 0;
}
