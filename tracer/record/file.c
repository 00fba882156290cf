/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that back PM.
 *
 * A file is announced to holdfast when it is first mapped or used as PM; holdfast copies its
 * contents before the program continues, so that any later image can be rebuilt.
 */
#include "record.h"

#define AT_EMPTY_PATH 0x1000

struct file {
	ULong dev, ino, born; /* inode numbers are reused; born: time of creation, 0 if unknown */
	Bool unlinked;
};
static XArray *files; /* struct file, the id is the index */

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

static Bool file_known(ULong dev, ULong ino, UInt *id)
{
	for (Word i = files ? VG_(sizeXA)(files) - 1 : -1; i >= 0; i--) {
		struct file *f = VG_(indexXA)(files, i);
		*id = (UInt)i;
		if (f->dev == dev && f->ino == ino && !f->unlinked)
			return True;
	}
	return False;
}

static UInt file_lookup(ULong dev, ULong ino, Int fd, const HChar *path)
{
	UInt id;
	if (!file_known(dev, ino, &id))
		return NO_FILE;
	ULong born = birth_of(fd, path), old = ((struct file *)VG_(indexXA)(files, id))->born;
	return born && old && born != old ? NO_FILE : id;
}

UInt file_by_fd(Int fd)
{
	struct vg_stat st;
	if (files == NULL || VG_(fstat)(fd, &st) != 0)
		return NO_FILE;
	return file_lookup(st.dev, st.ino, fd, NULL);
}

UInt file_by_path(const HChar *path)
{
	struct vg_stat st;
	if (files == NULL || sr_isError(VG_(stat)(path, &st)))
		return NO_FILE;
	return file_lookup(st.dev, st.ino, -1, path);
}

/* The same, but symbolic links are not followed. */
UInt file_by_name(const HChar *path)
{
	struct vki_stat st;
	SysRes r = VG_(do_syscall)(__NR_lstat, (UWord)path, (UWord)&st, 0, 0, 0, 0, 0, 0);
	if (files == NULL || sr_isError(r) || (st.st_mode & VKI_S_IFMT) == VKI_S_IFLNK)
		return NO_FILE;
	return file_lookup(st.st_dev, st.st_ino, -1, path);
}

/* The name is gone. The inode's number may be reused once nothing maps or opens it. */
void file_unlinked(UInt file)
{
	struct file *f = VG_(indexXA)(files, file);
	if (!region_of_file(file))
		f->unlinked = True;
}

UInt file_announce(Int fd, const struct vg_stat *st, const HChar *path)
{
	UInt id = file_lookup(st->dev, st->ino, fd, path);
	if (id != NO_FILE)
		return id;
	if (files == NULL)
		files = VG_(newXA)(VG_(malloc), "hf.files", VG_(free), sizeof(struct file));
	struct file f = { st->dev, st->ino, birth_of(fd, path), False };
	id = (UInt)VG_(addToXA)(files, &f);
	const HChar *name = outside_name(path);
	SysRes own = { ._isError = True };
	if (fd < 0 && name != path) /* it is not there by that name */
		own = VG_(open)(path, VKI_O_RDONLY, 0);
	if (!sr_isError(own))
		fd = (Int)sr_Res(own);
	ULong args[4] = { id, st->dev, st->ino, (ULong)(Long)fd };
	emit_and_wait(TRACE_DEF_FILE, 4, args, name, (UInt)VG_(strlen)(name));
	if (!sr_isError(own))
		VG_(close)(fd);
	return id;
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
	if (st->nlink == 0 || VG_(strncmp)(path, "/memfd:", 7) == 0 ||
	    VG_(strncmp)(path, "/dev/shm/sem.", 13) == 0)
		return False;
	return VG_(sizeXA)(opt.pm) == 0 || glob_any(opt.pm, path);
}

/*
 * Are loads from this file recorded, however it is read? Without --hf-pm only those from files that
 * are known already: nearly all files are read, few of them are pools.
 */
Bool file_is_loaded(Int fd, const struct vg_stat *st, const HChar *path)
{
	if (!opt.loads || !file_is_pm(st, path))
		return False;
	return VG_(sizeXA)(opt.pm) > 0 || file_lookup(st->dev, st->ino, fd, path) != NO_FILE;
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
