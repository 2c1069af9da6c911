/*
 * A new database in place of a lost one, filled from what stands beside the workspaces.
 */
#pragma once

#include "books.h"

/*
 * Makes the database anew (never over one that is there, unless an earlier call was killed while it
 * filled that) and reads every trusted marker and every pin of all roots into it, and what was
 * salvaged (the refs of the configured repositories, the archives beside the database); says what
 * could not be read (EXIT_ATTENTION), and what would be right. Of a run with two markers none is. The books has settings and no store yet; afterwards it has none either. What is
 * not read in stays on record by its marker.
 */
enum exit_code rebuild(struct books *books);
