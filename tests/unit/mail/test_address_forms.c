// SPDX-License-Identifier: ISC
/* Addresses, local parts and names of hosts of a few pieces, against regular expressions and plain
 * readings of what they may be. */
#include "base/buffer.h"
#include "each_text.h"
#include "mail/address.h"
#include "mail/host.h"
#include "mail/localpart.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#define E_ACUTE "\xc3\xa9"
#define ATEXT   "[]A-Za-z0-9!#$%&'*+/=?^_`{|}~-]" /* and ']', which no piece has alone */
#define LABEL   "[A-Za-z0-9_-]+"
#define LITERAL "\\[192[.]0[.]2[.]1]"

/* --- whole addresses: RFC 5321 section 4.1.2 --- */

static struct form atom_dots = {.expression = "^(" ATEXT "|[.])+$"};
static struct form strict_dots = {.expression = "^(" ATEXT ")+([.](" ATEXT ")+)*$"};
static struct form quoted = {.expression = "^\"([^\"\\]|\\\\[ -~])*\"$"};
static struct form domain_form = {.expression = "^" LABEL "([.]" LABEL ")*$"};
static struct form literal_form = {.expression = "^" LITERAL "$"};
static struct form has_8bit = {.expression = "[^ -~]"};

/* Copies TEXT with an 'e' for each E_ACUTE, as which it counts in an address of UTF-8. */
static void copy_as_ascii(const char *text, bool allow_utf8, char out[EACH_TEXT_MAX])
{
	while (*text != '\0') {
		bool is_letter = allow_utf8 && strncmp(text, E_ACUTE, 2) == 0;

		*out++ = is_letter ? 'e' : *text;
		text += is_letter ? 2 : 1;
	}
	*out = '\0';
}

static bool is_plain_local(const char *local, unsigned flags)
{
	char text[EACH_TEXT_MAX];

	copy_as_ascii(local, flags & MAIL_ADDRESS_UTF8, text);
	if (has_form(&has_8bit, text))
		return false;
	return has_form(flags & MAIL_ADDRESS_STRICT ? &strict_dots : &atom_dots, text) ||
	       has_form(&quoted, text);
}

static bool is_plain_domain(const char *domain, unsigned flags)
{
	char text[EACH_TEXT_MAX];

	copy_as_ascii(domain, flags & MAIL_ADDRESS_UTF8, text);
	return has_form(&domain_form, text) || has_form(&literal_form, text);
}

/* The lengths of the local part and of the domain; false: TEXT is no address. A quoted local part
 * may have other '@'s in it. */
static bool read_plain_address(char *text, unsigned flags, size_t *local_out, size_t *domain_out)
{
	size_t length = strlen(text);

	*local_out = *domain_out = 0;
	if (length == 0)
		return flags & MAIL_ADDRESS_NULL;
	if (flags & MAIL_ADDRESS_NO_DOMAIN && is_plain_local(text, flags)) {
		*local_out = length;
		return true;
	}
	if (flags & MAIL_ADDRESS_ROOT && text[length - 1] == '.')
		text[--length] = '\0';
	for (char *at = strchr(text, '@'); at != NULL; at = strchr(at + 1, '@')) {
		bool is_address;

		*at = '\0';
		is_address = is_plain_local(text, flags) && is_plain_domain(at + 1, flags);
		*at = '@';
		*local_out = (size_t)(at - text);
		*domain_out = length - *local_out - 1;
		if (is_address)
			return true;
	}
	return false;
}

static unsigned checked_flags;

static void check_address(struct str text)
{
	struct mail_address address = {.text = STR("untouched"), .is_literal = true};
	char plain[EACH_TEXT_MAX];
	size_t local, domain;
	bool is_one = read_plain_address(copy_of(text, plain), checked_flags, &local, &domain);
	int error = mail_address_parse(text, checked_flags, &address);

	if (error != (is_one ? 0 : -EINVAL))
		fail_msg("\"" STR_FORMAT "\" with %x: %d", STR_ARGUMENTS(text), checked_flags,
			 error);
	if (!is_one) {
		assert_true(str_equal(address.text, STR("untouched")));
		return;
	}
	assert_int_equal(address.local.length, local);
	assert_int_equal(address.domain.length, domain);
	assert_int_equal(address.text.length, local + domain + (domain > 0));
	assert_int_equal(address.is_literal, domain > 0 && address.domain.data[0] == '[');
	assert_true(text.length == 0 || address.text.data == text.data);
}

static void addresses(void **state)
{
	static const struct pieces pieces = {
		{"a", ".", "@", "\"", "\\", " ", E_ACUTE, "\xa9", "[192.0.2.1]", "\x7f"}, 3, 3000};

	(void)state;
	for (checked_flags = 0; checked_flags < 32; checked_flags++)
		each_text_of(&pieces, check_address);
	check_address(STR(""));
}

