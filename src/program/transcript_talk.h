// SPDX-License-Identifier: ISC
/*
 * program/transcript_talk.h - between "stagepost transcript" and the supervisor, at RUN/transcript:
 * messages of ipc/channel.h. The command asks once, and reads until either ends the connection.
 */
#ifndef PROGRAM_TRANSCRIPT_TALK_H
#define PROGRAM_TRANSCRIPT_TALK_H

#include "transcript/transcript.h"

enum transcript_talk {
	TRANSCRIPT_TALK_WATCH = 1, /* u32 seconds, a filter (transcript_pack()) of any watcher */
	TRANSCRIPT_TALK_BEGUN,     /* all processes that run have been told */
	TRANSCRIPT_TALK_REFUSED,   /* body: why */
	TRANSCRIPT_TALK_LINE,      /* str process, what it said (transcript_pack_said()) */
	TRANSCRIPT_TALK_END,       /* the time is over */
};

enum { TRANSCRIPT_TALK_SECONDS_MAX = 24 * 3600 };

#endif
