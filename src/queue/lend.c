// SPDX-License-Identifier: ISC
/*
 * A file that another process writes a message into, and that must be ours alone before the
 * message is queued: envelope and data stand in one file, so who could still write to it could
 * change, after it was answered for, to whom it goes and what it says.
 *
 * What is lent is a descriptor of its own. Before anything is written behind the data, ours is
 * closed, and the kernel is asked whether anybody can write (os_file_has_writers()). Nobody can
 * then become able to: the file's name is in pid/, where only this process may open it. A
 * process of ours closes its descriptor before it says COMMIT; one that does not is refused.
 */
#include "os/file.h"
#include "queue/internal.h"
#include <errno.h>

int queue_message_lend(struct queue_message *message, int *file_out)
{
	char path[QUEUE_PATH_SIZE];
	int result = queue_message_share(message);
	int file;

	if (result < 0)
		return result;
	queue_spare_path(message->intake, &message->data, path);
	file = os_file_open(message->intake->store->directory, path,
			    OS_FILE_WRITE | OS_FILE_NO_FOLLOW);
	message->has_failed |= file < 0;
	if (file < 0)
		return file;
	message->is_lent = true;
	*file_out = file;
	return 0;
}

/* Whether nobody can write to READER's file, as far as the system tells. */
static int check_writers(struct queue_intake *intake, int reader)
{
	int result = os_file_has_writers(reader);

	if (result == -EINVAL || result == -EACCES) {
		pthread_mutex_lock(&intake->mutex);
		intake->is_blind = true;
		pthread_mutex_unlock(&intake->mutex);
		return 0;
	}
	return result > 0 ? -ETXTBSY : result;
}

int queue_message_take_back(struct queue_message *message)
{
	struct queue_intake *intake = message->intake;
	int directory = intake->store->directory;
	char path[QUEUE_PATH_SIZE];
	int reader;
	int result;

	queue_spare_path(intake, &message->data, path);
	reader = os_file_open(directory, path, OS_FILE_READ | OS_FILE_NO_FOLLOW);
	if (reader < 0)
		return reader;
	os_file_close(message->data.file);
	message->data.file = -1;
	result = check_writers(intake, reader);
	if (result == 0)
		result = os_file_open(directory, path, OS_FILE_WRITE | OS_FILE_NO_FOLLOW);
	os_file_close(reader);
	if (result < 0)
		return result;
	message->data.file = result;
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
