// SPDX-License-Identifier: ISC
/*
 * Landlock by system calls: the C library has no functions for it, and
 * the system's headers may be older than its kernel. Each version of the
 * kernel's interface ("ABI", landlock(7)) knows more rights; those of the first six
 * are removed, as far as the kernel knows them, and then granted
 * again below the given paths.
 */
#include "os/sandbox/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same numbers on every architecture. */
enum {
	CALL_CREATE_RULESET = 444,
	CALL_ADD_RULE = 445,
	CALL_RESTRICT_SELF = 446,
};

enum { CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1, RULE_NET_PORT = 2 };

enum right {
	RIGHT_EXECUTE = 1 << 0,
	RIGHT_WRITE_FILE = 1 << 1,
	RIGHT_READ_FILE = 1 << 2,
	RIGHT_READ_DIR = 1 << 3,
	RIGHT_REMOVE_FILE = 1 << 5,
	RIGHT_MAKE_DIR = 1 << 7,
	RIGHT_MAKE_REG = 1 << 8,
	RIGHTS_FIRST = (1 << 13) - 1, /* all of ABI 1 */
	RIGHT_REFER = 1 << 13,        /* ABI 2: rename and link to another directory */
	RIGHT_TRUNCATE = 1 << 14,     /* ABI 3 */
	RIGHT_IOCTL_DEV = 1 << 15,    /* ABI 5 */
	RIGHTS_OF_A_FILE = RIGHT_EXECUTE | RIGHT_WRITE_FILE | RIGHT_READ_FILE | RIGHT_TRUNCATE |
			   RIGHT_IOCTL_DEV,
};

enum { NETWORK_VERSION = 4, NET_BIND_TCP = 1 << 0, NET_CONNECT_TCP = 1 << 1 };
enum { SCOPE_ABSTRACT_UNIX = 1 << 0, SCOPE_SIGNAL = 1 << 1 }; /* ABI 6 */

struct ruleset {
	uint64_t files;
	uint64_t network;
	uint64_t scopes;
};

struct port_rule {
	uint64_t rights;
	uint64_t port;
};

struct path_rule {
	uint64_t rights;
	int32_t directory;
} __attribute__((packed));

/* 0: not supported. */
static int version_of_landlock(void)
{
	long version = syscall(CALL_CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);

	return version > 0 ? (int)version : 0;
}

bool sandbox_has_landlock(void)
{
	return version_of_landlock() > 0;
}

bool sandbox_refuses_ports(void)
{
	return version_of_landlock() >= NETWORK_VERSION;
}

static struct ruleset rules_of_everything(int version, unsigned calls)
{
	struct ruleset all = {.files = RIGHTS_FIRST};

	if (version >= 2)
		all.files |= RIGHT_REFER;
	if (version >= 3)
		all.files |= RIGHT_TRUNCATE;
	if (version >= NETWORK_VERSION)
		all.network = NET_BIND_TCP | NET_CONNECT_TCP;
	if (version >= 5)
		all.files |= RIGHT_IOCTL_DEV;
	if (version >= 6)
		all.scopes = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
	if ((calls & OS_SANDBOX_CONNECT) != 0)
		all.network &= ~(uint64_t)NET_CONNECT_TCP;
	if ((calls & OS_SANDBOX_ANSWER) != 0)
		all.scopes &= ~(uint64_t)SCOPE_ABSTRACT_UNIX;
	return all;
}

static uint64_t rights_of(unsigned access)
{
	static const struct {
		unsigned access;
		uint64_t rights;
	} table[] = {
		{OS_SANDBOX_READ, RIGHT_READ_FILE},
		{OS_SANDBOX_LIST, RIGHT_READ_DIR},
		{OS_SANDBOX_WRITE, RIGHT_WRITE_FILE | RIGHT_TRUNCATE},
		{OS_SANDBOX_MAKE, RIGHT_MAKE_REG | RIGHT_REFER},
		{OS_SANDBOX_REMOVE, RIGHT_REMOVE_FILE | RIGHT_REFER},
		{OS_SANDBOX_LINK, RIGHT_REFER},
		{OS_SANDBOX_FOLDERS, RIGHT_MAKE_DIR},
	};
	uint64_t rights = 0;

	for (size_t i = 0; i < COUNT_OF(table); i++)
		if ((access & table[i].access) != 0)
			rights |= table[i].rights;
	return rights;
}

/* The descriptor stays open: a directory below /proc that is not held open can be replaced by
 * another one, to which the rule would not apply. */
static int allow_path(int ruleset, const struct ruleset *all, const struct os_sandbox_path *path)
{
	struct path_rule rule = {.rights = rights_of(path->access) & all->files};
	struct stat status;

	rule.directory = open(path->path, O_PATH | O_CLOEXEC);
	if (rule.directory < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
	if (fstat(rule.directory, &status) == 0 && !S_ISDIR(status.st_mode))
		rule.rights &= RIGHTS_OF_A_FILE;
	if (rule.rights != 0 && syscall(CALL_ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) != 0) {
		int error = -errno;

		close(rule.directory);
		return error;
	}
	if (strncmp(path->path, "/proc/", 6) != 0)
		close(rule.directory);
	return 0;
}

/* At port 0 the kernel chooses one, which is that of a connection. */
static int allow_source(int ruleset)
{
	const struct port_rule rule = {.rights = NET_BIND_TCP, .port = 0};

	return syscall(CALL_ADD_RULE, ruleset, RULE_NET_PORT, &rule, 0) != 0 ? -errno : 0;
}

static int restrict_self(int ruleset, const struct ruleset *all, const struct os_sandbox *sandbox)
{
	for (size_t i = 0; i < sandbox->path_count; i++) {
		int error = allow_path(ruleset, all, &sandbox->paths[i]);

		if (error < 0)
			return error;
	}
	if ((sandbox->calls & OS_SANDBOX_SOURCE) != 0 && all->network != 0) {
		int error = allow_source(ruleset);

		if (error < 0)
			return error;
	}
	return syscall(CALL_RESTRICT_SELF, ruleset, 0) != 0 ? -errno : 0;
}

/* ABI 1 forbids all renames between directories, whatever the rules are, so it is useless for a
 * process that needs them. */
static bool is_of_use(int version, const struct os_sandbox *sandbox)
{
	return version >= 2 || (version == 1 && (sandbox->calls & OS_SANDBOX_CHANGE) == 0);
}

int sandbox_limit_paths(const struct os_sandbox *sandbox)
{
	int version = version_of_landlock();
	struct ruleset all = rules_of_everything(version, sandbox->calls);
	int ruleset;
	int error;

	if (!is_of_use(version, sandbox))
		return -ENOSYS;
	ruleset = (int)syscall(CALL_CREATE_RULESET, &all, sizeof all, 0);
	if (ruleset < 0)
		return -errno;
	error = restrict_self(ruleset, &all, sandbox);
	close(ruleset);
	return error;
}
