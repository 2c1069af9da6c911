/*
 * Run identifiers: the key of everything. One path component, used verbatim as a file name, so the
 * rule is an allow-list, and it is asked at every use, not only where an identifier enters.
 */
#pragma once

#include "base.h"
#include "error.h"

enum { RUNID_MAX = 128 };

/*
 * [A-Za-z0-9][A-Za-z0-9._+=@-]{0,127}, without "..", not ending in ".", ".lock", ".sbx" or ".keep"
 * (".lock": git refuses such branch names; the others are our own files beside the workspace).
 */
bool runid_valid(const char *run);

/* 0, or -EINVAL with an error that says which rule the identifier breaks. */
int runid_check(const char *run, struct error *error);
