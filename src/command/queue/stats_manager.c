// SPDX-License-Identifier: ISC
/* What "stagepost queue stats" says of pauses, and of what servers have said: only the manager
 * knows. */
#include "base/text/json.h"
#include "command/queue/damage.h"
#include "mail/text/text.h"
#include "os/clock.h"
#include "supervisor/talk/drain.h"
#include "supervisor/talk/manager.h"

struct stats_manager_stats {
	bool json;
	struct buffer text;
};

/* --- pauses --- */

enum { PAUSES_MAX = 10000 }; /* shown */

struct pause {
	struct str destination;
	uint64_t left_ms;
	uint64_t jobs;
	struct str reason;
};

static bool read_pause(struct str text, struct pause *out)
{
	struct str left;
	struct str jobs;

	out->reason = text;
	return str_split(&out->reason, ' ', &out->destination) &&
	       str_split(&out->reason, ' ', &left) && str_split(&out->reason, ' ', &jobs) &&
	       str_to_u64(left, &out->left_ms) && str_to_u64(jobs, &out->jobs);
}

static void add_pause(struct stats_manager_stats *stats, const struct pause *pause, bool is_first)
{
	char until[TIMESTAMP_SIZE];

	timestamp_format_seconds(os_clock_wall_us() + (int64_t)pause->left_ms * (SECOND_US / 1000),
				 until);
	if (!stats->json) {
		if (is_first)
			buffer_append_format(&stats->text, "%-40s %10s %-20s  %s\n",
					     "paused destination", "messages", "until", "reason");
		buffer_append_format(&stats->text, "%-40.*s %10llu %s  ",
				     (int)pause->destination.length, pause->destination.data,
				     (unsigned long long)pause->jobs, until);
		mail_text_append(&stats->text, pause->reason, MAIL_TEXT_ASCII);
		buffer_append_byte(&stats->text, '\n');
		return;
	}
	if (!is_first)
		buffer_append_byte(&stats->text, ',');
	buffer_append_byte(&stats->text, '{');
	json_field_text(&stats->text, "destination", pause->destination);
	json_field_number(&stats->text, "messages", pause->jobs);
	json_field_number(&stats->text, "milliseconds", pause->left_ms);
	json_field_text(&stats->text, "until", str_from(until));
	json_field_text(&stats->text, "reason", pause->reason);
	buffer_append_byte(&stats->text, '}');
}

static void ignore_order_answer_of_stats(void *context, struct mail_id id,
					 const struct order_answer *answer)
{
	(void)context;
	(void)id;
	(void)answer;
}

/* Without a manager nothing is paused. */
static void add_pauses(struct stats_manager_stats *stats, const char *run)
{
	struct buffer question CLEANUP(buffer_clear) = {0};
	struct buffer told CLEANUP(buffer_clear) = {0};
	struct manager_talk *talk = NULL;
	struct pause pause;
	bool is_open = manager_talk_open(run, ignore_order_answer_of_stats, NULL, &talk) == 0;

	if (stats->json) {
		json_field(&stats->text, "paused");
		buffer_append_byte(&stats->text, '[');
	}
	buffer_append_string(&question, "paused");
	for (size_t i = 0; is_open && i < PAUSES_MAX; i++) {
		buffer_reset(&told);
		if (manager_talk_question(talk, buffer_view(&question), &told) != 0 ||
		    !read_pause(buffer_view(&told), &pause))
			break;
		add_pause(stats, &pause, i == 0);
		buffer_reset(&question);
		buffer_append_string(&question, "paused ");
		buffer_append_str(&question, pause.destination);
	}
	if (stats->json)
		buffer_append_byte(&stats->text, ']');
	manager_talk_close(talk);
}

/* --- what servers have said, as said_tell() has it --- */

struct server_word {
	struct str host, port, ago, what, amount, id, to, status, text;
};

/* An address may have spaces, if it is quoted. */
static bool read_word(struct str told, struct server_word *out)
{
	struct str *const parts[] = {&out->host, &out->port,   &out->ago,
				     &out->what, &out->amount, &out->id};
	ptrdiff_t at;

	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (!str_split(&told, ' ', parts[i]))
			return false;
	at = told.length > 0 && told.data[0] == '"' ? str_find(told, '@') : 0;
	if (at < 0 || (at = at + str_find(str_skip(told, (size_t)at), ' ')) < 0)
		return false;
	out->to = str_slice(told.data, (size_t)at);
	out->text = str_skip(told, (size_t)at + 1);
	return str_split(&out->text, ' ', &out->status);
}

