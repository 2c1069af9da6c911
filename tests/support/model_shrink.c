#include "model_shrink.h"

static struct ops without(const struct ops *ops, unsigned from, unsigned count)
{
	struct ops left = { 0 };

	for (unsigned i = 0; i < ops->count; i++)
		if (i < from || i >= from + count)
			left.items[left.count++] = ops->items[i];
	return left;
}

void ops_shrink(struct ops *ops, bool (*fails)(void *context, const struct ops *ops), void *context,
	unsigned tries)
{
	unsigned piece = ops->count / 2;
	bool shorter = true;

	while (piece > 0) {
		shorter = false;
		for (unsigned from = 0; from < ops->count && tries > 0;) {
			struct ops left = without(ops, from, piece);

			tries--;
			if (fails(context, &left)) {
				*ops = left;
				shorter = true;
			} else {
				from += piece;
			}
		}
		if (tries == 0 || (piece == 1 && !shorter))
			return;
		piece = piece > 1 ? piece / 2 : 1;
	}
}
