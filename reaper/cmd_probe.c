/*
 * sbx-reap probe: has the real unit do a pass over canaries, and tries from inside it what must be
 * blocked. Whatever is not well, also that it could not be found out, holds all passes; not that the
 * canaries had no turn, since the brake held, a limit was reached, or somebody asked to stop.
 */
#include "base/clock.h"
#include "base/text.h"
#include "books.h"
#include "complain.h"
#include "notice.h"
#include "os/endpoint.h"
#include "os/file.h"
#include "os/lock.h"
#include "os/signals.h"
#include "os/trespass.h"
#include "probe_attend.h"
#include "probe_blocked.h"
#include "probe_canary.h"
#include "state/history.h"
#include "state/hold.h"
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

enum {
	BUS_TIMEOUT_MS = 30 * 1000,
	STARTS = 3,            /* one that was at work had begun before we asked; one may defer */
	LOCKED_WAIT_MS = 15000 /* while a pass by hand has the lock */
};

enum { TOKEN_BYTES = 16, TOKEN = 2 * TOKEN_BYTES + 1 };

struct probing {
	struct books books;
	struct probe_canaries canaries;
	struct probe_findings findings;
	struct endpoint endpoint;
	struct bus *bus;
	char *directory;
	char token[TOKEN];
	int lock;
};

static void probing_done(struct probing *probing)
{
	probe_canaries_done(&probing->canaries);
	probe_findings_done(&probing->findings);
	endpoint_close(&probing->endpoint);
	bus_close(probing->bus);
	free(probing->directory);
	fd_done(&probing->lock);
	books_done(&probing->books);
}

static void token_make(char ret_token[TOKEN])
{
	uint8_t bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		abort();
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(ret_token + 2 * i, 3, "%02x", bytes[i]);
}

/* ---------------------------------------------------------------------------------- setting up */

/* RuntimeDirectory= of the service, or by hand the same place. */
static int choose_directory(struct probing *probing, struct error *error)
{
	const char *given = getenv("RUNTIME_DIRECTORY");

	probing->directory = mem_dup(given && *given == '/' ? given : "/run/sbx-probe");
	if (mkdir(probing->directory, 0700) < 0 && errno != EEXIST)
		return error_set(error, errno, "make %s", probing->directory);
	return 0;
}

