// SPDX-License-Identifier: ISC
/*
 * What becomes of a job of a mailbox service, by whatever became of its copies: against plain rules
 * for who is reported, by which verdict, and who is tried again. The copies' places, and "send",
 * are this test's.
 */
#include "chance.h"
#include "deliver/mailbox/entry.h"
#include "heard.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LIVES = 20000, RECIPIENTS = 4 };

static struct deliver_helper_recipient recipients[RECIPIENTS];
static struct filing_copy copies[RECIPIENTS + 1];
static struct deliver_helper_job job = {.id = {457, 1}, .recipients = recipients};
static struct mailbox_entry *entry;
static struct buffer said; /* a line for each report, and the end */
static const struct config config;
static const struct config_service service = {.name = "box"};
static size_t limited;

/* --- deliver/helper.h --- */

void deliver_helper_report(struct deliver_helper_job *of, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	assert_ptr_equal(of, &job);
	assert_false(recipients[index].is_reported);
	recipients[index].is_reported = true;
	buffer_append_format(&said, "%zu %s %s %s\n", index, verdict->status, verdict->text,
			     trigger != NULL ? trigger : "-");
}

void deliver_helper_report_rest(struct deliver_helper_job *of, const struct mail_verdict *verdict,
				const char *trigger)
{
	for (size_t i = 0; i < of->recipient_count; i++)
		if (!recipients[i].is_reported)
			deliver_helper_report(of, i, verdict, trigger);
}

void deliver_helper_finish(struct deliver_helper_job *of)
{
	assert_ptr_equal(of, &job);
	buffer_append_string(&said, "end\n");
}

/* --- deliver/mailbox/copies.h: who is "none@..." can have none --- */

void mailbox_copies_begin(struct mailbox_copies *of, struct filing_message *message, size_t count,
			  const struct config *by, const struct config_service *of_service,
			  const struct mailbox_rules_fields *fields, struct arena *arena)
{
	assert_ptr_equal(of, &entry->copies);
	assert_ptr_equal(message, &entry->message);
	assert_int_equal(count, job.recipient_count);
	assert_ptr_equal(by, &config);
	assert_ptr_equal(of_service, &service);
	assert_ptr_equal(fields, &entry->fields);
	assert_ptr_equal(arena, job.arena);
	message->copies = copies;
	message->copy_count = 0;
}

size_t mailbox_copies_add(struct mailbox_copies *of, struct str address)
{
	assert_ptr_equal(of, &entry->copies);
	if (str_starts_with(address, STR("none@")))
		return MAILBOX_NO_COPY;
	for (size_t i = 0; i < entry->message.copy_count; i++)
		if (str_equal(copies[i].recipient, address))
			return i;
	copies[entry->message.copy_count] = (struct filing_copy){.recipient = address};
	return entry->message.copy_count++;
}

size_t mailbox_copies_add_sent(struct mailbox_copies *of, struct str address)
{
	assert_ptr_equal(of, &entry->copies);
	copies[entry->message.copy_count] =
		(struct filing_copy){.mailbox = {.user = address, .folder = STR("Sent")}};
	return entry->message.copy_count++;
}

struct str mailbox_copies_sender(const struct mailbox_copies *of)
{
	assert_ptr_equal(of, &entry->copies);
	return STR("found@a.test");
}

void mailbox_copies_limit(struct mailbox_copies *of, size_t index, const struct mail_quota *quota)
{
	assert_ptr_equal(of, &entry->copies);
	assert_ptr_equal(quota, &entry->wanted.quotas[index].quota);
	limited |= (size_t)1 << index;
}

/* --- filing/decode/ --- */

int decode_identify_fields(const struct ipc_content *content, struct arena *arena,
			   struct decode_field *fields, size_t count, struct decode_identity *out)
{
	assert_ptr_equal(content, &job.content);
	assert_ptr_equal(arena, job.arena);
	assert_ptr_equal(fields, entry->fields.fields);
	assert_int_equal(count, entry->fields.count);
	assert_ptr_equal(out, &entry->identity);
	out->id = STR("id@a.test");
	return -EIO;
}

void decode_message_copy(const struct decode_message *message, struct arena *arena,
			 struct decode_message *out)
{
	assert_ptr_equal(arena, job.arena);
	assert_ptr_equal(out, &entry->decoded);
	*out = *message;
}

/* --- an entry, with copies of which anything became --- */

static bool has_copy(size_t index)
{
	return !str_starts_with(recipients[index].address, STR("none@"));
}

/* The copy of the recipient, found anew. */
static const struct filing_copy *copy_of(size_t index)
{
	size_t i = 0;

	while (!str_equal(copies[i].recipient, recipients[index].address))
		i++;
	return &copies[i];
}

