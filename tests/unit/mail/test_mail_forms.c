// SPDX-License-Identifier: ISC
/* Servers, senders of VERP, origins, deadlines and statuses of a few pieces, against plain readings
 * of what they may be. */
#include "base/buffer.h"
#include "each_text.h"
#include "mail/address.h"
#include "mail/deadline.h"
#include "mail/host.h"
#include "mail/mailbox/folder.h"
#include "mail/origin.h"
#include "mail/server.h"
#include "mail/verdict.h"
#include "mail/verp.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

/* --- servers --- */

/* TEXT: "HOST:PORT" without upper case; the form that is the only one, or "". */
static void write_plain_server(char *text, char out[EACH_TEXT_MAX])
{
	char *colon = strrchr(text, ':');
	char address[INET6_ADDRSTRLEN];
	struct in6_addr bytes;
	size_t length;

	out[0] = '\0';
	if (colon == NULL || strlen(colon + 1) - 1 > 4 ||
	    strspn(colon + 1, "0123456789") < strlen(colon + 1) || atoi(colon + 1) < 1 ||
	    atoi(colon + 1) > 65535)
		return;
	*colon = '\0';
	length = strlen(text);
	if (length > 1 && text[0] == '[' && text[length - 1] == ']') {
		text[length - 1] = '\0';
		if (inet_pton(AF_INET6, text + 1, &bytes) == 1 && !IN6_IS_ADDR_V4MAPPED(&bytes))
			snprintf(out, EACH_TEXT_MAX, "[%s]:%d",
				 inet_ntop(AF_INET6, &bytes, address, sizeof address),
				 atoi(colon + 1));
	} else if (inet_pton(AF_INET, text, &bytes) == 1 || mail_host_is_name(str_from(text))) {
		snprintf(out, EACH_TEXT_MAX, "%s:%d", text, atoi(colon + 1));
	}
}

static void check_server(struct str text)
{
	struct mail_server server = {.port = 7};
	struct buffer form CLEANUP(buffer_clear) = {0};
	char copy[EACH_TEXT_MAX], wanted[EACH_TEXT_MAX];
	int error = mail_server_normalize(text, &form);

	copy_of(text, copy);
	str_lower(copy, text.length);
	write_plain_server(copy, wanted);
	if (error != (wanted[0] != '\0' ? 0 : -EINVAL) ||
	    !str_equal(buffer_view(&form), str_from(wanted)))
		fail_msg("\"" STR_FORMAT "\": %d \"" STR_FORMAT "\"", STR_ARGUMENTS(text), error,
			 STR_ARGUMENTS(buffer_view(&form)));
	assert_int_equal(mail_server_is_in_form(text),
			 error == 0 && str_equal(text, str_from(wanted)));
	assert_int_equal(mail_server_parse(text, &server), error);
	if (error < 0) {
		assert_int_equal(server.port, 7);
		return;
	}
	assert_int_equal(server.port, atoi(strrchr(wanted, ':') + 1));
	assert_int_equal(server.is_address,
			 wanted[strspn(wanted, "0123456789.")] == ':' || wanted[0] == '[');
}

static void servers(void **state)
{
	static const struct pieces pieces = {{"[", "]", ":", "::", "25", "0", "65535", "192.0.2.7",
					      "2001:db8", "ffff:", "a", "B", ".", "-"},
					     4,
					     20000};

	(void)state;
	each_text_of(&pieces, check_server);
}

/* --- senders of VERP --- */

static void check_verp(struct str text)
{
	static const char *const recipients[] = {"bob@b.test", "\"b \\\"\"@b.test", "b", "d@"};
	struct mail_address address;
	size_t end = text.length > 4 ? text.length - 4 : 0;
	struct str whole = str_slice(text.data, end);
	bool is_one = end > 0 && memcmp(text.data + end, "-@[]", 4) == 0 &&
		      mail_address_parse(whole, MAIL_ADDRESS_UTF8, &address) == 0;

	if (mail_verp_is(text) != is_one)
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(text));
	assert_true(str_equal(mail_verp_whole(text), is_one ? whole : text));
	for (size_t i = 0; i < COUNT_OF(recipients); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};
		bool is_expanded = is_one && i < 2;

		mail_verp_expand(text, str_from(recipients[i]), &out);
		if (!is_expanded)
			assert_true(str_equal(buffer_view(&out), is_one ? whole : text));
		else
			assert_int_equal(
				mail_address_parse(buffer_view(&out), MAIL_ADDRESS_UTF8, &address),
				0);
		assert_int_equal(out.length > 0 && memmem(buffer_data(&out), out.length, "=b.test",
							  7) != NULL,
				 is_expanded);
	}
}

