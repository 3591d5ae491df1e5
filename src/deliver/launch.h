// SPDX-License-Identifier: ISC
/*
 * deliver/launch.h - what "pipe" and "launch" say to each other.
 *
 * Programs need rights that nobody should have who reads strangers' bytes: to become other users,
 * to kill what they left, and to be in no sandbox, since programs inherit it. So "pipe", which
 * reads messages and judges what programs say, has none of them, and asks "launch" to start
 * programs. "launch" knows from the configuration alone which program, arguments, user and
 * time belong to a service; of the one who asks it takes a service's name and an envelope, which it
 * checks as if it came from an enemy. It is sent no descriptor and reads no message: it makes the
 * pipes and gives their ends away.
 *
 * Over RUN/launch, in packets of ipc/channel.h; the tag is chosen by "pipe" and names a run as
 * long as that is known to either:
 *
 *   HELLO    pipe    str token                              first, and once
 *   RUN      pipe    str service, u64 number, u64 born, str sender, str recipient
 *   STARTED  launch  descriptors: to write the input, to read the output, that of the process
 *   REFUSED  launch  str status, str text                   no program was started
 *   WHOLE    pipe                                           the input has been written, all of it
 *   KILL     pipe                                           ENDED follows all the same
 *   ENDED    launch  u32 status as of waitpid(), u32 whether its time was over
 *
 * An end of the input that is not the message's must never look like it: "launch" keeps the input
 * open until WHOLE, and when it loses the connection it kills the programs before it closes it;
 * "pipe" that loses the connection closes the input when the process has ended, which the
 * kernel kills with "launch". KILL and WHOLE for a run that has ended are passed over. Whatever
 * else does not fit ends the connection.
 */
#ifndef DELIVER_LAUNCH_H
#define DELIVER_LAUNCH_H

enum launch_message {
	LAUNCH_HELLO = 1,
	LAUNCH_RUN,
	LAUNCH_STARTED,
	LAUNCH_REFUSED,
	LAUNCH_WHOLE,
	LAUNCH_KILL,
	LAUNCH_ENDED,
};

enum {
	LAUNCH_INPUT,
	LAUNCH_OUTPUT,
	LAUNCH_PROCESS,
	LAUNCH_DESCRIPTORS,
	LAUNCH_ADDRESS_MAX = 1000, /* bytes of a sender or a recipient */
};

#endif
