/*
 * Golden files: what people read, byte for byte, in tests/fixtures/golden. After a change that is
 * meant, SBX_GOLDEN=renew build/dev/tests/unit/test_X writes those of that program anew, and git diff
 * shows what people will see of it.
 */
#pragma once

/* Fails the test with the whole text when the file, "plan-80.txt", has another one. */
void golden_check(const char *name, const char *text);