static bool has_sent;

static const struct filing_copy *sent_copy(void)
{
	return &copies[entry->message.copy_count - 1];
}

/* What is said of a recipient at once is in SAID. */
static void begin(struct buffer *wanted)
{
	static const char *const addresses[] = {"a@a.test", "b@a.test", "c@a.test", "none@a.test"};

	job.arena = arena_new();
	job.recipient_count = 1 + chance(RECIPIENTS);
	job.sender = chance(4) == 0 ? STR("") : STR("s@x.test");
	for (size_t i = 0; i < job.recipient_count; i++)
		recipients[i] = (struct deliver_helper_recipient){
			.address = str_from(addresses[chance(COUNT_OF(addresses))])};
	buffer_reset(&said);
	entry = mailbox_entry_new(&job);
	assert_int_equal(mailbox_entry_identify(entry), -EIO);
	mailbox_entry_decide(entry, &config, &service);
	for (size_t i = 0; i < job.recipient_count; i++)
		if (!has_copy(i))
			buffer_append_format(wanted,
					     "%zu 5.1.3 No mailbox can have such a name -\n", i);
	assert_true(str_equal(mailbox_entry_sender(entry),
			      job.sender.length > 0 ? STR("found@a.test") : STR("")));
	has_sent = chance(2) == 0;
	if (has_sent)
		mailbox_entry_add_sent(entry, STR("s@x.test"));
}

/* Anything becomes of its copies. */
static void file(void)
{
	static const char *const statuses[] = {"2.0.0", "4.3.0", "4.4.5", "5.2.2"};
	struct filing_message *message = &entry->message;

	message->is_lost = chance(4) == 0;
	message->is_away = chance(3) == 0;
	message->is_busy = chance(6) == 0;
	entry->is_lost = chance(6) == 0;
	for (size_t i = 0; i < message->copy_count; i++) {
		if (copies[i].is_settled)
			continue;
		mail_verdict_set(&copies[i].verdict, statuses[chance(COUNT_OF(statuses))],
				 "copy %zu", i);
		copies[i].is_early = chance(4) == 0;
	}
}

/* --- the rules --- */

static bool somebody_waits(void)
{
	for (size_t i = 0; i < job.recipient_count; i++)
		if (has_copy(i) && copy_of(i)->verdict.class == MAIL_WAIT)
			return true;
	return false;
}

static void add_verdict(struct buffer *wanted, size_t index, const struct mail_verdict *verdict)
{
	bool waits = entry->message.is_away && verdict->class == MAIL_WAIT;

	buffer_append_format(wanted, "%zu %s %s %s\n", index, verdict->status, verdict->text,
			     waits ? "service.box" : "-");
}

static void check_settled(void)
{
	bool was_settled[RECIPIENTS + 1];

	for (size_t i = 0; i < entry->message.copy_count; i++)
		was_settled[i] = copies[i].is_settled;
	mailbox_entry_settle(entry);
	for (size_t i = 0; i < entry->message.copy_count; i++)
		assert_int_equal(copies[i].is_settled,
				 entry->message.is_busy ? was_settled[i]
							: copies[i].verdict.class != MAIL_WAIT);
}

static void check_questions(void)
{
	bool is_early = false;
	bool wants_sent =
		has_sent && !somebody_waits() && sent_copy()->verdict.class == MAIL_WAIT &&
		(entry->message.is_lost || entry->message.is_away || sent_copy()->is_early);

	for (size_t i = 0; i < job.recipient_count; i++)
		is_early |= has_copy(i) && copy_of(i)->is_early;
	assert_int_equal(mailbox_entry_is_early(entry), is_early);
	assert_int_equal(mailbox_entry_wants_sent(entry), wants_sent);
}

static void check_finish(struct buffer *wanted)
{
	char line[160] = "";

	if (!entry->is_lost && has_sent && !somebody_waits() &&
	    sent_copy()->verdict.class != MAIL_OK)
		snprintf(line, sizeof line,
			 "sent_given_up id=457-1 message_id=id@a.test mailbox=s@x.test folder=Sent "
			 "status=%s text=%s\n",
			 sent_copy()->verdict.status, sent_copy()->verdict.text);
	for (size_t i = 0; !entry->is_lost && i < job.recipient_count; i++)
		if (has_copy(i))
			add_verdict(wanted, i, &copy_of(i)->verdict);
	(void)heard_take();
	mailbox_entry_finish(entry);
	assert_string_equal(heard_take(), line);
}

