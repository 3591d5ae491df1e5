// SPDX-License-Identifier: ISC
/* What local programs hand over, against a plain implementation, in all small texts and at all
 * bounds. */
#include "mail/address.h"
#include "os/file/file.h"
#include "queue/inject/address.h"
#include "queue/inject/envelope.h"
#include "queue/inject/header.h"
#include "queue/inject/reader.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file that has BYTES. */
static int file_with(struct str bytes)
{
	int file = memfd_create("bytes", MFD_CLOEXEC);

	assert_true(file >= 0);
	assert_int_equal(write(file, bytes.data, bytes.length), bytes.length);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	return file;
}

/* --- the reader --- */

static bool has_nul(struct str line)
{
	return line.length > 0 && memchr(line.data, '\0', line.length) != NULL;
}

/* LINE is without its LF: CRs at its end are gone, others are a space together, NULs are none. */
static void append_plain_line(struct str line, struct buffer *out)
{
	for (size_t i = 0; i < line.length; i++) {
		if (line.data[i] == '\r' && line.data[i + 1] == '\r')
			continue;
		if (line.data[i] != '\0')
			buffer_append_byte(out, line.data[i] == '\r' ? ' ' : line.data[i]);
	}
	buffer_append_string(out, "\r\n");
}

static int read_plainly(struct str text, bool dot_ends, bool removes_nul, struct buffer *out)
{
	while (text.length > 0) {
		ptrdiff_t end = str_find(text, '\n');
		struct str line = str_slice(text.data, end >= 0 ? (size_t)end : text.length);

		text = str_skip(text, line.length + (end >= 0));
		while (line.length > 0 && line.data[line.length - 1] == '\r')
			line.length--;
		if (dot_ends && str_equal(line, STR(".")))
			return 0;
		if (!removes_nul && has_nul(line))
			return -EILSEQ;
		append_plain_line(line, out);
	}
	return 0;
}

/* In two pieces, and what comes after the end is not looked at. */
static int read_in_pieces(struct inject_reader reader, struct str text, size_t first,
			  struct buffer *out)
{
	int error = inject_reader_take(&reader, str_slice(text.data, first), out);

	if (error == 0)
		error = inject_reader_take(&reader, str_skip(text, first), out);
	if (error == 0)
		error = inject_reader_finish(&reader, out);
	assert_true(error < 0 || reader.state == INJECT_READER_END);
	if (error == 0)
		assert_int_equal(inject_reader_take(&reader, STR("\nx\0y"), out), 0);
	if (error == 0)
		assert_int_equal(inject_reader_next(&reader, out), 0);
	return error;
}

static void check_small_text(struct str text, unsigned flags)
{
	const struct inject_reader reader = {
		.descriptor = -1, .dot_ends = flags & 1, .removes_nul = flags & 2};
	struct buffer expected = {0};
	int error = read_plainly(text, reader.dot_ends, reader.removes_nul, &expected);

	for (size_t first = 0; first <= text.length; first++) {
		struct buffer found = {0};

		assert_int_equal(read_in_pieces(reader, text, first, &found), error);
		if (error == 0 && !str_equal(buffer_view(&found), buffer_view(&expected)))
			fail_msg("flags %u, first %zu: " STR_FORMAT, flags, first,
				 STR_ARGUMENTS(text));
		buffer_clear(&found);
	}
	buffer_clear(&expected);
}

static void all_small_texts_are_read_as_plainly(void **state)
{
	static const char bytes[] = {'a', '.', '\r', '\n', '\0'};
	enum { LENGTH = 5, KINDS = sizeof bytes };
	char text[LENGTH + 1] = {0};

	(void)state;
	for (size_t length = 0, count = 1; length <= LENGTH; length++, count *= KINDS)
		for (size_t number = 0; number < count; number++) {
			for (size_t i = 0, rest = number; i < length; i++, rest /= KINDS)
				text[i] = bytes[rest % KINDS];
			for (unsigned flags = 0; flags < 4; flags++)
				check_small_text((struct str){text, length}, flags);
		}
}

