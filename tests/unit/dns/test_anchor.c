// SPDX-License-Identifier: ISC
/* The file of DNSSEC's trust anchors. */
#include "dns/anchor.h"
#include "os/file/file.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void files_of_trust_anchors(void **state)
{
	static const struct {
		const char *text;
		int error;
		const char *out;
	} cases[] = {
		{"; comment\n\n. IN DS 1 8 2 AB ; more\n.\t86400\tIN\tDNSKEY 257 3 8 AA=", 0,
		 ". IN DS 1 8 2 AB\n.\t86400\tIN\tDNSKEY 257 3 8 AA=\n"},
		{"x.test. DS 1 8 2 AB\n", 0, "x.test. DS 1 8 2 AB\n"},
		{"", -EINVAL, "there is no DNSKEY or DS record in it"},
		{"; nothing\n", -EINVAL, "there is no DNSKEY or DS record in it"},
		{". IN DS 1 8 2 AB\n. IN A 192.0.2.1\n", -EINVAL,
		 "line 2 is no DNSKEY or DS record"},
		{". IN DS\n", -EINVAL, "line 1 is no DNSKEY or DS record"},
		{"hello\n", -EINVAL, "line 1 is no DNSKEY or DS record"},
		{"x DS 1", 0, "x DS 1\n"},
		{"x in 1 IN 2 dnskey\t1 ; 2", 0, "x in 1 IN 2 dnskey\t1\n"},
		{"x IN DSX 1", -EINVAL, "line 1 is no DNSKEY or DS record"},
		{"x IN DS", -EINVAL, "line 1 is no DNSKEY or DS record"},
		{"x IN D 1", -EINVAL, "line 1 is no DNSKEY or DS record"},
		{"x INN DS 1", -EINVAL, "line 1 is no DNSKEY or DS record"},
		{"x 1", -EINVAL, "line 1 is no DNSKEY or DS record"},
		{"x IN", -EINVAL, "line 1 is no DNSKEY or DS record"},
		{"x", -EINVAL, "line 1 is no DNSKEY or DS record"},
		{"\n\n ; a\nx DS 1\n y DS 2 \r\nz", -EINVAL, "line 6 is no DNSKEY or DS record"},
	};
	char directory[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];

	(void)state;
	assert_int_equal(scratch_make(directory), 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer text CLEANUP(buffer_clear) = {0};
		struct buffer reason CLEANUP(buffer_clear) = {0};
		int file;

		snprintf(path, sizeof path, "%s/anchor%zu", directory, i);
		file = os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE | OS_FILE_CREATE);
		assert_true(file >= 0);
		assert_int_equal(os_file_write(file, cases[i].text, strlen(cases[i].text), 0), 0);
		os_file_close(file);
		assert_int_equal(dns_anchor_read(path, &text, &reason), cases[i].error);
		assert_true(str_equal(buffer_view(cases[i].error == 0 ? &text : &reason),
				      str_from(cases[i].out)));
	}
	assert_int_equal(scratch_remove(directory), 0);
}

/* A comment makes it as large as it may be, and a byte larger. */
static void a_file_of_trust_anchors_has_a_largest_size(void **state)
{
	char directory[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	char *content = malloc(DNS_ANCHOR_FILE_MAX + 1);

	(void)state;
	assert_int_equal(scratch_make(directory), 0);
	snprintf(path, sizeof path, "%s/anchor", directory);
	memset(content, ';', DNS_ANCHOR_FILE_MAX + 1);
	memcpy(content, ". IN DS 1 8 2 AB\n", 17);
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		struct buffer text CLEANUP(buffer_clear) = {0};
		struct buffer reason CLEANUP(buffer_clear) = {0};
		int file = os_file_open(OS_FILE_HERE, path,
					OS_FILE_WRITE | (beyond == 0 ? OS_FILE_CREATE : 0U));

		assert_true(file >= 0);
		assert_int_equal(os_file_write(file, content, DNS_ANCHOR_FILE_MAX + beyond, 0), 0);
		os_file_close(file);
		assert_int_equal(dns_anchor_read(path, &text, &reason), beyond > 0 ? -EFBIG : 0);
	}
	free(content);
	assert_int_equal(scratch_remove(directory), 0);
}

static void a_file_of_trust_anchors_that_is_missing(void **state)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer reason CLEANUP(buffer_clear) = {0};

	(void)state;
	assert_int_equal(dns_anchor_read("/nowhere/root.key", &text, &reason), -ENOENT);
	assert_true(str_equal(buffer_view(&reason), STR("No such file or directory")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_trust_anchors),
		cmocka_unit_test(a_file_of_trust_anchors_has_a_largest_size),
		cmocka_unit_test(a_file_of_trust_anchors_that_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
