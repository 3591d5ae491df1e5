// SPDX-License-Identifier: ISC
/* unit/frame/kept.h - which loops, watches, timers and workers there are. */
#ifndef UNIT_FRAME_KEPT_H
#define UNIT_FRAME_KEPT_H

#include <stddef.h>
#include <stdint.h>

/* OBJECT, a KIND (a string that stays), was made, and will call CALL (0: nothing). */
void kept_add(const char *kind, const void *object, uintptr_t call);
/* It is freed. One that is unknown was made where nobody counts. */
void kept_remove(const void *object);
/* A number that those made from now on are not below. */
uint64_t kept_now(void);
/* Tells PRINT of those made since SINCE: how many there are. */
size_t kept_print(uint64_t since, void (*print)(const char *kind, uintptr_t call));

#endif
