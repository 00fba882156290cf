/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kept finding, read back. It comes from a file that may be damaged: whatever is not of the type
 * that it should be is taken as not there, and without the parts that make a finding it is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

static const cJSON *field(const cJSON *o, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(o, name);
}

static const char *text(const cJSON *o, const char *name)
{
	const cJSON *item = field(o, name);
	return cJSON_IsString(item) ? item->valuestring : NULL;
}

char *report_own_text(const cJSON *o, const char *name)
{
	return text(o, name) ? xstrdup(text(o, name)) : NULL;
}

uint64_t report_number(const cJSON *o, const char *name)
{
	const cJSON *item = field(o, name);
	double value = cJSON_IsNumber(item) ? item->valuedouble : 0;
	return value > 0 && value < 0x1p63 ? (uint64_t)value : 0;
}

static uint32_t small(const cJSON *o, const char *name)
{
	uint64_t value = report_number(o, name);
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static uint8_t how(const cJSON *o)
{
	const char *name = text(o, "how");
	for (uint8_t i = SRCLOC_CODE; name && i <= SRCLOC_CUT; i++)
		if (report_how(i) && !strcmp(name, report_how(i)))
			return i;
	return SRCLOC_CODE;
}

static struct srcloc_frame frame(const cJSON *o)
{
	return (struct srcloc_frame){
		.function = text(o, "function"),
		.file = text(o, "file"),
		.line = small(o, "line"),
		.column = small(o, "column"),
		.module = text(o, "module"),
		.offset = text(o, "offset") ? strtoull(text(o, "offset"), NULL, 16) : 0,
		.kind = how(o),
		.inlined = cJSON_IsTrue(field(o, "inlined")),
		.helper = cJSON_IsTrue(field(o, "helper")),
	};
}

static struct finding_place place(const cJSON *o)
{
	const cJSON *stack = field(o, "stack"), *item;
	VEC(struct srcloc_frame) frames = { 0 };
	struct finding_place kept = { NULL, 0 };
	cJSON_ArrayForEach(item, stack)
	{
		struct srcloc_frame f = frame(item);
		VEC_PUSH(&frames, f);
	}
	if (frames.n)
		kept = finding_place_copy((struct srcloc_where){ frames.p, frames.n });
	VEC_FREE(&frames);
	return kept;
}

/* A kind that is not in the table: a custom oracle's, which need not be loaded now. */
static const struct finding_kind_info *custom_kind(const cJSON *o, const char *name,
						   enum finding_level level)
{
	static VEC(struct finding_kind_info *) kinds;
	struct finding_kind_info info = { finding_intern(name), level,
					  finding_intern(text(o, "title")),
					  finding_intern(text(o, "help")) };
	if (!info.title)
		info.title = info.name;
	for (size_t i = 0; i < kinds.n; i++)
		if (kinds.p[i]->name == info.name && kinds.p[i]->level == info.level &&
		    kinds.p[i]->title == info.title && kinds.p[i]->help == info.help)
			return kinds.p[i];
	struct finding_kind_info *kept = xcalloc(1, sizeof *kept);
	*kept = info;
	VEC_PUSH(&kinds, kept);
	return kept;
}

static const struct finding_kind_info *kind_of(const cJSON *o)
{
	const char *name = text(o, "kind"), *level_name = text(o, "level");
	if (!name || !level_name)
		return NULL;
	const struct finding_kind_info *known = finding_kind_named(name);
	for (int i = 0; !known && i < FINDING_LEVELS; i++)
		if (!strcmp(level_name, finding_level_name((enum finding_level)i)))
			known = custom_kind(o, name, (enum finding_level)i);
	return known;
}

static void add_related(struct finding *f, const cJSON *o)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, field(o, "related"))
	{
		const char *role = text(item, "role");
		struct finding_related r = { finding_intern(role ? role : "?"),
					     report_own_text(item, "message"),
					     report_number(item, "event"), place(item) };
		VEC_PUSH(&f->related, r);
	}
}

static void add_why(struct finding *f, const cJSON *o)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, field(o, "why"))
	{
		const cJSON *weight = field(item, "weight");
		const char *row = text(item, "row");
		if (row && text(item, "text"))
			finding_add_why(f, finding_intern(row),
					cJSON_IsNumber(weight) ? weight->valueint : 0,
					report_own_text(item, "text"));
	}
}

static void add_verdict(struct finding *f, const cJSON *o)
{
	const char *state = text(o, "state");
	struct finding_verdict v = { .states = report_number(o, "states"),
				     .stores = report_number(o, "stores"),
				     .lost = report_number(o, "lost") };
	while (state && v.proof < FINDING_PROOFS && strcmp(state, finding_proof_name(v.proof)))
		v.proof++;
	if (!state || v.proof == FINDING_PROOFS || !text(o, "text"))
		return;
	v.text = report_own_text(o, "text");
	finding_judge(f, &v);
}

