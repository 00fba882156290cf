/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/sandbox/ share. */
#ifndef HOLDFAST_SANDBOX_INTERNAL_H
#define HOLDFAST_SANDBOX_INTERNAL_H

#include "sandbox/sandbox.h"

#include <sys/stat.h>

/* mounts.c: paths, and where something is mounted. */
const char *sandbox_path_below(const char *path, const char *dir);
void sandbox_mounts_read(struct sandbox_strings *); /* adds to what there is */
char *sandbox_mount_path(const char *line); /* of the mount table; malloc'ed; NULL: it has none */
bool sandbox_mount_between(const struct sandbox_strings *mounts, const char *dir, const char *path);
/* Is it one of the outermost mounts below dir? */
bool sandbox_mount_outermost(const struct sandbox_strings *mounts, size_t i, const char *dir);

/* What belongs into the upper folder of a row. */
enum entry_kind {
	ENTRY_FOLDER,
	ENTRY_IMAGE, /* a link to it */
	ENTRY_COPY,  /* of the file as it is */
	ENTRY_GONE,  /* what is there is not to be seen */
	ENTRY_LINK,
};
struct entry {
	char *rel; /* below the upper folder; "": that itself */
	enum entry_kind kind;
	unsigned image;
	char *target;      /* of ENTRY_LINK */
	struct stat *like; /* owner and mode to have; NULL: no matter */
	ino_t ino;         /* once it is there */
	mode_t mode;
};

/*
 * A row of the plan. Row N is made of these, in the cell's private folder:
 *
 *    ROW_OVERLAY  lN  the folder at `path` as it is (never written)
 *                 uN  what is changed in it: at first the entries and nothing else
 *                 wN  overlayfs's own
 *    ROW_AGAIN    sN  what is mounted at `path`, below the overlay of row `over`, which hides it
 *    ROW_IMAGE    sN  an image, which is mounted over the file at `path`
 *
 * Rows are performed in their order. sandbox_plan makes them and changes nothing but memory.
 */
enum row_kind { ROW_OVERLAY, ROW_AGAIN, ROW_IMAGE };
struct row {
	enum row_kind kind;
	char *path;
	size_t over;    /* of ROW_AGAIN */
	unsigned image; /* of ROW_IMAGE */
	bool optional;  /* the program can do without */
	bool singly;    /* no overlay is possible: the images in it are mounted one by one */
	bool failed, prepared, filled, mounted;
	VEC(struct entry) entry;
	struct hmap at; /* hash of an entry's name -> its index */
};

struct shown {
	char *home; /* the file's path by which we know it */
	char *path; /* where it should be; NULL: nowhere */
	char *seen; /* the same without symbolic links, or in the private folder */
	bool optional;
};
/* Another name. */
struct also {
	enum sandbox_kind kind;
	size_t file;
	char *path, *target;
};
struct folder {
	char *dir; /* without symbolic links */
	bool optional;
};
struct sandbox_cell {
	const struct sandbox_view *view;
	char *cwd;
	int base;    /* the private folder */
	char *home;  /* its path; NULL: it is a tmpfs that goes by itself */
	mode_t mode; /* of images, unless a real file has another */
	bool replayed;
	VEC(struct row) row;
	VEC(struct folder) folder;      /* to be covered besides those of the files */
	struct sandbox_strings foreign; /* files that we may write, but that are not ours */
	struct shown *file;
	size_t nfile;
	VEC(struct also) also;
	bool planned, shown;
};

/* What a view does; NULL: nothing. All but probe and refuses are called in the cell's process. */
struct sandbox_ops {
	unsigned long spaces;                                    /* CLONE_NEW…; 0: none */
	int (*probe)(const struct sandbox_view *, struct err *); /* in a process of its own */
	int (*make)(struct sandbox_cell *, struct err *);        /* sets base, and home */
	int (*plan)(struct sandbox_cell *, struct err *); /* sets rows, and where files are seen */
	int (*show)(struct sandbox_cell *, struct err *); /* performs the plan, as upper folders
							   * have all that belongs into them */
	void (*hide)(struct sandbox_cell *);
	void (*forget)(struct sandbox_cell *); /* undoes what lasts as long as the plan; hidden */
	void (*clean)(const struct sandbox_cell *); /* removes what a run left that has no path */
	int (*sign)(int dirfd, const char *name);   /* for ENTRY_GONE */
	void (*env)(const struct sandbox_cell *, struct sandbox_strings *);
	char *(*refuses)(const char *program); /* see sandbox.h */
	char *(*refused)(const struct sandbox_cell *);
};
extern const struct sandbox_ops sandbox_ops_mount, sandbox_ops_userns, sandbox_ops_preload,
	sandbox_ops_subst;
bool sandbox_is_user(const struct sandbox_cell *); /* in a user namespace */

/* space.c */
void sandbox_space_loopback(void); /* the only interface of a new network is up */

/* cell.c */
void sandbox_cell_unplan(struct sandbox_cell *); /* it is shown nowhere, and made anew */

/* layer.c: the upper folder of a row. */
void sandbox_row_add(struct row *, const char *rel, enum entry_kind, unsigned image,
		     const struct stat *like);
void sandbox_row_wipe(const struct sandbox_cell *, size_t row);
int sandbox_row_fill(struct sandbox_cell *, size_t row, struct err *);
bool sandbox_row_changed(const struct sandbox_cell *, size_t row, bool *replaced);
void sandbox_row_free(struct row *);

/* plan_also.c: other names; to be called for folders first, and for entries after images. */
char *sandbox_existing(const char *path, const char **rest);
char *sandbox_joined(const char *dir, const char *rel);
struct planning;
struct row *sandbox_plan_covering(struct planning *, const char *path, bool file);
void sandbox_plan_also(struct planning *, struct sandbox_cell *);

/* plan.c */
int sandbox_plan(struct sandbox_cell *, struct err *); /* over the folders as they are */
/* Folders on the way down must be there, like those that they stand for. */
void sandbox_plan_parents(const struct sandbox_cell *, struct row *, const char *rel);

/* view_subst.c */
int sandbox_make_folder(struct sandbox_cell *, struct err *); /* where there is no namespace */

#endif
