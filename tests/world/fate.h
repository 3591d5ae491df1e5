// SPDX-License-Identifier: ISC
/*
 * world/fate.h - who kills, freezes, stops, reloads with other settings, cuts the power and causes
 * troubles, alone and in storms; and who starts a node again and looks into its mailboxes.
 *
 * Half of the faults come at once. The others wait for a moment when more can go wrong: the disk is
 * busy, a client has just heard 250, also while "send" stands still and has seen nothing of that
 * mail, a delivery has just ended, or a message is being filed once, whose "mailbox" is then
 * killed; the power is what fails in most of the others. And it may fail again while a node
 * recovers. In half of the worlds with many faults it fails when a queue has just been made, or
 * when that has got its first mail.
 *
 * Who freezes does so to one process, or to many at once; then somebody may lose patience and send
 * the node up to nine signals.
 */
#ifndef WORLD_FATE_H
#define WORLD_FATE_H

#include "kernel.h"

enum { FATE_OFTEN = 4, FATE_RARELY = 1000 };

/* FATE_FILING: "mailbox" has just been given a message; FATE_BORN: the queue has just been made. */
enum fate_moment { FATE_BUSY, FATE_PROMISED, FATE_OUTCOME, FATE_FILING, FATE_BORN };

struct fate {
	struct machine *node;
	const char *settings; /* of the node */
	int64_t calm_from_us;
	uint64_t *strikes_left; /* of the world */
	uint64_t rarity;        /* of faults, but in a storm: one in so many looks */
	/* fate.c's: */
	int64_t storm_until_us;
	uint64_t read_changes;   /* of the disk, when the mailboxes were read */
	uint64_t signals_left;   /* of somebody who has no patience */
	enum fate_moment moment; /* that a fault waits for */
	int64_t strike_from_us;  /* since when it waits */
	int64_t strike_until_us; /* it comes then at the latest */
	size_t strike_undecided; /* what was not durable before */
	bool is_repairing;       /* before a start (rot.h) */
};

/* Starts the node, and goes on with it. */
void fate_begin(struct fate *fate);

#endif
