/*
 * Removes trees as the purge of the trash does, behind its wall, and nothing else of a pass:
 *
 *   remove_tree DIRECTORY NAME...
 */
#include "base/clock.h"
#include "os/rmtree.h"
#include "os/signals.h"

#include <fcntl.h>

enum { PATIENCE_MS = 3600 * 1000 };

int main(int count, char **arguments)
{
	struct rmtree_report report = { 0 };
	struct error error = { 0 };
	int failed = 0, directory;

	if (count < 3)
		return 2;
	signals_hold();
	directory = open(arguments[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 2; i < count && directory >= 0; i++)
		failed += rmtree(directory, arguments[i],
				  &(struct rmtree_limits){
					  .deadline_ms = deadline_in_ms(PATIENCE_MS) },
				  &report, &error) != 1;
	if (directory >= 0 && !failed)
		return 0;
	(void)fprintf(stderr, "remove_tree: %s\n", error.code ? error.text : "nothing was there");
	return 1;
}
