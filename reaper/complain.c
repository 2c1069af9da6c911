#include "complain.h"

#include "notice.h"

enum exit_code complain(const struct error *error, int code)
{
	notice("%s", error->code ? error->text : strerror(abs(code)));
	return exit_code_of_error(code);
}
