/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is to see at a crash: made once, shared by the findings that are about it. */
#include <stdlib.h>

#include "finding/finding.h"

struct finding_scene *finding_scene_new(void)
{
	struct finding_scene *s = xcalloc(1, sizeof *s);
	s->users = 1;
	return s;
}

struct finding_scene *finding_scene_share(struct finding_scene *s)
{
	if (s)
		s->users++;
	return s;
}

void finding_field_free(struct finding_field *f)
{
	free(f->data);
	free(f->object);
	free(f->member);
	free(f->type);
	free(f->has);
	free(f->should);
	free(f->at);
	free(f->statement);
}

static void steps_free(struct finding_step *step, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(step[i].text);
	free(step);
}

void finding_scene_drop(struct finding_scene *s)
{
	if (!s || --s->users)
		return;
	for (size_t i = 0; i < s->field.n; i++)
		finding_field_free(&s->field.p[i]);
	VEC_FREE(&s->field);
	for (size_t i = 0; i < s->flight.n; i++) {
		free(s->flight.p[i].name);
		free(s->flight.p[i].input);
	}
	VEC_FREE(&s->flight);
	for (size_t i = 0; i < s->lane.n; i++) {
		free(s->lane.p[i].data);
		steps_free(s->lane.p[i].step.p, s->lane.p[i].step.n);
	}
	VEC_FREE(&s->lane);
	steps_free(s->fence.p, s->fence.n);
	free(s);
}
