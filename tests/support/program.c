#include "program.h"

#include "base/clock.h"
#include "options.h"
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PROGRAM_NOT_STARTED = 200 };

static void program_redirect(const char *path)
{
	int output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (output < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0 ||
		close(output) < 0)
		_exit(PROGRAM_NOT_STARTED);
}

static _Noreturn void program_child(const struct program *program, char *words)
{
	char *argv[PROGRAM_WORDS_MAX + 3] = { (char[]){ "sbx-reap" } };
	struct options options;
	struct error error = { 0 };
	enum exit_code code;
	int argc = 1;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(PROGRAM_NOT_STARTED);
	(void)alarm(program->limit_s);
	program_redirect(program->output);
	if (program->prepare)
		program->prepare();
	for (char *word; (word = strsep(&words, " "));)
		if (word[0] && argc < PROGRAM_WORDS_MAX)
			argv[argc++] = word;
	argv[argc++] = (char[]){ "--config" };
	argv[argc++] = mem_dup(program->config);
	if (options_parse(argc, argv, clock_wall_s(), &options, &error) < 0) {
		(void)fprintf(stderr, "%s\n", error.text);
		_exit(EXIT_USAGE);
	}
	code = options.verb->act(&options);
	options_done(&options);
	if (program->after)
		program->after();
	(void)fflush(stdout);
	_exit((int)code);
}

pid_t program_start(const struct program *program, const char *words)
{
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0)
		program_child(program, mem_dup(words));
	return pid;
}

int program_end(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int program_run(const struct program *program, const char *format, ...)
{
	char words[1024];
	va_list args;

	va_start(args, format);
	if (vsnprintf(words, sizeof(words), format, args) >= (int)sizeof(words))
		abort();
	va_end(args);
	return program_end(program_start(program, words));
}

char *program_said(const struct program *program)
{
	int output CLEANUP(fd_done) = open(program->output, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	char *text;
	ssize_t length;

	if (output < 0 || fstat(output, &stat) < 0)
		return mem_dup("");
	text = mem_new((size_t)stat.st_size + 1);
	length = read(output, text, (size_t)stat.st_size);
	text[length > 0 ? length : 0] = 0;
	return text;
}

const char *program_run_field(const char *said, const char *run, const char *field)
{
	static char values[4][512];
	static unsigned turn;
	char *value = values[turn++ % ARRAY_SIZE(values)];
	char *head CLEANUP(mem_done) = mem_printf("\n      \"run\": \"%s\",", run);
	char *key CLEANUP(mem_done) = mem_printf("\n      \"%s\": ", field);
	const char *at = strstr(said, head);

	at = at ? strstr(at, key) : NULL;
	if (!at)
		return "";
	at += strlen(key);
	(void)snprintf(value, sizeof(values[0]), "%.*s", (int)strcspn(at, "\n"), at);
	if (value[0] && value[strlen(value) - 1] == ',')
		value[strlen(value) - 1] = 0;
	return value;
}
