// SPDX-License-Identifier: ISC
/* Messages in the form that a server takes, in parts of any size, against what the converter makes
 * of them in one piece; and each read that fails. */
#include "deliver/remote/session/content.h"
#include "deliver/remote/session/form.h"
#include "header/field.h"
#include "mail/seven_bit/seven_bit.h"
#include "test.h"
#include <errno.h>
#include <string.h>

enum { PART = 7 };

#define TEXT   "Subject: x\r\n\r\n"
#define EIGHT  "gr\303\274n"
#define MIME   "MIME-Version: 1.0\r\n"
#define SIGNED MIME "Content-Type: multipart/signed; boundary=b\r\n\r\n--b\r\n\r\n"

static const char *const texts[] = {
	"",
	"x",
	TEXT "plain\r\n",
	TEXT EIGHT "\r\n",
	TEXT "no end of line " EIGHT,
	MIME "Content-Type: text/plain; charset=utf-8\r\n\r\n" EIGHT "\r\n" EIGHT "\r\n",
	SIGNED "plain\r\n--b--\r\n",
	SIGNED EIGHT "\r\n--b--\r\n",
	MIME "Content-Type: multipart/mixed; boundary\r\n\r\n" EIGHT "\r\n",
	"Subject: " EIGHT "\r\n\r\nplain\r\n",
	"Subject: " EIGHT "\r\n\r\n" EIGHT "\r\n",
	"To: " EIGHT "@a.test\r\n\r\nplain\r\n",
	"From " EIGHT "\r\nSubject: x\r\n\r\nplain\r\n",
};

static struct {
	struct str text;
	unsigned reads; /* so far */
	unsigned fails; /* at the read of this number; 0: none does */
} file;

/* In small parts. */
int ipc_content_next(const struct ipc_content *content, struct ipc_content_pass *pass, char *block,
		     size_t block_size, struct str *part_out)
{
	size_t left = content->size - pass->position;

	assert_int_equal(block_size, REMOTE_CHUNK_SIZE);
	if (++file.reads == file.fails)
		return -EIO;
	left = left < PART ? left : PART;
	memcpy(block, file.text.data + pass->position, left);
	pass->position += left;
	*part_out = str_slice(block, left);
	return 0;
}

bool ipc_content_is_passed(const struct ipc_content *content, const struct ipc_content_pass *pass)
{
	return pass->position == content->size;
}

int ipc_content_read(const struct ipc_content *content, uint64_t offset, char *block,
		     size_t block_size, struct str *part_out)
{
	(void)content;
	(void)offset;
	(void)block;
	(void)block_size;
	(void)part_out;
	fail();
	return -EIO;
}

/* --- in one piece --- */

static bool encode_plainly(struct str text, struct buffer *out)
{
	struct header_field field;

	if (!header_field_parse(text, &field)) {
		buffer_append_str(out, text);
		return false;
	}
	return header_field_to_ascii(&field, out);
}

static enum remote_form_state convert_whole(const struct remote_form_rules *rules,
					    struct buffer *out)
{
	struct mail_seven_bit *whole = mail_seven_bit_new();
	enum mail_seven_bit_need need;

	if (rules->is_binary)
		mail_seven_bit_set_binary(whole);
	if ((rules->wanted & SMTP_CLIENT_FORM_ASCII_HEADER) != 0)
		mail_seven_bit_set_encoder(whole, encode_plainly);
	if (!rules->is_binary && (rules->wanted & SMTP_CLIENT_FORM_SEVEN_BIT) == 0)
		mail_seven_bit_keep_bodies(whole);
	mail_seven_bit_scan(whole, file.text);
	need = mail_seven_bit_scanned(whole);
	if (need == MAIL_SEVEN_BIT_CONVERT) {
		mail_seven_bit_convert(whole, file.text, out);
		mail_seven_bit_converted(whole, out);
	} else {
		buffer_append_str(out, file.text);
	}
	mail_seven_bit_free(whole);
	return need == MAIL_SEVEN_BIT_SIGNED     ? REMOTE_FORM_SEALED
	       : need == MAIL_SEVEN_BIT_UNPARSED ? REMOTE_FORM_UNPARSED
	       : need == MAIL_SEVEN_BIT_ADDRESS  ? REMOTE_FORM_ADDRESS
						 : REMOTE_FORM_READY;
}

/* --- in parts --- */

