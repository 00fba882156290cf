/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What channel.c and carry.c share: a run of bytes with their cells, as the program passed them on. */
#ifndef HOLDFAST_TRACER_CHANNEL_H
#define HOLDFAST_TRACER_CHANNEL_H

#include "cell.h"

/* Bytes that were written in one call. */
struct carried {
	SizeT len;
	struct cell *cell; /* NULL: all are concrete, and `byte` is not kept */
	UChar *byte;
	UInt site, ctx; /* of the call, if any byte is symbolic */
};
struct carried carried_copy(ThreadId tid, const struct vki_iovec *, UWord n);
void carried_free(struct carried *);
/* Whether bytes from `from` on are symbolic. */
Bool carried_symbolic(const struct carried *, SizeT from);
/* Byte i has arrived at a. False: it is not the one that was written. */
Bool carried_arrive(const struct carried *, SizeT i, Addr a);

/* The channel that bytes written to fd go to. False: it is none, or came from outside. */
Bool channel_of_writer(Int fd, UInt *to);
Bool channel_inside(UInt); /* this process can read it */
Bool channel_of_reader(Int fd, UInt *from);
void channel_lose(UInt); /* what is in it is not known any more */
/* A write by tid begins; and ends: so many bytes of it went through. */
void channel_write(UInt to, ThreadId tid, struct carried);
void channel_written(ThreadId tid, SizeT n);
Bool channel_symbolic(UInt); /* there are symbolic bytes in it */
/* So many bytes came out, into these places (NULL: elsewhere). False: of another process, too. */
Bool channel_read(UInt from, const struct vki_iovec *, UWord n, SizeT len, Bool peek);

#endif