static void variable_senders(void **state)
{
	static const struct pieces pieces = {{"l-", "@", "a.test", "-@[]", "\"", " ", "[]"}, 5, 0};

	(void)state;
	each_text_of(&pieces, check_verp);
}

/* --- origins --- */

static const char *const NAMES[] = {"name=", "helo=", "tls=", "user="};

/* What the last of the words of TEXT that begin with NAME says; "". */
static const char *last_value(char words[][EACH_TEXT_MAX], size_t count, const char *name)
{
	const char *value = "";

	for (size_t i = 1; i < count; i++)
		if (strncmp(words[i], name, strlen(name)) == 0)
			value = words[i] + strlen(name);
	return value;
}

/* Digits alone. */
static bool read_number(const char *text, uint64_t *out)
{
	if (*text == '\0' || strspn(text, "0123456789") < strlen(text))
		return false;
	*out = strtoull(text, NULL, 10);
	return true;
}

static bool is_text(struct str found, const char *wanted)
{
	return str_equal(found, str_from(wanted));
}

static void check_origin(struct str text)
{
	static char words[16][EACH_TEXT_MAX];
	struct mail_origin origin = mail_origin_parse(text);
	const struct str *const found[] = {&origin.name, &origin.helo, &origin.tls, &origin.user};
	char copy[EACH_TEXT_MAX], *rest = copy_of(text, copy);
	char address[EACH_TEXT_MAX] = "", *colon;
	uint64_t port = 0, number;
	size_t count = 0;

	for (const char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " "))
		strcpy(words[count++], word);
	if (count > 1) {
		strcpy(address, words[1]);
		colon = strrchr(address, ':');
		if (colon == NULL || colon == address || !read_number(colon + 1, &port))
			address[0] = '\0';
		else
			*colon = '\0';
		if (address[0] == '[' && strlen(address) > 2) {
			memmove(address, address + 1, strlen(address));
			address[strlen(address) - 1] = '\0';
		}
	}
	if (!is_text(origin.protocol, words[0]) || !is_text(origin.address, address) ||
	    origin.port != port)
		fail_msg("\"" STR_FORMAT "\": " STR_FORMAT, STR_ARGUMENTS(text),
			 STR_ARGUMENTS(origin.address));
	for (size_t i = 0; i < COUNT_OF(NAMES); i++)
		assert_true(is_text(*found[i], last_value(words, count, NAMES[i])));
	assert_int_equal(origin.has_uid, read_number(last_value(words, count, "uid="), &number));
	if (origin.has_uid)
		assert_int_equal(origin.uid, number);
}

static void origins(void **state)
{
	static const struct pieces pieces = {{"smtp", " 192.0.2.7:25", " [::1]:25", " :25", ":x",
					      " []:25", " name=", " helo=a", " tls=b", " user=c",
					      " uid=", "7", " later=1", "uid=7"},
					     4,
					     3000};

	(void)state;
	each_text_of(&pieces, check_origin);
}

/* --- deadlines --- */

static struct form by_form = {.expression = "^[-+]?[0-9]{1,9};[nNrR][tT]?$"};
static struct form deadline_form = {
	.expression = "^2026-11-20T08:33:1[12]([.]000000)?Z;[nNrR][tT]?[dD]?$"};

static void check_by(struct str text)
{
	struct mail_deadline deadline = {.at_us = 77};
	char copy[EACH_TEXT_MAX];
	int64_t seconds = 0;
	bool is_one = has_form(&by_form, copy_of(text, copy));

	if (mail_deadline_parse_by(text, &seconds, &deadline) != is_one)
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(text));
	if (!is_one) {
		assert_int_equal(deadline.at_us, 77);
		return;
	}
	assert_int_equal(seconds, atoll(copy));
	assert_int_equal(deadline.mode,
			 strpbrk(copy, "nN") != NULL ? MAIL_DEADLINE_NOTIFY : MAIL_DEADLINE_RETURN);
	assert_int_equal(deadline.is_traced, strpbrk(copy, "tT") != NULL);
}

