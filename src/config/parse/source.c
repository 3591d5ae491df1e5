// SPDX-License-Identifier: ISC
/*
 * Reads the files of a configuration as one text.
 *
 * The contents of an included file replace the statement, between marks of lines.c.
 */
#include "base/panic.h"
#include "config/internal.h"
#include "config/parse/token.h"
#include "os/file/file.h"
#include "os/stream/stream.h"
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 8 };

/* A file being read, and the one that includes it. */
struct level {
	const char *file;
	const struct level *above;
	uint64_t device;
	uint64_t number;
	unsigned depth;
};

struct source {
	struct buffer *out;
	struct config_problems *problems;
	size_t files;
};

/* The statement "include PATTERN". */
struct include {
	const struct level *level;
	struct str text; /* the pattern as written */
	unsigned line;
};

static void report_source_problem(struct source *source, const struct level *level, unsigned line,
				  struct str found, const char *message, const char *allowed)
{
	source->problems->file = level->above != NULL ? level->file : NULL;
	config_problem_add(source->problems, line, NULL, found, message, allowed);
	source->problems->file = NULL;
}

static void report_include(struct source *source, const struct include *include,
			   const char *message, const char *allowed)
{
	report_source_problem(source, include->level, include->line, include->text, message,
			      allowed);
}

/* --- reading a file --- */

/* Reads one byte more than allowed, to detect a larger file. */
static int read_whole_source(int descriptor, struct buffer *text)
{
	while (text->length <= CONFIG_TEXT_MAX) {
		ssize_t count = os_stream_read(descriptor, buffer_reserve(text, 65536), 65536);

		if (count < 0)
			return (int)count;
		if (count == 0)
			return 0;
		buffer_commit(text, (size_t)count);
	}
	return 0;
}

/* A named pipe is no reason to wait for somebody who opens it: a shell's <(command) has its writer
 * already. */
static int read_source_file(struct level *level, struct buffer *text)
{
	struct os_file_info info;
	int descriptor = os_file_open(OS_FILE_HERE, level->file, OS_FILE_READ | OS_FILE_NO_BLOCK);
	int result;

	if (descriptor < 0)
		return descriptor;
	result = os_stream_set_blocking(descriptor);
	if (result == 0)
		result = os_file_info(descriptor, &info);
	if (result == 0)
		result = read_whole_source(descriptor, text);
	if (result == 0 && S_ISFIFO(info.mode) && text->length == 0)
		result = -ENODATA;
	os_file_close(descriptor);
	if (result == 0) {
		level->device = info.device;
		level->number = info.inode;
	}
	return result;
}

static const char *reading_error(int error)
{
	return error == -ENODATA ? "a pipe to which nobody writes" : strerrordesc_np(-error);
}

/* --- included files --- */

static void mark_file_line(struct source *source, const char *file, unsigned line)
{
	const struct buffer *out = source->out;

	if (out->length > 0 && buffer_data(out)[out->length - 1] != '\n')
		buffer_append_byte(source->out, '\n');
	buffer_append_format(source->out, "%s%u %s\n", CONFIG_LINES_MARK, line, file);
}

static void take_source_text(struct source *source, const struct level *level, struct str text);

static bool is_being_read(const struct level *level)
{
	for (const struct level *above = level->above; above != NULL; above = above->above)
		if (above->device == level->device && above->number == level->number)
			return true;
	return false;
}

static void take_included_file(struct source *source, const struct include *include,
			       const char *file)
{
	struct level level = {
		.file = file, .above = include->level, .depth = include->level->depth + 1};
	struct buffer text CLEANUP(buffer_clear) = {0};
	int error = strpbrk(file, "\n\r") != NULL ? -EINVAL : read_source_file(&level, &text);
	struct include named = {include->level, str_from(file), include->line};

	source->problems->closed += error == -EACCES;
	if (error < 0)
		report_include(source, &named, reading_error(error), NULL);
	else if (is_being_read(&level))
		report_include(source, &named, "this file includes itself", NULL);
	else if (++source->files > CONFIG_FILES_MAX)
		report_include(source, &named, "too many files are included", "at most 1000");
	else if (source->out->length + text.length > CONFIG_TEXT_MAX)
		report_include(source, &named, "the files are too large", "at most 4 MiB together");
	else {
		mark_file_line(source, file, 1);
		take_source_text(source, &level, buffer_view(&text));
	}
}

static const char *from_folder_of(struct arena *arena, const char *file, const char *pattern)
{
	const char *slash = strrchr(file, '/');
	struct buffer path = {0};
	const char *copy;

	if (*pattern == '/' || slash == NULL)
		return pattern;
	buffer_append_str(&path, str_slice(file, (size_t)(slash + 1 - file)));
	buffer_append_string(&path, pattern);
	copy = arena_copy(arena, buffer_view(&path));
	buffer_clear(&path);
	return copy;
}