static void add_paths(struct finding *f, const cJSON *o)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, field(o, "paths"))
	{
		struct finding_place at = place(item);
		finding_add_path(f, &at, report_number(item, "count"));
		free(at.frame);
	}
}

static enum finding_level level_of(const cJSON *o, enum finding_level other)
{
	const char *name = text(o, "level");
	for (int i = 0; name && i < FINDING_LEVELS; i++)
		if (!strcmp(name, finding_level_name((enum finding_level)i)))
			return (enum finding_level)i;
	return other;
}

struct finding_step report_step_of(const cJSON *o)
{
	const char *what = text(o, "what");
	return (struct finding_step){ report_number(o, "event"), small(o, "thread"),
				      finding_intern(what ? what : "?"),
				      report_own_text(o, "text") };
}

static void add_steps(struct finding *f, const cJSON *o)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, field(o, "steps")) VEC_PUSH(&f->steps, report_step_of(item));
}

static void add_input(struct finding *f, const cJSON *w)
{
	f->input = xcalloc(1, sizeof *f->input);
	*f->input = (struct finding_input){
		.text = report_own_text(w, "text"),
		.folder = report_own_text(w, "input"),
		.backtrace = text(w, "verdict") ? NULL : report_own_text(w, "backtrace"),
		.path = report_number(w, "path"),
		.paths = report_number(w, "paths"),
	};
}

static void add_witness(struct finding *f, const cJSON *w)
{
	const cJSON *status = field(w, "status");
	f->witness = finding_intern(text(w, "type"));
	f->replay = report_own_text(w, "replay");
	if (field(w, "paths"))
		add_input(f, w);
	if (!text(w, "verdict")) {
		f->event = report_number(w, "event");
		return;
	}
	const cJSON *op = field(w, "operation");
	f->crash = xcalloc(1, sizeof *f->crash);
	*f->crash = (struct finding_crash){
		.verdict = report_own_text(w, "verdict"),
		.because = text(w, "because") ? finding_kind_named(text(w, "because")) : NULL,
		.status = cJSON_IsNumber(status) ? status->valueint : 0,
		.output = report_own_text(w, "output"),
		.backtrace = report_own_text(w, "backtrace"),
		.state = report_own_text(w, "state"),
		.event = report_number(w, "event"),
		.lines_lost = report_number(w, "lines_lost"),
		.lines_ahead = report_number(w, "lines_ahead"),
		.states = report_number(w, "states"),
		.recoveries = report_number(w, "recoveries"),
		.op = { .index = report_number(op, "index"),
			.id = report_number(op, "id"),
			.last = report_number(op, "last"),
			.name = report_own_text(op, "name"),
			.input = report_own_text(op, "input"),
			.fate = finding_intern(text(op, "fate")) },
		.scene = report_scene_of(w),
	};
}

static const char *missing(const cJSON *o)
{
	const char *id = text(o, "id");
	if (!id || strlen(id) != 16 || strspn(id, "0123456789abcdef") != 16)
		return "id";
	if (!kind_of(o))
		return "kind";
	return text(field(o, "witness"), "type") ? NULL : "witness";
}

static struct finding *finding(const cJSON *o)
{
	struct finding *f = finding_new(kind_of(o));
	memcpy(f->id, text(o, "id"), sizeof f->id);
	f->message = report_own_text(o, "message");
	f->advice = report_own_text(o, "advice");
	f->cause = report_own_text(o, "cause");
	f->data = report_own_text(o, "data");
	f->count = report_number(o, "count");
	f->suppressed = cJSON_IsTrue(field(o, "suppressed"));
	f->place = place(o);
	f->level = level_of(o, f->kind->level);
	add_why(f, o);
	add_verdict(f, field(o, "verdict"));
	add_paths(f, o);
	add_related(f, o);
	add_steps(f, o);
	add_witness(f, field(o, "witness"));
	if (field(o, "event"))
		f->event = report_number(o, "event");
	finding_recall(f);
	return f;
}

struct finding *report_finding_of(const cJSON *tree, struct err *err)
{
	const char *lacks = cJSON_IsObject(tree) ? missing(tree) : NULL;
	if (!cJSON_IsObject(tree))
		err_set(err, EXIT_USAGE, "a kept finding is damaged: it is no JSON object");
	else if (lacks)
		err_set(err, EXIT_USAGE, "a kept finding is damaged: it has no %s", lacks);
	else
		return finding(tree);
	return NULL;
}

struct finding *report_finding_parse(const char *json, struct err *err)
{
	cJSON *tree = cJSON_Parse(json);
	struct finding *f = report_finding_of(tree, err);
	cJSON_Delete(tree);
	return f;
}

int report_show_json(const char *json, FILE *out, struct err *err)
{
	struct finding *f = report_finding_parse(json, err);
	if (!f)
		return -1;
	report_show(f, out);
	finding_free(f);
	return 0;
}