/* The state at the end, and how often it was looked; or -errno. */
static int look_until_known(struct remote_form *form, char *block, unsigned *looks_out)
{
	enum remote_form_state state = REMOTE_FORM_UNKNOWN;
	int error = 0;

	*looks_out = 0;
	while (error == 0 && state == REMOTE_FORM_UNKNOWN) {
		unsigned before = file.reads;

		error = remote_form_look(form, block, &state);
		(*looks_out)++;
		assert_true(file.reads - before <= 32); /* others wait meanwhile */
		assert_true(state != REMOTE_FORM_UNKNOWN || error < 0 || file.reads - before == 32);
	}
	return error < 0 ? error : (int)state;
}

static void read_all(struct remote_form *form, char *block, struct buffer *out)
{
	bool is_last = false;

	while (!is_last) {
		struct str part;

		assert_int_equal(remote_form_read(form, block, &part, &is_last), 0);
		buffer_append_str(out, part);
	}
}

static void check_form(const struct remote_form_rules *rules)
{
	static char block[REMOTE_CHUNK_SIZE];
	const struct ipc_content content = {.file = -1, .size = file.text.length};
	struct buffer whole CLEANUP(buffer_clear) = {0};
	struct buffer parts CLEANUP(buffer_clear) = {0};
	enum remote_form_state state = convert_whole(rules, &whole);
	struct remote_form *form = remote_form_new(&content, rules);
	struct remote_breaks breaks = {0};
	unsigned looks, reads;

	file.reads = file.fails = 0;
	assert_int_equal(look_until_known(form, block, &looks), state);
	reads = file.reads;
	if (state == REMOTE_FORM_READY) {
		read_all(form, block, &parts);
		assert_true(str_equal(buffer_view(&parts), buffer_view(&whole)));
		remote_breaks_count(&breaks, buffer_view(&whole));
		assert_int_equal(remote_form_size(form),
				 whole.length +
					 (rules->breaks_lines ? remote_breaks_size(&breaks) : 0));
	}
	remote_form_free(form);
	for (unsigned fails = 1; fails <= reads; fails++) {
		form = remote_form_new(&content, rules);
		file.reads = 0;
		file.fails = fails;
		assert_int_equal(look_until_known(form, block, &looks), -EIO);
		assert_int_equal(file.reads, fails);
		remote_form_free(form);
	}
	remote_form_free(NULL);
}

static void check_text(struct str text)
{
	file.text = text;
	for (unsigned i = 0; i < 16; i++) {
		const struct remote_form_rules rules = {
			.breaks_lines = (i & 1) != 0,
			.is_binary = (i & 2) != 0,
			.wanted = ((i & 4) != 0 ? SMTP_CLIENT_FORM_SEVEN_BIT : 0) |
				  ((i & 8) != 0 ? SMTP_CLIENT_FORM_ASCII_HEADER : 0),
		};

		check_form(&rules);
	}
}

static void parts_are_converted_as_the_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		check_text(str_from(texts[i]));
}

/* Longer than what is looked at in one turn, with lines that have to be broken. */
static void a_long_message_takes_several_turns(void **state)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	(void)state;
	buffer_append_string(&text, TEXT EIGHT);
	for (size_t i = 0; i < 2500; i++)
		buffer_append_byte(&text, 'x');
	buffer_append_string(&text, "\r\n");
	check_text(buffer_view(&text));
}

/* A read that fails once all is known. */
static void what_cannot_be_read_is_said(void **state)
{
	static char block[REMOTE_CHUNK_SIZE];
	const struct remote_form_rules rules = {.wanted = SMTP_CLIENT_FORM_SEVEN_BIT};
	struct ipc_content content = {.file = -1};
	struct remote_form *form;
	struct str part = STR("untouched");
	bool is_last = false;
	unsigned looks;

	(void)state;
	file.text = STR(TEXT EIGHT "\r\n");
	content.size = file.text.length;
	file.reads = file.fails = 0;
	form = remote_form_new(&content, &rules);
	assert_int_equal(look_until_known(form, block, &looks), REMOTE_FORM_READY);
	file.fails = file.reads + 1;
	assert_int_equal(remote_form_read(form, block, &part, &is_last), -EIO);
	assert_true(str_equal(part, STR("untouched")) && !is_last);
	remote_form_free(form);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_converted_as_the_whole),
		cmocka_unit_test(a_long_message_takes_several_turns),
		cmocka_unit_test(what_cannot_be_read_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
