// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_tlsrpt.c - who wants reports of how TLS went, and the files of what was counted.
 *
 * The first byte: a TXT record, a file, or sessions that are counted: for each its policy, its
 * result, and texts.
 */
#include "base/panic.h"
#include "input.h"
#include "mail/host.h"
#include "policy/tlsrpt/count.h"
#include "policy/tlsrpt/record.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_target(const struct tlsrpt_target *target)
{
	struct str text = str_from(target->text);

	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~')
			panic("a target that is not visible");
	if (target->scheme == TLSRPT_HTTPS && (!mail_host_is_name(str_from(target->host)) ||
					       text.data[0] != '/' || target->port == 0))
		panic("a malformed URL");
	if (target->scheme == TLSRPT_MAILTO && strpbrk(target->text, "<>, \"") != NULL)
		panic("a malformed address");
}

static void check_record(struct str text)
{
	struct tlsrpt_record record = {0};

	tlsrpt_record_add(&record, text);
	if (record.target_count > TLSRPT_TARGETS_MAX)
		panic("too many targets");
	for (unsigned i = 0; i < record.target_count; i++)
		check_target(&record.targets[i]);
}

/* Written and read again it is the same, and its report one line. */
static void check_day(const struct tlsrpt_day *day)
{
	static const struct tlsrpt_head head = {"us", "a@b.c", "1", "d.e", 0};
	struct buffer file = {0};
	struct buffer again = {0};
	struct buffer report = {0};
	struct tlsrpt_day *read;

	tlsrpt_day_format(day, &file);
	read = tlsrpt_day_parse(buffer_view(&file));
	if (read == NULL && file.length > 0)
		panic("what was written is not read");
	if (read != NULL)
		tlsrpt_day_format(read, &again);
	check_equal(buffer_view(&again), buffer_view(&file), "files");
	tlsrpt_day_report(day, &head, &report);
	check_printable_lines(buffer_view(&report));
	tlsrpt_day_free(read);
	buffer_clear(&file);
	buffer_clear(&again);
	buffer_clear(&report);
}

static void check_file(struct str text)
{
	struct tlsrpt_day *day = tlsrpt_day_parse(text);

	if (day != NULL)
		check_day(day);
	tlsrpt_day_free(day);
}

static void check_sessions(struct str text)
{
	struct input input = {text};
	struct tlsrpt_day *day = tlsrpt_day_new();

	while (input.rest.length > 0) {
		struct tlsrpt_session session = {
			.policy = (enum tlsrpt_policy)(input_byte(&input) % TLSRPT_POLICIES),
			.result = (enum tlsrpt_result)(input_byte(&input) % TLSRPT_RESULTS)};
		struct str policy = input_text(&input);
		struct str hosts = input_text(&input);

		session.host = input_text(&input);
		session.server_address = input_text(&input);
		session.own_address = input_text(&input);
		session.reason = input_text(&input);
		session.greeting = input_text(&input);
		tlsrpt_day_count(day, &session, policy, hosts);
	}
	check_day(day);
	tlsrpt_day_free(day);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(struct str text) = {check_record, check_file, check_sessions};
	struct input input = {str_slice((const char *)data, size)};

	checks[input_byte(&input) % COUNT_OF(checks)](input.rest);
	return 0;
}
