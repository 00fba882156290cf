/* SPDX-License-Identifier: BSD-3-Clause */
/* Update behaviours: from the updates of a run to groups of shapes. infer.h says what they are. */
#include <stdlib.h>

#include "infer/behaviour.h"

static void ended(void *arg, const struct infer_epoch *e)
{
	infer_groups_add(arg, e);
}

struct infer_behaviours *infer_behaviours_read(const struct infer_updates *u,
					       struct trace_reader *trace, struct srcloc_trace *src)
{
	struct infer_behaviours *b = xcalloc(1, sizeof *b);
	struct infer_epochs epochs = { .ended = ended, .arg = b };
	struct infer_part part[INFER_MOST_PARTS];
	struct infer_update update;
	infer_typer_init(&b->typer, u, &b->named, trace, src);
	infer_epochs_init(&epochs, u);
	for (size_t i = 0; i < u->n; i++) {
		size_t n = infer_typer_at(&b->typer, i, &update, part);
		uint32_t statement = b->typer.place[update.place].statement;
		for (size_t k = 0; k < n; k++)
			infer_epochs_add(&epochs, (uint32_t)i, update.line, statement, &part[k]);
	}
	infer_epochs_end(&epochs);
	infer_groups_end(b);
	return b;
}

void infer_behaviours_free(struct infer_behaviours *b)
{
	if (!b)
		return;
	infer_groups_free(b);
	infer_typer_free(&b->typer);
	infer_named_free(&b->named);
	free(b);
}

const struct infer_type *infer_type_at(const struct infer_behaviours *b, size_t i)
{
	return i < b->named.type.n ? &b->named.type.p[i] : NULL;
}

const struct infer_field *infer_field_at(const struct infer_behaviours *b, size_t i)
{
	return i < b->named.field.n ? &b->named.field.p[i] : NULL;
}

const struct infer_behaviour *infer_behaviour_at(const struct infer_behaviours *b, size_t i)
{
	return i < b->behaviour.n ? &b->behaviour.p[i] : NULL;
}

const struct infer_shape *infer_shape_at(const struct infer_behaviours *b, size_t i)
{
	return i < b->shape.n ? &b->shape.p[i].v : NULL;
}

const struct infer_group *infer_group_at(const struct infer_behaviours *b, size_t i)
{
	return i < b->group.n ? &b->group.p[i].v : NULL;
}

uint64_t infer_typed(const struct infer_behaviours *b, size_t typing)
{
	return typing < INFER_TYPINGS ? b->typer.typed[typing] : 0;
}
