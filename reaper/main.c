/*
 * sbx-reap: puts the process in order, parses the command line, and hands over to the verb.
 */
#include "base/clock.h"
#include "notice.h"
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

/*
 * A file that gets descriptor 0 to 2 because the caller had closed it would be written to by every
 * message; the database must not be that file.
 */
static void standard_streams_open(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			_exit(EXIT_ATTENTION);
}

/* What the caller ignored or blocked must not change how we wait or end (signal(7)). */
static void signals_reset(void)
{
	static const int to_default[] = { SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2, SIGXFSZ };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(to_default); i++)
		(void)signal(to_default[i], SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static enum exit_code act(const struct options *options)
{
	if (options->help) {
		verb_help(options->verb, stdout);
		return EXIT_DONE;
	}
	if (options->version) {
		(void)puts("sbx-reap " SBX_REAP_VERSION);
		return EXIT_DONE;
	}
	return options->verb->act(options);
}

/* Data that was lost on its way to a full disk is no success; a reader that had enough is. */
static enum exit_code output_close(enum exit_code code)
{
	bool failed = ferror(stdout) != 0;

	if (fflush(stdout) == 0 && !failed)
		return code;
	if (errno == EPIPE)
		return code;
	(void)fprintf(stderr, "sbx-reap: write standard output: %s\n", strerror(errno));
	return exit_code_worse(code, EXIT_ATTENTION);
}

int main(int argc, char **argv)
{
	struct options options;
	struct error error = { 0 };
	int r;
	enum exit_code code;

	standard_streams_open();
	signals_reset();
	(void)umask(022); /* readers need no privilege; what is private says so itself */
	if (argc > 1 && strcmp(argv[1], "complete") == 0)
		return (int)cmd_complete(argc - 2, argv + 2);
	r = options_parse(argc, argv, clock_wall_s(), &options, &error);
	if (r == -ETIME) {
		notice("%s", error.text); /* a place on a mount that does not answer */
		code = EXIT_BLIND;
	} else if (r < 0) {
		(void)fprintf(stderr, "sbx-reap: %s\nTry 'sbx-reap %s%s--help'.\n", error.text,
			options.verb->name, *options.verb->name ? " " : "");
		code = EXIT_USAGE;
	} else {
		code = output_close(act(&options));
	}
	options_done(&options);
	return (int)code;
}
