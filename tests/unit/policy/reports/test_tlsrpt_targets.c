// SPDX-License-Identifier: ISC
/* Where reports go: each target after each other in one record, as if it were alone; at the bounds
 * of their parts; and each byte. */
#include "base/attributes.h"
#include "base/buffer.h"
#include "policy/tlsrpt/record.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

#define TEN   "0123456789"
#define FIFTY TEN TEN TEN TEN TEN

static const struct target_row {
	const char *uri;
	const char *host; /* NULL: of mail */
	uint16_t port;
	const char *text; /* NULL: it is none */
} rows[] = {
	{"mailto:a@b.test", NULL, 0, "a@b.test"},
	{"mailto:a.b.c@d.test?subject=x", NULL, 0, "a.b.c@d.test"},
	{"MailTo:%61!#$&'*+-/=?x", NULL, 0, NULL},
	{"mailto:!#$&'*+-/=_~@d.test", NULL, 0, "!#$&'*+-/=_~@d.test"},
	{"mailto:" FIFTY TEN "0123@d.test", NULL, 0, FIFTY TEN "0123@d.test"},
	{"mailto:" FIFTY TEN "01234@d.test", NULL, 0, NULL},
	{"mailto:.a@d.test", NULL, 0, NULL},
	{"mailto:a.@d.test", NULL, 0, NULL},
	{"mailto:a..b@d.test", NULL, 0, NULL},
	{"mailto:@d.test", NULL, 0, NULL},
	{"mailto:a@-d.test", NULL, 0, NULL},
	{"mailto:a%3bb@d.test", NULL, 0, NULL},
	{"mailto:a%20b@d.test", NULL, 0, NULL},
	{"mailto:a%7Eb@d.test", NULL, 0, "a~b@d.test"},
	{"mailto:a%7Fb@d.test", NULL, 0, NULL},
	{"mailto:a%21@d.tes%74", NULL, 0, "a!@d.test"},
	{"mailto:a@d.test%7", NULL, 0, NULL},
	{"mailto:", NULL, 0, NULL},
	{"mailto", NULL, 0, NULL},
	{"https://h.test", "h.test", 443, "/"},
	{"HTTPS://H.Test:1/A?b=c%2C", "h.test", 1, "/A?b=c%2C"},
	{"https://h.test:65535/", "h.test", 65535, "/"},
	{"https://h.test:65536/", NULL, 0, NULL},
	{"https://h.test:/", NULL, 0, NULL},
	{"https://h.test:0/", NULL, 0, NULL},
	{"https://h.test/long/" FIFTY FIFTY, "h.test", 443, "/long/" FIFTY FIFTY},
	{"https://h.test/x#y", NULL, 0, NULL},
	{"https://h.test#y", NULL, 0, NULL},
	{"https://h.test?y", NULL, 0, NULL},
	{"https://-h.test/", NULL, 0, NULL},
	{"https://", NULL, 0, NULL},
	{"https:/", NULL, 0, NULL},
	{"http://h.test/", NULL, 0, NULL},
	{"", NULL, 0, NULL},
};

static void check_target(const struct tlsrpt_target *target, const struct target_row *row)
{
	assert_int_equal(target->scheme, row->host != NULL ? TLSRPT_HTTPS : TLSRPT_MAILTO);
	assert_string_equal(target->text, row->text);
	if (row->host == NULL)
		return;
	assert_string_equal(target->host, row->host);
	assert_int_equal(target->port, row->port);
}

static void each_after_each(void **state)
{
	(void)state;
	for (size_t a = 0; a < COUNT_OF(rows); a++)
		for (size_t b = 0; b < COUNT_OF(rows); b++) {
			const struct target_row *list[] = {&rows[a], &rows[b]};
			struct tlsrpt_record record = {0};
			struct buffer text = {0};
			unsigned good = 0;

			buffer_append_format(&text, "v=TLSRPTv1; rua=%s , %s", rows[a].uri,
					     rows[b].uri);
			tlsrpt_record_add(&record, buffer_view(&text));
			buffer_append_byte(&text, '\0');
			for (size_t i = 0; i < 2; i++)
				if (list[i]->text != NULL && good < record.target_count)
					check_target(&record.targets[good++], list[i]);
				else
					good += list[i]->text != NULL;
			if (record.target_count != good)
				fail_msg("%s: %u", buffer_data(&text), record.target_count);
			assert_int_equal(tlsrpt_record_is_valid(&record), good > 0);
			tlsrpt_record_add(&record, STR("v=TLSRPTv1;"));
			assert_false(tlsrpt_record_is_valid(&record));
			buffer_clear(&text);
		}
}

/* A URI of one byte less than the room for it. */
static void as_long_as_may_be(void **state)
{
	(void)state;
	for (size_t length = TLSRPT_TARGET_SIZE - 3; length < TLSRPT_TARGET_SIZE + 2; length++) {
		struct tlsrpt_record record = {0};
		struct buffer text = {0};

		buffer_append_string(&text, "v=TLSRPTv1;rua=https://h.test/");
		while (text.length < length + 15)
			buffer_append_byte(&text, 'x');
		tlsrpt_record_add(&record, buffer_view(&text));
		assert_int_equal(record.target_count, length < TLSRPT_TARGET_SIZE);
		if (record.target_count > 0)
			assert_int_equal(strlen(record.targets[0].text), length - 14);
		buffer_clear(&text);
	}
}

/* In a local part, and in a path. */
static void each_byte(void **state)
{
	(void)state;
	for (int byte = 1; byte < 256; byte++) {
		bool is_visible = byte > ' ' && byte < 0x7f,
		     is_separator = byte == ',' || byte == ';',
		     is_uri = is_visible && strchr("\"<>\\^`{|}", byte) == NULL;
		struct tlsrpt_record mail = {0}, path = {0};
		char text[60];

		snprintf(text, sizeof text, "v=TLSRPTv1; rua=mailto:a%cb@c.test", byte);
		tlsrpt_record_add(&mail, str_from(text));
		assert_int_equal(mail.target_count,
				 is_uri && !is_separator && strchr("()[]:@%?", byte) == NULL);
		snprintf(text, sizeof text, "v=TLSRPTv1; rua=https://c.test/a%cb", byte);
		tlsrpt_record_add(&path, str_from(text));
		assert_int_equal(path.target_count, (is_uri && byte != '#') || is_separator);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_after_each),
		cmocka_unit_test(as_long_as_may_be),
		cmocka_unit_test(each_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
