// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/cost.c - searches for inputs whose cost grows faster than their size, for any fuzz
 * target.
 *
 * An input is a beginning, one or two pieces that are repeated, and an end, cut from the target's
 * corpus or taken from its dictionary. It is run at a size and at four times that: where the second
 * costs many times more, the search looks again at half these sizes. An input that still costs more
 * than SLOPE times the growth, or ends the process (the stack of one call for each piece), is
 * printed, as it may be kept.
 *
 *   cost_NAME [--seconds=N|--shapes=N] [--seed=N] [--kept=FILE] [--words=FILE] FILE...
 *
 * The files, or those in folders, are the corpus. --words: the dictionary, as of libFuzzer. --kept:
 * inputs that were found before, which are tried at first, at every size: each a line of four
 * strings in quotation marks. --shapes: so many new ones, the same for the same seed.
 */
#include "base/buffer.h"
#include "base/panic.h"
#include <dirent.h>
#include <getopt.h>
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
	WORDS_MAX = 1000,
	KEPT_MAX = 100,
	PIECE_MAX = 40, /* bytes of what is repeated, unless it is a word */
	SMALL = 16 << 10,
	LARGE = 4 * SMALL, /* as small as one of LARGE_ODDS begins */
	LARGE_ODDS = 8,
	GROWTH = 4,
	SLOPE = 3,          /* times GROWTH: twice that is the square */
	REPEATS = 3,        /* of what seems to be dear */
	IDLE_NS = 30000000, /* below that a difference says nothing */
	SECONDS_MAX = 60,   /* of processor time for one input */
	FINDS_MAX = 20,     /* then it ends */
	STACK = 1 << 20,    /* bytes: what needs a frame for each piece shows */
};

struct shape {
	struct str begin, first, second, end; /* first and second together are repeated */
};

struct options {
	long seconds, shapes; /* shapes: 0 for as many as there is time for */
	uint64_t seed;
	const char *kept, *words;
};

static struct str seeds[SEEDS_MAX];
static size_t seed_count;
static struct str words[WORDS_MAX];
static size_t word_count;
static struct shape kept[KEPT_MAX];
static size_t kept_count;

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

/* --- what is known --- */

/* Kept until the end. */
static struct str read_file(const char *path)
{
	struct buffer text = {0};
	FILE *file = fopen(path, "rb");
	size_t count = 1;

	if (file == NULL)
		panic("%s cannot be read", path);
	while (count > 0) {
		count = fread(buffer_reserve(&text, 4096), 1, 4096, file);
		buffer_commit(&text, count);
	}
	fclose(file);
	return buffer_view(&text);
}

static void add_file(const char *path)
{
	struct str text = read_file(path);

	if (seed_count == SEEDS_MAX)
		panic("there are too many files");
	if (text.length > 0 && text.length < SMALL)
		seeds[seed_count++] = text;
}

/* In the order of their names, so that a seed means the same everywhere. */
static void add_path(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);

	if (count < 0) {
		add_file(path);
		return;
	}
	for (int i = 0; i < count; i++) {
		char name[4096];

		(void)snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			add_file(name);
		free(entries[i]);
	}
	free(entries);
}

static unsigned digit_of(char byte)
{
	if (byte >= '0' && byte <= '9')
		return (unsigned)(byte - '0');
	return (unsigned)((byte | ('a' - 'A')) - 'a') + 10;
}

/* The next string in quotation marks of LINE, with \", \\ and \xHH in it. False: there is none. */
static bool take_string(struct str *line, struct str *out)
{
	struct buffer text = {0}; /* kept until the end */
	ptrdiff_t begin = str_find(*line, '"');
	struct str rest = str_skip(*line, (size_t)(begin + 1));

	if (begin < 0)
		return false;
	while (rest.length > 0 && rest.data[0] != '"') {
		size_t length = 1;
		char byte = rest.data[0];

		if (byte == '\\' && rest.length >= 4 && rest.data[1] == 'x') {
			byte = (char)(digit_of(rest.data[2]) << 4 | digit_of(rest.data[3]));
			length = 4;
		} else if (byte == '\\' && rest.length >= 2) {
			byte = rest.data[1];
			length = 2;
		}
		buffer_append_byte(&text, byte);
		rest = str_skip(rest, length);
	}
	*out = buffer_view(&text);
	*line = str_skip(rest, rest.length > 0);
	return true;
}

/* Not every target has such a file. */
static void read_lines(const char *path, void (*take)(struct str line))
{
	struct str text = access(path, F_OK) == 0 ? read_file(path) : STR("");

	while (text.length > 0) {
		ptrdiff_t end = str_find(text, '\n');
		struct str line = str_slice(text.data, end < 0 ? text.length : (size_t)end);

		if (line.length > 0 && line.data[0] != '#')
			take(line);
		text = str_skip(text, line.length + (end >= 0));
	}
}

static void add_word(struct str line)
{
	if (word_count == WORDS_MAX)
		panic("there are too many words");
	word_count += take_string(&line, &words[word_count]) && words[word_count].length > 0;
}

