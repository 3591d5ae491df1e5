// SPDX-License-Identifier: ISC
/*
 * supervisor/upgrade.h - one supervisor passes the node, with all listening sockets, to the
 * next, which may be of another version, and takes it back if that does not become ready.
 *
 * The predecessor starts its own program's path again, as "stagepost serve --successor": the file
 * there is that of the other version. They share a SOCK_SEQPACKET socket, which is the successor's
 * descriptor 3. The predecessor's life during an upgrade is this table. The successor is "lost" if
 * it has said UPGRADE_FAILED, has broken the protocol or closed the socket, or took too long; it
 * then gets SIGTERM, and after 5 seconds SIGKILL with all its processes. It is "gone" when it is
 * lost and has ended.
 *
 *  state      meaning                          event       then
 *  NONE       as always                        SIGUSR2     starts the successor; CHECKING
 *  CHECKING   the successor reads the          PREPARED    stops our processes, those for mail in
 *             configuration; all else works                after deliveries; STOPPING
 *                                              gone        records why; NONE
 *  STOPPING   our processes end in order       all ended   sends SOCKETS, PID_FILE, GO; STARTING
 *                                              gone, and   starts our processes again, records
 *                                              all ended   why; NONE
 *  STARTING   the successor starts its own     READY       tells the service manager, closes the
 *                                                          socket, ends with status 0
 *                                              gone        the same as in STOPPING
 *                                              gone, as it ends with status 0
 *                                              was stopped
 *  ENDING     a stop was asked for meanwhile   gone        ends with status 0
 *
 * Listening sockets are never closed on this way, so no connection is refused: from the moment when
 * our intake stops until the successor's begins, the kernel keeps new connections (their number is
 * the backlog, net.core.somaxconn). The lock on the pid file is passed on, too, and is never free.
 *
 * When the predecessor has closed the socket after GO, or was killed, the node is the successor's
 * alone, which reports to the service manager from then on.
 *
 * These messages have the same meaning in all versions. A program that does not know the option
 * ends, which is "lost" before anything was changed.
 */
#ifndef SUPERVISOR_UPGRADE_H
#define SUPERVISOR_UPGRADE_H

enum upgrade_message {
	UPGRADE_PREPARED = 1, /* from the successor: nothing prevents a start */
	UPGRADE_FAILED,       /* from the successor, which ends; body: why, for people */
	UPGRADE_READY,        /* from the successor: all its processes are */
	UPGRADE_SOCKETS,      /* to it: listening sockets, known by their addresses */
	UPGRADE_PID_FILE,     /* to it: open and locked */
	UPGRADE_GO,           /* to it: our processes have ended, begin */
};

enum upgrade_state {
	UPGRADE_NONE,
	UPGRADE_CHECKING,
	UPGRADE_STOPPING,
	UPGRADE_STARTING,
	UPGRADE_ENDING,
};

#endif
