// SPDX-License-Identifier: ISC
/* How the message of a transaction reaches the engine: as it is, or in the form that the server
 * takes, and what is said if it has none. The engine, the form and the content are played here. */
#include "deliver/remote/session/internal.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct {
	char said[256]; /* what the engine was told */
	unsigned wanted;
	int read_error, look_error;
	enum remote_form_state state;
	struct remote_form_rules rules;
	unsigned forms, contents; /* how often each was read */
	bool is_last;
} play;

static char block[REMOTE_CHUNK_SIZE];
static int some_form;

unsigned remote_engine_wanted_form(const struct remote_engine *engine)
{
	(void)engine;
	return play.wanted;
}

void remote_engine_form(struct remote_engine *engine, uint64_t size)
{
	(void)engine;
	snprintf(play.said, sizeof play.said, "form of %d", (int)size);
}

void remote_engine_refuse_form(struct remote_engine *engine, const char *status, const char *reason)
{
	(void)engine;
	snprintf(play.said, sizeof play.said, "refused %s %s", status, reason);
}

void remote_engine_abandon(struct remote_engine *engine, const char *status, const char *reason)
{
	(void)engine;
	snprintf(play.said, sizeof play.said, "abandoned %s %s", status, reason);
}

void remote_engine_data(struct remote_engine *engine, struct str data, bool is_last)
{
	(void)engine;
	snprintf(play.said, sizeof play.said, "data " STR_FORMAT "%s", STR_ARGUMENTS(data),
		 is_last ? ", the last" : "");
}

struct remote_form *remote_form_new(const struct ipc_content *content,
				    const struct remote_form_rules *rules)
{
	assert_int_equal(content->size, 7);
	play.rules = *rules;
	return (struct remote_form *)(void *)&some_form;
}

int remote_form_look(struct remote_form *form, char *memory, enum remote_form_state *state_out)
{
	assert_ptr_equal(form, &some_form);
	assert_ptr_equal(memory, block);
	*state_out = play.state;
	return play.look_error;
}

uint64_t remote_form_size(const struct remote_form *form)
{
	assert_ptr_equal(form, &some_form);
	return 1234;
}

int remote_form_read(struct remote_form *form, char *memory, struct str *part_out,
		     bool *is_last_out)
{
	assert_ptr_equal(form, &some_form);
	assert_ptr_equal(memory, block);
	play.forms++;
	*part_out = STR("converted");
	*is_last_out = play.is_last;
	return play.read_error;
}

int ipc_content_next(const struct ipc_content *content, struct ipc_content_pass *pass, char *memory,
		     size_t size, struct str *part_out)
{
	assert_int_equal(content->size, 7);
	assert_ptr_equal(memory, block);
	assert_int_equal(size, REMOTE_CHUNK_SIZE);
	play.contents++;
	pass->position = play.is_last ? 7 : 3;
	*part_out = STR("unchanged");
	return play.read_error;
}

bool ipc_content_is_passed(const struct ipc_content *content, const struct ipc_content_pass *pass)
{
	return pass->position == content->size;
}

static struct remote_session new_session(void)
{
	memset(&play, 0, sizeof play);
	return (struct remote_session){
		.settings = {.chunk = block, .converts_8bit = true},
		.transaction = {.content = {.file = -1, .size = 7}, .message = {.size = 77}},
	};
}

static void check_said(const char *wanted)
{
	assert_string_equal(play.said, wanted);
	play.said[0] = '\0';
}

static void parts_come_in_the_form_that_there_is(void **state)
{
	struct remote_session session = new_session();

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		bool is_form = (i & 1) != 0;
		char wanted[100];

		session.form = is_form ? (struct remote_form *)(void *)&some_form : NULL;
		session.pass = (struct ipc_content_pass){0};
		play.is_last = (i & 2) != 0;
		play.read_error = (i & 4) != 0 ? -EIO : 0;
		play.forms = play.contents = 0;
		remote_session_feed(&session);
		snprintf(wanted, sizeof wanted, "data %s%s", is_form ? "converted" : "unchanged",
			 play.is_last ? ", the last" : "");
		check_said(
			play.read_error < 0
				? "abandoned 4.3.0 the message cannot be read: Input/output error"
				: wanted);
		assert_int_equal(play.forms, is_form);
		assert_int_equal(play.contents, !is_form);
	}
}

/* Where nothing is converted, a message of 8-bit lines goes as it is, and others do not go. */
static void nothing_is_converted_where_that_is_not_wanted(void **state)
{
	struct remote_session session = new_session();
	static const char *const said[] = {
		"form of 77", "refused 5.6.3 nothing is converted here (convert_8bit)",
		"refused 5.6.7 nothing is converted here (convert_8bit)",
		"refused 5.6.7 nothing is converted here (convert_8bit)"};

	(void)state;
	session.settings.converts_8bit = false;
	for (unsigned i = 0; i < 4; i++) {
		session.transaction.message.is_binary = (i & 1) != 0;
		play.wanted = SMTP_CLIENT_FORM_SEVEN_BIT |
			      ((i & 2) != 0 ? SMTP_CLIENT_FORM_ASCII_HEADER : 0);
		remote_session_form(&session);
		check_said(said[i]);
		assert_null(session.form);
	}
}

static const struct {
	enum remote_form_state state;
	const char *said;
} ends[] = {
	{REMOTE_FORM_UNKNOWN, ""},
	{REMOTE_FORM_READY, "form of 1234"},
	{REMOTE_FORM_SEALED, "refused 5.6.3 what is signed or encrypted must not be converted"},
	{REMOTE_FORM_UNPARSED, "refused 5.6.3 the parts of the message cannot be told apart"},
	{REMOTE_FORM_ADDRESS, "refused 5.6.7 an address in the header needs it"},
};

static void each_end_of_the_conversion_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		for (unsigned k = 0; k < 8; k++) {
			struct remote_session session = new_session();
			bool is_smtp = (k & 1) != 0;

			session.settings.protocol = is_smtp ? SMTP_CLIENT_SMTP : SMTP_CLIENT_LMTP;
			session.transaction.message.is_binary = (k & 2) != 0;
			play.look_error = (k & 4) != 0 ? -ENOENT : 0;
			play.wanted = SMTP_CLIENT_FORM_SEVEN_BIT;
			play.state = ends[i].state;
			remote_session_form(&session);
			check_said(play.look_error < 0 ? "abandoned 4.3.0 the message cannot be "
							 "read: No such file or directory"
						       : ends[i].said);
			assert_non_null(session.form);
			assert_int_equal(play.rules.breaks_lines, is_smtp);
			assert_int_equal(play.rules.is_binary, (k & 2) != 0);
			assert_int_equal(play.rules.wanted, SMTP_CLIENT_FORM_SEVEN_BIT);
			play.rules.wanted = 77; /* it is not made a second time */
			remote_session_form(&session);
			assert_int_equal(play.rules.wanted, 77);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_come_in_the_form_that_there_is),
		cmocka_unit_test(nothing_is_converted_where_that_is_not_wanted),
		cmocka_unit_test(each_end_of_the_conversion_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
