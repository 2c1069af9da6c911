/*
 * Visits: what --repo leads to, one repository after the other, each with settings of its own
 * (config_visit.h).
 */
#pragma once

#include "exit_code.h"
#include "options.h"

/* What is done in each; the settings are its own from then on. */
typedef enum exit_code visit_act(const struct options *options, struct settings *settings);

/*
 * Finds the repositories that --repo names, and those below directories that it names: not behind
 * symlinks, in hidden directories or on other mounts, nor below a repository. Visits each once, all
 * of them, whatever becomes of one, until we are asked to stop. The worst of their codes; EXIT_USAGE
 * after having said what leads to none.
 */
enum exit_code visit_each(const struct options *options, visit_act *act);

/*
 * For verbs that know one repository only: the settings of a visit to it, or those that are configured
 * when none is asked for. EXIT_DONE, or with an error EXIT_USAGE when --repo leads to none, EXIT_STATE.
 */
enum exit_code visit_settings(
	const struct options *options, struct settings *ret_settings, struct error *error);
