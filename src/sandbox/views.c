/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of views, the best first. */
#include "sandbox/internal.h"

#include <string.h>
#include <unistd.h>

static const struct sandbox_view views[] = {
	{
		.name = "mount",
		.text = "in a private mount namespace",
		.about = "at its path, in a private mount namespace, as root",
		.flags = SANDBOX_PIDS | SANDBOX_NET | SANDBOX_MOUNTS,
		.ops = &sandbox_ops_mount,
	},
	{
		.name = "userns",
		.text = "in an unprivileged user namespace",
		.about = "the same, in a user namespace, which needs no root",
		.flags = SANDBOX_PIDS | SANDBOX_NET | SANDBOX_MOUNTS,
		.ops = &sandbox_ops_userns,
	},
	{
		.name = "preload",
		.text = "through a preloaded library",
		.about = "at its path, by a library in front of libc, where namespaces are refused",
		.lacks =
			"programs that are statically linked, or that get rights of their own, are "
			"refused, the network is shared, and servers are run one at a time",
		.ops = &sandbox_ops_preload,
	},
	{
		.name = "subst",
		.text = "as a copy elsewhere, in place of {pool}",
		.about = "in a folder of its own, by {pool} in the command",
		.lacks = "what else the command writes or leaves behind is not kept apart and "
			 "stays, and servers are run one at a time",
		.flags = SANDBOX_MOVED,
		.ops = &sandbox_ops_subst,
	},
};
#define NVIEWS (sizeof views / sizeof *views)

const struct sandbox_view *sandbox_view_at(size_t i)
{
	return i < NVIEWS ? &views[i] : NULL;
}

const struct sandbox_view *sandbox_view_named(const char *name)
{
	for (size_t i = 0; i < NVIEWS; i++)
		if (!strcmp(views[i].name, name))
			return &views[i];
	return NULL;
}

int sandbox_view_works(const struct sandbox_view *view, struct err *why)
{
	static struct {
		bool known;
		uid_t uid; /* for whom */
		int bad;
		struct err why;
	} tried[NVIEWS];
	size_t i = (size_t)(view - views);
	if (!tried[i].known || tried[i].uid != geteuid()) {
		tried[i].bad = view->ops->probe ? view->ops->probe(view, &tried[i].why) : 0;
		tried[i].known = true;
		tried[i].uid = geteuid();
	}
	if (tried[i].bad && why)
		*why = tried[i].why;
	return tried[i].bad;
}

char *sandbox_view_refuses(const struct sandbox_view *view, const char *program)
{
	return view->ops->refuses ? view->ops->refuses(program) : NULL;
}