static void add_server_word(struct stats_manager_stats *stats, const struct server_word *word,
			    bool is_first)
{
	uint64_t ago = 0;
	uint64_t amount = 0;
	uint64_t port = 0;
	char at[TIMESTAMP_SIZE];

	if (!str_to_u64(word->ago, &ago) || !str_to_u64(word->amount, &amount) ||
	    !str_to_u64(word->port, &port))
		return;
	timestamp_format_seconds(os_clock_wall_us() - (int64_t)ago * SECOND_US, at);
	if (!stats->json) {
		if (is_first)
			buffer_append_format(&stats->text, "%-40s %-20s %-18s %-24s  %s\n",
					     "server", "said at", "what", "message", "words");
		buffer_append_format(&stats->text, "%-40.*s %s %-11.*s %6llu " STR_FORMAT " to ",
				     (int)word->host.length, word->host.data, at,
				     (int)word->what.length, word->what.data,
				     (unsigned long long)amount, STR_ARGUMENTS(word->id));
		mail_text_append(&stats->text, word->to, MAIL_TEXT_ASCII);
		buffer_append_format(&stats->text, ": " STR_FORMAT " ",
				     STR_ARGUMENTS(word->status));
		mail_text_append(&stats->text, word->text, MAIL_TEXT_ASCII);
		buffer_append_byte(&stats->text, '\n');
		return;
	}
	if (!is_first)
		buffer_append_byte(&stats->text, ',');
	buffer_append_byte(&stats->text, '{');
	json_field_text(&stats->text, "host", word->host);
	json_field_number(&stats->text, "port", port);
	json_field_text(&stats->text, "at", str_from(at));
	json_field_text(&stats->text, "what", word->what);
	json_field_number(&stats->text, "amount", amount);
	json_field_text(&stats->text, "id", word->id);
	json_field_text(&stats->text, "to", word->to);
	json_field_text(&stats->text, "status", word->status);
	json_field_text(&stats->text, "text", word->text);
	buffer_append_byte(&stats->text, '}');
}

static void add_server_words(struct stats_manager_stats *stats, const char *run)
{
	struct buffer question CLEANUP(buffer_clear) = {0};
	struct buffer told CLEANUP(buffer_clear) = {0};
	struct manager_talk *talk = NULL;
	struct server_word word;
	bool is_open = manager_talk_open(run, ignore_order_answer_of_stats, NULL, &talk) == 0;

	if (stats->json) {
		json_field(&stats->text, "said");
		buffer_append_byte(&stats->text, '[');
	}
	for (size_t i = 0; is_open && i < PAUSES_MAX; i++) {
		buffer_reset(&told);
		buffer_reset(&question);
		buffer_append_format(&question, "said %zu", i);
		if (manager_talk_question(talk, buffer_view(&question), &told) != 0 ||
		    !read_word(buffer_view(&told), &word))
			break;
		add_server_word(stats, &word, i == 0);
	}
	if (stats->json)
		buffer_append_byte(&stats->text, ']');
	manager_talk_close(talk);
}

/* Of who lets the queue drain. */
static void add_drain(struct stats_manager_stats *stats, const char *run)
{
	char since[TIMESTAMP_SIZE];
	int64_t since_us;

	if (!drain_since(run, &since_us))
		return;
	timestamp_format_seconds(since_us, since);
	if (stats->json)
		json_field_text(&stats->text, "draining", str_from(since));
	else
		buffer_append_format(&stats->text,
				     "No mail is taken in from the network since %s: \"stagepost "
				     "queue drain --end\" takes it in again.\n",
				     since);
}

void command_stats_manager(struct buffer *out, bool is_json, const char *run)
{
	struct stats_manager_stats stats = {.json = is_json};

	add_drain(&stats, run);
	add_pauses(&stats, run);
	add_server_words(&stats, run);
	if (is_json)
		buffer_append_byte(out, ','); /* others come before these fields */
	buffer_append_str(out, buffer_view(&stats.text));
	buffer_clear(&stats.text);
}
