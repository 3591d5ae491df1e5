// SPDX-License-Identifier: ISC
/* What the thread and the loop share, under the mutex: lines for the log, which server is followed,
 * and how fresh the copy is. */
#include "base/panic.h"
#include "directory/store/ldap/follow/internal.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>

static void note_free(struct note *note)
{
	for (size_t i = 0; note->fields[i].kind != LOG_END; i++)
		if (note->fields[i].kind == LOG_TEXT)
			free((char *)note->fields[i].text.data);
	free(note);
}

void follower_add_note(struct follower *follower, enum log_name event,
		       const struct log_field *fields)
{
	struct note *note = memory_alloc_zero(1, sizeof(*note));

	note->event = event;
	for (size_t i = 0; i < NOTE_FIELDS_MAX && fields[i].kind != LOG_END; i++) {
		note->fields[i] = fields[i];
		if (fields[i].kind == LOG_TEXT) {
			char *text = memory_alloc(fields[i].text.length + 1);

			memcpy(text, fields[i].text.data, fields[i].text.length);
			note->fields[i].text.data = text;
		}
	}
	pthread_mutex_lock(&follower->mutex);
	if (follower->note_count < FOLLOW_NOTES_MAX) {
		follower->note_count++;
		*follower->last_note = note;
		follower->last_note = &note->next;
		note = NULL;
	}
	pthread_mutex_unlock(&follower->mutex);
	if (note != NULL)
		note_free(note);
	os_wakeup_send(follower->wakeup);
}

void follower_write_notes(struct follower *follower)
{
	struct note *note;
	struct note *next;

	pthread_mutex_lock(&follower->mutex);
	note = follower->notes;
	follower->notes = NULL;
	follower->last_note = &follower->notes;
	follower->note_count = 0;
	pthread_mutex_unlock(&follower->mutex);
	for (; note != NULL; note = next) {
		next = note->next;
		log_write(note->event, note->fields);
		note_free(note);
	}
}

void follower_set_fresh(struct follower *follower, int64_t fresh_us)
{
	pthread_mutex_lock(&follower->mutex);
	follower->fresh_us = fresh_us;
	follower->lost_us = 0;
	pthread_mutex_unlock(&follower->mutex);
	os_wakeup_send(follower->wakeup);
}

void follower_set_lost(struct follower *follower)
{
	pthread_mutex_lock(&follower->mutex);
	if (follower->lost_us == 0)
		follower->lost_us = os_clock_monotonic_us();
	pthread_mutex_unlock(&follower->mutex);
	os_wakeup_send(follower->wakeup);
}

void follower_set_server(struct follower *follower, size_t number)
{
	pthread_mutex_lock(&follower->mutex);
	follower->number = number;
	pthread_mutex_unlock(&follower->mutex);
}

const char *follower_server(struct follower *follower)
{
	const char *url = NULL;

	pthread_mutex_lock(&follower->mutex);
	if (follower->lost_us == 0)
		url = follower->settings.servers[follower->number].url;
	pthread_mutex_unlock(&follower->mutex);
	return url;
}

int64_t follower_lost_us(struct follower *follower)
{
	int64_t lost_us;

	pthread_mutex_lock(&follower->mutex);
	lost_us = follower->lost_us;
	pthread_mutex_unlock(&follower->mutex);
	return lost_us;
}

int64_t follower_fresh_us(struct follower *follower)
{
	int64_t fresh_us;

	pthread_mutex_lock(&follower->mutex);
	fresh_us = follower->fresh_us;
	pthread_mutex_unlock(&follower->mutex);
	return fresh_us;
}

void follower_tell(struct follower *follower)
{
	os_wakeup_send(follower->wakeup);
}

bool follower_is_stopping(struct follower *follower)
{
	return atomic_load(&follower->is_stopping);
}
