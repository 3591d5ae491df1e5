// SPDX-License-Identifier: ISC
/* The settings of sections rate and destination: how much of something there may be in a time. */
#include "config/schema/row.h"

static const struct config_word count_words[] = {
	{"connections", CONFIG_RATE_CONNECTIONS},
	{"messages", CONFIG_RATE_MESSAGES},
	{"recipients", CONFIG_RATE_RECIPIENTS},
	{"bytes", CONFIG_RATE_BYTES},
	{"refusals", CONFIG_RATE_REFUSALS},
	{"failed_logins", CONFIG_RATE_FAILED_LOGINS},
	{NULL, 0},
};
static const struct config_word per_words[] = {
	{"address", CONFIG_RATE_PER_ADDRESS},
	{"user", CONFIG_RATE_PER_USER},
	{"sender_domain", CONFIG_RATE_PER_SENDER_DOMAIN},
	{"class", CONFIG_RATE_PER_CLASS},
	{"all", CONFIG_RATE_PER_ALL},
	{NULL, 0},
};
static const struct config_word answer_words[] = {
	{"slow", CONFIG_RATE_SLOW},
	{"defer", CONFIG_RATE_DEFER},
	{"close", CONFIG_RATE_CLOSE},
	{NULL, 0},
};
static const struct config_word full_words[] = {
	{"allow", CONFIG_RATE_FULL_ALLOW}, {"refuse", CONFIG_RATE_FULL_REFUSE}, {NULL, 0}};

static const struct config_word destination_words[] = {
	{"domain", CONFIG_DESTINATION_PER_DOMAIN},
	{"host", CONFIG_DESTINATION_PER_HOST},
	{"owner", CONFIG_DESTINATION_PER_OWNER},
	{NULL, 0},
};

const struct config_setting config_schema_rate[] = {
	SETTING(RATE, "count", word, AT(config_rate, count), WORDS(count_words),
		MEANING("What is counted: connections that are greeted, messages (at DATA or "
			"BDAT), recipients (at RCPT), bytes of messages that were queued, commands "
			"that were refused, failed logins. The last three are known only "
			"afterwards: they decide about the next connection and message, and failed "
			"logins also about the next login.")),
	SETTING(RATE, "per", word, AT(config_rate, per), INITIAL("address"), WORDS(per_words),
		MEANING("For whom: each address of a client, of IPv6 its network of 64 bits; each "
			"user who has authenticated; each domain of senders; each section class; "
			"or all together. Where there is no user, domain or class, nothing is "
			"counted. At most eight sections may have the same value.")),
	SETTING(RATE, "class", text, AT(config_rate, class_mask), INITIAL(""), RANGE(0, 255),
		MEANING("The mask of the section class to whose clients this applies; empty: to "
			"all.")),
	SETTING(RATE, "limit", size, AT(config_rate, limit), RANGE(1, UINT64_C(1) << 40),
		MEANING("The most that is allowed in the interval: bytes if count is bytes, "
			"otherwise a number.")),
	SETTING(RATE, "interval", duration, AT(config_rate, interval_us), RANGE(1, 2678400),
		MEANING("The time that the limit is for.")),
	SETTING(RATE, "answer", word, AT(config_rate, answer), INITIAL("defer"),
		WORDS(answer_words),
		MEANING("What happens above the limit. slow: the reply waits until it would be "
			"within the limit, for 30 seconds at most; when another client needs its "
			"place, the session ends with 421. defer: the command is refused "
			"with 450 or 451, the session goes on; a connection is refused as with "
			"close. close: 421, and the session ends.")),
	SETTING(RATE, "full", word, AT(config_rate, full), INITIAL("allow"), WORDS(full_words),
		MEANING("What happens to a new address, user or domain when the table is full "
			"(setting rate_keys). allow: the entry that was unused for longest is "
			"dropped. refuse: it is treated as above the limit.")),

	SETTING(DESTINATION, "per", word, AT(config_destination, per), INITIAL("domain"),
		WORDS(destination_words),
		MEANING("For whom the numbers are: each domain of recipients; each server, by its "
			"name; or each owner of servers, which is the domain that is registered "
			"(\"google.com\" of \"aspmx.l.google.com\", by the public suffix list).")),
	SETTING(DESTINATION, "concurrency", number, AT(config_destination, concurrency),
		INITIAL("0"), RANGE(0, 10000), MEANING("Connections at once; 0: any number.")),
	SETTING(DESTINATION, "sessions", number, AT(config_destination, sessions), INITIAL("0"),
		RANGE(0, 1000000),
		MEANING("Connections that are begun in an interval; 0: any number.")),
	SETTING(DESTINATION, "messages", number, AT(config_destination, messages), INITIAL("0"),
		RANGE(0, 1000000),
		MEANING("Messages in an interval; a message to many recipients counts once for "
			"each transaction. 0: any number.")),
	SETTING(DESTINATION, "recipients", number, AT(config_destination, recipients), INITIAL("0"),
		RANGE(0, 1000000),
		MEANING("Recipients in an interval, and at most so many in a transaction. 0: any "
			"number.")),
	SETTING(DESTINATION, "session_messages", number, AT(config_destination, session_messages),
		INITIAL("0"), RANGE(0, 100),
		MEANING("Messages over one connection; then another one is made. 0: 100, or as "
			"many "
			"as the server takes, which is learnt when it refuses one.")),
	SETTING(DESTINATION, "interval", duration, AT(config_destination, interval_us),
		INITIAL("1m"), RANGE(1, 86400),
		MEANING("The time to which sessions, messages and recipients apply. It is a "
			"sliding window: no period of this length has more.")),
	SETTING(DESTINATION, "delay", duration, AT(config_destination, delay_us), INITIAL("0"),
		RANGE(0, 60), MEANING("The time between two messages over the same connection.")),
};

const size_t config_schema_rate_count = COUNT_OF(config_schema_rate);

static const char *word_of(const struct config_word *words, unsigned value)
{
	while (words->name != NULL && words->value != value)
		words++;
	return words->name;
}

const char *config_rate_count_word(enum config_rate_count count)
{
	return word_of(count_words, count);
}

const char *config_rate_per_word(enum config_rate_per per)
{
	return word_of(per_words, per);
}
