// SPDX-License-Identifier: ISC
/*
 * seccomp, by libseccomp: a list of allowed system calls; all others fail with
 * EPERM. By name: those that an architecture does not have are ignored.
 *
 * For a few calls the C library has an alternative, which it uses if the kernel seems not
 * to support them: those fail with ENOSYS.
 */
#include "os/sandbox/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned calls; /* any of them; SANDBOX_ALWAYS */
} allowed[] = {
	/* open descriptors */
	{"read", SANDBOX_ALWAYS},
	{"readv", SANDBOX_ALWAYS},
	{"pread64", SANDBOX_ALWAYS},
	{"write", SANDBOX_ALWAYS},
	{"writev", SANDBOX_ALWAYS},
	{"pwrite64", SANDBOX_ALWAYS},
	{"lseek", SANDBOX_ALWAYS},
	{"close", SANDBOX_ALWAYS},
	{"fstat", SANDBOX_ALWAYS},
	/* waiting */
	{"poll", SANDBOX_ALWAYS},
	{"ppoll", SANDBOX_ALWAYS},
	{"epoll_create1", SANDBOX_ALWAYS},
	{"epoll_ctl", SANDBOX_ALWAYS},
	{"epoll_wait", SANDBOX_ALWAYS},
	{"epoll_pwait", SANDBOX_ALWAYS},
	{"epoll_pwait2", SANDBOX_ALWAYS},
	{"eventfd2", SANDBOX_ALWAYS},
	{"pipe2", SANDBOX_ALWAYS},
	{"nanosleep", SANDBOX_ALWAYS},
	{"clock_nanosleep", SANDBOX_ALWAYS},
	/* time and randomness */
	{"clock_gettime", SANDBOX_ALWAYS},
	{"clock_getres", SANDBOX_ALWAYS},
	{"gettimeofday", SANDBOX_ALWAYS},
	{"time", SANDBOX_ALWAYS},
	{"getrandom", SANDBOX_ALWAYS},
	/* memory */
	{"brk", SANDBOX_ALWAYS},
	{"munmap", SANDBOX_ALWAYS},
	{"mremap", SANDBOX_ALWAYS},
	{"madvise", SANDBOX_ALWAYS},
	/* threads and signals */
	{"futex", SANDBOX_ALWAYS},
	{"set_robust_list", SANDBOX_ALWAYS},
	{"rseq", SANDBOX_ALWAYS},
	{"membarrier", SANDBOX_ALWAYS},
	{"sched_yield", SANDBOX_ALWAYS},
	{"sched_getaffinity", SANDBOX_ALWAYS},
	{"rt_sigaction", SANDBOX_ALWAYS},
	{"rt_sigprocmask", SANDBOX_ALWAYS},
	{"rt_sigreturn", SANDBOX_ALWAYS},
	{"rt_sigtimedwait", SANDBOX_ALWAYS},
	{"sigaltstack", SANDBOX_ALWAYS},
	{"restart_syscall", SANDBOX_ALWAYS},
	{"exit", SANDBOX_ALWAYS},
	{"exit_group", SANDBOX_ALWAYS},
	/* identity */
	{"getpid", SANDBOX_ALWAYS},
	{"getppid", SANDBOX_ALWAYS},
	{"gettid", SANDBOX_ALWAYS},
	{"getuid", SANDBOX_ALWAYS},
	{"geteuid", SANDBOX_ALWAYS},
	{"getgid", SANDBOX_ALWAYS},
	{"getegid", SANDBOX_ALWAYS},
	{"uname", SANDBOX_ALWAYS},
	{"sysinfo", SANDBOX_ALWAYS},
	/* sockets; creating, connecting, changing and closing them is in sockets.c */
	{"recvfrom", SANDBOX_ALWAYS},
	{"recvmsg", SANDBOX_ALWAYS},
	{"getsockopt", SANDBOX_ALWAYS},
	{"getsockname", SANDBOX_ALWAYS},
	{"getpeername", SANDBOX_ALWAYS},
	{"accept4", OS_SANDBOX_ACCEPT},
	{"recvmmsg", OS_SANDBOX_DNS},
	/* files */
	{"open", OS_SANDBOX_OPEN},
	{"openat", OS_SANDBOX_OPEN},
	{"newfstatat", OS_SANDBOX_OPEN}, /* also fstat(3): see base/descriptor.h */
	{"statx", OS_SANDBOX_OPEN},
	{"getdents64", OS_SANDBOX_OPEN},
	{"fstatfs", OS_SANDBOX_OPEN | OS_SANDBOX_SPACE},
	{"flock", OS_SANDBOX_OPEN},
	{"capget", OS_SANDBOX_CHANGE}, /* os_process_may_change_user() */
	{"umask", OS_SANDBOX_CHANGE},
	{"ftruncate", OS_SANDBOX_CHANGE},
	{"fsync", OS_SANDBOX_CHANGE},
	{"fdatasync", OS_SANDBOX_CHANGE | OS_SANDBOX_SYNC},
	{"sync_file_range", OS_SANDBOX_CHANGE},
	{"syncfs", OS_SANDBOX_CHANGE},
	{"linkat", OS_SANDBOX_CHANGE},
	{"renameat", OS_SANDBOX_CHANGE},
	{"renameat2", OS_SANDBOX_CHANGE},
	{"unlinkat", OS_SANDBOX_CHANGE},
	{"mkdirat", OS_SANDBOX_CHANGE},
	{"utimensat", OS_SANDBOX_CHANGE},
	{"inotify_init1", OS_SANDBOX_DATABASE},
	{"inotify_add_watch", OS_SANDBOX_DATABASE},
	{"access", OS_SANDBOX_DATABASE},
	{"faccessat", OS_SANDBOX_DATABASE},
	{"readlink", OS_SANDBOX_DATABASE | OS_SANDBOX_SECRETS},
	{"unlink", OS_SANDBOX_DATABASE},
	{"fallocate", OS_SANDBOX_DATABASE},
	/* os_process_files_as() */
	{"setgroups", OS_SANDBOX_OWNERS},
	{"getgroups", OS_SANDBOX_OWNERS},
	{"setfsuid", OS_SANDBOX_OWNERS},
	{"setfsgid", OS_SANDBOX_OWNERS},
#ifdef __SANITIZE_ADDRESS__
	/* a sanitizer needs these to find and report leaks */
	{"clone", SANDBOX_ALWAYS},
	{"ptrace", SANDBOX_ALWAYS},
	{"wait4", SANDBOX_ALWAYS},
	{"kill", SANDBOX_ALWAYS},
	{"tgkill", SANDBOX_ALWAYS},
	{"prctl", SANDBOX_ALWAYS},
	{"arch_prctl", SANDBOX_ALWAYS},
	{"open", SANDBOX_ALWAYS},
	{"newfstatat", SANDBOX_ALWAYS},
	{"openat", SANDBOX_ALWAYS},
	{"readlink", SANDBOX_ALWAYS},
	{"getdents64", SANDBOX_ALWAYS},
	{"mprotect", SANDBOX_ALWAYS},
	{"mmap", SANDBOX_ALWAYS},
#endif
};