/* Each byte in an atom, in quotes, after a backslash there, in a domain. */
static void bytes_of_addresses(void **state)
{
	static const char *const forms[] = {"a%cb@c", "\"a%cb\"@c", "\"a\\%cb\"@c", "a@b%cc"};

	(void)state;
	checked_flags = 0;
	for (size_t i = 0; i < COUNT_OF(forms); i++)
		for (int byte = 1; byte < 256; byte++) {
			char text[EACH_TEXT_MAX];

			snprintf(text, sizeof text, forms[i], byte);
			if (byte != '[' && byte != ']')
				check_address(str_from(text));
		}
}

/* The first space that is not in quotes; -1: they are not closed. */
static void check_address_end(struct str text)
{
	bool in_quotes = false, is_escaped = false;
	ptrdiff_t end = -2;

	for (size_t i = 0; i < text.length && end < 0; i++) {
		char c = text.data[i];

		if (c == ' ' && !in_quotes && !is_escaped)
			end = (ptrdiff_t)i;
		if (c == '"' && !is_escaped)
			in_quotes = !in_quotes;
		is_escaped = in_quotes && c == '\\' && !is_escaped;
	}
	if (end < 0)
		end = in_quotes ? -1 : (ptrdiff_t)text.length;
	if (mail_address_end(text) != end)
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(text));
}

static void ends_of_addresses(void **state)
{
	static const struct pieces pieces = {{"a", " ", "\"", "\\", "@"}, 6, 0};

	(void)state;
	each_text_of(&pieces, check_address_end);
}

/* --- literals and names of hosts --- */

static void check_literal(struct str text)
{
	struct in6_addr found, wanted, untouched;
	unsigned char ipv4[4];
	char copy[EACH_TEXT_MAX];
	char *end = strrchr(copy_of(text, copy), ']');
	bool is_one = false;

	memset(&untouched, 7, sizeof untouched);
	found = untouched;
	if (copy[0] == '[' && end != NULL && end[1] == '\0') {
		*end = '\0';
		if (strncasecmp(copy + 1, "ipv6:", 5) == 0) {
			is_one = inet_pton(AF_INET6, copy + 6, &wanted) == 1;
		} else if (inet_pton(AF_INET, copy + 1, ipv4) == 1) {
			snprintf(copy, sizeof copy, "::ffff:%u.%u.%u.%u", ipv4[0], ipv4[1], ipv4[2],
				 ipv4[3]);
			is_one = inet_pton(AF_INET6, copy, &wanted) == 1;
		}
	}
	if (text.length == 0 || text.data[0] != '[')
		return; /* whoever asks has seen one */
	if (mail_literal_parse(text, &found) != is_one)
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(text));
	assert_memory_equal(&found, is_one ? &wanted : &untouched, sizeof found);
}

static void literals(void **state)
{
	static const struct pieces pieces = {
		{"[", "]", "IPv6:", "ipV6:", "::", "1", "2001:db8:", "192.0.2.7", ".", "abcd:"},
		4,
		20000};

	(void)state;
	each_text_of(&pieces, check_literal);
	check_literal(STR("[IPv6:1111:2222:3333:4444:5555:6666:7777:8888]"));
	check_literal(STR("[IPv6:1111:2222:3333:4444:5555:6666:192.168.100.100]"));
	check_literal(STR("[IPv6:1111:2222:3333:4444:5555:6666:192.168.100.1000]"));
	assert_false(mail_literal_parse(STR("[192.0.2.7\0]"), &(struct in6_addr){0}));
}

static struct form host_form = {
	.expression = "^([A-Za-z0-9_]|[A-Za-z0-9_][A-Za-z0-9_-]*[A-Za-z0-9_])"
		      "([.]([A-Za-z0-9_]|[A-Za-z0-9_][A-Za-z0-9_-]*[A-Za-z0-9_]))*$"};
static struct form number_form = {.expression = "(^|[.])[0-9]+$"};

static void check_host(struct str text)
{
	char copy[EACH_TEXT_MAX];

	copy_of(text, copy);
	if (mail_host_is_name(text) !=
	    (has_form(&host_form, copy) && !has_form(&number_form, copy)))
		fail_msg("\"" STR_FORMAT "\" as a host", STR_ARGUMENTS(text));
	if (mail_domain_is_valid(text) != has_form(&domain_form, copy))
		fail_msg("\"" STR_FORMAT "\" as a domain", STR_ARGUMENTS(text));
}

static void hosts(void **state)
{
	static const struct pieces pieces = {
		{"a", "Z", "z", "A", "0", "9", "-", "_", ".", "/", "@", "`", "{", ":", "[", "\xc3"},
		4,
		2000};

	(void)state;
	each_text_of(&pieces, check_host);
}

/* --- local parts, as we read them --- */

struct plain_local {
	char whole[EACH_TEXT_MAX], tag[EACH_TEXT_MAX];
	size_t user_length;
};