static void check_deadline(struct str text)
{
	struct mail_deadline deadline = {.at_us = 77};
	char copy[EACH_TEXT_MAX], formatted[MAIL_DEADLINE_SIZE];
	bool is_one = has_form(&deadline_form, copy_of(text, copy));
	const char *letters = strchr(copy, ';');

	if (mail_deadline_parse(text, &deadline) != is_one)
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(text));
	if (!is_one) {
		assert_int_equal(deadline.at_us, 77);
		return;
	}
	assert_int_equal(deadline.is_traced, strpbrk(letters, "tT") != NULL);
	assert_int_equal(deadline.is_told, strpbrk(letters, "dD") != NULL);
	mail_deadline_format(&deadline, formatted);
	str_lower(copy + 20, strlen(copy + 20));
	assert_memory_equal(formatted, copy, 19);
	assert_string_equal(strchr(formatted, ';'), strchr(copy, ';'));
}

static void deadlines(void **state)
{
	static const struct pieces by = {
		{"-", "+", "1", "00000000", "7", ";", "n", "R", "t", "d", "x"}, 5, 0};
	static const struct pieces written = {{"2026-11-20T08:33:11", "2026-11-20T08:33:12Z",
					       ".000000", ".500000", "Z", ";", "n", "R", "t", "d",
					       "x"},
					      5,
					      0};

	(void)state;
	each_text_of(&by, check_by);
	each_text_of(&written, check_deadline);
	free_form(&by_form);
	free_form(&deadline_form);
}

/* A class is what the first digit says. */
static void classes(void **state)
{
	(void)state;
	for (char digit = '0'; digit <= '9'; digit++) {
		struct mail_verdict verdict;
		char status[] = {digit, '.', '0', '.', '0', '\0'};
		const char *class = digit == '2' ? "ok" : digit == '5' ? "fail" : "wait";

		mail_verdict_set(&verdict, status, "%d%%", 7);
		assert_string_equal(mail_verdict_class_name(verdict.class), class);
		assert_string_equal(verdict.status, status);
		assert_string_equal(verdict.text, "7%");
	}
}

static void statuses_of_our_own(void **state)
{
	static const char *const hidden[] = {"4.3.5", "4.4.3", "4.4.6", "5.4.6", "5.4.7"};

	(void)state;
	for (unsigned number = 0; number < 1000; number++) {
		char status[] = {(char)('0' + number / 100),     '.',
				 (char)('0' + number / 10 % 10), '.',
				 (char)('0' + number % 10),      '\0'};
		const char *text = mail_status_public_text(str_from(status));
		bool is_hidden = false;

		for (size_t i = 0; i < COUNT_OF(hidden); i++)
			is_hidden = is_hidden || strcmp(hidden[i], status) == 0;
		if ((text != NULL) != is_hidden)
			fail_msg("%s: %s", status, text);
	}
	assert_string_equal(mail_status_public_text(STR("4.4.6")),
			    mail_status_public_text(STR("5.4.6")));
}

/* --- folders --- */

/* Levels that are not empty and do not begin with a dot. */
static struct form folder_form = {
	.expression = "^([^/.%*[:cntrl:]][^/%*[:cntrl:]]*)(/[^/.%*[:cntrl:]][^/%*[:cntrl:]]*)*$"};

static void check_folder(struct str text)
{
	char copy[EACH_TEXT_MAX];
	bool is_one =
		has_form(&folder_form, copy_of(text, copy)) && strstr(copy, "\xc2\x9f") == NULL;

	for (char *c = copy; *c != '\0'; c++)
		if (strncmp(c, "\xc2\xa0", 2) == 0)
			c++;
		else
			is_one = is_one && (unsigned char)*c < 0x80;
	if (mail_folder_is_valid(text) != is_one)
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(text));
	assert_int_equal(mail_folder_is_portable(text),
			 is_one && strchr(copy, '.') == NULL && copy[0] != '~');
}

static void folders(void **state)
{
	static const struct pieces pieces = {
		{"a", "/", ".", "~", "%", "*", " ", "\x1f", "\x7f", "\xc2\x9f", "\xc2\xa0", "\xa0"},
		4,
		0};

	(void)state;
	each_text_of(&pieces, check_folder);
	free_form(&folder_form);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers), cmocka_unit_test(variable_senders),
		cmocka_unit_test(origins), cmocka_unit_test(deadlines),
		cmocka_unit_test(classes), cmocka_unit_test(statuses_of_our_own),
		cmocka_unit_test(folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
