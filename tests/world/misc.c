// SPDX-License-Identifier: ISC
/* The small parts of os/: time, chance, streams, and what a simulated machine does not have. */
#include "description.h"
#include "os/clock.h"
#include "os/file/mounts.h"
#include "os/inspect/inspect.h"
#include "os/inspect/sockets.h"
#include "os/load.h"
#include "os/notify.h"
#include "os/process/access.h"
#include "os/process/capability.h"
#include "os/process/output.h"
#include "os/random.h"
#include "os/sandbox/sandbox.h"
#include "os/socket/interface.h"
#include "os/socket/socket.h"
#include "os/stream/stream.h"
#include "os/stream/terminal.h"
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* --- time and chance --- */

/* Who asks for the time works: it goes on a little, so that nobody waits for it in vain. */
int64_t os_clock_monotonic_us(void)
{
	return kernel_now_us() + 1;
}

int64_t os_clock_boot_us(void)
{
	return kernel_now_us() + 1;
}

int64_t os_clock_wall_us(void)
{
	return kernel_now_us() + kernel_process()->machine->wall_offset_us;
}

uint64_t os_random_u64(void)
{
	return kernel_random();
}

uint64_t os_random_below(uint64_t bound)
{
	return kernel_below(bound);
}

/* --- streams --- */

ssize_t os_stream_read(int descriptor, void *data, size_t size)
{
	struct description *description = table_find(descriptor);

	if (description == NULL)
		return -EBADF;
	return description->kind->read != NULL ? description->kind->read(description, data, size)
					       : -EINVAL;
}

ssize_t os_stream_write(int descriptor, const void *data, size_t size)
{
	struct description *description = table_find(descriptor);

	if (description == NULL)
		return -EBADF;
	return description->kind->write != NULL ? description->kind->write(description, data, size)
						: -EINVAL;
}

int os_stream_copy(int descriptor)
{
	return table_copy(descriptor, STDERR_FILENO + 1);
}

int os_stream_rewind(int descriptor)
{
	(void)descriptor;
	return -ESPIPE;
}

int os_stream_set_blocking(int descriptor)
{
	(void)descriptor;
	return 0;
}

int os_stream_temporary(void)
{
	return -ENOSPC;
}

/* --- what there is none of --- */

int os_notify(const char *text)
{
	(void)text;
	return 0;
}

int os_notify_barrier(int wait_ms)
{
	(void)wait_ms;
	return 0;
}

int os_notify_store(const char *name, int descriptor)
{
	(void)name;
	(void)descriptor;
	return 0;
}

void os_load_open(struct os_load *load)
{
	load->file = -1;
}

void os_load_close(struct os_load *load)
{
	(void)load;
}

unsigned os_load_processors(struct os_load *load)
{
	(void)load;
	return 0;
}

unsigned os_load_average(void)
{
	return 0;
}

/* No configuration here has classes of hosts: no listener is closed. */
void os_socket_shut(int listening)
{
	(void)listening;
}

int os_socket_listen_again(int listening, int backlog)
{
	(void)listening;
	(void)backlog;
	return -EADDRINUSE;
}

int os_mounts_open(void)
{
	return -ENOENT;
}

uint64_t os_mounts_find(struct str path)
{
	(void)path;
	return 0;
}

uint64_t os_mounts_find_in(struct str text, struct str path)
{
	(void)text;
	(void)path;
	return 0;
}

int os_capability_keep(uint64_t kept, bool by_programs)
{
	(void)kept;
	(void)by_programs;
	return 0;
}

unsigned os_sandbox_lacks(void)
{
	return 0;
}

int os_sandbox_enter(const struct os_sandbox *sandbox, unsigned *lacks_out)
{
	(void)sandbox;
	*lacks_out = 0;
	return 0;
}

int os_sandbox_file(const char *path, struct os_sandbox_file *file_out)
{
	(void)path;
	*file_out = (struct os_sandbox_file){0};
	return 0;
}

int os_sandbox_real_path(const char *path, char real_out[OS_SANDBOX_PATH_SIZE])
{
	snprintf(real_out, OS_SANDBOX_PATH_SIZE, "%s", path);
	return 0;
}

int os_interface_addresses(struct in6_addr *list, size_t size)
{
	if (size < 1)
		return 0;
	list[0] = (struct in6_addr){0};
	list[0].s6_addr[10] = 0xff;
	list[0].s6_addr[11] = 0xff;
	for (size_t i = 0; i < 4; i++)
		list[0].s6_addr[12 + i] =
			(uint8_t)(kernel_process()->machine->address >> (24 - 8 * i));
	return 1;
}

bool os_interface_has(const struct in6_addr *address)
{
	(void)address;
	return true;
}

int os_terminal_ask_secret(const char *prompt, size_t max, struct buffer *out)
{
	(void)prompt;
	(void)max;
	(void)out;
	return -ENOTTY;
}

bool os_terminal_is(int descriptor)
{
	(void)descriptor;
	return false;
}

int os_process_output(const char *const *arguments, size_t max, struct buffer *out)
{
	(void)arguments;
	(void)max;
	(void)out;
	return -ENOENT;
}

/* All are one user here, who may do everything. */
int os_access_as(const struct os_process_user *user, struct os_access *asked, size_t count)
{
	(void)user;
	(void)asked;
	(void)count;
	return -EPERM;
}

void os_access_describe(const char *path, size_t length, struct buffer *out)
{
	(void)path;
	(void)length;
	(void)out;
}

void os_access_name_user(uid_t uid, struct buffer *out)
{
	buffer_append_number(out, uid);
}

/* --- looking into others --- */

int os_inspect_status(pid_t pid, struct os_inspect_status *out)
{
	(void)pid;
	(void)out;
	return -ESRCH;
}

bool os_inspect_may_change_user(const struct os_inspect_status *status)
{
	(void)status;
	return false;
}

int os_inspect_program(pid_t pid, char path_out[OS_PROCESS_PATH_SIZE])
{
	(void)pid;
	(void)path_out;
	return -ESRCH;
}

int os_inspect_descriptors(pid_t pid, os_inspect_each *each, void *context)
{
	(void)pid;
	(void)each;
	(void)context;
	return -ESRCH;
}

int os_inspect_processes(void (*each)(void *context, pid_t pid, pid_t parent), void *context)
{
	(void)each;
	(void)context;
	return -EOPNOTSUPP;
}

int os_inspect_sockets_new(pid_t pid, struct os_inspect_sockets **out)
{
	(void)pid;
	(void)out;
	return -EOPNOTSUPP;
}

void os_inspect_sockets_free(struct os_inspect_sockets *sockets)
{
	(void)sockets;
}

const struct os_inspect_socket *os_inspect_sockets_find(const struct os_inspect_sockets *sockets,
							uint64_t number)
{
	(void)sockets;
	(void)number;
	return NULL;
}
