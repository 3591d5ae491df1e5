// SPDX-License-Identifier: ISC
/*
 * seccomp, by libseccomp: a list of calls that are allowed; the others fail with
 * EPERM. Names, not numbers: what an architecture lacks is passed over.
 *
 * A few calls have another way round in the C library, which it takes when it is
 * told that the kernel does not know them: those fail with ENOSYS.
 */
#include "os/sandbox_internal.h"
#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALWAYS = 1 << 16, SOCKET_TYPES = 0xf };

static const struct {
	const char *name;
	unsigned calls; /* any of them; ALWAYS */
} allowed[] = {
	/* what is open */
	{"read", ALWAYS},
	{"readv", ALWAYS},
	{"pread64", ALWAYS},
	{"write", ALWAYS},
	{"writev", ALWAYS},
	{"pwrite64", ALWAYS},
	{"lseek", ALWAYS},
	{"close", ALWAYS},
	{"fcntl", ALWAYS},
	{"fstat", ALWAYS},
	{"newfstatat", ALWAYS}, /* fstat(3) is that, too */
	{"statx", ALWAYS},
	/* waiting */
	{"poll", ALWAYS},
	{"ppoll", ALWAYS},
	{"epoll_create1", ALWAYS},
	{"epoll_ctl", ALWAYS},
	{"epoll_wait", ALWAYS},
	{"epoll_pwait", ALWAYS},
	{"epoll_pwait2", ALWAYS},
	{"eventfd2", ALWAYS},
	{"pipe2", ALWAYS},
	{"nanosleep", ALWAYS},
	{"clock_nanosleep", ALWAYS},
	/* time and chance */
	{"clock_gettime", ALWAYS},
	{"clock_getres", ALWAYS},
	{"gettimeofday", ALWAYS},
	{"time", ALWAYS},
	{"getrandom", ALWAYS},
	/* memory */
	{"brk", ALWAYS},
	{"munmap", ALWAYS},
	{"mremap", ALWAYS},
	{"madvise", ALWAYS},
	/* threads and signals */
	{"futex", ALWAYS},
	{"set_robust_list", ALWAYS},
	{"rseq", ALWAYS},
	{"membarrier", ALWAYS},
	{"sched_yield", ALWAYS},
	{"sched_getaffinity", ALWAYS},
	{"rt_sigaction", ALWAYS},
	{"rt_sigprocmask", ALWAYS},
	{"rt_sigreturn", ALWAYS},
	{"rt_sigtimedwait", ALWAYS},
	{"sigaltstack", ALWAYS},
	{"restart_syscall", ALWAYS},
	{"exit", ALWAYS},
	{"exit_group", ALWAYS},
	/* who we are */
	{"getpid", ALWAYS},
	{"getppid", ALWAYS},
	{"gettid", ALWAYS},
	{"getuid", ALWAYS},
	{"geteuid", ALWAYS},
	{"getgid", ALWAYS},
	{"getegid", ALWAYS},
	{"uname", ALWAYS},
	{"sysinfo", ALWAYS},
	/* sockets; socket(2) itself is below */
	{"connect", ALWAYS},
	{"sendto", ALWAYS},
	{"sendmsg", ALWAYS},
	{"recvfrom", ALWAYS},
	{"recvmsg", ALWAYS},
	{"shutdown", ALWAYS},
	{"getsockopt", ALWAYS},
	{"setsockopt", ALWAYS},
	{"getsockname", ALWAYS},
	{"getpeername", ALWAYS},
	{"accept4", OS_SANDBOX_ACCEPT},
	{"bind", OS_SANDBOX_DNS}, /* Landlock refuses it for TCP */
	{"sendmmsg", OS_SANDBOX_DNS},
	{"recvmmsg", OS_SANDBOX_DNS},
	/* files */
	{"open", OS_SANDBOX_OPEN},
	{"openat", OS_SANDBOX_OPEN},
	{"getdents64", OS_SANDBOX_OPEN},
	{"fstatfs", OS_SANDBOX_OPEN},
	{"flock", OS_SANDBOX_OPEN},
	{"umask", OS_SANDBOX_CHANGE},
	{"ftruncate", OS_SANDBOX_CHANGE},
	{"fsync", OS_SANDBOX_CHANGE},
	{"fdatasync", OS_SANDBOX_CHANGE},
	{"sync_file_range", OS_SANDBOX_CHANGE},
	{"syncfs", OS_SANDBOX_CHANGE},
	{"linkat", OS_SANDBOX_CHANGE},
	{"renameat", OS_SANDBOX_CHANGE},
	{"renameat2", OS_SANDBOX_CHANGE},
	{"unlinkat", OS_SANDBOX_CHANGE},
	{"mkdirat", OS_SANDBOX_CHANGE},
	{"utimensat", OS_SANDBOX_CHANGE},
	{"access", OS_SANDBOX_DATABASE},
	{"faccessat", OS_SANDBOX_DATABASE},
	{"readlink", OS_SANDBOX_DATABASE},
	{"unlink", OS_SANDBOX_DATABASE},
	{"fallocate", OS_SANDBOX_DATABASE},
	/* os_process_files_as() */
	{"setgroups", OS_SANDBOX_OWNERS},
	{"setfsuid", OS_SANDBOX_OWNERS},
	{"setfsgid", OS_SANDBOX_OWNERS},
#ifdef __SANITIZE_ADDRESS__
	/* what a sanitizer does to find leaks, and to tell of what it found */
	{"clone", ALWAYS},
	{"ptrace", ALWAYS},
	{"wait4", ALWAYS},
	{"kill", ALWAYS},
	{"tgkill", ALWAYS},
	{"prctl", ALWAYS},
	{"arch_prctl", ALWAYS},
	{"open", ALWAYS},
	{"openat", ALWAYS},
	{"readlink", ALWAYS},
	{"getdents64", ALWAYS},
	{"mprotect", ALWAYS},
	{"mmap", ALWAYS},
#endif
};

