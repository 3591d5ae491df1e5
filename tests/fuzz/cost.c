// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/cost.c - searches for inputs whose cost grows faster than their size, for any fuzz
 * target.
 *
 * An input is a beginning, a piece that is repeated, and an end, all cut from the target's corpus
 * and its dictionary. It is run at a size and at four times that: where the second costs many times
 * more, the search looks again at twice that size. An input that still costs more than SLOPE times
 * the growth, or ends the process (the stack of one call for each piece), is printed.
 *
 *   cost_NAME SECONDS SEED FILE...    the files, or those in folders, are the corpus and the
 * dictionary
 */
#include "base/buffer.h"
#include "base/panic.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	SEEDS_MAX = 4000,
	PIECE_MAX = 40, /* bytes of what is repeated */
	SMALL = 16 << 10,
	GROWTH = 4,
	SLOPE = 3,          /* times GROWTH: twice that is the square */
	IDLE_NS = 30000000, /* below that a difference says nothing */
	SECONDS_MAX = 60,   /* of processor time for one input */
	STACK = 1 << 20,    /* bytes: what needs a frame for each piece shows */
};

struct shape {
	struct str begin, first, second, end; /* first and second together are repeated */
};

static struct str seeds[SEEDS_MAX];
static size_t seed_count;

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t below(uint64_t *state, size_t limit)
{
	return limit > 0 ? (size_t)(next_random(state) % limit) : 0;
}

static void add_file(const char *path)
{
	struct buffer text = {0};
	FILE *file = fopen(path, "rb");
	size_t count = 1;

	if (file == NULL || seed_count == SEEDS_MAX)
		panic("%s cannot be read, or there are too many", path);
	while (count > 0) {
		count = fread(buffer_reserve(&text, 4096), 1, 4096, file);
		buffer_commit(&text, count);
	}
	fclose(file);
	if (text.length > 0 && text.length < SMALL)
		seeds[seed_count++] = buffer_view(&text); /* kept until the end */
}

static void add_path(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;

	if (directory == NULL) {
		add_file(path);
		return;
	}
	while ((entry = readdir(directory)) != NULL) {
		char name[4096];

		(void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.')
			add_file(name);
	}
	closedir(directory);
}

static struct str cut_piece(uint64_t *state)
{
	struct str seed = seeds[below(state, seed_count)];
	size_t from = below(state, seed.length);
	size_t most = seed.length - from < PIECE_MAX ? seed.length - from : PIECE_MAX;

	return str_slice(seed.data + from, 1 + below(state, below(state, 3) > 0 ? 4 : most) % most);
}

static struct shape choose_shape(uint64_t *state)
{
	struct str seed = seeds[below(state, seed_count)];
	size_t at = below(state, seed.length + 1);
	struct shape shape = {.begin = str_slice(seed.data, at),
			      .first = cut_piece(state),
			      .second = below(state, 3) == 0 ? cut_piece(state) : STR("")};

	shape.end = below(state, 2) == 0 ? str_skip(seed, at) : STR("");
	return shape;
}

static void build(const struct shape *shape, size_t size, struct buffer *out)
{
	buffer_reset(out);
	buffer_append_str(out, shape->begin);
	while (out->length < size) {
		buffer_append_str(out, shape->first);
		buffer_append_str(out, shape->second);
	}
	buffer_append_str(out, shape->end);
}

static int64_t used_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t measure(const struct shape *shape, size_t size)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int64_t least = INT64_MAX;

	build(shape, size, &text);
	for (int i = 0; i < 2; i++) {
		int64_t begun = used_ns();

		(void)LLVMFuzzerTestOneInput((const uint8_t *)buffer_data(&text), text.length);
		if (used_ns() - begun < least)
			least = used_ns() - begun;
		if (least < IDLE_NS)
			break;
	}
	return least;
}

/* Whether it costs what its size may cost. */
static bool is_cheap(const struct shape *shape)
{
	int64_t small = measure(shape, SMALL);
	int64_t large = measure(shape, GROWTH * SMALL);

	if (large < IDLE_NS || large < small * GROWTH * SLOPE)
		return true;
	large = measure(shape, 2 * SMALL);
	small = measure(shape, SMALL / 2);
	return large < IDLE_NS / 4 || large < small * GROWTH * SLOPE;
}

static void print_shape(const char *why, const struct shape *shape)
{
	const struct str parts[] = {shape->begin, shape->first, shape->second, shape->end};

	printf("%s:", why);
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		printf(" \"");
		for (size_t j = 0; j < parts[i].length; j++) {
			unsigned char byte = (unsigned char)parts[i].data[j];

			if (byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\')
				putchar(byte);
			else
				printf("\\x%02x", byte);
		}
		printf("\"");
	}
	printf("\n");
}

/* In a process of its own, since it may end it. */
static bool try_shape(const struct shape *shape)
{
	pid_t pid;
	int status;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		const struct rlimit seconds = {SECONDS_MAX, SECONDS_MAX};

		(void)setrlimit(RLIMIT_CPU, &seconds);
		_exit(is_cheap(shape) ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		panic("no process");
	if (WIFSIGNALED(status))
		print_shape("ends the process", shape);
	else if (WEXITSTATUS(status) != 0)
		print_shape("grows faster than its size", shape);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
	const struct rlimit stack = {STACK, STACK};
	uint64_t state;
	time_t until;
	unsigned tried = 0;
	unsigned found = 0;

	if (argc < 4)
		return 2;
	if (getenv("COST_STACK") == NULL) { /* it counts for the next program */
		(void)setrlimit(RLIMIT_STACK, &stack);
		(void)setenv("COST_STACK", "1", 1);
		execv(argv[0], argv);
	}
	until = time(NULL) + atoi(argv[1]);
	state = strtoull(argv[2], NULL, 10) * 2654435761U + 1;
	for (int i = 3; i < argc; i++)
		add_path(argv[i]);
	if (seed_count == 0)
		panic("no corpus");
	(void)LLVMFuzzerTestOneInput((const uint8_t *)seeds[0].data, seeds[0].length);
	for (; time(NULL) < until && found < 20; tried++) {
		struct shape shape = choose_shape(&state);

		found += !try_shape(&shape);
	}
	printf("%u shapes, %u found\n", tried, found);
	return found > 0;
}
