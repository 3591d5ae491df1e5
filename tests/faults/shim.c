// SPDX-License-Identifier: ISC
/* Which call is to fail: a test says so in shared memory. */
#include "shim.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static struct shim *shim;
static const char *program = "";
static bool is_paused;
static __thread struct shim_trace *trace; /* of the call that was asked about last; or NULL */
extern void *__libc_stack_end;

/* Without the library's functions, which are the shim's own. */
__attribute__((constructor)) static void map_memory(void)
{
	const char *path = getenv("STAGEPOST_SHIM");
	const long bits = PROT_READ | PROT_WRITE;
	long file;
	long memory;

	if (path == NULL)
		return;
	file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	if (file < 0)
		return;
	memory = syscall(SYS_mmap, NULL, sizeof *shim, bits, MAP_SHARED, file, 0);
	syscall(SYS_close, file);
	program = program_invocation_short_name;
	if (memory > 0)
		shim = (struct shim *)memory; // NOLINT(performance-no-int-to-ptr)
}

void *shim_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

int64_t shim_clock(bool is_time_of_day)
{
	if (shim == NULL)
		return 0;
	return atomic_load(&shim->passed_us) + (is_time_of_day ? atomic_load(&shim->clock_us) : 0);
}

unsigned shim_load(void)
{
	return shim == NULL ? 0 : atomic_load(&shim->load);
}

int shim_wait(int milliseconds)
{
	int most = shim == NULL ? 0 : atomic_load(&shim->wait_ms);

	return most != 0 && (milliseconds < 0 || milliseconds > most) ? most : milliseconds;
}

/* One of two that a process made for itself: it cannot be reset. */
static bool is_of_pair(int file)
{
	struct sockaddr_un name[2];
	socklen_t sizes[2] = {sizeof name[0], sizeof name[1]};

	return syscall(SYS_getsockname, file, &name[0], &sizes[0]) == 0 &&
	       syscall(SYS_getpeername, file, &name[1], &sizes[1]) == 0 &&
	       name[0].sun_family == AF_UNIX && sizes[0] == sizeof(sa_family_t) &&
	       sizes[1] == sizeof(sa_family_t);
}

static const char *kind_of_socket(int file)
{
	int type = 0;
	socklen_t size = sizeof type;

	if (syscall(SYS_getsockopt, file, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
		return "other";
	if (type == SOCK_SEQPACKET)
		return "packet";
	if (type == SOCK_DGRAM)
		return "datagram";
	return is_of_pair(file) ? "pair" : "stream";
}

static const char *kind_of(int file)
{
	struct stat status;

	if (file < 0)
		return "";
	if (syscall(SYS_fstat, file, &status) != 0)
		return "other";
	if (S_ISREG(status.st_mode))
		return "file";
	if (S_ISDIR(status.st_mode))
		return "directory";
	if (S_ISFIFO(status.st_mode))
		return "pipe";
	return S_ISSOCK(status.st_mode) ? kind_of_socket(file) : "other";
}

static void copy_name(char *out, const char *name)
{
	strncpy(out, name, SHIM_NAME - 1);
}

void shim_pause(bool is_now)
{
	is_paused = is_now;
}

void shim_returned(int64_t result)
{
	if (trace != NULL)
		trace->result = result;
}

/* By the frame pointers, which our programs have. What a library leaves in that register is none:
 * it is believed only if it goes on up the stack. */
static void take_stack(uint64_t *stack)
{
	const uintptr_t *frame = __builtin_frame_address(0);

	for (size_t i = 0; i < SHIM_STACK; i++) {
		const uintptr_t *next =
			(const uintptr_t *)frame[0]; // NOLINT(performance-no-int-to-ptr)

		stack[i] = frame[1];
		if (next <= frame || next >= frame + 32768 || (uintptr_t)next % sizeof *next != 0 ||
		    (getpid() == syscall(SYS_gettid) && next >= (uintptr_t *)__libc_stack_end))
			return;
		frame = next;
	}
}

static void write_down(const char *name, const char *kind)
{
	uint32_t number = atomic_fetch_add(&shim->recorded, 1);
	struct shim_call *entry = &shim->entries[number % SHIM_ENTRIES];

	if (number >= SHIM_ENTRIES)
		return;
	copy_name(entry->program, program);
	copy_name(entry->name, name);
	copy_name(entry->kind, kind);
	if (shim->is_traced == 0)
		return;
	trace = &shim->traces[number];
	trace->process = getpid();
	trace->result = -1;
	take_stack(trace->stack);
}

static bool is_the_one(const char *name, const char *kind)
{
	return strcmp(shim->call.program, program) == 0 && strcmp(shim->call.name, name) == 0 &&
	       strcmp(shim->call.kind, kind) == 0;
}

int shim_ask(const char *name, int file)
{
	uint32_t mode = shim == NULL ? SHIM_OFF : atomic_load(&shim->mode);
	int before = errno;
	int action = 0;
	const char *kind;

	trace = NULL;
	if (mode == SHIM_OFF || is_paused)
		return 0;
	kind = kind_of(file);
	if (mode == SHIM_RECORD || shim->is_traced != 0)
		write_down(name, kind);
	if (mode == SHIM_RECORD) {
		action = 0;
	} else if (is_the_one(name, kind) && atomic_fetch_add(&shim->seen, 1) + 1 == shim->number) {
		atomic_fetch_add(&shim->fired, 1);
		action = shim->action;
	}
	errno = before;
	return action;
}
