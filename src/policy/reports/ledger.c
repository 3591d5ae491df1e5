// SPDX-License-Identifier: ISC
#include "policy/reports/ledger.h"
#include "base/table.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/disk_cache/disk_cache.h"
#include "os/random.h"
#include "policy/sts/protocol.h"
#include <stdio.h>
#include <stdlib.h>

enum {
	DAY_LENGTH = 10, /* "2026-11-25" */
	LEDGER_NAME_SIZE = 256,
	POSTS_MAX = 10, /* at once */
};

static const int64_t TICK_US = MINUTE_US;
static const int64_t FIRST_TICK_US = 5 * SECOND_US;
static const int64_t SPREAD_US = 4 * HOUR_US;
static const int64_t RETRY_US = HOUR_US;
static const int64_t GIVE_UP_US = 3 * DAY_US; /* after the begin of the day */

/* A domain on a day. */
struct entry {
	struct reports_ledger *ledger;
	struct tlsrpt_day *day;
	int64_t begin_us; /* of the day */
	bool is_changed;  /* since it was written */
	int64_t try_us;   /* of the boot clock: no report before; 0: not decided */
	struct reports_post *post;
	UT_hash_handle hh;
	char name[LEDGER_NAME_SIZE]; /* of its file: "2026-11-25.example.net" */
};

struct day {
	int64_t begin_us;
	size_t count; /* of its domains; 0: no day is here */
};

struct reports_ledger {
	struct reports_ways ways;
	struct disk_cache *disk_cache; /* NULL: there is none */
	struct os_timer *timer;
	struct entry *entries; /* by name */
	struct day days[REPORTS_DAYS_MAX];
	size_t posts;
};

static int64_t day_of(int64_t time_us)
{
	return time_us / DAY_US * DAY_US;
}

static void format_report_name(int64_t begin_us, struct str domain, char name[LEDGER_NAME_SIZE])
{
	char day[TIMESTAMP_SIZE];

	timestamp_format_seconds(begin_us, day);
	snprintf(name, LEDGER_NAME_SIZE, "%.10s." STR_FORMAT, day, STR_ARGUMENTS(domain));
}

/* False: NAME is none of ours. */
static bool parse_report_name(struct str name, int64_t *begin_us_out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (name.length < DAY_LENGTH + 2 || name.data[DAY_LENGTH] != '.' ||
	    name.length > DAY_LENGTH + 1 + STS_DOMAIN_MAX)
		return false;
	buffer_append(&text, name.data, DAY_LENGTH);
	buffer_append_string(&text, "T00:00:00Z");
	return timestamp_parse(buffer_view(&text), begin_us_out);
}

static const char *domain_of_report(const struct entry *entry)
{
	return entry->name + DAY_LENGTH + 1;
}

/* NULL: no domain is counted on that day. */
static struct day *find_day(struct reports_ledger *ledger, int64_t begin_us)
{
	for (size_t i = 0; i < REPORTS_DAYS_MAX; i++)
		if (ledger->days[i].count > 0 && ledger->days[i].begin_us == begin_us)
			return &ledger->days[i];
	return NULL;
}

/* There is room for it: have_room(). */
static struct entry *add_report_day(struct reports_ledger *ledger, struct str name,
				    int64_t begin_us, struct tlsrpt_day *day)
{
	struct entry *entry = memory_alloc_zero(1, sizeof *entry);
	struct day *place = find_day(ledger, begin_us);

	for (size_t i = 0; place == NULL; i++)
		if (ledger->days[i].count == 0)
			place = &ledger->days[i];
	place->begin_us = begin_us;
	place->count++;

	entry->ledger = ledger;
	entry->day = day;
	entry->begin_us = begin_us;
	memcpy(entry->name, name.data, name.length);
	HASH_ADD(hh, ledger->entries, name[0], name.length, entry);
	return entry;
}

static void drop_report_day(struct entry *entry)
{
	struct reports_ledger *ledger = entry->ledger;

	find_day(ledger, entry->begin_us)->count--;
	if (entry->post != NULL)
		ledger->posts--;
	reports_post_free(entry->post);
	HASH_DEL(ledger->entries, entry);
	tlsrpt_day_free(entry->day);
	free(entry);
}

static void write_down(struct entry *entry)
{
	struct buffer file CLEANUP(buffer_clear) = {0};

	if (!entry->is_changed || entry->ledger->disk_cache == NULL)
		return;
	tlsrpt_day_format(entry->day, &file);
	disk_cache_put(entry->ledger->disk_cache, str_from(entry->name), buffer_view(&file));
	entry->is_changed = false;
}

/* --- sending --- */

static void forget_report(struct entry *entry)
{
	if (entry->ledger->disk_cache != NULL)
		disk_cache_remove(entry->ledger->disk_cache, str_from(entry->name));
	drop_report_day(entry);
}

static int64_t distance_between_times(int64_t a_us, int64_t b_us)
{
	return a_us < b_us ? b_us - a_us : a_us - b_us;
}

static void forget_day(struct reports_ledger *ledger, int64_t begin_us)
{
	struct entry *entry;
	struct entry *next;

	HASH_ITER (hh, ledger->entries, entry, next)
		if (entry->begin_us == begin_us)
			forget_report(entry);
}

/* Makes room for another domain of the day. False: there is none. */
static bool have_room(struct reports_ledger *ledger, int64_t begin_us)
{
	const struct day *day = find_day(ledger, begin_us);
	int64_t now_us = os_clock_wall_us();
	int64_t farthest_us = begin_us;

	if (day != NULL)
		return day->count < REPORTS_DOMAINS_MAX;
	for (size_t i = 0; i < REPORTS_DAYS_MAX; i++) {
		if (ledger->days[i].count == 0)
			return true;
		if (distance_between_times(ledger->days[i].begin_us, now_us) >
		    distance_between_times(farthest_us, now_us))
			farthest_us = ledger->days[i].begin_us;
	}
	if (farthest_us == begin_us)
		return false;
	forget_day(ledger, farthest_us);
	return true;
}