static void a_reader_tells_the_end_from_an_error(void **state)
{
	static const struct {
		struct str text;
		int first; /* then 1 for the end of the file, and 0 */
	} cases[] = {{STR(""), 1}, {STR("a\n"), 1}, {STR("a"), 1}, {STR("a\0"), -EILSEQ}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct inject_reader reader = {.descriptor = file_with(cases[i].text)};
		struct buffer out = {0};

		assert_int_equal(inject_reader_next(&reader, &out), cases[i].first);
		if (cases[i].first > 0 && cases[i].text.length > 0)
			assert_int_equal(inject_reader_next(&reader, &out), 1);
		if (cases[i].first > 0)
			assert_int_equal(inject_reader_next(&reader, &out), 0);
		os_file_close(reader.descriptor);
		buffer_clear(&out);
	}
	assert_int_equal(
		inject_reader_next(&(struct inject_reader){.descriptor = -1}, &(struct buffer){0}),
		-EBADF);
}

/* --- the header --- */

static int read_header_of(struct str text, struct inject_header *header)
{
	struct inject_reader reader = {.descriptor = file_with(text)};
	int error = inject_header_read(&reader, header);

	os_file_close(reader.descriptor);
	return error;
}

/* One that never ends: fields until there are too many, or one line that is all of it. */
static void a_header_has_its_bound(void **state)
{
	enum { LINE = 64 };
	struct buffer text = {0};

	(void)state;
	for (unsigned is_whole = 0; is_whole < 2; is_whole++)
		for (unsigned is_beyond = 0; is_beyond < 2; is_beyond++) {
			struct inject_header header = {0};

			buffer_reset(&text);
			while (text.length < INJECT_HEADER_MAX + is_beyond * 2 * 65536)
				buffer_append_format(&text, "X: %0*d%s", LINE - 5, 0,
						     is_whole ? "\r\n" : "..");
			if (!is_whole) /* the end that the line gets */
				buffer_truncate(&text, text.length - 2);
			assert_int_equal(read_header_of(buffer_view(&text), &header),
					 is_beyond ? -EFBIG : 0);
			if (!is_beyond)
				assert_int_equal(header.text.length, INJECT_HEADER_MAX);
			inject_header_clear(&header);
		}
	buffer_clear(&text);
}

/* A name that is longer is none, and so is no name. */
static void a_field_name_has_its_bound(void **state)
{
	(void)state;
	for (size_t length = 0; length <= HEADER_NAME_MAX + 2; length++) {
		struct inject_header header = {0};
		struct buffer text = {0};
		bool is_field = length > 0 && length <= HEADER_NAME_MAX;

		if (length > 3 && length < HEADER_NAME_MAX - 3)
			continue;
		for (size_t i = 0; i < length; i++)
			buffer_append_byte(&text, 'x');
		buffer_append_string(&text, ": y\n\nbody\n");
		assert_int_equal(read_header_of(buffer_view(&text), &header), 0);
		assert_int_equal(header.text.length, is_field ? length + 5 : 0);
		assert_true(str_starts_with(buffer_view(&header.body), STR("\r\n")));
		inject_header_clear(&header);
		buffer_clear(&text);
	}
}

static void an_error_of_reading_is_not_the_end(void **state)
{
	struct inject_header header = {0};

	(void)state;
	assert_int_equal(inject_header_read(&(struct inject_reader){.descriptor = -1}, &header),
			 -EBADF);
	assert_int_equal(read_header_of(STR("A: b\n\0\n"), &header), -EILSEQ);
	inject_header_clear(&header);
}

/* --- the envelope --- */

