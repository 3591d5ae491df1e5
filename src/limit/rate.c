// SPDX-License-Identifier: ISC
#include "limit/rate.h"
#include "base/panic.h"
#include "limit/internal_rate.h"
#include <stdlib.h>

struct rule {
	const struct config_rate *config;
	size_t number;              /* among all rules */
	unsigned column;            /* of the own table */
	limit_rule_key key;         /* by which others' columns are found */
	uint64_t unit;              /* a counter's step: counters have 32 bits; a power of 2 */
	uint64_t limit;             /* in units */
	_Atomic uint64_t *exceeded; /* in the own row */
};

/* The rules that count one thing for one kind of subject: they share each search. */
struct group {
	size_t count;
	struct rule *rules[LIMIT_COLUMNS];
};

/* What is known of a process's tables, and of their columns as of a version. */
struct rate_row {
	struct limit_rate_tables tables;
	uint32_t versions[CONFIG_RATE_PERS];
	int16_t columns[CONFIG_RATES_MAX];
};

struct limit_rates {
	const struct limit_memory *memory;
	struct hash_key key;
	struct limit_rate_tables own;
	size_t own_row;
	struct rule *rules;
	size_t count;
	struct group groups[CONFIG_RATE_COUNTS][CONFIG_RATE_PERS];
	struct rate_row rows[LIMIT_ROWS_MAX];
	size_t row_count; /* that are known */
};

/* A subject that rules are for, and what they have counted for it. */
struct look {
	enum config_rate_per per;
	uint64_t key;
	size_t count;
	struct rule *rules[LIMIT_COLUMNS];
	struct limit_keyed_count counts[LIMIT_COLUMNS];
};

/* All that are looked at together. */
struct looks {
	size_t count;
	struct look of[CONFIG_RATE_PERS];
};

static uint64_t in_units(const struct rule *rule, uint64_t amount)
{
	return rule->unit == 1 ? amount : amount / rule->unit + (amount % rule->unit != 0);
}

/* The rules that count for PER get columns of its table. */
static void configure_table(struct limit_rates *rates, enum config_rate_per per)
{
	limit_rule_key keys[LIMIT_COLUMNS];
	unsigned columns[LIMIT_COLUMNS];
	struct rule *rules[LIMIT_COLUMNS];
	size_t count = 0;

	for (size_t i = 0; i < rates->count; i++) {
		if (rates->rules[i].config->per != per)
			continue;
		if (count == LIMIT_COLUMNS)
			panic("more than %d rates for a subject", LIMIT_COLUMNS);
		keys[count] = rates->rules[i].key;
		rules[count++] = &rates->rules[i];
	}
	limit_keyed_configure(rates->own.per[per], keys, count, columns);
	for (size_t i = 0; i < count; i++)
		rules[i]->column = columns[i];
}

/* Rules that stay keep their numbers; who reads them meanwhile may see a wrong one. */
static void configure_exceeded(struct limit_rates *rates)
{
	struct limit_rate_header *header = limit_rate_header(rates->memory, rates->own_row);
	uint64_t counts[CONFIG_RATES_MAX] = {0};

	for (size_t i = 0; i < rates->count; i++)
		counts[i] = limit_rate_exceeded(header, rates->rules[i].key);
	for (size_t i = 0; i < CONFIG_RATES_MAX; i++) {
		atomic_store(&header->rules[i].exceeded, counts[i]);
		atomic_store(&header->rules[i].key, i < rates->count ? rates->rules[i].key : 0);
	}
	for (size_t i = 0; i < rates->count; i++)
		rates->rules[i].exceeded = &header->rules[i].exceeded;
}

static void configure_limit_rates(struct limit_rates *rates, const struct config *config)
{
	rates->count = config->rate_count;
	rates->rules = memory_alloc_zero(rates->count, sizeof *rates->rules);
	for (size_t i = 0; i < rates->count; i++) {
		rates->rules[i].config = &config->rates[i];
		rates->rules[i].number = i;
		rates->rules[i].key = limit_rate_key(rates->key, &config->rates[i]);
		rates->rules[i].unit = limit_rate_unit(config->rates[i].limit);
		rates->rules[i].limit = in_units(&rates->rules[i], config->rates[i].limit);
	}
	configure_exceeded(rates);
	for (unsigned per = 0; per < CONFIG_RATE_PERS; per++)
		configure_table(rates, per);
	for (size_t i = 0; i < rates->count; i++) {
		struct rule *rule = &rates->rules[i];
		struct group *group = &rates->groups[rule->config->count][rule->config->per];

		group->rules[group->count++] = rule;
	}
}

