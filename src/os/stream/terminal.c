// SPDX-License-Identifier: ISC
#include "os/stream/terminal.h"
#include "os/stream/stream.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Keys that the terminal itself would otherwise handle. */
enum { KEY_INTERRUPT = 3, KEY_END = 4, KEY_BACK = '\b', KEY_CLEAR = 21, KEY_ERASE = 127 };

/* Removes the last character, with all its bytes. */
static void erase_last_character(struct buffer *out, size_t before)
{
	while (out->length > before) {
		unsigned char byte = (unsigned char)buffer_data(out)[out->length - 1];

		buffer_truncate(out, out->length - 1);
		if ((byte & 0xc0) != 0x80)
			return;
	}
}

/* Reads key by key, up to the end of the line. */
static int read_terminal_line(int terminal, size_t max, struct buffer *out)
{
	size_t before = out->length;
	ssize_t count;
	char byte;

	while ((count = os_stream_read(terminal, &byte, 1)) == 1) {
		if (byte == '\n' || byte == '\r')
			return 0;
		if (byte == KEY_INTERRUPT || (byte == KEY_END && out->length == before))
			return -EINTR;
		if (byte == KEY_CLEAR)
			buffer_truncate(out, before);
		else if (byte == KEY_BACK || byte == KEY_ERASE)
			erase_last_character(out, before);
		else if (out->length - before == max)
			return -EMSGSIZE;
		else
			buffer_append_byte(out, byte);
	}
	return count < 0 ? (int)count : -EINTR;
}

static int write_to_terminal(int terminal, const char *text)
{
	ssize_t count = os_stream_write(terminal, text, strlen(text));

	return count < 0 ? (int)count : 0;
}

/* Signals are blocked until the terminal's settings are restored. */
static int ask_at_terminal(int terminal, const char *prompt, size_t max, struct buffer *out)
{
	struct termios before;
	struct termios hidden;
	sigset_t signals;
	sigset_t old;
	int error;

	if (tcgetattr(terminal, &before) < 0)
		return -ENOTTY;
	hidden = before;
	hidden.c_lflag &= ~(tcflag_t)(ECHO | ISIG | ICANON);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGTSTP);
	sigprocmask(SIG_BLOCK, &signals, &old);
	error = tcsetattr(terminal, TCSAFLUSH, &hidden) < 0 ? -errno : 0;
	if (error == 0)
		error = write_to_terminal(terminal, prompt);
	if (error == 0)
		error = read_terminal_line(terminal, max, out);
	(void)write_to_terminal(terminal, "\n");
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
	error = ask_at_terminal(terminal, prompt, max, out);
	close(terminal);
	return error;
}

bool os_terminal_is(int descriptor)
{
	return isatty(descriptor) == 1;
}
