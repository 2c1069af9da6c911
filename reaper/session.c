#include "session.h"

#include "base/pathname.h"
#include "config.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>

/*
 * Of the first visit of a host that has not been set up "<state>/sbx" is missing, too: for root a
 * database makes only its own directory. What cannot be made says who needs it.
 */
static void place_make(const char *database)
{
	char *own CLEANUP(mem_done) = pathname_parent(database);
	char *above CLEANUP(mem_done) = pathname_parent(own);
	char *state CLEANUP(mem_done) = pathname_parent(above);
	int dir CLEANUP(fd_done) = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0)
		(void)file_make_directory(dir, pathname_last(above), 0755);
}

int session_open(struct session *ret_session, struct settings *settings, enum store_access access,
	struct error *error)
{
	struct session *session = ret_session;
	int r;

	*session = (struct session){ .settings = *settings };
	*settings = (struct settings){ 0 };
	if (access == STORE_WRITE && session->settings.visited)
		place_make(session->settings.database);
	r = store_open(session->settings.database, access, &session->store, error);
	if (r == -ENOENT && access == STORE_READ)
		*error = (struct error){ 0 };
	else if (r < 0)
		return r == -EBUSY ? r : -EUCLEAN;
	if (session->store && store_verify_books(session->store, error) < 0)
		return error->code == EBUSY ? -EBUSY : -EUCLEAN;
	r = world_open(&session->world, &session->settings, session->store, error);
	if (access == STORE_WRITE) {
		session->watch.settings = &session->settings;
		session->world.watch = &session->watch;
	}
	return r;
}

void session_close(struct session *session)
{
	world_close(&session->world);
	if (session->store)
		store_close(session->store);
	session->store = NULL;
	settings_done(&session->settings);
}
