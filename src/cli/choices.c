/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/choices.h"

#include "cli/output.h"
#include "crash/crash.h"
#include "infer/infer.h"
#include "launch/launch.h"
#include "model/model.h"
#include "sandbox/sandbox.h"
#include "symbolic/symbolic.h"

/* ---- in general ---- */

char *cli_choice_words(const struct cli_choices *of, char separator)
{
	const char *name, *about;
	struct buf b = { 0 };
	for (size_t i = 0; (name = of->at(i, &about)); i++)
		buf_printf(&b, "%.*s%s", i > 0, &separator, name);
	buf_add(&b, "", 1);
	return b.p;
}

const struct cli_option *cli_next_option(const struct cli_verb *verb, struct cli_walk *w)
{
	const char *name, *about;
	if (!w->row)
		w->row = verb->options;
	while (w->row->name && w->row->type == CLI_FILES) {
		if ((name = w->row->choices->at(w->word, &about))) {
			w->made = *w->row;
			w->made.name = name;
			w->made.type = CLI_FILE;
			w->made.offset += w->word++ * sizeof(const char *);
			w->made.help = about;
			w->made.choices = NULL;
			return &w->made;
		}
		w->word = 0;
		w->row++;
	}
	return w->row->name ? w->row++ : NULL;
}

/* ---- the tables ---- */

const struct cli_choices choices_cpu = { launch_cpu_at };
const struct cli_choices choices_points = { crash_points_at };
const struct cli_choices choices_judge = { crash_judge_at };
const struct cli_choices choices_strategy = { crash_strategy_at, .joined = true };
const struct cli_choices choices_search = { symbolic_search_at, .joined = true };

static const char *way_at(size_t i, const char **about)
{
	const struct infer_way *w = infer_way_at(i);
	*about = w ? w->about : NULL;
	return w ? w->name : NULL;
}
const struct cli_choices choices_ways = { way_at };

static const char *view_at(size_t i, const char **about)
{
	const struct sandbox_view *v = i ? sandbox_view_at(i - 1) : NULL;
	*about = v ? v->about : "the first of the others that is possible";
	return v ? v->name : i ? NULL : "auto";
}
const struct cli_choices choices_view = { view_at };

static const char *model_row(size_t i, const char **about)
{
	const struct model_ops *m = model_at(i);
	*about = m ? m->about : NULL;
	return m ? m->name : NULL;
}
const struct cli_choices choices_model = { model_row };

/* Notes never make a run fail. */
static const char *level_at(size_t i, const char **about)
{
	enum finding_level level = (enum finding_level)i;
	if (i > FINDING_NOTE)
		return NULL;
	*about = level == FINDING_NOTE ? "findings do not matter" : finding_level_about(level);
	return level == FINDING_NOTE ? OUTPUT_FAIL_NEVER : finding_level_name(level);
}
const struct cli_choices choices_level = { level_at, .normal = OUTPUT_FAIL_ON };

static const char *incomplete_at(size_t i, const char **about)
{
	static const char *const row[][2] = {
		{ "warn", "say so; only a run that was broken off has status 3" },
		{ OUTPUT_INCOMPLETE_ERROR,
		  "say so, and end with status 3 where nothing was found" },
	};
	if (i >= sizeof row / sizeof *row)
		return NULL;
	*about = row[i][1];
	return row[i][0];
}
const struct cli_choices choices_incomplete = { incomplete_at };

static const char *format_at(size_t i, const char **about)
{
	const struct report_format *f = report_format_at(i);
	*about = f ? f->about : NULL;
	return f ? f->name : NULL;
}
const struct cli_choices choices_format = { format_at };
const struct cli_choices choices_printed = { report_printed_at };
