// SPDX-License-Identifier: ISC
/*
 * deliver/launch/launch.h - the protocol between "pipe" and "launch".
 *
 * Starting programs requires rights that no process should have that reads bytes from strangers: to
 * change to other users, to kill their processes, and to be without a sandbox, since programs
 * inherit it. So "pipe", which reads messages and interprets the output of programs, has none of
 * these rights, and asks "launch" to start programs. "launch" takes a service's program, arguments,
 * user and time limit from the configuration alone; from "pipe" it accepts only a service's name
 * and an envelope, which it checks like hostile input. It accepts no descriptors and reads no
 * message: it makes the pipes and sends their ends to "pipe".
 *
 * Over RUN/launch, in packets of ipc/channel.h; the tag is chosen by "pipe" and identifies a run as
 * long as either side knows the run:
 *
 *   HELLO    pipe    str token                              first, and once
 *   RUN      pipe    str service, u64 number, u64 born, str sender, str recipient
 *   STARTED  launch  descriptors: to write the input, to read the output, that of the process
 *   REFUSED  launch  str status, str text                   no program was started
 *   WHOLE    pipe                                           the input has been written completely
 *   KILL     pipe                                           ENDED still follows
 *   ENDED    launch  u32 status as of waitpid(), u32 whether it exceeded its time limit
 *
 * A program must never take a truncated input for a complete message: "launch" keeps the input open
 * until WHOLE, and when it loses the connection it kills the programs before it closes their input.
 * When "pipe" loses the connection it closes the input after the process has ended; the kernel
 * kills the process together with "launch". KILL and WHOLE for a run that has ended are ignored.
 * Anything else that is unexpected ends the connection.
 */
#ifndef DELIVER_LAUNCH_LAUNCH_H
#define DELIVER_LAUNCH_LAUNCH_H

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
