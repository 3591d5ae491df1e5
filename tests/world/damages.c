// SPDX-License-Identifier: ISC
#include "damages.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

static struct damage *damages;

bool damages_are_there(void)
{
	return damages != NULL;
}

static const char *birth_of(const char *id)
{
	const char *dash = strchr(id, '-');

	return dash != NULL ? dash + 1 : "";
}

static struct damage *find_damage(const struct machine *machine, const char *id)
{
	const uint64_t number = strtoull(id, NULL, 10);
	const char *birth = birth_of(id);
	struct damage *damage = damages;

	while (damage != NULL && (damage->machine != machine || damage->number != number ||
				  strcmp(damage->birth, birth) != 0))
		damage = damage->next;
	return damage;
}

/* Messages that were born in the same microsecond are taken for each other here. */
struct damage *damages_of_id(const struct machine *machine, const char *id)
{
	const char *birth = birth_of(id);
	struct damage *damage = find_damage(machine, id);

	if (damage != NULL)
		return damage;
	damage = damages;
	while (damage != NULL && (damage->machine != machine || strcmp(damage->birth, birth) != 0))
		damage = damage->next;
	return damage;
}

struct damage *damages_of_number(const struct machine *machine, uint64_t number)
{
	struct damage *damage = damages;

	while (damage != NULL &&
	       (damage->machine != machine ||
		(damage->number != number && (number == 0 || damage->instead != number))))
		damage = damage->next;
	return damage;
}

void damages_add(const struct machine *machine, uint64_t number, const char *id, uint64_t message,
		 enum damage_part part)
{
	struct damage *damage = find_damage(machine, id);

	if (damage == NULL) {
		damage = calloc(1, sizeof *damage);
		if (damage == NULL)
			err(1, "no memory");
		*damage = (struct damage){.next = damages,
					  .machine = machine,
					  .number = number,
					  .message = message,
					  .since_us = kernel_now_us()};
		snprintf(damage->birth, sizeof damage->birth, "%s", birth_of(id));
		damages = damage;
	}
	damage->parts |= part;
}

void damages_end(void)
{
	while (damages != NULL) {
		struct damage *damage = damages;

		damages = damage->next;
		free(damage);
	}
}

/* --- excuses --- */

bool damages_have(uint64_t message, unsigned parts)
{
	for (const struct damage *damage = damages; damage != NULL; damage = damage->next)
		if (damage->message == message && (damage->parts & parts) != 0)
			return true;
	return false;
}

bool damages_excuse_loss(uint64_t message)
{
	for (const struct damage *damage = damages; damage != NULL; damage = damage->next)
		if (damage->message == message && damage->is_parted)
			return true;
	return false;
}

bool damages_excuse_report(uint64_t message)
{
	for (const struct damage *damage = damages; damage != NULL; damage = damage->next)
		if (damage->message == message && damage->is_told)
			return true;
	return false;
}

void damages_part(uint64_t message)
{
	for (struct damage *damage = damages; damage != NULL; damage = damage->next)
		if (damage->message == message && damage->is_told)
			damage->is_parted = true;
}

/* Its Message-ID begins with the id of what it is about: "<NUMBER.BIRTH.". */
static bool is_about(const char *text, uint64_t number, const char *birth)
{
	char word[64];

	snprintf(word, sizeof word, "<%llu.%s.", (unsigned long long)number, birth);
	return strstr(text, number != 0 ? word : strchr(word, '.')) != NULL;
}

uint64_t damages_reported(const char *text, bool by_birth)
{
	for (const struct damage *damage = damages; damage != NULL; damage = damage->next)
		if (by_birth ? is_about(text, 0, damage->birth)
			     : is_about(text, damage->number, damage->birth) ||
				       (damage->instead != 0 &&
					is_about(text, damage->instead, damage->birth)))
			return damage->message;
	return UINT64_MAX;
}

void damages_count(uint64_t *all_out, uint64_t *told_out)
{
	*all_out = *told_out = 0;
	for (const struct damage *damage = damages; damage != NULL; damage = damage->next) {
		++*all_out;
		*told_out += damage->is_told;
	}
}

void damages_print(void)
{
	uint64_t all, told;

	damages_count(&all, &told);
	if (all > 0)
		printf(", %llu damaged, of which %llu were told", (unsigned long long)all,
		       (unsigned long long)told);
}
