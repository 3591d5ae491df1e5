// SPDX-License-Identifier: ISC
/* Locks of a played MariaDB server, by their names. */
#include "played_mariadb.h"
#include "played_mariadb_internal.h"
#include <stdio.h>
#include <string.h>

enum { LOCKS_MAX = 1024 };

static struct {
	char name[80];
	const void *owner; /* NULL: nobody */
} locks[LOCKS_MAX];

const void *played_mariadb_owner_of_lock(const char *name)
{
	for (size_t i = 0; i < LOCKS_MAX; i++)
		if (locks[i].owner != NULL && strcmp(locks[i].name, name) == 0)
			return locks[i].owner;
	return NULL;
}

bool played_mariadb_take_lock(const char *name, const void *owner)
{
	const void *has = played_mariadb_owner_of_lock(name);

	for (size_t i = 0; i < LOCKS_MAX && has == NULL; i++)
		if (locks[i].owner == NULL) {
			snprintf(locks[i].name, sizeof locks[i].name, "%s", name);
			locks[i].owner = has = owner;
		}
	return has == owner;
}

void played_mariadb_release_lock(const char *name)
{
	for (size_t i = 0; i < LOCKS_MAX; i++)
		if (locks[i].owner != NULL && strcmp(locks[i].name, name) == 0)
			locks[i].owner = NULL;
}

void played_mariadb_release_locks(const void *owner)
{
	for (size_t i = 0; i < LOCKS_MAX; i++)
		if (locks[i].owner == owner)
			locks[i].owner = NULL;
}

void played_mariadb_lose_locks(void)
{
	memset(locks, 0, sizeof locks);
}

void played_mariadb_steal_locks(void)
{
	for (size_t i = 0; i < LOCKS_MAX; i++)
		if (locks[i].owner != NULL)
			locks[i].owner = locks;
}
