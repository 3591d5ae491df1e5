// SPDX-License-Identifier: ISC
#include "judge.h"
#include "kernel.h"
#include <stdio.h>
#include <string.h>

enum { TOLD_MAX = 20 };

static const char *const words[JUDGE_COUNT] = {"states", "waiting", "attempts", "turns",
					       "growth", "log",     "commands", "replies",
					       "record", "damage"};

static uint64_t counts[JUDGE_COUNT];

void judge_begin(void)
{
	memset(counts, 0, sizeof counts);
}

void judge_object(enum judge judge, const char *format, ...)
{
	char text[512];
	char who[WORLD_NAME_SIZE];
	va_list arguments;

	if (counts[judge]++ >= TOLD_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	snprintf(who, sizeof who, "judge of %s", words[judge]);
	world_log(who, "%s", text);
}

uint64_t judge_count(enum judge judge)
{
	return counts[judge];
}

uint64_t judge_count_all(void)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < JUDGE_COUNT; i++)
		all += counts[i];
	return all;
}

void judge_print(void)
{
	const char *separator = "; objections: ";

	for (unsigned i = 0; i < JUDGE_COUNT; i++)
		if (counts[i] > 0) {
			printf("%s%s %llu", separator, words[i], (unsigned long long)counts[i]);
			separator = ", ";
		}
}
