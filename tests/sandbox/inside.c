// SPDX-License-Identifier: ISC
/*
 * inside - makes a running process make a system call, and tells what came of it.
 *
 * usage: inside PID NAME [ARGUMENT]...
 *
 * An argument is a number (decimal, 0x..., negative) or =TEXT, which is written to the
 * process's own stack and handed over as its address; =@unix:PATH and =@inet:PORT
 * are socket addresses (127.0.0.1), ~HEX are bytes, *SIZE is that many zero bytes.
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

enum { ARGUMENTS_MAX = 6, RED_ZONE = 4096, SCAN = 1 << 20 };

static pid_t target;
static int kept_signal;

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

/* The registers of a stopped thread that is in a call stand behind its "syscall"; of
 * one that is not, the text of its C library has one somewhere. */
static uint64_t find_syscall(uint64_t near)
{
	static unsigned char text[SCAN];
	uint64_t start = (near - 2) & ~4095ULL;

	for (uint64_t back = 0; back < SCAN; back += 4096) {
		struct iovec here = {text, 4096 + 1};
		struct iovec there = {(void *)(uintptr_t)(start - back), 4096 + 1};
		ssize_t length = process_vm_readv(target, &here, 1, &there, 1, 0);

		for (ssize_t i = 0; i + 1 < length; i++)
			if (text[i] == 0x0f && text[i + 1] == 0x05)
				return start - back + (uint64_t)i;
	}
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

/* The value of ARGUMENT, what it points to being written below *STACK. */
static uint64_t place_argument(const char *argument, uint64_t *stack)
{
	char bytes[4096] = {0};
	size_t size;

	if (strlen(argument) >= sizeof bytes)
		fail(argument);
	if (argument[0] == '*')
		size = (size_t)atoi(argument + 1);
	else if (argument[0] == '~')
		size = read_hex(argument + 1, bytes);
	else if (argument[0] != '=')
		return (uint64_t)strtoll(argument, NULL, 0);
	else if (argument[1] == '@')
		size = make_address(argument + 2, bytes);
	else
		size = strlen(strcpy(bytes, argument + 1)) + 1;
	if (size > sizeof bytes)
		size = sizeof bytes;
	*stack = (*stack - size) & ~63ULL;
	write_there(*stack, bytes, size);
	return *stack;
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
	for (int i = 0; i < count; i++)
		values[i] = place_argument(arguments[i], &stack);
	during = before;
	during.rsp = stack - 256;
	during.rip = find_syscall(before.rip);
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

int main(int argc, char **argv)
{
	int64_t result;
	int number;

	if (argc < 3 || argc > 3 + ARGUMENTS_MAX) {
		fputs("usage: inside PID NAME [ARGUMENT]...\n", stderr);
		return 2;
	}
	target = atoi(argv[1]);
	number = number_of(argv[2]);
	if (ptrace(PTRACE_SEIZE, target, NULL,
		   PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE) != 0 ||
	    ptrace(PTRACE_INTERRUPT, target, NULL, NULL) != 0)
		fail("cannot stop it");
	(void)wait_stop();
	result = call_inside(number, argc - 3, argv + 3);
	if (ptrace(PTRACE_DETACH, target, NULL, kept_signal) != 0)
		fail("cannot let it go");
	if (result < 0 && result > -4096)
		printf("-%s\n", strerrorname_np((int)-result));
	else
		printf("%lld\n", (long long)result);
	return 0;
}
