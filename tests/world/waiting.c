// SPDX-License-Identifier: ISC
/* The judge of waiting (accounts.h). */
#include "accounts.h"
#include "files.h"
#include "growth.h"
#include "judge.h"
#include "states.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MINUTE_US = 60 * INT64_C(1000000);

static int64_t later(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

/* Mail may wait for a trigger as long as that has its name; those of holds are the operator's. */
static bool has_triggers(struct machine *machine)
{
	size_t size = 0;
	char *names = files_names(machine, "/var/queue/trigger", &size);
	bool has = false;

	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1)
		has |= strncmp(names + i, "hold.", 5) != 0;
	if (names != NULL)
		disk_list_free(names);
	return has;
}

/* A hold that was released may come back with a power cut: triggers are not made durable. */
static bool is_held(const struct account *account)
{
	char path[96];

	snprintf(path, sizeof path, "/var/queue/trigger/hold.%s", account->id);
	return files_exist(account->books->machine, path);
}

static void look_at(struct books *books)
{
	const int64_t now_us = kernel_now_us();
	const int64_t bound_us = WAITING_US + (int64_t)books->open_count * WAITING_EACH_US;

	if (books->is_held || has_triggers(books->machine)) {
		books->moved_us = now_us;
		return;
	}
	for (struct account *account = books->first_open; account != NULL;
	     account = account->after) {
		int64_t since_us = later(later(account->last_us, account->due_us), books->moved_us);

		if (account->done_us > 0 || now_us - since_us < bound_us)
			continue;
		if (is_held(account)) {
			account->last_us = now_us;
			continue;
		}
		judge_object(JUDGE_WAITING, "%s: message %s waits since %lld s",
			     books->machine->name, account->id,
			     (long long)((now_us - since_us) / 1000000));
		account->last_us = now_us;
	}
}

static void look(void *context)
{
	(void)context;
	accounts_close();
	for (struct books *books = accounts_first(); books != NULL; books = books->next) {
		look_at(books);
		if (books->open_count > 0) /* else there is none */
			growth_look_at_controls(books->machine);
	}
	kernel_at(kernel_now_us() + MINUTE_US, look, NULL);
}

void waiting_begin(void)
{
	look(NULL);
}

/* From an attempt at AGE_US to the next: birth + (sqrt(age) + skip)^2. */
static int64_t pause_at(int64_t age_us)
{
	const double skip = 20; /* of the service with the longest pauses */

	return (int64_t)((2 * skip * sqrt((double)age_us / 1e6) + skip * skip) * 1e6);
}

void waiting_clock_is_right(const struct machine *machine, int64_t jump_us)
{
	const int64_t now_us = kernel_now_us();
	struct books *books = accounts_of(machine);

	if (books == NULL)
		return;
	for (struct account *account = books->first_open; account != NULL;
	     account = account->after) {
		const int64_t pause_us =
			pause_at(now_us - account->first_us + llabs((long long)jump_us));
		const int64_t more_us = jump_us < 0 ? 0 : jump_us < pause_us ? jump_us : pause_us;

		account->due_us = later(account->due_us, now_us + pause_us + more_us);
	}
}

void waiting_check_client(uint32_t address, int64_t since_us, const char *what)
{
	struct books *books = accounts_first();

	while (books != NULL && books->machine->address != address)
		books = books->next;
	if (books == NULL)
		return;
	since_us = later(since_us, books->moved_us);
	if (kernel_now_us() - since_us >= WAITING_US + (int64_t)books->open_count * WAITING_EACH_US)
		judge_object(JUDGE_WAITING, "%s: a client waits for %s since %lld s",
			     books->machine->name, what,
			     (long long)((kernel_now_us() - since_us) / 1000000));
}
