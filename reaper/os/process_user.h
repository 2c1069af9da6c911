/* Whose process it is. For the files of os/ only. */
#pragma once

#include "base/base.h"

/*
 * Whether no run of ours can have started the process of an entry (proc_open()): its real user is another
 * one, or it is of the system's own part of our session. What cannot be told may be ours.
 */
bool process_is_another_users(int entry);
