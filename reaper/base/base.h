/*
 * What every file of this program leans on: cleanup attributes, hand-over of ownership, and
 * allocation that aborts instead of failing (we are safe to be killed at any line, so running out
 * of memory is one more kill).
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The variable is handed to fn(&variable) when it leaves its scope. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Hands a pointer or descriptor over to another owner; the variable is left as nothing. */
#define TAKE_PTR(p)                     \
	({                              \
		typeof(p) taken_ = (p); \
		(p) = NULL;             \
		taken_;                 \
	})
#define TAKE_FD(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -EBADF;     \
		taken_;            \
	})

/* Destructors for locals: they accept nothing (NULL, a negative descriptor) and return nothing. */
void mem_done(void *pointer_to_pointer);
void fd_done(int *fd);
void file_done(FILE **file);

/* Allocation never fails: it aborts with a message. The caller owns what is returned. */
void *mem_new(size_t size);                              /* zeroed */
void *mem_grow(void *old, size_t count, size_t element); /* realloc to count elements */
char *mem_dup(const char *text);                         /* NULL gives NULL */
char *mem_printf(const char *format, ...) PRINTF_LIKE(1, 2);

static inline bool text_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}