static int remove_marker(const struct probing *probing, const char *token, struct error *error)
{
	int dir CLEANUP(fd_done) =
		open(probing->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return error_set(error, errno, "open %s", probing->directory);
	return file_remove(dir, token, error);
}

static int not_through(
	const struct trespass *trespass, const char *what, const char *where, struct error *error)
{
	return error_say(error, trespass->code ? trespass->code : EIO,
		"the probe itself cannot %s %s: %s: %s", what, where,
		trespass_step_name(trespass->step),
		trespass->code ? strerror(trespass->code) : trespass->note);
}

/* What is to be blocked must work where nothing blocks it, or it proves nothing. */
static int prove_targets(struct probing *probing, struct error *error)
{
	struct trespass trespass;
	char own[TOKEN];
	int r;

	token_make(own);
	trespass = trespass_file(probing->directory, own);
	if (trespass.step != TRESPASS_THROUGH)
		return not_through(&trespass, "write into", probing->directory, error);
	r = remove_marker(probing, own, error);
	if (r < 0)
		return r;
	trespass = trespass_network(probing->endpoint.port, own);
	if (trespass.step != TRESPASS_THROUGH)
		return not_through(&trespass, "reach", "its endpoint on 127.0.0.1", error);
	r = endpoint_heard(&probing->endpoint, own, error);
	return r == 0 ? error_say(error, EIO, "the endpoint of the probe hears nothing") : r;
}

/* The unit itself has to be there before anything is made for it. */
static int find_unit(struct probing *probing, struct error *error)
{
	int r = bus_open(BUS_TIMEOUT_MS, &probing->bus, error);

	if (r >= 0)
		r = bus_unit_load(probing->bus, PROBE_UNIT, error);
	if (r == -ENOENT && !error->code)
		return error_say(error, ENOENT, "there is no unit " PROBE_UNIT);
	return r;
}

static int ask(struct probing *probing, struct error *error)
{
	const struct probe probe = {
		.asked_s = probing->books.now_s,
		.directory = probing->directory,
		.port = probing->endpoint.port,
		.token = probing->token,
	};

	return probe_ask(probing->books.store, &probe, error);
}

/* Asks before it makes anything: who is killed from here on is missed. */
static int set_up(struct probing *probing, struct error *error)
{
	char id[TOKEN];
	int r = 0;

	if (probing->books.settings.roots.count == 0)
		return error_say(error, ENOENT, "there is no [workspaces] root that can be opened");
	token_make(probing->token);
	token_make(id);
	id[8] = 0;
	r = find_unit(probing, error);
	if (r >= 0)
		r = choose_directory(probing, error);
	if (r >= 0)
		r = endpoint_open(&probing->endpoint, error);
	if (r >= 0)
		r = prove_targets(probing, error);
	if (r >= 0)
		r = ask(probing, error);
	if (r < 0)
		return r;
	probing->canaries = (struct probe_canaries){
		.settings = &probing->books.settings,
		.store = probing->books.store,
		.bus = probing->bus,
		.now_s = probing->books.now_s,
	};
	return probe_canaries_make(&probing->canaries, id, error);
}

/* ------------------------------------------------------------------------------------- the pass */

/* NULL, or what was answered; in the arena. */
static const struct probe *answered(const struct probing *probing, struct arena *arena)
{
	struct probe *probe = NULL;

	if (probe_get(probing->books.store, arena, &probe, NULL) < 0 || !probe)
		return NULL;
	return probe->answered_s && text_equal(probe->token, probing->token) ? probe : NULL;
}

static bool pass_is_done(const struct probing *probing)
{
	struct arena arena CLEANUP(arena_done) = { 0 };

	return answered(probing, &arena) && probe_canaries_due_is_off(&probing->canaries);
}

/* Where another than the unit has the lock, a start comes to nothing. */
static int wait_for_lock(const struct probing *probing, int64_t deadline_ms)
{
	char *path CLEANUP(mem_done) = mem_printf("%s.lock", probing->books.settings.database);
	char holder[LOCK_HOLDER];

	if (!lock_describe_holder(path, holder))
		return 0;
	(void)signals_wait(-1, 0, deadline_sooner(deadline_in_ms(LOCKED_WAIT_MS), deadline_ms));
	return 1;
}

static int have_it_pass(const struct probing *probing, struct error *error)
{
	int64_t deadline_ms = deadline_in_ms((int64_t)PROBE_YOUNG_S * 1000);

	for (int starts = 0; starts < STARTS;) {
		int r = bus_unit_start(probing->bus, PROBE_UNIT, deadline_ms, error);

		if (r < 0 || pass_is_done(probing))
			return r;
		if (signals_stop_wanted())
			return error_say(error, EINTR, "the probe was stopped");
		if (!wait_for_lock(probing, deadline_ms) || deadline_left_ms(deadline_ms) == 0)
			starts++;
	}
	return 0;
}

/* --------------------------------------------------------------------------------- the judgement */

/* What the pass says of itself is not all: the file and the endpoint say it, too. */
static void judge_trespass(struct probing *probing, const struct probe *probe)
{
	struct probe_findings *findings = &probing->findings;
	char *where CLEANUP(mem_done) = mem_printf("writing into %s", probing->directory);
	struct error error = { 0 };
	int made = remove_marker(probing, probing->token, &error);
	int heard = made < 0 ? made : endpoint_heard(&probing->endpoint, probing->token, &error);

	if (error.code)
		probe_findings_add(findings, "trespass", PROBE_CANNOT, "%s", error.text);
	if (made > 0)
		probe_findings_add(findings, "write", PROBE_FAILED,
			"the unit is not kept from %s: the file is there", where);
	else
		probe_blocked_judge(findings, "write", &probe->file, where);
	if (heard > 0)
		probe_findings_add(findings, "connect", PROBE_FAILED,
			"the unit is not kept from the network: a credential came through");
	else
		probe_blocked_judge(
			findings, "connect", &probe->network, "taking a credential to an endpoint");
}

/* Why no pass had its turn at the canaries, where that is nobody's fault; NULL. In the arena. */
static const char *put_off_by(
	const struct probing *probing, const struct probe *probe, struct probe_canaries *canaries)
{
	char *lock CLEANUP(mem_done) = mem_printf("%s.lock", probing->books.settings.database);
	const char *reason = probe_canaries_kept(canaries);
	char holder[LOCK_HOLDER];

	if (signals_stop_wanted())
		return "the probe was asked to stop";
	if (reason)
		return arena_printf(&canaries->arena, "the pass kept it as '%s'", reason);
	if (!probe && lock_describe_holder(lock, holder))
		return arena_printf(&canaries->arena, "another pass has the lock: %s", holder);
	return NULL;
}

static void judge(struct probing *probing)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	const struct probe *probe = answered(probing, &arena);
	const char *put_off = put_off_by(probing, probe, &probing->canaries);

	probing->canaries.put_off = put_off;
	probe_canaries_judge(&probing->canaries, &probing->findings);
	if (probe)
		judge_trespass(probing, probe);
	else if (put_off)
		probe_findings_add(&probing->findings, "pass", PROBE_PUT_OFF,
			"no pass of " PROBE_UNIT " answered, since %s", put_off);
	else
		probe_findings_add(&probing->findings, "pass", PROBE_CANNOT,
			"no pass of " PROBE_UNIT " answered, so its walls were not tried; see "
			"'systemctl status " PROBE_UNIT "'");
}