/* The first '+' that is not escaped begins the tag, unless it is the first byte. */
static bool read_plain_local(const char *text, struct plain_local *out)
{
	bool is_quoted = text[0] == '"';
	size_t length = 0, user = 0;
	bool has_tag = false;

	for (text += is_quoted; *text != '\0' && !(is_quoted && *text == '"'); text++) {
		bool is_escaped = is_quoted && *text == '\\';

		text += is_escaped;
		if (*text == '\0')
			return false;
		if (*text == '+' && !is_escaped && !has_tag) {
			has_tag = true;
			user = length;
		}
		out->whole[length++] = *text;
	}
	if (is_quoted && strcmp(text, "\"") != 0)
		return false;
	out->whole[length] = '\0';
	out->user_length = has_tag && user > 0 ? user : length;
	strcpy(out->tag, out->user_length < length ? out->whole + user + 1 : "");
	str_lower(out->whole, length);
	return length > 0;
}

static void check_local(struct str text)
{
	struct mail_localpart local = {.length = 77};
	struct buffer tag CLEANUP(buffer_clear) = {0};
	struct plain_local plain = {0};
	char copy[EACH_TEXT_MAX];
	bool is_one = read_plain_local(copy_of(text, copy), &plain);

	mail_localpart_tag(text, &tag);
	if (mail_localpart_parse(text, &local) != (is_one ? 0 : -EINVAL))
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(text));
	if (!is_one) {
		assert_int_equal(local.length, 77);
		assert_int_equal(tag.length, 0);
		return;
	}
	if (!str_equal(mail_localpart_whole(&local), str_from(plain.whole)) ||
	    mail_localpart_user(&local).length != plain.user_length ||
	    !str_equal(buffer_view(&tag), str_from(plain.tag)))
		fail_msg("\"" STR_FORMAT "\": tag \"" STR_FORMAT "\"", STR_ARGUMENTS(text),
			 STR_ARGUMENTS(buffer_view(&tag)));
}

static void local_parts(void **state)
{
	static const struct pieces pieces = {{"a", "B", "+", "\\", "\"", " "}, 6, 3000};

	(void)state;
	each_text_of(&pieces, check_local);
}

/* What is written is an address of that very local part, in quotes only if it needs them. */
static void check_written(struct str text)
{
	struct buffer out CLEANUP(buffer_clear) = {0}, back CLEANUP(buffer_clear) = {0};
	struct mail_address address;
	char copy[EACH_TEXT_MAX];

	mail_address_write(text, STR("b.test"), &out);
	assert_int_equal(mail_address_parse(buffer_view(&out),
					    MAIL_ADDRESS_STRICT | MAIL_ADDRESS_UTF8, &address),
			 0);
	assert_true(str_equal(address.domain, STR("b.test")));
	mail_local_unquote(address.local, &back);
	if (!str_equal(buffer_view(&back), text))
		fail_msg("\"" STR_FORMAT "\" is written as " STR_FORMAT, STR_ARGUMENTS(text),
			 STR_ARGUMENTS(buffer_view(&out)));
	copy_of(text, copy);
	assert_int_equal(buffer_data(&out)[0] == '"',
			 !is_plain_local(copy, MAIL_ADDRESS_STRICT | MAIL_ADDRESS_UTF8) ||
				 strpbrk(copy, "\"@") != NULL);
}

static void written_addresses(void **state)
{
	static const struct pieces pieces = {{"a", ".", "\"", "\\", "@", " ", E_ACUTE, "("}, 4, 0};

	(void)state;
	each_text_of(&pieces, check_written);
}

static void postmasters(void **state)
{
	static const struct {
		const char *address;
		bool is_one;
	} cases[] = {{"postmaster", true},
		     {"PostMaster@a.test", true},
		     {"\"postmaster\"@a", true},
		     {"postmaster+x@a.test", true},
		     {"postmaster\\+@a", false},
		     {"\"postmaster\\+x\"@a", false},
		     {"postmasters@a", false},
		     {"postmaste@a", false},
		     {"a@postmaster", false},
		     {"@a", false},
		     {"", false},
		     {"postmaster@b@a.test", false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (mail_is_postmaster(str_from(cases[i].address)) != cases[i].is_one)
			fail_msg("%s", cases[i].address);
}

static int free_forms(void **state)
{
	struct form *const forms[] = {&atom_dots,    &strict_dots, &quoted,    &domain_form,
				      &literal_form, &has_8bit,    &host_form, &number_form};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(forms); i++)
		free_form(forms[i]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(bytes_of_addresses),
		cmocka_unit_test(ends_of_addresses),
		cmocka_unit_test(literals),
		cmocka_unit_test(hosts),
		cmocka_unit_test(local_parts),
		cmocka_unit_test(written_addresses),
		cmocka_unit_test(postmasters),
	};

	return cmocka_run_group_tests(tests, NULL, free_forms);
}
