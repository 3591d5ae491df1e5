// SPDX-License-Identifier: ISC
/*
 * world/decoder.h - what becomes of a process "decode" over a message: it takes its time, dies,
 * keeps silent, or uses more processor time than it may. So does each by chance; and over some
 * messages all of them do, whoever is asked and how often.
 */
#ifndef WORLD_DECODER_H
#define WORLD_DECODER_H

#include <stddef.h>
#include <stdint.h>

enum decoder_mood {
	DECODER_WORKS,
	DECODER_DIES,
	DECODER_IS_SILENT, /* longer than anybody has patience */
	DECODER_IS_BUSY,   /* it uses processor time, longer than it may */
};

/* Decoders are so until UNTIL_US. */
void decoders_be_odd(int64_t until_us);
/* How the running one is over the message that begins with TEXT. */
enum decoder_mood decoder_mood(const char *text, size_t size);

/* --- watchdog.c, of the running process --- */

/* It uses so much processor time: os/watchdog.h may end it. */
void watchdog_work(int64_t us);

#endif
