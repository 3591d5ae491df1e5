// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_sts.c - what domains publish about their policies, and the files in which they
 * are kept.
 *
 * The first byte: a TXT record's data, a policy, or a file.
 */
#include "base/panic.h"
#include "dns/text.h"
#include "input.h"
#include "mail/host.h"
#include "policy/sts/policy.h"
#include "policy/sts/record.h"
#include "policy/sts/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_record(struct str data)
{
	struct sts_record record = {0};
	struct buffer text = {0};

	if (dns_text_append(&text, data)) {
		sts_record_add(&record, buffer_view(&text));
		sts_record_add(&record, STR("v=spf1 -all"));
	}
	if (sts_record_is_valid(&record) && strlen(record.id) > STS_ID_MAX)
		panic("a long id");
	sts_record_add(&record, STR("v=STSv1; id=1"));
	if (sts_record_is_valid(&record) != (record.count == 1))
		panic("the number of records does not matter");
	buffer_clear(&text);
}

static void check_patterns(const struct sts_policy *policy)
{
	struct str rest = str_from(policy->patterns);
	unsigned count = 0;

	while (rest.length > 0) {
		struct str pattern;
		struct str name;

		(void)str_split(&rest, ' ', &pattern);
		name = str_starts_with(pattern, STR("*.")) ? str_skip(pattern, 2) : pattern;
		if (!mail_host_is_name(name))
			panic("a pattern that is no host's");
		if (name.length == pattern.length &&
		    !sts_patterns_allow(str_from(policy->patterns), pattern))
			panic("a host that is named is not allowed");
		count++;
	}
	if (count > STS_PATTERNS_MAX || (count == 0 && policy->mode != STS_MODE_NONE))
		panic("%u patterns", count);
}

static void check_policy(struct str text)
{
	struct sts_stored stored = {.id = "a1", .fetched_us = SECOND_US, .text = text};
	struct sts_stored read = {.id = ""};
	struct buffer file = {0};

	if (sts_policy_parse(text, &stored.policy) != NULL)
		return;
	if (stored.policy.max_age_us < 0 || stored.policy.max_age_us > STS_MAX_AGE_MAX * SECOND_US)
		panic("an endless policy");
	check_patterns(&stored.policy);
	sts_store_format(&stored, &file);
	if (sts_store_parse(buffer_view(&file), &read) != NULL)
		panic("what was written is not read");
	check_equal(str_from(read.policy.patterns), str_from(stored.policy.patterns), "patterns");
	sts_policy_clear(&read.policy);
	sts_policy_clear(&stored.policy);
	buffer_clear(&file);
}

static void check_file(struct str text)
{
	struct sts_stored stored;

	if (sts_store_parse(text, &stored) == NULL) {
		check_patterns(&stored.policy);
		sts_policy_clear(&stored.policy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(struct str text) = {check_record, check_policy, check_file};
	struct input input = {str_slice((const char *)data, size)};

	checks[input_byte(&input) % COUNT_OF(checks)](input.rest);
	return 0;
}
