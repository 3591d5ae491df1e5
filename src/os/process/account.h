// SPDX-License-Identifier: ISC
/*
 * os/process/account.h - looks accounts up without waiting: the system's name service may ask
 * servers. A helper process of one's own does so (os/process/process.h), one name after the other.
 */
#ifndef OS_PROCESS_ACCOUNT_H
#define OS_PROCESS_ACCOUNT_H

#include "os/process/process.h"

/* Starts the helper, as this user, to be called before a sandbox is entered. It ends with this
 * process. Returns its socket, which does not block, or -errno. */
MUST_CHECK int os_process_account_open(void);
/* Asks for NAME. -EAGAIN: so many names have been asked for that the socket is full; another
 * -errno: the helper has ended. */
MUST_CHECK int os_process_account_ask(int socket, const char *name);
/* The next answer, in the order of the names: 1, with *ERROR_OUT as os_process_account_find()
 * returns it and, if that is 0, *OUT; 0: there is none yet; -errno: the helper has ended. */
MUST_CHECK int os_process_account_answer(int socket, int *error_out,
					 struct os_process_account *out);

#endif
