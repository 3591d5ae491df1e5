// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/store/ldap/dn.h"
#include "directory/store/ldap/follow/internal.h"
#include "os/clock.h"
#include <signal.h>
#include <stdlib.h>
#include <time.h>

static void on_follower_wakeup(void *context)
{
	struct follower *follower = context;

	follower_write_notes(follower);
	follower->moved(follower->context);
}

/* --- the thread --- */

static struct timespec timespec_of(int64_t us)
{
	return (struct timespec){.tv_sec = us / SECOND_US, .tv_nsec = us % SECOND_US * 1000};
}

static void wait_for_stop_of_follower(struct follower *follower, int64_t delay_us)
{
	int64_t until_us = os_clock_monotonic_us() + delay_us;
	struct timespec until = timespec_of(until_us);

	pthread_mutex_lock(&follower->mutex);
	while (!follower_is_stopping(follower) &&
	       pthread_cond_timedwait(&follower->stopping, &follower->mutex, &until) == 0)
		;
	pthread_mutex_unlock(&follower->mutex);
}

/* Logs what is wrong with a server once, and again when it changes. */
static void log_complaint_about_server(struct follower *follower, size_t number, bool was_loaded,
				       const struct buffer *why)
{
	struct buffer *last = &follower->complaints[number];

	if (was_loaded || !str_equal(buffer_view(last), buffer_view(why)))
		follower_note(follower, EVENT_LDAP_LOST,
			      log_string(url, follower->settings.servers[number].url),
			      log_str(reason, buffer_view(why)));
	buffer_reset(last);
	buffer_append_str(last, buffer_view(why));
}

/* Follows server NUMBER, and tries again if it refuses the cookie. Returns whether it got as far as
 * waiting for changes. */
static bool follow_ldap_server(struct follower *follower, size_t number, enum session_end *end_out)
{
	struct buffer why = {0};
	bool was_loaded = false;

	follower_set_server(follower, number);
	*end_out = session_run(follower, number, &was_loaded, &why);
	follower_set_lost(follower);
	if (*end_out == SESSION_REFUSED && !follower->is_reload) {
		follower->is_reload = true;
		log_complaint_about_server(follower, number, was_loaded, &why);
		buffer_reset(&why);
		*end_out = session_run(follower, number, &was_loaded, &why);
		follower_set_lost(follower);
	}
	if (*end_out == SESSION_LOST || *end_out == SESSION_BEHIND || *end_out == SESSION_REFUSED)
		log_complaint_about_server(follower, number, was_loaded, &why);
	else
		buffer_reset(&follower->complaints[number]);
	buffer_clear(&why);
	return was_loaded;
}

/* Follows until one server was followed and is lost, or none can be. Returns the number of the
 * server to try next; *WAS_LOADED_OUT: whether one was followed. */
static size_t follow_any(struct follower *follower, size_t first, bool *was_loaded_out)
{
	size_t count = follower->settings.server_count;
	enum session_end end;

	*was_loaded_out = false;
	for (size_t i = 0; i < count && !follower_is_stopping(follower); i++) {
		size_t number = (first + i) % count;

		if (follow_ldap_server(follower, number, &end)) {
			*was_loaded_out = true;
			return end == SESSION_RETURN ? 0 : (number + 1) % count;
		}
	}
	return 0;
}

static void *run_follower_thread(void *context)
{
	struct follower *follower = context;
	int64_t delay_us = FOLLOW_DELAY_US;
	size_t first = 0;
	bool was_loaded;

	while (!follower_is_stopping(follower)) {
		first = follow_any(follower, first, &was_loaded);
		if (was_loaded) {
			delay_us = FOLLOW_DELAY_US;
			wait_for_stop_of_follower(follower, FOLLOW_SLICE_US);
			continue;
		}
		wait_for_stop_of_follower(follower, delay_us);
		delay_us = 2 * delay_us < FOLLOW_DELAY_MAX_US ? 2 * delay_us : FOLLOW_DELAY_MAX_US;
	}
	return NULL;
}

