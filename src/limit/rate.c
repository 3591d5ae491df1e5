// SPDX-License-Identifier: ISC
#include "limit/rate.h"
#include "base/panic.h"
#include "limit/rate_internal.h"
#include "mail/address.h"
#include <stdlib.h>
#include <string.h>

struct rule {
	const struct config_rate *config;
	unsigned column;            /* of the own table */
	limit_rule_key key;         /* by which others' columns are found */
	uint64_t unit;              /* a counter's step: counters have 32 bits */
	_Atomic uint64_t *exceeded; /* in the own row */
};

struct limit_rates {
	const struct limit_memory *memory;
	struct hash_key key;
	struct limit_rate_tables own;
	size_t own_row;
	struct rule *rules;
	size_t count;
};

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

static void configure(struct limit_rates *rates, const struct config *config)
{
	rates->count = config->rate_count;
	rates->rules = memory_alloc_zero(rates->count, sizeof *rates->rules);
	for (size_t i = 0; i < rates->count; i++) {
		rates->rules[i].config = &config->rates[i];
		rates->rules[i].key = limit_rate_key(rates->key, &config->rates[i]);
		rates->rules[i].unit = limit_rate_unit(config->rates[i].limit);
	}
	configure_exceeded(rates);
	for (unsigned per = 0; per < CONFIG_RATE_PERS; per++)
		configure_table(rates, per);
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
	configure(rates, config);
	return rates;
}

void limit_rates_free(struct limit_rates *rates)
{
	if (rates == NULL)
		return;
	free(rates->rules);
	free(rates);
}

/* --- subjects --- */

static uint64_t hash_text(const struct limit_rates *rates, struct str text)
{
	uint64_t hash = hash_keyed(rates->key, text.data, text.length);

	return hash != 0 ? hash : 1;
}

static uint64_t hash_name(const struct limit_rates *rates, struct str name)
{
	char lower[MAIL_ADDRESS_MAX];
	size_t length = name.length < sizeof lower ? name.length : sizeof lower;

	memcpy(lower, name.data, length);
	str_lower(lower, length);
	return hash_text(rates, str_slice(lower, length));
}

/* Clients with one address of an IPv6 network of 64 bits can use all of them. */
static uint64_t hash_network(const struct limit_rates *rates, const struct in6_addr *address)
{
	struct in6_addr network = *address;

	if (!IN6_IS_ADDR_V4MAPPED(address))
		memset(&network.s6_addr[8], 0, 8);
	return hash_text(rates, (struct str){(const char *)network.s6_addr, sizeof network});
}

/* 0: it is not known whom to count for. */
static uint64_t subject_key(const struct limit_rates *rates, enum config_rate_per per,
			    const struct limit_subject *subject)
{
	struct str name = STR("");

	switch (per) {
	case CONFIG_RATE_PER_ALL:
		return 1;
	case CONFIG_RATE_PER_ADDRESS:
		return subject->address != NULL ? hash_network(rates, subject->address) : 0;
	case CONFIG_RATE_PER_CLASS:
		name = str_from(subject->class_mask != NULL ? subject->class_mask : "");
		break;
	case CONFIG_RATE_PER_USER:
		name = subject->user;
		break;
	case CONFIG_RATE_PER_SENDER_DOMAIN:
		name = subject->sender_domain;
		break;
	case CONFIG_RATE_PERS:
		break;
	}
	return name.length > 0 ? hash_name(rates, name) : 0;
}

static bool is_for(const struct config_rate *rule, const struct limit_subject *subject)
{
	return *rule->class_mask == '\0' ||
	       (subject->class_mask != NULL && strcmp(rule->class_mask, subject->class_mask) == 0);
}

/* --- judging --- */

static struct limit_window_total total_of(const struct limit_rates *rates, const struct rule *rule,
					  uint64_t key, int64_t now_us)
{
	enum config_rate_per per = rule->config->per;
	struct limit_window_total total = {0};

	limit_keyed_sum(rates->own.per[per], key, rule->column, rule->config->interval_us, now_us,
			&total);
	for (size_t row = 0; row < limit_memory_count(rates->memory); row++) {
		struct limit_keyed_view other;
		int column;

		if (row == rates->own_row)
			continue;
		other = limit_rate_tables(rates->memory, row).per[per];
		column = limit_keyed_column(other, rule->key);
		if (column >= 0)
			limit_keyed_sum(other, key, (unsigned)column, rule->config->interval_us,
					now_us, &total);
	}
	return total;
}