static void probe_all(struct probing *probing)
{
	struct error error = { 0 };

	if (probing->books.settings.roots.count)
		probe_remains_mend(
			&probing->books.settings, probing->books.store, &probing->findings);
	if (set_up(probing, &error) < 0) {
		probe_findings_add(&probing->findings, "set-up",
			signals_stop_wanted() ? PROBE_PUT_OFF : PROBE_CANNOT, "%s", error.text);
		return;
	}
	if (have_it_pass(probing, &error) < 0 && !signals_stop_wanted())
		probe_findings_add(&probing->findings, "pass", PROBE_CANNOT, "%s",
			*error.text ? error.text : "there is no unit " PROBE_UNIT);
	judge(probing);
	if (probe_findings_worst(&probing->findings) <= PROBE_PUT_OFF)
		probe_canaries_tidy(&probing->canaries, &probing->findings);
	else
		probe_canaries_leave(&probing->canaries, &probing->findings);
}

/* --------------------------------------------------------------------------------- what follows */

static void print_findings(const struct probe_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct probe_finding *finding = &findings->list[i];

		(void)printf("%-10s  %-8s  ", probe_outcome_name(finding->outcome), finding->check);
		print_escaped(finding->why, 0);
		(void)putchar('\n');
	}
	(void)fflush(stdout);
}

static int note_finding(
	struct store *store, const struct probe_finding *finding, struct error *error)
{
	char *detail CLEANUP(mem_done) = mem_printf(
		"%s: %s: %s", finding->check, probe_outcome_name(finding->outcome), finding->why);

	return history_add(store,
		&(struct history_entry){
			.at_s = clock_wall_s(),
			.action = "probe",
			.detail = detail,
		},
		error);
}

/* In the history, and for whoever counts. */
static int note_findings(
	struct store *store, const struct probe_findings *findings, struct error *error)
{
	struct probe_result results[PROBE_FINDINGS];
	int r = 0;

	for (size_t i = 0; i < findings->count && r >= 0; i++) {
		r = note_finding(store, &findings->list[i], error);
		results[i] = (struct probe_result){
			.check = findings->list[i].check,
			.outcome = probe_outcome_name(findings->list[i].outcome),
		};
	}
	return r < 0 ? r
		     : probe_set_results(store, results, findings->count, clock_wall_s(), error);
}