/* --- life --- */

/* On what the copy's content depends besides the servers. */
static void print_shape(const struct follower_settings *settings, struct buffer *out)
{
	struct buffer base = {0};

	if (dn_normalize(str_from(settings->login.base), &base) == 0)
		buffer_append_str(out, buffer_view(&base));
	buffer_append_string(out, "\nformat 1\n");
	entry_map_print(settings->map, out);
	buffer_clear(&base);
}

static void on_conflict(void *context, struct str key, struct str first, struct str second)
{
	struct follower *follower = context;
	struct buffer used = {0};
	struct buffer unused = {0};

	dn_display(first, &used);
	dn_display(second, &unused);
	follower_note(follower, EVENT_LDAP_CONFLICT, log_str(key, key),
		      log_str(used, buffer_view(&used)), log_str(unused, buffer_view(&unused)));
	buffer_clear(&used);
	buffer_clear(&unused);
}

/* When the content was last in sync before this start, if the wall clock is plausible. */
static int64_t known_fresh_us(const struct follower *follower)
{
	int64_t age_us = os_clock_wall_us() - copy_fresh_us(follower->copy);

	if (copy_fresh_us(follower->copy) == 0 || age_us < 0)
		return INT64_MIN;
	return os_clock_monotonic_us() - age_us;
}

static void init_threads(struct follower *follower)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&follower->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&follower->stopping, &attributes);
	pthread_condattr_destroy(&attributes);
}

int follower_new(struct os_loop *loop, const struct follower_settings *settings,
		 void (*moved)(void *context), void *context, struct follower **follower_out,
		 struct buffer *why)
{
	struct follower *follower = memory_alloc_zero(1, sizeof(*follower));
	struct buffer shape = {0};
	int error;

	*follower = (struct follower){.settings = *settings, .moved = moved, .context = context};
	follower->last_note = &follower->notes;
	init_threads(follower);
	follower->wakeup = os_wakeup_new(loop, on_follower_wakeup, follower);
	follower->complaints =
		memory_alloc_zero(settings->server_count, sizeof(*follower->complaints));
	print_shape(settings, &shape);
	error = copy_open(settings->path, buffer_view(&shape), on_conflict, follower,
			  &follower->copy, why);
	buffer_clear(&shape);
	if (error < 0) {
		(void)follower_free(follower);
		return error;
	}
	follower->fresh_us = known_fresh_us(follower);
	follower->lost_us = os_clock_monotonic_us();
	*follower_out = follower;
	return 0;
}

void follower_accept(struct follower *follower)
{
	follower->is_accepted = true;
}

void follower_start(struct follower *follower)
{
	sigset_t all;
	sigset_t old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&follower->thread, NULL, run_follower_thread, follower);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error != 0)
		cannot_begin("no thread", -error);
	follower->is_started = true;
}

/* Whether the thread has ended. */
static bool stop_thread(struct follower *follower)
{
	int64_t until_us = os_clock_monotonic_us() + FOLLOWER_PATIENCE_S * SECOND_US;
	struct timespec until = timespec_of(until_us);

	pthread_mutex_lock(&follower->mutex);
	atomic_store(&follower->is_stopping, true);
	pthread_cond_signal(&follower->stopping);
	pthread_mutex_unlock(&follower->mutex);
	return !follower->is_started ||
	       pthread_clockjoin_np(follower->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

bool follower_free(struct follower *follower)
{
	if (follower == NULL)
		return true;
	if (!stop_thread(follower))
		return false;
	follower_write_notes(follower);
	os_wakeup_free(follower->wakeup);
	copy_close(follower->copy);
	for (size_t i = 0; i < follower->settings.server_count; i++)
		buffer_clear(&follower->complaints[i]);
	free(follower->complaints);
	pthread_cond_destroy(&follower->stopping);
	pthread_mutex_destroy(&follower->mutex);
	free(follower);
	return true;
}
