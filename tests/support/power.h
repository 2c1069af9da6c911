/*
 * What a power cut leaves of some directories: what was synced. While a program is traced, note each
 * of its syncs; when it was killed, cut. Of a file counts what it held at its last fsync or fdatasync,
 * of a directory the names at its last fsync; directories themselves, and what happens to them, persist
 * (journaling filesystems promise no less).
 */
#pragma once

#include "tracer.h"

struct power_watch {
	const char *top;
	bool whole;                         /* with all that is below; else its own files only */
	bool (*concerns)(const char *name); /* which files; NULL: all */
};

struct power_file {
	uint64_t ino;
	mode_t mode;
	char *content;
	size_t length;
};

struct power_name {
	uint64_t directory, file; /* inodes */
	char *name;
};

/* Empty at first. All directories are on one filesystem. */
struct power {
	const struct power_watch *watches;
	size_t watch_count;
	struct power_file *files; /* as they were last synced */
	struct power_name *names;
	size_t file_count, name_count;
	uint64_t dev;
};

/* Everything that is there now is taken for synced. */
void power_begin(struct power *power, const struct power_watch *watches, size_t watch_count);

/* For each fsync and fdatasync that is going to be made. */
void power_note(struct power *power, const struct tracer_call *call);

/*
 * What was not synced is gone; but of files for which `spared` (may be NULL) says so all is left that
 * was written, as if the disk had come to that first.
 */
void power_cut(struct power *power, bool (*spared)(const char *name));
void power_done(struct power *power);
