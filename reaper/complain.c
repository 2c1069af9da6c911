#include "complain.h"

enum exit_code complain(const struct error *error, int code)
{
	(void)fprintf(stderr, "sbx-reap: %s\n", error->code ? error->text : strerror(abs(code)));
	return exit_code_of_error(code);
}
