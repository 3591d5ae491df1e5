// SPDX-License-Identifier: ISC
/*
 * The rows in which processes count sessions (limit/memory.h): one for each process that counts,
 * and for each of its successors while it finishes its work. A process gets its own row for
 * writing, and those of the others for reading.
 */
#include "limit/client.h"
#include "limit/layout.h"
#include "limit/rate.h"
#include "log/event.h"
#include "os/file/file.h"
#include "os/random.h"
#include "os/shared.h"
#include "supervisor/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool has_limit_counters(const struct process *process)
{
	return process->program->counts;
}

/* The number of the process among those of its program. */
static size_t number_of_process(const struct process *process)
{
	const struct supervisor *supervisor = process->supervisor;
	size_t number = 0;

	for (const struct process *p = supervisor->processes; p < process; p++)
		number += p->program == process->program;
	return number;
}

static void close_row(struct supervisor_row *row)
{
	if (row->name[0] == '\0')
		return;
	os_file_close(row->owner);
	os_file_close(row->reader);
	row->name[0] = '\0';
}

/* Before a process uses it: an earlier one may have left anything. */
static void prepare_row_of_process(const struct supervisor *supervisor,
				   const struct limit_memory *limits, size_t number)
{
	limit_rates_prepare(limits, number, supervisor->rates_key);
	limit_clients_prepare(limits, number, supervisor->rates_key);
}

static int add_row_of_process(const struct process *process, struct limit_memory *limits,
			      struct supervisor_row *row)
{
	int error;

	snprintf(row->name, sizeof row->name, "%s.%zu", process->program->name,
		 number_of_process(process));
	row->owner = limit_row_new(limit_memory_layout(limits), row->name);
	row->reader = row->owner >= 0 ? os_shared_reader(row->owner) : row->owner;
	error = row->reader < 0 ? row->reader
				: limit_memory_add(limits, row->name, row->owner, true);
	row->number = limit_memory_count(limits) - 1;
	if (error == 0) {
		prepare_row_of_process(process->supervisor, limits, row->number);
		return 0;
	}
	close_row(row);
	log_event(EVENT_PROCESS_ERROR, log_string(reason, "no memory to count sessions in"),
		  log_string(program, process->program->name), log_error(error));
	return error;
}

static int add_rows(const struct supervisor *supervisor, struct limit_memory *limits,
		    struct supervisor_row *rows)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < supervisor->process_count; i++)
		if (has_limit_counters(&supervisor->processes[i]))
			error = add_row_of_process(&supervisor->processes[i], limits, &rows[i]);
	return error;
}

int supervisor_prepare_limits(struct supervisor *supervisor, const struct config *config)
{
	struct limit_layout wanted = limit_layout_of(config);
	struct supervisor_row rows[PROCESSES_MAX] = {0};
	struct hash_key old_key = supervisor->rates_key;
	struct limit_memory *limits;
	int error;

	if (wanted.count == 0 ||
	    (supervisor->limits != NULL &&
	     limit_layout_has(limit_memory_layout(supervisor->limits), &wanted)))
		return 0;
	supervisor->rates_key = (struct hash_key){os_random_u64(), os_random_u64()};
	limits = limit_memory_new(&wanted);
	error = add_rows(supervisor, limits, rows);
	for (size_t i = 0; i < supervisor->process_count; i++) {
		close_row(error == 0 ? &supervisor->processes[i].row : &rows[i]);
		if (error == 0)
			supervisor->processes[i].row = rows[i];
	}
	limit_memory_free(error == 0 ? supervisor->limits : limits);
	if (error == 0)
		supervisor->limits = limits;
	else
		supervisor->rates_key = old_key; /* the old rows stay in force */
	return error;
}

void supervisor_use_limits(struct supervisor *supervisor)
{
	supervisor_open_mail_sockets(supervisor); /* the classes may be others */
	limit_classes_free(supervisor->classes);
	supervisor->classes = limit_classes_new(supervisor->config);
}

/* --- giving them out --- */

struct parcel {
	struct buffer body;
	int descriptors[IPC_DESCRIPTORS_MAX];
	size_t count;
};

static void send_parcel(const struct process *to, struct parcel *parcel)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	if (parcel->count == 0)
		return;
	limit_layout_pack(limit_memory_layout(to->supervisor->limits), &body);
	buffer_append_str(&body, buffer_view(&parcel->body));
	ipc_channel_send(to->control, CHILD_ROWS, 0, buffer_view(&body), parcel->descriptors,
			 parcel->count);
	buffer_clear(&parcel->body);
	parcel->count = 0;
}

static void add_to_parcel(struct parcel *parcel, const struct process *to, const struct process *of)
{
	if (parcel->count == IPC_DESCRIPTORS_MAX)
		send_parcel(to, parcel);
	pack_str(&parcel->body, str_from(of->row.name));
	pack_u32(&parcel->body, of == to);
	parcel->descriptors[parcel->count++] = of == to ? of->row.owner : of->row.reader;
}

static bool gets_rows(const struct process *process)
{
	return process->supervisor->limits != NULL && has_limit_counters(process) &&
	       process->control != NULL;
}

void supervisor_send_rows(const struct process *process)
{
	const struct supervisor *supervisor = process->supervisor;
	struct parcel parcel = {.count = 0};

	if (!gets_rows(process))
		return;
	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].row.name[0] != '\0')
			add_to_parcel(&parcel, process, &supervisor->processes[i]);
	send_parcel(process, &parcel);
}

void supervisor_give_row(struct process *process)
{
	const struct supervisor *supervisor = process->supervisor;

	if (supervisor->limits == NULL || !has_limit_counters(process) ||
	    process->row.name[0] != '\0' ||
	    add_row_of_process(process, supervisor->limits, &process->row) < 0)
		return;
	for (size_t i = 0; i < supervisor->process_count; i++) {
		struct parcel parcel = {.count = 0};

		if (!gets_rows(&supervisor->processes[i]))
			continue;
		add_to_parcel(&parcel, &supervisor->processes[i], process);
		send_parcel(&supervisor->processes[i], &parcel);
	}
}

void supervisor_clear_row(const struct process *process)
{
	const struct supervisor *supervisor = process->supervisor;

	if (process->row.name[0] == '\0')
		return;
	limit_clear_sessions(supervisor->limits, process->row.number);
	limit_clients_clear(supervisor->limits, process->row.number);
	prepare_row_of_process(supervisor, supervisor->limits, process->row.number);
}