/* 1 held by us, 0 by somebody else, who has to resume first. */
static int hold_all(struct store *store, const struct probe_findings *findings, struct error *error)
{
	char *reason CLEANUP(mem_done) = probe_findings_reason(findings);
	const struct hold hold = {
		.by = "sbx-reap probe",
		.reason = reason,
		.since_s = clock_wall_s(),
	};
	int r = hold_add(store, &hold, error);

	if (r >= 0)
		alert("the probe failed, so every pass is held until 'sbx-reap resume'%s; %s",
			r > 0 ? "" : " (as it was already)", reason);
	return r;
}

/* Judged last: who is killed before, or cannot write, is one that never came to an end. */
static int conclude(struct probing *probing, struct error *error)
{
	const struct probe_findings *findings = &probing->findings;
	struct store *store = probing->books.store;
	int held = 1, r = 0;

	if (probe_findings_worst(findings) > PROBE_PUT_OFF)
		held = hold_all(store, findings, error);
	r = note_findings(store, findings, error);
	if (held > 0 && r >= 0 && *probing->token)
		r = probe_judge(store, probing->token, clock_wall_s(), error);
	return held < 0 ? held : r;
}

/* 1 nobody holds; 0 somebody does; -errno. */
static int nobody_holds(struct probing *probing, struct error *error)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct hold *hold = NULL;
	int r = hold_get(probing->books.store, probing->books.now_s, &arena, &hold, error);

	if (r < 0 || !hold)
		return r < 0 ? r : 1;
	probe_findings_add(&probing->findings, "set-up", PROBE_CANNOT,
		"passes are held%s%s%s%s, and a held pass removes no canary; 'sbx-reap resume' "
		"ends that",
		hold->by ? " by " : "", hold->by ? hold->by : "", hold->reason ? ": " : "",
		hold->reason ? hold->reason : "");
	print_findings(&probing->findings);
	/* What the last probe found out stays for whoever counts: nothing was tried. */
	r = note_finding(probing->books.store, &probing->findings.list[0], error);
	return r < 0 ? r : 0;
}

/* Put off is not well either, but nothing that a person could mend. */
static enum exit_code exit_code_of_findings(const struct probe_findings *findings)
{
	switch (probe_findings_worst(findings)) {
	case PROBE_OK:
		return EXIT_DONE;
	case PROBE_PUT_OFF:
		return EXIT_BLIND;
	case PROBE_FAILED:
	case PROBE_CANNOT:
		break;
	}
	return EXIT_ATTENTION;
}

static enum exit_code probe_run(struct probing *probing)
{
	struct error error = { 0 };
	int r = nobody_holds(probing, &error);

	if (r <= 0)
		return r < 0 ? complain(&error, error.code) : EXIT_ATTENTION;
	signals_hold();
	probe_all(probing);
	print_findings(&probing->findings);
	if (conclude(probing, &error) < 0) {
		alert("what the probe found cannot be written down: %s", error.text);
		return exit_code_worse(EXIT_ATTENTION, exit_code_of_error(error.code));
	}
	return exit_code_of_findings(&probing->findings);
}

enum exit_code cmd_probe(const struct options *options)
{
	struct probing probing CLEANUP(probing_done) = {
		.endpoint.fd = -EBADF,
		.lock = -EBADF,
	};
	enum exit_code code = books_open(options, STORE_WRITE, &probing.books);
	char *lock CLEANUP(mem_done) = NULL;
	struct error error = { 0 };

	if (code != EXIT_DONE)
		return code;
	if (geteuid() != 0) {
		notice("only root can probe: it mounts, and tries the walls of the "
		       "system's " PROBE_UNIT
		       "; that of a user has none that keep it from a user's files. Nothing was "
		       "tried, and nothing is held");
		return EXIT_USAGE;
	}
	lock = mem_printf("%s.probe.lock", probing.books.settings.database);
	probing.lock = lock_take(lock, probing.books.now_s, &error);
	if (probing.lock < 0) {
		notice("%s", error.text);
		return probing.lock == -EBUSY ? EXIT_LOCKED : EXIT_STATE;
	}
	return probe_run(&probing);
}