struct limit_rates *limit_rates_new(const struct limit_memory *memory, const struct config *config)
{
	size_t wanted = limit_rates_area_size(config);
	ptrdiff_t own = memory != NULL ? limit_memory_own(memory) : -1;
	struct limit_rates *rates;

	if (wanted == 0 || own < 0 || limit_memory_area_size(memory, LIMIT_AREA_RATES) < wanted)
		return NULL;
	rates = memory_alloc_zero(1, sizeof *rates);
	rates->memory = memory;
	rates->own_row = (size_t)own;
	rates->key = limit_rate_header(memory, rates->own_row)->key;
	rates->own = limit_rate_tables(memory, rates->own_row);
	configure_limit_rates(rates, config);
	return rates;
}

void limit_rates_free(struct limit_rates *rates)
{
	if (rates == NULL)
		return;
	free(rates->rules);
	free(rates);
}

/* --- looking --- */

static void learn_columns(const struct limit_rates *rates, struct rate_row *row,
			  enum config_rate_per per, uint32_t version)
{
	for (size_t i = 0; i < rates->count; i++)
		if (rates->rules[i].config->per == per)
			row->columns[i] = (int16_t)limit_keyed_column(row->tables.per[per],
								      rates->rules[i].key);
	row->versions[per] = version;
}

/* Those that came since the last look, too. */
static void learn_rows(struct limit_rates *rates)
{
	for (; rates->row_count < limit_memory_count(rates->memory); rates->row_count++) {
		struct rate_row *row = &rates->rows[rates->row_count];

		row->tables = limit_rate_tables(rates->memory, rates->row_count);
		for (unsigned per = 0; per < CONFIG_RATE_PERS; per++)
			learn_columns(rates, row, per, limit_keyed_version(row->tables.per[per]));
	}
}

/* Begins the look at who SUBJECT is for the rules of GROUP; false: none applies. */
static bool begin_group_look(const struct limit_rates *rates, const struct group *group,
			     const struct limit_subject *subject, uint64_t amount, int64_t now_us,
			     struct look *look)
{
	look->count = 0;
	for (size_t i = 0; i < group->count; i++) {
		struct rule *rule = group->rules[i];
		uint64_t units = in_units(rule, amount);

		if (!limit_subject_is_of(subject, rule->config->class_mask))
			continue;
		look->rules[look->count] = rule;
		look->counts[look->count++] = (struct limit_keyed_count){
			.time = limit_window_time(rule->config->interval_us, now_us),
			.amount = units > UINT32_MAX ? UINT32_MAX : (uint32_t)units,
		};
	}
	if (look->count == 0)
		return false;
	look->per = look->rules[0]->config->per;
	look->key = limit_subject_key(subject, look->per, rates->key);
	return look->key != 0;
}

static void begin_looks(struct limit_rates *rates, enum config_rate_count count,
			const struct limit_subject *subject, uint64_t amount, int64_t now_us,
			struct looks *looks)
{
	learn_rows(rates);
	looks->count = 0;
	for (unsigned per = 0; per < CONFIG_RATE_PERS; per++) {
		struct look *look = &looks->of[looks->count];

		if (!begin_group_look(rates, &rates->groups[count][per], subject, amount, now_us,
				      look))
			continue;
		looks->count++;
		for (size_t row = 0; row < rates->row_count; row++)
			limit_keyed_expect(rates->rows[row].tables.per[per], look->key);
	}
}

/* What the process of ROW has counted. */
static void sum_row(const struct limit_rates *rates, struct rate_row *row, struct look *look)
{
	struct limit_keyed_view view = row->tables.per[look->per];
	uint32_t version = limit_keyed_version(view);

	if (row->versions[look->per] != version)
		learn_columns(rates, row, look->per, version);
	for (size_t i = 0; i < look->count; i++)
		look->counts[i].column = row->columns[look->rules[i]->number];
	limit_keyed_sum(view, look->key, look->counts, look->count);
}

