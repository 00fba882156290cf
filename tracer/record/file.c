/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that back PM, and others that the program changes (node.c): each has one number.
 *
 * A file is announced to holdfast when it is first mapped or used as PM; holdfast copies its
 * contents before the program continues, so that any later image can be rebuilt.
 */
#include "record.h"

#define AT_EMPTY_PATH 0x1000

static XArray *files;        /* struct file, the id is the index */
static struct intern newest; /* dev and ino -> the newest with them, plus 1 */

struct file *file_at(UInt id)
{
	return VG_(indexXA)(files, id);
}

/* The time of creation tells a new file from an old one with the same inode number. */
static ULong birth(Int dirfd, const HChar *path, UInt flags)
{
	enum { STATX_BTIME = 0x800 };
	struct vki_statx x;
	SysRes r = VG_(do_syscall)(__NR_statx, (UWord)dirfd, (UWord)path, flags, STATX_BTIME,
				   (UWord)&x, 0, 0, 0);
	if (sr_isError(r) || !(x.stx_mask & STATX_BTIME))
		return 0;
	return (ULong)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec;
}

static ULong birth_of(Int fd, const HChar *path)
{
	return fd >= 0 ? birth(fd, "", AT_EMPTY_PATH) : birth(VKI_AT_FDCWD, path, 0);
}

static UInt file_lookup(ULong dev, ULong ino, Int fd, const HChar *path)
{
	ULong key[3] = { dev, ino, 0 };
	UInt id = *intern_at(&newest, key) - 1;
	if (id == NO_FILE || file_at(id)->unlinked)
		return NO_FILE;
	ULong born = birth_of(fd, path), old = file_at(id)->born;
	return born && old && born != old ? NO_FILE : id;
}

UInt file_find(const struct vg_stat *st, Int fd)
{
	return file_lookup(st->dev, st->ino, fd, NULL);
}

static UInt add_file(const struct vg_stat *st, Int fd, const HChar *path)
{
	ULong key[3] = { st->dev, st->ino, 0 };
	struct file f = { .dev = st->dev, .ino = st->ino, .born = birth_of(fd, path) };
	if (files == NULL)
		files = VG_(newXA)(VG_(malloc), "hf.files", VG_(free), sizeof(struct file));
	UInt id = (UInt)VG_(addToXA)(files, &f);
	*intern_at(&newest, key) = id + 1;
	return id;
}

UInt file_add(const struct vg_stat *st, Int fd)
{
	return add_file(st, fd, NULL);
}

static UInt only_pm(UInt id)
{
	return id != NO_FILE && file_at(id)->pm ? id : NO_FILE;
}

/* PM or not, if it is recorded what is written to it. */
UInt file_changed(Int fd)
{
	struct vg_stat st;
	if (files == NULL || VG_(fstat)(fd, &st) != 0)
		return NO_FILE;
	return file_lookup(st.dev, st.ino, fd, NULL);
}

UInt file_by_fd(Int fd)
{
	return only_pm(file_changed(fd));
}

UInt file_by_path(const HChar *path)
{
	struct vg_stat st;
	if (files == NULL || sr_isError(VG_(stat)(path, &st)))
		return NO_FILE;
	return file_lookup(st.dev, st.ino, -1, path);
}

/* The name is gone. The inode's number may be reused once nothing maps or opens it. */
void file_unlinked(UInt file)
{
	if (!region_of_file(file))
		file_at(file)->unlinked = True;
}

UInt file_announce(Int fd, const struct vg_stat *st, const HChar *path)
{
	UInt id = file_lookup(st->dev, st->ino, fd, path);
	if (only_pm(id) != NO_FILE)
		return id;
	if (id == NO_FILE)
		id = add_file(st, fd, path);
	file_at(id)->pm = True;
	const HChar *name = outside_name(path);
	SysRes own = { ._isError = True };
	if (fd < 0 && name != path) /* it is not there by that name */
		own = VG_(open)(path, VKI_O_RDONLY, 0);
	if (!sr_isError(own))
		fd = (Int)sr_Res(own);
	ULong args[4] = { id, st->dev, st->ino, (ULong)(Long)fd };
	emit_and_wait(TRACE_DEF_FILE, 4, args, name, (UInt)VG_(strlen)(name));
	node_is_pm(id, fd, name);
	if (!sr_isError(own))
		VG_(close)(fd);
	return id;
}

/* Files that were made without a name, and may get one: linkat. */
static struct {
	ULong dev, ino;
} * nameless;
static UInt nnameless;

static Bool may_get_name(const struct vg_stat *st)
{
	for (UInt i = 0; i < nnameless; i++)
		if (nameless[i].dev == st->dev && nameless[i].ino == st->ino)
			return True;
	return False;
}

void file_may_get_name(Int fd)
{
	struct vg_stat st;
	if (VG_(fstat)(fd, &st) != 0 || may_get_name(&st))
		return;
	nameless = VG_(realloc)("hf.nameless", nameless, (nnameless + 1) * sizeof *nameless);
	nameless[nnameless].dev = st.dev;
	nameless[nnameless++].ino = st.ino;
}

/* Is this a file whose shared mappings are persistent memory? */
Bool file_is_pm(const struct vg_stat *st, const HChar *path)
{
	Bool regular = (st->mode & VKI_S_IFMT) == VKI_S_IFREG;
	path = outside_name(path);
	Bool dax = (st->mode & VKI_S_IFMT) == VKI_S_IFCHR && VG_(strncmp)(path, "/dev/dax", 8) == 0;
	if (!regular && !dax)
		return False;
	/* files without a name and the C library's semaphores are not persistent data */
	if ((st->nlink == 0 && !may_get_name(st)) || VG_(strncmp)(path, "/memfd:", 7) == 0 ||
	    VG_(strncmp)(path, "/dev/shm/sem.", 13) == 0)
		return False;
	return (VG_(sizeXA)(opt.pm) == 0 || glob_any(opt.pm, path)) &&
	       (dax || options_persist(path));
}

/*
 * Are loads from this file recorded, however it is read? Without --hf-pm only those from files that
 * are known already: nearly all files are read, few of them are pools.
 */
Bool file_is_loaded(Int fd, const struct vg_stat *st, const HChar *path)
{
	if (!opt.loads || !file_is_pm(st, path))
		return False;
	return VG_(sizeXA)(opt.pm) > 0 ||
	       only_pm(file_lookup(st->dev, st->ino, fd, path)) != NO_FILE;
}

UInt file_opened(Int fd)
{
	struct vg_stat st;
	const HChar *path;
	if (!opt.loads || VG_(fstat)(fd, &st) != 0 || !VG_(resolve_filename)(fd, &path) ||
	    !file_is_loaded(fd, &st, path))
		return file_by_fd(fd);
	return file_announce(fd, &st, path);
}
