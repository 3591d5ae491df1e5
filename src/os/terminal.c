// SPDX-License-Identifier: ISC
#include "os/terminal.h"
#include "os/stream.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static const char INTERRUPT = 3; /* ^C, which makes no signal while nothing is shown */

/* A byte at a time: nothing that stands behind the line is taken. */
static int read_line(int terminal, size_t max, struct buffer *out)
{
	size_t before = out->length;
	ssize_t count;
	char byte;

	while ((count = os_stream_read(terminal, &byte, 1)) == 1 && byte != '\n') {
		if (byte == INTERRUPT)
			return -EINTR;
		if (out->length - before == max)
			return -EMSGSIZE;
		buffer_append_byte(out, byte);
	}
	if (count < 0)
		return (int)count;
	return count == 0 && out->length == before ? -EINTR : 0;
}

static int say(int terminal, const char *text)
{
	ssize_t count = os_stream_write(terminal, text, strlen(text));

	return count < 0 ? (int)count : 0;
}

/* Signals from elsewhere wait until the terminal is as it was. */
static int ask(int terminal, const char *prompt, size_t max, struct buffer *out)
{
	struct termios before;
	struct termios hidden;
	sigset_t signals;
	sigset_t old;
	int error;

	if (tcgetattr(terminal, &before) < 0)
		return -ENOTTY;
	hidden = before;
	hidden.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
	hidden.c_lflag |= ECHONL;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGTSTP);
	sigprocmask(SIG_BLOCK, &signals, &old);
	error = say(terminal, prompt);
	if (error == 0 && tcsetattr(terminal, TCSAFLUSH, &hidden) < 0)
		error = -errno;
	if (error == 0)
		error = read_line(terminal, max, out);
	(void)tcsetattr(terminal, TCSAFLUSH, &before);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return error;
}

int os_terminal_ask_secret(const char *prompt, size_t max, struct buffer *out)
{
	int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int error;

	if (terminal < 0)
		return -ENOTTY;
	error = ask(terminal, prompt, max, out);
	close(terminal);
	return error;
}