/* --- judging --- */

bool limit_ruling_is_stricter(const struct limit_ruling *one, const struct limit_ruling *other)
{
	return one->answer != other->answer ? one->answer > other->answer
					    : one->wait_us > other->wait_us;
}

/* What RULE says of AMOUNT more for KEY, for which it HAS so much. */
static struct limit_ruling judge_by_rule(const struct limit_rates *rates, const struct rule *rule,
					 uint64_t key, const struct limit_keyed_count *has,
					 uint64_t amount, int64_t now_us)
{
	static const enum limit_answer answers[] = {
		[CONFIG_RATE_SLOW] = LIMIT_SLOW,
		[CONFIG_RATE_DEFER] = LIMIT_DEFER,
		[CONFIG_RATE_CLOSE] = LIMIT_CLOSE,
	};
	struct limit_ruling ruling = {LIMIT_PASS, NULL, 0};

	ruling.wait_us =
		limit_window_wait_us(&has->total, rule->limit, in_units(rule, amount), has->time);
	if (ruling.wait_us == 0 && rule->config->full == CONFIG_RATE_FULL_REFUSE &&
	    !limit_keyed_has_room(rates->own.per[rule->config->per], key,
				  rule->config->interval_us * 2, now_us))
		ruling.wait_us = rule->config->interval_us;
	if (ruling.wait_us == 0)
		return ruling;
	atomic_fetch_add_explicit(rule->exceeded, 1, memory_order_relaxed);
	ruling.answer = answers[rule->config->answer];
	ruling.rule = rule->config;
	if (ruling.answer == LIMIT_SLOW && ruling.wait_us > LIMIT_SLOW_US)
		ruling.wait_us = LIMIT_SLOW_US;
	return ruling;
}

/* What all rules say together. */
static struct limit_ruling judge_all(struct limit_rates *rates, struct looks *looks,
				     uint64_t amount, int64_t now_us)
{
	struct limit_ruling strictest = {LIMIT_PASS, NULL, 0};

	for (struct look *look = looks->of; look < looks->of + looks->count; look++) {
		for (size_t row = 0; row < rates->row_count; row++)
			sum_row(rates, &rates->rows[row], look);
		for (size_t i = 0; i < look->count; i++) {
			struct limit_ruling ruling = judge_by_rule(
				rates, look->rules[i], look->key, &look->counts[i], amount, now_us);

			if (limit_ruling_is_stricter(&ruling, &strictest))
				strictest = ruling;
		}
	}
	return strictest;
}

/* Of an AMOUNT of 0 nothing is remembered: it must not take the place of what was counted. */
static void count_looked_keys(struct limit_rates *rates, struct looks *looks, uint64_t amount,
			      int64_t now_us)
{
	if (amount == 0)
		return;
	for (struct look *look = looks->of; look < looks->of + looks->count; look++) {
		for (size_t i = 0; i < look->count; i++)
			look->counts[i].column = (int)look->rules[i]->column;
		limit_keyed_add(rates->own.per[look->per], look->key, now_us, look->counts,
				look->count);
	}
}

/* IS_DONE: the AMOUNT counts also if it is above a limit. */
static struct limit_ruling rule_on(struct limit_rates *rates, enum config_rate_count count,
				   const struct limit_subject *subject, uint64_t amount,
				   int64_t now_us, bool is_done)
{
	struct looks looks;
	struct limit_ruling ruling = {LIMIT_PASS, NULL, 0};

	if (rates == NULL)
		return ruling;
	begin_looks(rates, count, subject, amount, now_us, &looks);
	ruling = judge_all(rates, &looks, amount, now_us);
	if (is_done || ruling.answer <= LIMIT_SLOW)
		count_looked_keys(rates, &looks, amount, now_us);
	return ruling;
}

struct limit_ruling limit_rates_take(struct limit_rates *rates, enum config_rate_count count,
				     const struct limit_subject *subject, uint64_t amount,
				     int64_t now_us)
{
	return rule_on(rates, count, subject, amount, now_us, false);
}

struct limit_ruling limit_rates_note(struct limit_rates *rates, enum config_rate_count count,
				     const struct limit_subject *subject, uint64_t amount,
				     int64_t now_us)
{
	return rule_on(rates, count, subject, amount, now_us, true);
}
