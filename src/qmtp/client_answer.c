// SPDX-License-Identifier: ISC
#include "qmtp/client_answer.h"
#include "qmtp/client.h"
#include <stdio.h>
#include <string.h>

static enum qmtp_answer_state take_answer_length(struct qmtp_answer *answer, struct str *input)
{
	enum qmtp_length_state state = qmtp_length_take(&answer->length, input->data[0]);

	*input = str_skip(*input, 1);
	answer->is_counted = state == QMTP_LENGTH_DONE;
	if (state == QMTP_LENGTH_WRONG || answer->length.value > QMTP_CLIENT_ANSWER_MAX ||
	    (answer->is_counted && answer->length.value == 0))
		return QMTP_ANSWER_MALFORMED;
	return QMTP_ANSWER_MORE;
}

static enum qmtp_answer_state take_answer_text(struct qmtp_answer *answer, struct str *input)
{
	size_t left = (size_t)answer->length.value - answer->text.length;
	size_t count = input->length < left ? input->length : left;
	bool is_end;

	buffer_append(&answer->text, input->data, count);
	*input = str_skip(*input, count);
	char first = buffer_data(&answer->text)[0];
	if (!(first == 'K' || first == 'Z' || first == 'D'))
		return QMTP_ANSWER_MALFORMED;
	if (count < left || input->length == 0)
		return QMTP_ANSWER_MORE;
	is_end = input->data[0] == ',';
	*input = str_skip(*input, 1);
	answer->is_over = true;
	return is_end ? QMTP_ANSWER_COMPLETE : QMTP_ANSWER_MALFORMED;
}

enum qmtp_answer_state qmtp_answer_take(struct qmtp_answer *answer, struct str *input)
{
	if (answer->is_over) {
		buffer_reset(&answer->text);
		*answer = (struct qmtp_answer){.text = answer->text};
	}
	return answer->is_counted ? take_answer_text(answer, input)
				  : take_answer_length(answer, input);
}

/* "(#5.1.1)", anywhere: the last of its class counts. */
static void find_status_in_text(struct str text, char class, char status[MAIL_STATUS_SIZE])
{
	snprintf(status, MAIL_STATUS_SIZE, "%c.0.0", class);
	for (size_t i = 0; i + 2 < text.length; i++) {
		struct str word = str_skip(text, i + 2);
		ptrdiff_t end = str_find(word, ')');

		if (text.data[i] != '(' || text.data[i + 1] != '#' || end < 1)
			continue;
		word.length = (size_t)end;
		if (word.data[0] == class && mail_status_is_valid(word))
			snprintf(status, MAIL_STATUS_SIZE, STR_FORMAT, STR_ARGUMENTS(word));
	}
}

void qmtp_answer_verdict(const struct qmtp_answer *answer, const char *peer,
			 struct mail_verdict *verdict)
{
	struct str text = buffer_view(&answer->text);
	char class = text.data[0] == 'K' ? '2' : text.data[0] == 'Z' ? '4' : '5';
	char status[MAIL_STATUS_SIZE];
	char line[MAIL_TEXT_SIZE];
	size_t length = 0;

	find_status_in_text(text, class, status);
	for (size_t i = 0; i < text.length && length + 1 < sizeof line; i++)
		line[length++] = text.data[i] != '\0' ? text.data[i] : '?';
	line[length] = '\0';
	mail_verdict_set(verdict, status, "%s said: %s", peer, line);
}