/* One piece after another, as a pipe gives them; what follows the envelope is not looked at. */
static void an_envelope_comes_in_pieces(void **state)
{
	static const char text[] = "Fa@b.c\0Td@e.f\0Tg@h.i\0\0";
	const struct inject_envelope_settings settings = {.bytes = sizeof text - 1,
							  .recipients = 2};

	(void)state;
	for (size_t length = 0; length < sizeof text; length++) {
		struct mail_envelope *envelope = mail_envelope_new();
		struct buffer reason = {0};
		int file = file_with(str_slice(text, length));
		int error = inject_envelope_read(file, &settings, envelope, &reason);

		assert_int_equal(error, length == sizeof text - 1 ? 0 : -ENOMSG);
		assert_int_equal(reason.length > 0, error != 0);
		if (error == 0) {
			assert_int_equal(envelope->recipient_count, 2);
			assert_true(str_equal(envelope->sender, STR("a@b.c")));
			assert_true(str_equal(envelope->recipients[1].address, STR("g@h.i")));
		}
		os_file_close(file);
		buffer_clear(&reason);
		mail_envelope_free(envelope);
	}
}

static int read_envelope(struct str text, size_t bytes, size_t recipients, struct buffer *reason)
{
	const struct inject_envelope_settings settings = {.bytes = bytes, .recipients = recipients};
	struct mail_envelope *envelope = mail_envelope_new();
	int file = file_with(text);
	int error = inject_envelope_read(file, &settings, envelope, reason);

	os_file_close(file);
	mail_envelope_free(envelope);
	return error;
}

static void an_envelope_has_its_bounds(void **state)
{
	static const struct str text = STR("F\0Td@e.f\0Tg@h.i\0\0");

	(void)state;
	for (size_t bytes = text.length - 1; bytes <= text.length + 1; bytes++)
		for (size_t recipients = 1; recipients <= 3; recipients++) {
			struct buffer reason = {0};
			bool is_allowed = bytes >= text.length && recipients >= 2;

			assert_int_equal(read_envelope(text, bytes, recipients, &reason),
					 is_allowed ? 0 : -E2BIG);
			if (bytes < text.length)
				assert_true(str_equal(buffer_view(&reason),
						      STR("the envelope is over 16 bytes")));
			else if (!is_allowed)
				assert_true(str_equal(buffer_view(&reason),
						      STR("more than 1 recipients")));
			buffer_clear(&reason);
		}
}

/* Who has said all may keep the pipe open: nothing more is waited for. */
static void the_end_of_an_envelope_is_in_it(void **state)
{
	static const struct {
		struct str text;
		int error;
	} cases[] = {{STR("F\0Ta@b\0\0"), 0}, {STR("\0\0"), -ENOMSG}, {STR("F\0Ta@b\0"), -EAGAIN}};
	const struct inject_envelope_settings settings = {.bytes = 100, .recipients = 1};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mail_envelope *envelope = mail_envelope_new();
		struct buffer reason = {0};
		int ends[2];

		assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
		assert_int_equal(write(ends[1], cases[i].text.data, cases[i].text.length),
				 cases[i].text.length);
		assert_int_equal(inject_envelope_read(ends[0], &settings, envelope, &reason),
				 cases[i].error);
		os_file_close(ends[0]);
		os_file_close(ends[1]);
		buffer_clear(&reason);
		mail_envelope_free(envelope);
	}
}

static void an_envelope_that_cannot_be_read_is_not_malformed(void **state)
{
	const struct inject_envelope_settings settings = {.bytes = 100, .recipients = 1};
	struct mail_envelope *envelope = mail_envelope_new();
	struct buffer reason = {0};

	(void)state;
	assert_int_equal(inject_envelope_read(-1, &settings, envelope, &reason), -EBADF);
	assert_int_equal(reason.length, 0);
	mail_envelope_free(envelope);
}

