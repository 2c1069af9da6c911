#include "session.h"

#include "config.h"

#include <errno.h>

int session_open(struct session *ret_session, const char *config, enum store_access access,
	struct error *error)
{
	struct session *session = ret_session;
	int r;

	*session = (struct session){ 0 };
	r = config_load(config, &session->settings, error);
	if (r < 0)
		return -EUCLEAN;
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