static const char *const unknown[] = {"clone3", "openat2", "faccessat2", "epoll_create"};

static int allow_all(scmp_filter_ctx filter, unsigned calls)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < COUNT_OF(allowed); i++)
		if ((allowed[i].calls & (calls | SANDBOX_ALWAYS)) != 0)
			error = sandbox_allow(filter, allowed[i].name, 0, NULL);
	for (size_t i = 0; error == 0 && i < COUNT_OF(unknown); i++) {
		int number = seccomp_syscall_resolve_name(unknown[i]);

		if (number != __NR_SCMP_ERROR)
			error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
	}
	return error;
}

/* No executable memory can be created, no process, and no signal sent to another process;
 * limits, terminals and open files can be queried. */
static int allow_within(scmp_filter_ctx filter, unsigned calls)
{
	const struct {
		const char *name;
		struct scmp_arg_cmp condition;
		unsigned calls; /* 0: always allowed */
	} rows[] = {
		{"mmap", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
		{"mprotect", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
		{"clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)},
		{"tgkill", SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid())},
		{"prlimit64", SCMP_A2(SCMP_CMP_EQ, 0)},
		{"getrlimit", SCMP_A1(SCMP_CMP_NE, 0)},
		{"prctl", SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)},
		{"ioctl", SCMP_A1(SCMP_CMP_EQ, TCGETS)}, /* isatty(3) */
		/* os_worker_lower(): of the caller, or of all processes of its user */
		{"setpriority", SCMP_A1(SCMP_CMP_EQ, 0)},
		{"getpriority", SCMP_A1(SCMP_CMP_EQ, 0)},
		{"sched_setscheduler", SCMP_A1(SCMP_CMP_EQ, SCHED_IDLE)},
		/* not F_SETFL, which changes files that others share, nor F_SETOWN, which directs
		 * signals to a process */
		{"fcntl", SCMP_A1(SCMP_CMP_EQ, F_GETFD)},
		{"fcntl", SCMP_A1(SCMP_CMP_EQ, F_SETFD)},
		{"fcntl", SCMP_A1(SCMP_CMP_EQ, F_GETFL)},
		{"fcntl", SCMP_A1(SCMP_CMP_EQ, F_DUPFD_CLOEXEC)},
		/* for os/file/writers.c */
		{"fcntl", SCMP_A1(SCMP_CMP_EQ, F_SETLEASE), OS_SANDBOX_CHANGE},
		{"fcntl", SCMP_A1(SCMP_CMP_EQ, F_GETLK), OS_SANDBOX_DATABASE},
		{"fcntl", SCMP_A1(SCMP_CMP_EQ, F_SETLK), OS_SANDBOX_DATABASE},
		{"fcntl", SCMP_A1(SCMP_CMP_EQ, F_SETLKW), OS_SANDBOX_DATABASE},
		{"fcntl", SCMP_A1(SCMP_CMP_EQ, F_OFD_GETLK), OS_SANDBOX_DATABASE},
		{"fcntl", SCMP_A1(SCMP_CMP_EQ, F_OFD_SETLK),
		 OS_SANDBOX_DATABASE | OS_SANDBOX_LOCKS},
	};
	int error = 0;

	for (size_t i = 0; error == 0 && i < COUNT_OF(rows); i++)
		if (rows[i].calls == 0 || (rows[i].calls & calls) != 0)
			error = sandbox_allow(filter, rows[i].name, 1, &rows[i].condition);
	return error;
}

bool sandbox_has_seccomp(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

/* As a tree the filter needs a few comparisons for a call, as a list it would need a hundred. */
static int fill_seccomp_filter(scmp_filter_ctx filter, unsigned calls)
{
	int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);

	if (error == 0)
		error = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	/* calls of another architecture are an attack; old kernels can only kill the
	 * thread */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (error == 0)
		error = allow_all(filter, calls);
	if (error == 0)
		error = sandbox_allow_sockets(filter, calls);
	if (error == 0)
		error = allow_within(filter, calls);
	return error;
}

int sandbox_limit_calls(unsigned calls)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int error;

	if (filter == NULL)
		return -ENOMEM;
	error = fill_seccomp_filter(filter, calls);
	if (error == 0) {
		error = seccomp_load(filter);
		/* not supported by the kernel, or denied by a container's filter */
		if (error < 0 && error != -ENOMEM)
			error = -ENOSYS;
	}
	seccomp_release(filter);
	return error;
}