static const char *const unknown[] = {"clone3", "openat2", "faccessat2", "epoll_create"};

static int allow(scmp_filter_ctx filter, const char *name, const struct scmp_arg_cmp *condition)
{
	int number = seccomp_syscall_resolve_name(name);

	if (number == __NR_SCMP_ERROR)
		return 0;
	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, condition != NULL, condition);
}

static int allow_all(scmp_filter_ctx filter, unsigned calls)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < COUNT_OF(allowed); i++)
		if ((allowed[i].calls & (calls | ALWAYS)) != 0)
			error = allow(filter, allowed[i].name, NULL);
	for (size_t i = 0; error == 0 && i < COUNT_OF(unknown); i++) {
		int number = seccomp_syscall_resolve_name(unknown[i]);

		if (number != __NR_SCMP_ERROR)
			error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
	}
	return error;
}

/* Sockets of FAMILY and TYPE, whatever flags stand beside the type. */
static int allow_socket(scmp_filter_ctx filter, int family, int type)
{
	const struct scmp_arg_cmp conditions[] = {
		SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family),
		SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPES, (scmp_datum_t)type)};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket),
				      COUNT_OF(conditions), conditions);
}

static int allow_sockets(scmp_filter_ctx filter, unsigned calls)
{
	static const struct {
		int family;
		int type;
		unsigned calls;
	} rows[] = {
		{AF_UNIX, SOCK_STREAM, ALWAYS},
		{AF_UNIX, SOCK_DGRAM, ALWAYS},
		{AF_UNIX, SOCK_SEQPACKET, ALWAYS},
		{AF_INET, SOCK_STREAM, OS_SANDBOX_CONNECT | OS_SANDBOX_DNS},
		{AF_INET6, SOCK_STREAM, OS_SANDBOX_CONNECT | OS_SANDBOX_DNS},
		{AF_INET, SOCK_DGRAM, OS_SANDBOX_DNS},
		{AF_INET6, SOCK_DGRAM, OS_SANDBOX_DNS},
	};
	const struct scmp_arg_cmp pairs = SCMP_A0(SCMP_CMP_EQ, AF_UNIX);
	const struct scmp_arg_cmp routes[] = {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
					      SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE)};
	int error = allow(filter, "socketpair", &pairs);

	for (size_t i = 0; error == 0 && i < COUNT_OF(rows); i++)
		if ((rows[i].calls & (calls | ALWAYS)) != 0)
			error = allow_socket(filter, rows[i].family, rows[i].type);
	if (error == 0 && (calls & OS_SANDBOX_DNS) != 0)
		error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket),
					       COUNT_OF(routes), routes);
	return error;
}

/* No memory that is executed can be made, no process, and no signal for another one;
 * limits and terminals can be asked about. */
static int allow_within(scmp_filter_ctx filter)
{
	const struct {
		const char *name;
		struct scmp_arg_cmp condition;
	} rows[] = {
		{"mmap", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
		{"mprotect", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
		{"clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)},
		{"tgkill", SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid())},
		{"prlimit64", SCMP_A2(SCMP_CMP_EQ, 0)},
		{"getrlimit", SCMP_A1(SCMP_CMP_NE, 0)},
		{"prctl", SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)},
		{"ioctl", SCMP_A1(SCMP_CMP_EQ, TCGETS)}, /* isatty(3) */
	};
	int error = 0;

	for (size_t i = 0; error == 0 && i < COUNT_OF(rows); i++)
		error = allow(filter, rows[i].name, &rows[i].condition);
	return error;
}

bool sandbox_has_seccomp(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

/* A tree finds a call in a few comparisons, where a list would take a hundred. */
static int fill(scmp_filter_ctx filter, unsigned calls)
{
	int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);

	if (error == 0)
		error = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	/* who calls as another architecture has been taken over; old kernels can only end
	 * the thread */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (error == 0)
		error = allow_all(filter, calls);
	if (error == 0)
		error = allow_sockets(filter, calls);
	if (error == 0)
		error = allow_within(filter);
	return error;
}

int sandbox_limit_calls(unsigned calls)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int error;

	if (filter == NULL)
		return -ENOMEM;
	error = fill(filter, calls);
	if (error == 0) {
		error = seccomp_load(filter);
		/* the kernel, or a container's filter, does not have it */
		if (error < 0 && error != -ENOMEM)
			error = -ENOSYS;
	}
	seccomp_release(filter);
	return error;
}