static void send_due(struct reports_ledger *ledger);

/* The next one follows at once, so that those of many domains do not take days. */
static void on_end_of_report_post(void *context, enum reports_end end)
{
	struct entry *entry = context;
	struct reports_ledger *ledger = entry->ledger;

	entry->post = NULL;
	ledger->posts--;
	if (end == REPORTS_LATER && os_clock_wall_us() < entry->begin_us + GIVE_UP_US)
		entry->try_us = os_clock_boot_us() + RETRY_US;
	else
		forget_report(entry);
	send_due(ledger);
}

static void send_report(struct entry *entry)
{
	entry->ledger->posts++;
	entry->post = reports_post_new(&entry->ledger->ways, domain_of_report(entry),
				       entry->begin_us, entry->day, on_end_of_report_post, entry);
}

/* The first report of a day that has just ended waits, so that not all sites send at midnight. */
static void consider_report(struct entry *entry, int64_t now_us)
{
	if (entry->try_us == 0)
		entry->try_us = now_us + (int64_t)os_random_below((uint64_t)SPREAD_US);
	if (entry->post == NULL && entry->try_us <= now_us && entry->ledger->posts < POSTS_MAX)
		send_report(entry);
}

static void send_due(struct reports_ledger *ledger)
{
	int64_t today_us = day_of(os_clock_wall_us());
	int64_t now_us = os_clock_boot_us();

	for (struct entry *entry = ledger->entries; entry != NULL; entry = entry->hh.next)
		if (entry->begin_us < today_us)
			consider_report(entry, now_us);
}

static void on_report_tick(void *context)
{
	struct reports_ledger *ledger = context;

	for (struct entry *entry = ledger->entries; entry != NULL; entry = entry->hh.next)
		write_down(entry);
	send_due(ledger);
	os_timer_start(ledger->timer, TICK_US);
}

/* --- counting --- */

static struct entry *find_today(struct reports_ledger *ledger, struct str domain)
{
	int64_t today_us = day_of(os_clock_wall_us());
	char name[LEDGER_NAME_SIZE];
	struct entry *entry;

	format_report_name(today_us, domain, name);
	HASH_FIND(hh, ledger->entries, name, strlen(name), entry);
	if (entry != NULL || !have_room(ledger, today_us))
		return entry;
	return add_report_day(ledger, str_from(name), today_us, tlsrpt_day_new());
}

void reports_ledger_count(struct reports_ledger *ledger, const struct tlsrpt_session *session,
			  struct str policy, struct str hosts)
{
	struct entry *entry = find_today(ledger, session->domain);

	if (entry == NULL || entry->post != NULL)
		return;
	tlsrpt_day_count(entry->day, session, policy, hosts);
	entry->is_changed = true;
}

void reports_ledger_each(const struct reports_ledger *ledger,
			 void (*each)(void *context, const struct reports_row *row), void *context)
{
	for (const struct entry *entry = ledger->entries; entry != NULL; entry = entry->hh.next) {
		const struct reports_row row = {str_slice(entry->name, DAY_LENGTH),
						str_from(domain_of_report(entry)),
						tlsrpt_day_totals(entry->day)};

		each(context, &row);
	}
}

/* --- the disk --- */

static void load_report_day(void *context, struct str name, struct str file)
{
	struct reports_ledger *ledger = context;
	struct tlsrpt_day *day;
	struct entry *entry;
	int64_t begin_us;

	if (!parse_report_name(name, &begin_us))
		return;
	if (!have_room(ledger, begin_us)) {
		disk_cache_remove(ledger->disk_cache, name);
		return;
	}
	day = tlsrpt_day_parse(file);
	if (day == NULL) {
		log_event(EVENT_TLS_REPORT_DAMAGED, log_str(file, name));
		disk_cache_remove(ledger->disk_cache, name);
		return;
	}
	entry = add_report_day(ledger, name, begin_us, day);
	/* what is due is sent soon, and not hours after each start; what was counted today waits as
	 * if there had been no start */
	if (begin_us < day_of(os_clock_wall_us()))
		entry->try_us = 1;
}

static void open_report_directory(struct reports_ledger *ledger, const char *path)
{
	int error = disk_cache_open(ledger->ways.loop, path, &ledger->disk_cache);

	if (error == 0)
		error = disk_cache_each(ledger->disk_cache, TLSRPT_DAY_FILE_MAX, load_report_day,
					ledger);
	if (error < 0)
		log_event(EVENT_DISK_CACHE_ERROR, log_string(directory, path), log_error(error));
}

struct reports_ledger *reports_ledger_new(const struct reports_ways *ways, const char *path)
{
	struct reports_ledger *ledger = memory_alloc_zero(1, sizeof *ledger);

	ledger->ways = *ways;
	ledger->timer = os_timer_new(ways->loop, on_report_tick, ledger);
	open_report_directory(ledger, path);
	os_timer_start(ledger->timer, FIRST_TICK_US);
	return ledger;
}

void reports_ledger_configure(struct reports_ledger *ledger, const struct reports_ways *ways)
{
	ledger->ways = *ways;
}

void reports_ledger_free(struct reports_ledger *ledger)
{
	if (ledger == NULL)
		return;
	while (ledger->entries != NULL) {
		write_down(ledger->entries);
		drop_report_day(ledger->entries);
	}
	disk_cache_close(ledger->disk_cache);
	os_timer_free(ledger->timer);
	free(ledger);
}
