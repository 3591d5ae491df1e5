// SPDX-License-Identifier: ISC
#include "logins.h"
#include "changes.h"
#include <stdio.h>
#include <string.h>

enum { ABSENT = CHANGES_ABSENT, DISABLED, FIRST, SECOND, MEANINGS };
enum { LINE = 256, TRUSTED = 0 /* whose password is always one of the two */ };

static const struct {
	const char *word;
	const char *hash; /* by few rounds: they are said often */
} passwords[LOGINS_WORDS] = {
	{"right", "$6$rounds=1000$world$"
		  "JV8YQro3HCLvohOffED5TruVbSpYUU84EejTLYhTvvczao5Go6u5tCiWros9C7d9NVgr8nzprDP9tObK"
		  "8djck0"},
	{"other", "$6$rounds=1000$world$"
		  "ZAyNTeXOPcS0t2Efzg/D1d0Z6FtMjbV4vjyfMdT1XpWj.lRrdRuoiZU3lQQh/0Zpw4CgaKGxpvmNXw1h"
		  "swRdu/"},
	{"wrong", NULL},
};

static struct {
	struct changes changes;
	char name[16];
} users[LOGINS];

void logins_begin(void)
{
	for (size_t i = 0; i < LOGINS; i++)
		snprintf(users[i].name, sizeof users[i].name, "login%zu", i);
}

void logins_end(void)
{
	for (size_t i = 0; i < LOGINS; i++)
		changes_clear(&users[i].changes);
}

/* --- what people do --- */

static void make(size_t user, unsigned meaning, struct machine *node, void (*done)(bool is_good))
{
	const char *hash = passwords[meaning == SECOND ? 1 : 0].hash;
	char password[LINE];
	const char *arguments[] = {"directory",
				   meaning == ABSENT ? "del" : "put",
				   "--table",
				   "user",
				   users[user].name,
				   meaning == ABSENT ? NULL : password,
				   "send_as=@client.example",
				   "--replace",
				   meaning == DISABLED ? "state=disabled" : NULL,
				   NULL};

	snprintf(password, sizeof password, "password=%s", hash);
	changes_make(&users[user].changes, meaning,
		     &(struct change_order){users[user].name, node, false, arguments}, done);
}

static size_t find_failed(unsigned *meaning_out)
{
	for (size_t i = 0; i < LOGINS; i++)
		if (changes_have_failed(&users[i].changes, meaning_out))
			return i;
	return LOGINS;
}

bool logins_have_failed(void)
{
	unsigned meaning;

	return find_failed(&meaning) < LOGINS;
}

void logins_change(struct machine *node, void (*done)(bool is_good))
{
	unsigned meaning;
	size_t user = find_failed(&meaning);

	if (user == LOGINS) {
		user = users[TRUSTED].changes.newest == NULL ? TRUSTED : kernel_below(LOGINS);
		meaning = user == TRUSTED ? FIRST + (unsigned)kernel_below(MEANINGS - FIRST)
					  : (unsigned)kernel_below(MEANINGS);
	}
	make(user, meaning, node, done);
}

/* --- what is true --- */

const char *logins_name(size_t user)
{
	return users[user].name;
}

const char *logins_word(size_t word)
{
	return passwords[word].word;
}

static unsigned meanings_of(size_t word)
{
	return word == 0 ? 1u << FIRST : word == 1 ? 1u << SECOND : 0;
}

bool logins_may_accept(size_t user, size_t word, int64_t since_us)
{
	return changes_may_mean(&users[user].changes, meanings_of(word), since_us);
}

bool logins_may_refuse(size_t user, size_t word, int64_t since_us)
{
	const unsigned all = (1u << MEANINGS) - 1;

	return changes_may_mean(&users[user].changes, all & ~meanings_of(word), since_us);
}
