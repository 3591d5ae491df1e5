// SPDX-License-Identifier: ISC
#include "deliver/mailbox/prune.h"
#include "base/panic.h"
#include "deliver/mailbox/open.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/worker.h"
#include <stdlib.h>
#include <string.h>

static const int64_t FIRST_US = 5 * SECOND_US;
static const int64_t PERIOD_US = 86400 * SECOND_US;
static const int64_t AGAIN_US = 3600 * SECOND_US; /* after a failure */
static const int64_t PAUSE_US = SECOND_US / 20;   /* between steps: others write, too */

enum { STEP = 100 }; /* messages */

struct mailbox_prune {
	const struct config *config;
	struct os_timer *timer;
	struct os_wakeup *wakeup;
	struct os_worker *worker; /* NULL: none could be created yet */
	int64_t total;            /* removed in this round */
	bool is_stale;            /* RECORD is of another configuration */
	/* the thread's while it is busy: */
	struct record *record;
	int64_t before_us;
	unsigned removed;
	int error;
};

static void prune_old_records(void *context)
{
	struct mailbox_prune *prune = context;

	prune->removed = 0;
	prune->error = record_prune(prune->record, prune->before_us, STEP, &prune->removed);
}

static void log_prune_failure(const struct mailbox_prune *prune, const char *text)
{
	log_event(EVENT_RECORD_NOT_PRUNED, log_number(removed, prune->total),
		  log_string(error, text));
}

static void on_records_pruned(void *context)
{
	struct mailbox_prune *prune = context;

	if (os_worker_is_busy(prune->worker))
		return;
	if (prune->error != 0) {
		log_prune_failure(prune, record_error(prune->record));
		os_timer_start(prune->timer, AGAIN_US);
		return;
	}
	prune->total += prune->removed;
	if (prune->removed > 0) { /* fewer than STEP, too: of others somebody had the lock */
		os_timer_start(prune->timer, PAUSE_US);
		return;
	}
	log_event(EVENT_RECORD_PRUNED, log_number(removed, prune->total));
	prune->total = 0;
	os_timer_start(prune->timer, PERIOD_US);
}

static void on_prune_due(void *context)
{
	struct mailbox_prune *prune = context;
	int error = 0;

	if (prune->config->record.keep_us == 0)
		return;
	if (prune->worker == NULL)
		error = os_worker_new(prune_old_records, prune, prune->wakeup, &prune->worker);
	if (error != 0) {
		log_prune_failure(prune, strerror(-error));
		os_timer_start(prune->timer, AGAIN_US);
		return;
	}
	if (prune->is_stale || prune->record == NULL) {
		record_free(prune->record);
		prune->record = mailbox_record_new(prune->config);
		prune->is_stale = false;
	}
	prune->before_us = os_clock_wall_us() - prune->config->record.keep_us;
	os_worker_start(prune->worker);
}

struct mailbox_prune *mailbox_prune_new(struct os_loop *loop, const struct config *config)
{
	struct mailbox_prune *prune = memory_alloc_zero(1, sizeof *prune);

	prune->timer = os_timer_new(loop, on_prune_due, prune);
	prune->wakeup = os_wakeup_new(loop, on_records_pruned, prune);
	mailbox_prune_configure(prune, config);
	return prune;
}

void mailbox_prune_configure(struct mailbox_prune *prune, const struct config *config)
{
	prune->config = config;
	prune->is_stale = true;
	if (prune->worker == NULL || !os_worker_is_busy(prune->worker))
		os_timer_start(prune->timer, FIRST_US);
}

void mailbox_prune_free(struct mailbox_prune *prune)
{
	if (prune == NULL)
		return;
	os_worker_free(prune->worker);
	record_free(prune->record);
	os_wakeup_free(prune->wakeup);
	os_timer_free(prune->timer);
	free(prune);
}