/* With a verdict for all who are not settled, or without reports. */
static void check_giving_up(struct buffer *wanted)
{
	struct mail_verdict why;
	bool has_why = chance(2) == 0;

	mail_verdict_set(&why, "4.3.2", "later");
	for (size_t i = 0; has_why && !entry->is_lost && i < job.recipient_count; i++)
		if (has_copy(i) && copy_of(i)->is_settled)
			add_verdict(wanted, i, &copy_of(i)->verdict);
	for (size_t i = 0; has_why && !entry->is_lost && i < job.recipient_count; i++)
		if (has_copy(i) && !copy_of(i)->is_settled)
			add_verdict(wanted, i, &why);
	mailbox_entry_give_up(entry, has_why ? &why : NULL);
}

static void each_recipient_has_a_report(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIVES; i++) {
		struct buffer wanted CLEANUP(buffer_clear) = {0};

		begin(&wanted);
		for (size_t attempts = 1 + chance(3); attempts > 0; attempts--) {
			file();
			check_questions();
			check_settled();
		}
		if (chance(2) == 0)
			check_finish(&wanted);
		else
			check_giving_up(&wanted);
		buffer_append_string(&wanted, "end\n");
		assert_true(str_equal(buffer_view(&said), buffer_view(&wanted)));
		arena_free(job.arena);
	}
	buffer_clear(&said);
}

/* Before anything is decided. */
static void what_is_given_up_early_has_no_copies(void **state)
{
	struct mail_verdict why;

	(void)state;
	job.arena = arena_new();
	job.recipient_count = 2;
	recipients[0] = recipients[1] =
		(struct deliver_helper_recipient){.address = STR("a@a.test")};
	mail_verdict_set(&why, "4.3.0", "no");
	entry = mailbox_entry_new(&job);
	buffer_reset(&said);
	mailbox_entry_give_up(entry, &why);
	assert_true(str_equal(buffer_view(&said), STR("0 4.3.0 no -\n1 4.3.0 no -\nend\n")));
	buffer_clear(&said);
	arena_free(job.arena);
}

/* What is filed is the job's message. */
static void a_message_is_the_jobs(void **state)
{
	const struct decode_message decoded = {.subject = STR("subject")};

	(void)state;
	job.arena = arena_new();
	job.recipient_count = 1;
	job.sender = STR("s@x.test");
	job.content = (struct ipc_content){.size = 5, .file = 7};
	for (unsigned i = 0; i < 2; i++) {
		job.binary = i == 1;
		entry = mailbox_entry_new(&job);
		mailbox_entry_decoded(entry, &decoded);
		assert_true(str_equal(entry->message.decoded->subject, STR("subject")));
		assert_ptr_equal(entry->message.identity, &entry->identity);
		assert_int_equal(entry->message.queue_id.number, 457);
		assert_int_equal(entry->message.queue_id.born_us, 1);
		assert_int_equal(entry->message.content.size, 5);
		assert_int_equal(entry->message.content.file, 7);
		assert_int_equal(entry->message.is_binary, i == 1);
		assert_true(str_equal(entry->message.sender, STR("s@x.test")));
	}
	arena_free(job.arena);
}

/* Each copy's mailbox is asked for; only those that are counted are limited. */
static void quotas_are_of_each_mailbox(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		struct buffer wanted CLEANUP(buffer_clear) = {0};
		struct deliver_quota quotas[RECIPIENTS + 1];
		size_t counted = 0;

		begin(&wanted);
		mailbox_entry_want_quotas(entry);
		assert_ptr_equal(entry->wanted.owner, entry);
		assert_ptr_equal(entry->wanted.arena, job.arena);
		assert_null(entry->wanted.quotas);
		assert_int_equal(entry->wanted.count, entry->message.copy_count);
		limited = 0;
		mailbox_entry_take_quotas(entry);
		assert_int_equal(limited, 0);
		for (size_t c = 0; c < entry->message.copy_count; c++) {
			bool is_sent = has_sent && c == entry->message.copy_count - 1;

			assert_true(str_equal(entry->wanted.addresses[c],
					      is_sent ? STR("s@x.test") : copies[c].recipient));
			quotas[c].is_counted = chance(2) == 0;
			counted |= quotas[c].is_counted ? (size_t)1 << c : 0;
		}
		entry->wanted.quotas = quotas;
		mailbox_entry_take_quotas(entry);
		assert_int_equal(limited, counted);
		arena_free(job.arena);
	}
	buffer_clear(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_recipient_has_a_report),
		cmocka_unit_test(what_is_given_up_early_has_no_copies),
		cmocka_unit_test(a_message_is_the_jobs),
		cmocka_unit_test(quotas_are_of_each_mailbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
