// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/transcript.h - the protocol of "stagepost transcript" and the supervisor, at
 * RUN/transcript: messages of ipc/channel.h. The command sends one request, and reads until either
 * side closes the connection.
 */
#ifndef SUPERVISOR_TALK_TRANSCRIPT_H
#define SUPERVISOR_TALK_TRANSCRIPT_H

#include "transcript/transcript.h"

enum transcript_talk {
	TRANSCRIPT_TALK_WATCH = 1, /* u32 seconds, a filter (transcript_pack()) of any watcher */
	TRANSCRIPT_TALK_BEGUN,     /* all running processes know the filter */
	TRANSCRIPT_TALK_REFUSED,   /* body: why */
	TRANSCRIPT_TALK_LINE,      /* str process, its line (transcript_pack_said()) */
	TRANSCRIPT_TALK_END,       /* the time is over */
};

enum { TRANSCRIPT_TALK_SECONDS_MAX = 24 * 3600 };

#endif
