// SPDX-License-Identifier: ISC
/*
 * A file that another process writes a message into, and that only we may have open before the
 * message is queued: envelope and data are in one file, so a process that could still write to it
 * could change recipients and content after the message was accepted.
 *
 * The other process gets our own descriptor. Before anything is written after the data, the file is
 * opened anew, and the kernel is asked whether it is open elsewhere; if it is, perhaps only for
 * reading (a backup), whether anybody can write to it. Nobody can open it for writing later: the
 * file's name is in pid/, where only this process may open it. Our other processes close the
 * descriptor before they send COMMIT; a client that does not is refused.
 */
#include "os/file/file.h"
#include "queue/internal.h"
#include <errno.h>

static int open_again(const struct queue_message *message, unsigned flags)
{
	const struct queue_intake *intake = message->intake;
	char path[QUEUE_PATH_SIZE];

	queue_spare_path(intake, &message->data, path);
	return os_file_open(intake->store->directory, path, flags | OS_FILE_NO_FOLLOW);
}

/* 0, or -ETXTBSY: somebody can write to the file, which is not open here. */
static int check_writers(const struct queue_message *message)
{
	int reader = open_again(message, OS_FILE_READ);
	int result;

	if (reader < 0)
		return reader;
	result = os_file_has_writers(reader);
	os_file_close(reader);
	return result > 0 ? -ETXTBSY : result;
}

/* The same for a file that is open as *FILE: afterwards that is another descriptor, or closed. */
static int check_alone(const struct queue_message *message, int *file)
{
	int result = os_file_is_open_elsewhere(*file);

	if (result <= 0)
		return result;
	os_file_close(*file);
	*file = -1;
	result = check_writers(message);
	if (result < 0)
		return result;
	*file = open_again(message, OS_FILE_WRITE);
	return *file < 0 ? *file : 0;
}

static void note_blindness(struct queue_intake *intake)
{
	pthread_mutex_lock(&intake->mutex);
	intake->is_blind = true;
	pthread_mutex_unlock(&intake->mutex);
}

int queue_message_take_back(struct queue_message *message)
{
	int file = open_again(message, OS_FILE_WRITE);
	int result;

	if (file < 0)
		return file;
	result = check_alone(message, &file);
	if (file >= 0 && (result == -EINVAL || result == -EACCES)) {
		note_blindness(message->intake);
		result = 0;
	}
	if (result < 0) {
		os_file_close(file);
		return result;
	}
	message->data.file = file;
	message->is_lent = false;
	return 0;
}

bool queue_intake_is_blind(struct queue_intake *intake)
{
	bool is_blind;

	pthread_mutex_lock(&intake->mutex);
	is_blind = intake->is_blind;
	pthread_mutex_unlock(&intake->mutex);
	return is_blind;
}