static void add_kept(struct str line)
{
	struct shape *shape = &kept[kept_count++];

	if (kept_count > KEPT_MAX)
		panic("there are too many inputs");
	if (!take_string(&line, &shape->begin) || !take_string(&line, &shape->first) ||
	    !take_string(&line, &shape->second) || !take_string(&line, &shape->end) ||
	    shape->first.length == 0)
		panic("input %zu is malformed", kept_count);
}

/* --- one input --- */

static struct str cut_piece(uint64_t *state)
{
	struct str seed = seeds[below(state, seed_count)];
	size_t from = below(state, seed.length);
	size_t most = seed.length - from < PIECE_MAX ? seed.length - from : PIECE_MAX;
	size_t few = most < 4 ? most : 4;

	if (word_count > 0 && below(state, 3) == 0)
		return words[below(state, word_count)];
	return str_slice(seed.data + from, 1 + below(state, below(state, 3) > 0 ? few : most));
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
	int64_t begun;

	build(shape, size, &text);
	begun = used_ns();
	(void)LLVMFuzzerTestOneInput((const uint8_t *)buffer_data(&text), text.length);
	return used_ns() - begun;
}

/* Other programs only add to it. */
static int64_t measure_least(const struct shape *shape, size_t size)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < REPEATS; i++) {
		int64_t used = measure(shape, size);

		least = used < least ? used : least;
	}
	return least;
}

static bool is_linear(int64_t first, int64_t second, int64_t idle)
{
	return second < idle || second < first * GROWTH * SLOPE;
}

/* Whether it costs what its size may cost, at four times SMALL. Chance does not make it dear at
 * different sizes, and at the least of several times. */
static bool is_cheap(const struct shape *shape, size_t small)
{
	int64_t first = measure(shape, small);
	int64_t second = measure(shape, GROWTH * small);

	if (is_linear(first, second, IDLE_NS))
		return true;
	second = measure_least(shape, GROWTH * small);
	first = measure_least(shape, small);
	if (is_linear(first, second, IDLE_NS))
		return true;
	second = measure_least(shape, GROWTH * small / 2);
	first = measure_least(shape, small / 2);
	return is_linear(first, second, IDLE_NS / 4);
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
static bool try_shape(const struct shape *shape, size_t small)
{
	pid_t pid;
	int status;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		const struct rlimit seconds = {SECONDS_MAX, SECONDS_MAX};

		(void)setrlimit(RLIMIT_CPU, &seconds);
		_exit(is_cheap(shape, small) ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		panic("no process");
	if (WIFSIGNALED(status))
		print_shape("ends the process", shape);
	else if (WEXITSTATUS(status) != 0)
		print_shape("grows faster than its size", shape);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* --- all of them --- */

static struct options read_options(int argc, char **argv)
{
	static const struct option names[] = {
		{"seconds", required_argument, NULL, 's'}, {"shapes", required_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 'r'},    {"kept", required_argument, NULL, 'k'},
		{"words", required_argument, NULL, 'w'},   {0}};
	struct options options = {.seconds = 60, .seed = 1};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 's')
			options.seconds = atol(optarg);
		else if (option == 'n')
			options.shapes = atol(optarg);
		else if (option == 'r')
			options.seed = strtoull(optarg, NULL, 10);
		else if (option == 'k')
			options.kept = optarg;
		else if (option == 'w')
			options.words = optarg;
		else
			exit(2);
	}
	return options;
}

static void read_known(const struct options *options, int count, char **paths)
{
	for (int i = 0; i < count; i++)
		add_path(paths[i]);
	if (seed_count == 0)
		panic("no corpus");
	if (options->words != NULL)
		read_lines(options->words, add_word);
	if (options->kept != NULL)
		read_lines(options->kept, add_kept);
}

static unsigned search(const struct options *options, unsigned *tried_out)
{
	uint64_t state = options->seed * 2654435761U + 1;
	time_t until = time(NULL) + options->seconds;
	unsigned found = 0;
	long tried = 0;

	while ((options->shapes > 0 ? tried < options->shapes : time(NULL) < until) &&
	       found < FINDS_MAX) {
		struct shape shape = choose_shape(&state);

		found += !try_shape(&shape, below(&state, LARGE_ODDS) == 0 ? LARGE : SMALL);
		tried++;
	}
	*tried_out = (unsigned)tried;
	return found;
}

int main(int argc, char **argv)
{
	const struct rlimit stack = {STACK, STACK};
	struct options options = read_options(argc, argv);
	unsigned tried;
	unsigned found = 0;

	if (getenv("COST_STACK") == NULL) { /* it counts for the next program */
		(void)setrlimit(RLIMIT_STACK, &stack);
		(void)setenv("COST_STACK", "1", 1);
		execv(argv[0], argv);
	}
	read_known(&options, argc - optind, argv + optind);
	(void)LLVMFuzzerTestOneInput((const uint8_t *)seeds[0].data, seeds[0].length);
	for (size_t i = 0; i < kept_count; i++)
		found += !try_shape(&kept[i], SMALL) || !try_shape(&kept[i], LARGE);
	found += search(&options, &tried);
	printf("%zu kept, %u new, %u found\n", kept_count, tried, found);
	return found > 0;
}
