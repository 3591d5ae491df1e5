// SPDX-License-Identifier: ISC
#include "operator.h"
#include "accounts.h"
#include "command.h"
#include "files.h"
#include "judge.h"
#include "listings.h"
#include "mail.h"
#include "waits.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

#define EMPTY "Mail queue is empty\n"

enum { ORDERS = 4 };

static const int64_t SECOND = 1000000;
static const int64_t AGAIN_US = 20 * INT64_C(1000000);

struct node_operator {
	struct machine *node;
	int64_t pause_us;
	int64_t quiet_from_us;
	size_t orders;  /* how many of them it gives */
	bool may_hold;  /* something may be held */
	char *messages; /* as of files_names(), before a listing */
	size_t size;
	int64_t listing_us; /* when it began */
	struct node_operator *next;
};

static struct node_operator *operators;

static void act(void *context);

static void plan(struct node_operator *self, int64_t delay_us)
{
	kernel_at(kernel_now_us() + delay_us, act, self);
}

static void go_on(struct node_operator *self)
{
	plan(self, (int64_t)kernel_below(2 * (uint64_t)self->pause_us));
}

/* --- what listings say --- */

/* The numbers in info/, each with its NUL. */
static char *read_messages(struct machine *node, size_t *size_out)
{
	size_t size = 0;
	char *folders = files_names(node, "/var/queue/info", &size);
	char *all = NULL;
	size_t used = 0;

	for (size_t i = 0; folders != NULL && i < size; i += strlen(folders + i) + 1) {
		char path[128];
		size_t length = 0;
		char *names;

		snprintf(path, sizeof path, "/var/queue/info/%s", folders + i);
		names = files_names(node, path, &length);
		if (names == NULL)
			continue;
		all = realloc(all, used + length + 1);
		if (all == NULL)
			err(1, "no memory");
		memcpy(all + used, names, length);
		used += length;
		disk_list_free(names);
	}
	if (folders != NULL)
		disk_list_free(folders);
	*size_out = used;
	return all;
}

static void listed(void *context, int status, const char *output)
{
	struct node_operator *self = context;

	world_log("operator", "%s: a listing of %zu bytes, status %d", self->node->name,
		  strlen(output), status);
	if (status == 0)
		listing_check(self->node, output, self->messages, self->size, self->listing_us);
	free(self->messages);
	self->messages = NULL;
	go_on(self);
}

static void list(struct node_operator *self)
{
	static const char *const arguments[] = {"queue", "list", "--json", NULL};

	self->messages = read_messages(self->node, &self->size);
	self->listing_us = kernel_now_us();
	command_run(self->node, "stagepost", arguments, listed, self);
}

/* --- orders --- */

static void tell(const struct node_operator *self, const char *order, int status,
		 const char *output)
{
	world_log("operator", "%s: %s: status %d, %.*s", self->node->name, order, status,
		  (int)strcspn(output, "\n"), output);
}

static void ordered(void *context, int status, const char *output)
{
	struct node_operator *self = context;

	waits_order(self->node, false);
	tell(context, "order", status, output);
	go_on(context);
}

static void hold(struct node_operator *self)
{
	static const char *const arguments[] = {"queue",       "hold",  "--domain",
						"hop.example", "--yes", NULL};

	self->may_hold = true;
	accounts_hold(self->node, true);
	waits_order(self->node, true);
	command_run(self->node, "stagepost", arguments, ordered, self);
}

/* One that fails may have been carried out in part: it is repeated. */
static void released(void *context, int status, const char *output)
{
	struct node_operator *self = context;

	tell(self, "release", status, output);
	waits_order(self->node, false);
	self->may_hold = status != 0;
	accounts_hold(self->node, self->may_hold);
	if (status == 0)
		go_on(self);
	else
		plan(self, AGAIN_US);
}

static void release(struct node_operator *self)
{
	static const char *const arguments[] = {"queue", "release", "--all", "--yes", NULL};

	waits_order(self->node, true);
	command_run(self->node, "stagepost", arguments, released, self);
}

static void retry(struct node_operator *self)
{
	static const char *const arguments[] = {"queue", "retry", "--all", "--yes", NULL};

	waits_order(self->node, true);
	command_run(self->node, "stagepost", arguments, ordered, self);
}

static void requeue(struct node_operator *self)
{
	static const char *const arguments[] = {"queue", "requeue", "--all", "--yes", NULL};

	waits_order(self->node, true);
	command_run(self->node, "stagepost", arguments, ordered, self);
}

static void act(void *context)
{
	static void (*const orders[ORDERS])(struct node_operator * self) = {list, hold, retry,
									    requeue};
	struct node_operator *self = context;

	if (self->may_hold)
		release(self);
	else if (kernel_now_us() < self->quiet_from_us)
		orders[kernel_below(self->orders)](self);
}

void operator_start(struct machine *node, int64_t pause_us, int64_t quiet_from_us)
{
	struct node_operator *self = calloc(1, sizeof *self);

	if (self == NULL)
		err(1, "no memory");
	/* half of them never requeue, which writes all control files anew: they grow elsewhere */
	*self = (struct node_operator){.node = node,
				       .pause_us = pause_us,
				       .orders = kernel_one_in(2) ? ORDERS : ORDERS - 1,
				       .quiet_from_us = quiet_from_us,
				       .next = operators};
	operators = self;
	go_on(self);
}

/* --- the end --- */

static void listed_at_end(void *context, int status, const char *output)
{
	bool is_empty = status == 0 && strcmp(output, EMPTY) == 0;

	tell(context, "listing at the end", status, output);
	if (!is_empty)
		judge_object(JUDGE_COMMANDS, "the listing at the end has status %d", status);
}

void operator_look_at_end(void)
{
	static const char *const arguments[] = {"queue", "list", NULL};

	for (struct node_operator *self = operators; self != NULL; self = self->next) {
		self->node->disk_fails_until_us = 0;
		command_run(self->node, "stagepost", arguments, listed_at_end, self);
	}
	world_run(kernel_now_us() + 10 * SECOND);
}

void operator_end(void)
{
	while (operators != NULL) {
		struct node_operator *self = operators;

		operators = self->next;
		free(self->messages);
		free(self);
	}
}