static uint64_t in_units(const struct rule *rule, uint64_t amount)
{
	return amount / rule->unit + (amount % rule->unit != 0);
}

/* What RULE says of AMOUNT more for KEY. */
static struct limit_ruling judge(const struct limit_rates *rates, const struct rule *rule,
				 uint64_t key, uint64_t amount, int64_t now_us)
{
	static const enum limit_answer answers[] = {
		[CONFIG_RATE_SLOW] = LIMIT_SLOW,
		[CONFIG_RATE_DEFER] = LIMIT_DEFER,
		[CONFIG_RATE_CLOSE] = LIMIT_CLOSE,
	};
	struct limit_ruling ruling = {LIMIT_PASS, NULL, 0};
	struct limit_window_total total = total_of(rates, rule, key, now_us);

	ruling.wait_us =
		limit_window_wait_us(&total, in_units(rule, rule->config->limit),
				     in_units(rule, amount), rule->config->interval_us, now_us);
	if (ruling.wait_us == 0 && rule->config->full == CONFIG_RATE_FULL_REFUSE &&
	    !limit_keyed_has_room(rates->own.per[rule->config->per], key,
				  rule->config->interval_us * 2, now_us))
		ruling.wait_us = rule->config->interval_us;
	if (ruling.wait_us == 0)
		return ruling;
	ruling.answer = answers[rule->config->answer];
	ruling.rule = rule->config;
	if (ruling.answer == LIMIT_SLOW && ruling.wait_us > LIMIT_SLOW_US)
		ruling.wait_us = LIMIT_SLOW_US;
	return ruling;
}

bool limit_ruling_is_stricter(const struct limit_ruling *one, const struct limit_ruling *other)
{
	return one->answer != other->answer ? one->answer > other->answer
					    : one->wait_us > other->wait_us;
}

/* What all rules say together, and in KEYS the keys to count for; 0: a rule does not apply. */
static struct limit_ruling judge_all(const struct limit_rates *rates, enum config_rate_count count,
				     const struct limit_subject *subject, uint64_t amount,
				     int64_t now_us, uint64_t keys[])
{
	struct limit_ruling strictest = {LIMIT_PASS, NULL, 0};

	for (size_t i = 0; i < rates->count; i++) {
		const struct rule *rule = &rates->rules[i];
		struct limit_ruling ruling;

		keys[i] = 0;
		if (rule->config->count != count || !is_for(rule->config, subject))
			continue;
		keys[i] = subject_key(rates, rule->config->per, subject);
		if (keys[i] == 0)
			continue;
		ruling = judge(rates, rule, keys[i], amount, now_us);
		if (ruling.answer != LIMIT_PASS)
			atomic_fetch_add_explicit(rule->exceeded, 1, memory_order_relaxed);
		if (limit_ruling_is_stricter(&ruling, &strictest))
			strictest = ruling;
	}
	return strictest;
}

/* Of an AMOUNT of 0 nothing is remembered: it must not take the place of what was counted. */
static void count_all(struct limit_rates *rates, uint64_t amount, int64_t now_us,
		      const uint64_t keys[])
{
	for (size_t i = 0; i < rates->count && amount > 0; i++) {
		const struct rule *rule = &rates->rules[i];
		uint64_t units = in_units(rule, amount);

		if (keys[i] != 0)
			limit_keyed_add(rates->own.per[rule->config->per], keys[i], rule->column,
					rule->config->interval_us, now_us,
					units > UINT32_MAX ? UINT32_MAX : (uint32_t)units);
	}
}

struct limit_ruling limit_rates_take(struct limit_rates *rates, enum config_rate_count count,
				     const struct limit_subject *subject, uint64_t amount,
				     int64_t now_us)
{
	uint64_t keys[CONFIG_RATES_MAX];
	struct limit_ruling ruling = {LIMIT_PASS, NULL, 0};

	if (rates == NULL)
		return ruling;
	ruling = judge_all(rates, count, subject, amount, now_us, keys);
	if (ruling.answer <= LIMIT_SLOW)
		count_all(rates, amount, now_us, keys);
	return ruling;
}

struct limit_ruling limit_rates_note(struct limit_rates *rates, enum config_rate_count count,
				     const struct limit_subject *subject, uint64_t amount,
				     int64_t now_us)
{
	uint64_t keys[CONFIG_RATES_MAX];
	struct limit_ruling ruling = {LIMIT_PASS, NULL, 0};

	if (rates == NULL)
		return ruling;
	ruling = judge_all(rates, count, subject, amount, now_us, keys);
	count_all(rates, amount, now_us, keys);
	return ruling;
}
