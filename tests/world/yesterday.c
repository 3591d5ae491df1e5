// SPDX-License-Identifier: ISC
#include "yesterday.h"
#include "accounts.h"
#include "command.h"
#include "files.h"
#include "mail.h"
#include "node.h"
#include <signal.h>
#include <string.h>

#define COPY   "/var/lib/yesterday.sqlite"
#define NEWEST "/var/lib/newest.sqlite"

static const int64_t SECOND = 1000000;
static const int64_t AWAY_US = 300 * INT64_C(1000000);

static struct {
	struct machine *node;
	const char *store;
	void (*done)(void);
	bool has_copy;
} now;

static void copy_to(const char *path, void (*copied)(void *context, int status, const char *output))
{
	char statement[128];
	const char *arguments[] = {now.store, statement, NULL};

	if (files_exist(now.node, path))
		files_remove(now.node, path);
	snprintf(statement, sizeof statement, "VACUUM INTO '%s'", path);
	command_run(now.node, "sql", arguments, copied, NULL);
}

/* "VACUUM INTO" does not sync what it makes, so that is done here: whether there is a copy now. */
static bool is_copied(const char *path, int status, const char *output)
{
	world_log("people", "%s: status %d%s%.*s", path, status, *output != '\0' ? ", " : "",
		  (int)strcspn(output, "\n"), output);
	if (now.node->disk_has_stopped || !files_exist(now.node, path))
		return false;
	if (status == 0)
		files_sync(now.node, path);
	else
		files_remove(now.node, path);
	return status == 0;
}

/* As "mv PATH STORE; rm STORE-wal STORE-shm" does. */
static void put_in_place(const char *path)
{
	static const char *const others[] = {"-wal", "-shm"};
	char name[128];

	for (size_t i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "%s%s", now.store, others[i]);
		if (files_exist(now.node, name))
			files_remove(now.node, name);
	}
	files_replace(now.node, path, now.store);
	world_log("people", "%s is in the store's place", path);
	accounts_moved(now.node);
}

/* Whether the disk takes changes; else CALL is made again later. */
static bool is_writable(void (*call)(void *context))
{
	if (now.node->disk_has_stopped)
		kernel_at(kernel_now_us() + 5 * SECOND, call, NULL);
	return !now.node->disk_has_stopped;
}

static void bring_back(void *context)
{
	(void)context;
	if (!is_writable(bring_back))
		return;
	put_in_place(NEWEST);
	now.done();
}

static void replace(void *context)
{
	(void)context;
	if (!is_writable(replace))
		return;
	now.has_copy = false;
	put_in_place(COPY);
	kernel_at(kernel_now_us() + (int64_t)kernel_below((uint64_t)AWAY_US), bring_back, NULL);
}

/* What no server has seen, it cannot miss: somebody may have changed the file while there was none.
 */
static bool is_seen(void)
{
	const struct process *directory = node_process(now.node, "directory");

	return directory != NULL && !directory->is_frozen;
}

/* What has just been copied is what comes back. */
static void newest_copied(void *context, int status, const char *output)
{
	struct process *supervisor = node_supervisor(now.node);

	(void)context;
	if (!is_copied(NEWEST, status, output) || !is_seen()) {
		now.done();
	} else if (supervisor != NULL && kernel_one_in(2)) {
		ledger_excuse(); /* if it is the second one, it is an order to hurry */
		accounts_hurt(now.node);
		process_signal(supervisor, SIGTERM);
		accounts_moved(now.node);
		kernel_at(kernel_now_us() + 5 * SECOND, replace, NULL);
	} else {
		replace(NULL);
	}
}

static void copied(void *context, int status, const char *output)
{
	(void)context;
	now.has_copy = is_copied(COPY, status, output);
	now.done();
}

void yesterday_act(struct machine *node, const char *store, void (*done)(void))
{
	now.node = node;
	now.store = store;
	now.done = done;
	if (now.has_copy)
		copy_to(NEWEST, newest_copied);
	else
		copy_to(COPY, copied);
}
