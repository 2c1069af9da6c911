/* What every cmocka program includes first. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka 1.1.5 wants the headers above. */
#include <cmocka.h>

#include "base/base.h"
#include "base/error.h"
