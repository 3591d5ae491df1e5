// SPDX-License-Identifier: ISC
/* Messages of as many parts, one after another and within another, as are told apart, and of one
 * more. */
#include "base/buffer.h"
#include "mail/seven_bit/internal.h"
#include "mail/seven_bit/seven_bit.h"
#include "test.h"
#include <string.h>

#define LEAF                                                                     \
	"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: " \
	"8bit\r\n\r\n\xc3\xa9\r\n"

static enum mail_seven_bit_need need_of(struct str text, struct buffer *out)
{
	struct mail_seven_bit *message = mail_seven_bit_new();
	enum mail_seven_bit_need need;

	mail_seven_bit_scan(message, text);
	need = mail_seven_bit_scanned(message);
	if (need == MAIL_SEVEN_BIT_CONVERT) {
		mail_seven_bit_convert(message, text, out);
		mail_seven_bit_converted(message, out);
	}
	mail_seven_bit_free(message);
	return need;
}

static void check_ascii(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		assert_true((unsigned char)text.data[i] < 0x80);
}

static void check_message(struct buffer *text, bool is_within)
{
	struct buffer out = {0};

	assert_int_equal(need_of(buffer_view(text), &out),
			 is_within ? MAIL_SEVEN_BIT_CONVERT : MAIL_SEVEN_BIT_UNPARSED);
	check_ascii(buffer_view(&out));
	assert_int_equal(out.length > text->length, is_within);
	buffer_clear(&out);
	buffer_clear(text);
}

static void levels(void **state)
{
	(void)state;
	for (unsigned depth = 1; depth <= SEVEN_BIT_DEPTH_MAX + 1; depth++) {
		struct buffer text = {0};

		buffer_append_string(&text, "MIME-Version: 1.0\r\n");
		for (unsigned i = 0; i < depth; i++)
			buffer_append_format(
				&text,
				"Content-Type: multipart/mixed; boundary=b%u\r\n\r\n--b%u\r\n",
				i + 100, i + 100);
		buffer_append_string(&text, LEAF);
		for (unsigned i = depth; i-- > 0;)
			buffer_append_format(&text, "--b%u--\r\n", i + 100);
		check_message(&text, depth <= SEVEN_BIT_DEPTH_MAX);
	}
}

/* The whole message is one of them. */
static void parts(void **state)
{
	static const unsigned counts[] = {1, 2, SEVEN_BIT_PARTS_MAX - 2, SEVEN_BIT_PARTS_MAX - 1,
					  SEVEN_BIT_PARTS_MAX};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		struct buffer text = {0};

		buffer_append_string(
			&text,
			"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n");
		for (unsigned part = 1; part < counts[i]; part++)
			buffer_append_string(&text, "--b\r\n\r\nx\r\n");
		buffer_append_string(&text, "--b\r\n" LEAF "--b--\r\n");
		check_message(&text, counts[i] < SEVEN_BIT_PARTS_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels),
		cmocka_unit_test(parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