/* What is refused is named, as it is, in what people read. */
static void a_refusal_names_what_is_refused(void **state)
{
	static const struct {
		struct str text, reason;
	} cases[] = {
		{STR("F a\0Tb@c\0\0"), STR("not an address of a sender:  a")},
		{STR("F\0Tb c\0\0"), STR("not an address of a recipient: b c")},
		{STR("F\0xyz\0\0"), STR("the envelope has something else than recipients: xyz")},
		{STR("xyz\0Tb@c\0\0"), STR("the envelope does not begin with a sender: xyz")},
		{STR("F\0\0"), STR("the envelope has no recipients")},
		{STR("F"), STR("the envelope is not complete")},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer reason = {0};

		assert_int_not_equal(read_envelope(cases[i].text, 100, 1, &reason), 0);
		if (!str_equal(buffer_view(&reason), cases[i].reason))
			fail_msg("case %zu: " STR_FORMAT, i, STR_ARGUMENTS(buffer_view(&reason)));
		buffer_clear(&reason);
	}
}

/* Of what is too long only the beginning is said. */
static void a_refusal_is_short(void **state)
{
	static const struct str what = STR("not an address of a recipient: ");
	struct buffer text = {0};

	(void)state;
	for (size_t length = MAIL_ADDRESS_MAX - 1; length <= MAIL_ADDRESS_MAX + 2; length++) {
		size_t said = length < MAIL_ADDRESS_MAX ? length : MAIL_ADDRESS_MAX;
		struct buffer reason = {0};

		buffer_reset(&text);
		buffer_append(&text, "F\0T", 3);
		for (size_t i = 0; i < length; i++)
			buffer_append_byte(&text, 'x');
		buffer_append(&text, "\0\0", 2);
		assert_int_not_equal(read_envelope(buffer_view(&text), 1000, 1, &reason), 0);
		assert_true(str_starts_with(buffer_view(&reason), what));
		assert_int_equal(reason.length, what.length + said);
		buffer_clear(&reason);
	}
	buffer_clear(&text);
}

/* --- addresses --- */

static int form_of(struct str address, struct str domain, struct buffer *out)
{
	buffer_reset(out);
	buffer_append_string(out, "before");
	return inject_address_form(address, domain, out);
}

/* A domain that is added is judged like one that was there. What is refused leaves nothing. */
static void an_address_is_judged_as_it_will_be(void **state)
{
	struct buffer domain = {0};
	struct buffer address = {0};
	struct buffer out = {0};

	(void)state;
	for (size_t length = MAIL_DOMAIN_MAX - 3; length < MAIL_DOMAIN_MAX + 4; length++) {
		int expected = length <= MAIL_DOMAIN_MAX ? 0 : -ENAMETOOLONG;

		buffer_reset(&domain);
		while (domain.length < length)
			buffer_append_byte(&domain, domain.length % 40 == 39 ? '.' : 'd');
		assert_int_equal(form_of(STR("ann"), buffer_view(&domain), &out), expected);
		assert_int_equal(out.length, expected == 0 ? 10 + length : 6);
		buffer_reset(&address);
		buffer_append_string(&address, "ann@");
		buffer_append_str(&address, buffer_view(&domain));
		assert_int_equal(form_of(buffer_view(&address), STR(""), &out), expected);
		assert_int_equal(out.length, expected == 0 ? 10 + length : 6);
	}
	assert_int_equal(form_of(STR("ann"), STR("a domain"), &out), -EBADMSG);
	assert_int_equal(form_of(STR("ann"), STR(""), &out), -EBADMSG);
	assert_int_equal(out.length, 6);
	buffer_clear(&domain);
	buffer_clear(&address);
	buffer_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_small_texts_are_read_as_plainly),
		cmocka_unit_test(a_reader_tells_the_end_from_an_error),
		cmocka_unit_test(a_header_has_its_bound),
		cmocka_unit_test(a_field_name_has_its_bound),
		cmocka_unit_test(an_error_of_reading_is_not_the_end),
		cmocka_unit_test(an_envelope_comes_in_pieces),
		cmocka_unit_test(an_envelope_has_its_bounds),
		cmocka_unit_test(the_end_of_an_envelope_is_in_it),
		cmocka_unit_test(an_envelope_that_cannot_be_read_is_not_malformed),
		cmocka_unit_test(a_refusal_names_what_is_refused),
		cmocka_unit_test(a_refusal_is_short),
		cmocka_unit_test(an_address_is_judged_as_it_will_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
