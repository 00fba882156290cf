/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is to see at a crash, as JSON and back: fields, operations under way, lines. */
#include <stdlib.h>

#include "report/internal.h"

static void add_number(cJSON *to, const char *name, uint64_t value)
{
	cJSON_AddNumberToObject(to, name, (double)value);
}

static void add_text(cJSON *to, const char *name, const char *text)
{
	if (text)
		report_add_text(to, name, text);
}

static cJSON *field_tree(const struct finding_field *f)
{
	cJSON *o = cJSON_CreateObject();
	add_text(o, "data", f->data);
	add_number(o, "size", f->size);
	add_text(o, "object", f->object);
	add_text(o, "member", f->member);
	add_text(o, "type", f->type);
	add_text(o, "has", f->has);
	add_text(o, "should", f->should);
	add_text(o, "at", f->at);
	add_text(o, "statement", f->statement);
	add_number(o, "event", f->event);
	return o;
}

static cJSON *flight_tree(const struct finding_flight *f)
{
	cJSON *o = cJSON_CreateObject();
	add_number(o, "index", f->index);
	add_number(o, "id", f->id);
	add_text(o, "name", f->name);
	add_text(o, "input", f->input);
	add_number(o, "begin", f->begin);
	add_number(o, "thread", f->thread);
	return o;
}

cJSON *report_steps(const struct finding_step *step, size_t n)
{
	cJSON *a = cJSON_CreateArray();
	for (size_t i = 0; i < n; i++) {
		cJSON *o = cJSON_CreateObject();
		add_number(o, "event", step[i].event);
		add_number(o, "thread", step[i].thread);
		report_add_text(o, "what", step[i].what);
		add_text(o, "text", step[i].text);
		cJSON_AddItemToArray(a, o);
	}
	return a;
}

void report_add_scene(cJSON *to, const struct finding_scene *s)
{
	if (!s)
		return;
	cJSON *fields = cJSON_AddArrayToObject(to, "fields");
	for (size_t i = 0; i < s->field.n; i++)
		cJSON_AddItemToArray(fields, field_tree(&s->field.p[i]));
	if (s->fields > s->field.n)
		add_number(to, "fields_all", s->fields);
	if (s->flight.n) {
		cJSON *flights = cJSON_AddArrayToObject(to, "in_flight");
		for (size_t i = 0; i < s->flight.n; i++)
			cJSON_AddItemToArray(flights, flight_tree(&s->flight.p[i]));
	}
	cJSON *lanes = cJSON_AddArrayToObject(to, "lines");
	for (size_t i = 0; i < s->lane.n; i++) {
		cJSON *o = cJSON_CreateObject();
		report_add_text(o, "data", s->lane.p[i].data);
		cJSON_AddItemToObject(o, "steps",
				      report_steps(s->lane.p[i].step.p, s->lane.p[i].step.n));
		cJSON_AddItemToArray(lanes, o);
	}
	cJSON_AddItemToObject(to, "fences", report_steps(s->fence.p, s->fence.n));
	if (s->cut)
		cJSON_AddBoolToObject(to, "lines_cut", true);
}

/* ---- and back ---- */

static struct finding_field field_of(const cJSON *o)
{
	return (struct finding_field){
		.data = report_own_text(o, "data"),
		.size = (uint32_t)report_number(o, "size"),
		.object = report_own_text(o, "object"),
		.member = report_own_text(o, "member"),
		.type = report_own_text(o, "type"),
		.has = report_own_text(o, "has"),
		.should = report_own_text(o, "should"),
		.at = report_own_text(o, "at"),
		.statement = report_own_text(o, "statement"),
		.event = report_number(o, "event"),
	};
}

static struct finding_flight flight_of(const cJSON *o)
{
	return (struct finding_flight){ .name = report_own_text(o, "name"),
					.input = report_own_text(o, "input"),
					.index = report_number(o, "index"),
					.id = report_number(o, "id"),
					.begin = report_number(o, "begin"),
					.thread = (uint32_t)report_number(o, "thread") };
}

static struct finding_lane lane_of(const cJSON *o)
{
	struct finding_lane lane = { .data = report_own_text(o, "data") };
	const cJSON *step;
	cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(o, "steps"))
		VEC_PUSH(&lane.step, report_step_of(step));
	return lane;
}

struct finding_scene *report_scene_of(const cJSON *witness)
{
	const cJSON *item, *lines = cJSON_GetObjectItemCaseSensitive(witness, "lines");
	if (!cJSON_IsArray(lines))
		return NULL;
	struct finding_scene *s = finding_scene_new();
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(witness, "fields"))
		VEC_PUSH(&s->field, field_of(item));
	s->fields = report_number(witness, "fields_all");
	if (s->fields < s->field.n)
		s->fields = s->field.n;
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(witness, "in_flight"))
		VEC_PUSH(&s->flight, flight_of(item));
	cJSON_ArrayForEach(item, lines) VEC_PUSH(&s->lane, lane_of(item));
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(witness, "fences"))
		VEC_PUSH(&s->fence, report_step_of(item));
	s->cut = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(witness, "lines_cut"));
	return s;
}