static void take_pattern(struct source *source, const struct include *include, const char *pattern)
{
	glob_t found = {0};
	int error = glob(pattern, GLOB_ERR, NULL, &found);

	if (error == GLOB_NOSPACE)
		panic("out of memory");
	if (error == GLOB_ABORTED) {
		source->problems->closed += errno == EACCES;
		report_include(source, include, strerrordesc_np(errno), NULL);
	}
	for (size_t i = 0; error == 0 && i < found.gl_pathc && source->files <= CONFIG_FILES_MAX;
	     i++)
		take_included_file(source, include, found.gl_pathv[i]);
	globfree(&found);
}

static void take_include(struct source *source, const struct include *include, const char *value)
{
	struct arena *arena = arena_new();
	const char *path = from_folder_of(arena, include->level->file, value);

	if (*value == '\0')
		report_include(source, include, "a file is not named", "a path, or a pattern");
	else if (include->level->depth == DEPTH_MAX)
		report_include(source, include, "files include files too deep", "at most 8 deep");
	else if (strpbrk(path, "*?[") != NULL)
		take_pattern(source, include, path);
	else
		take_included_file(source, include, path);
	arena_free(arena);
}

/* --- include statements --- */

struct walk {
	struct source *source;
	const struct level *level;
	struct config_reader in;
	size_t taken; /* bytes of the text that were copied to the output */
	size_t braces;
	unsigned brace_line; /* of the first open brace */
};

static void copy_source_until(struct walk *walk, size_t end)
{
	buffer_append_str(walk->source->out,
			  str_slice(walk->in.text.data + walk->taken, end - walk->taken));
	walk->taken = end;
}

/* Handles what follows the word "include", NAME. */
static void on_include(struct walk *walk, const struct config_token *name)
{
	const struct config_token *token = &walk->in.token;
	struct include include = {walk->level, config_token_text(&walk->in, token), token->line};
	struct arena *arena;

	if ((token->kind != TOKEN_WORD && token->kind != TOKEN_STRING) || token->line != name->line)
		return; /* the parser will report it */
	if (walk->braces > 0) {
		report_include(walk->source, &include, "include inside of a section", NULL);
		return;
	}
	arena = arena_new();
	if (walk->source->out->length == 0) /* from now on lines need their file */
		mark_file_line(walk->source, walk->level->file, 1);
	copy_source_until(walk, name->start);
	take_include(walk->source, &include, config_token_value(&walk->in, token, arena));
	mark_file_line(walk->source, walk->level->file, token->line);
	walk->taken = token->end;
	arena_free(arena);
	config_reader_next(&walk->in);
}

static void on_source_token(struct walk *walk, enum token_kind before)
{
	struct config_token token = walk->in.token;

	if (token.kind == TOKEN_OPEN && walk->braces++ == 0)
		walk->brace_line = token.line;
	if (token.kind == TOKEN_CLOSE && walk->braces > 0)
		walk->braces--;
	config_reader_next(&walk->in);
	if (token.kind == TOKEN_WORD && before != TOKEN_ASSIGN && before != TOKEN_COMMA &&
	    str_equal(config_token_text(&walk->in, &token), STR("include")))
		on_include(walk, &token);
}

/* Each file must be complete: a section or string that begins in it must end in it. */
static void check_end(struct walk *walk, const struct config_problems *problems)
{
	if (walk->in.token.kind == TOKEN_BAD && problems->first != NULL)
		report_source_problem(walk->source, walk->level, problems->first->line,
				      str_from(problems->first->found), problems->first->message,
				      problems->first->allowed);
	else if (walk->braces > 0)
		report_source_problem(walk->source, walk->level, walk->brace_line, STR(""),
				      "what begins here has no end in this file", "}");
}

static void take_source_text(struct source *source, const struct level *level, struct str text)
{
	struct config_problems problems = {0};
	struct walk walk = {source, level, .in = {.text = text, .line = 1, .problems = &problems}};
	enum token_kind before = TOKEN_END;

	config_reader_next(&walk.in);
	while (walk.in.token.kind != TOKEN_END && walk.in.token.kind != TOKEN_BAD) {
		enum token_kind kind = walk.in.token.kind;

		on_source_token(&walk, before);
		before = kind;
	}
	copy_source_until(&walk, text.length);
	if (level->above != NULL) /* else the parser does, with all that is wrong beside */
		check_end(&walk, &problems);
	config_problems_clear(&problems);
}

int config_read(const char *file, struct buffer *text_out, struct config_problems *problems)
{
	struct source source = {.out = text_out, .problems = problems, .files = 1};
	struct level level = {.file = file};
	struct buffer text CLEANUP(buffer_clear) = {0};
	int error = read_source_file(&level, &text);

	*problems = (struct config_problems){0};
	if (error < 0) {
		problems->closed = error == -EACCES;
		config_problem_add(problems, 0, NULL, STR(""), reading_error(error), NULL);
		return error;
	}
	take_source_text(&source, &level, buffer_view(&text));
	return problems->count > 0 ? -EINVAL : 0;
}
