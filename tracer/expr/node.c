/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nodes of expressions (src/trace/expr.h), hash-consed: the same operation on the same operands is
 * the same node. A node is sent when it is made, so that its operands are sent before it; numbers
 * ascend from 1.
 */
#include "expr.h"

#define CHUNK 16384u /* nodes that are allocated at once */
#define CHUNKS 16384u
#define EVAL_NODES 256u /* expressions larger than this are not tabulated */

struct node {
	UInt word;
	UChar constant; /* bits: which operands are */
	UChar decided;
	ULong arg[3];         /* nodes or constants */
	const UChar *entries; /* of a TABLE */
	ULong value;          /* in this run */
	Int single;           /* the only input byte that it depends on, or -1 */
	UInt mark, slot;      /* sym_eval_all()'s */
};

void (*sym_node_made)(UInt id, UInt word, UInt constants, const ULong arg[3], const UChar *entries,
		      UInt size);

static struct {
	struct node *chunk[CHUNKS];
	UInt n;
	UInt *table; /* of numbers, open addressing, power of two */
	UInt table_cap;
} nodes;

static inline struct node *node_at(UInt id)
{
	return &nodes.chunk[id / CHUNK][id % CHUNK];
}

static UInt table_bytes(UInt w)
{
	return (w + 7) / 8 * 256;
}

/* ---- finding and making ---- */

static ULong mix(ULong h, ULong v)
{
	h = (h ^ v) * 0x9E3779B97F4A7C15ull;
	return h ^ h >> 29;
}

static UInt hash(const struct node *n)
{
	ULong h = mix(n->word, (ULong)n->constant << 32);
	for (UInt i = 0; i < 3; i++)
		h = mix(h, n->arg[i]);
	if (n->entries)
		for (UInt i = 0; i < table_bytes(EXPR_W(n->word)); i += 8)
			h = mix(h, *(const ULong *)(n->entries + i));
	return (UInt)(h >> 32);
}

static Bool equal(const struct node *a, const struct node *b)
{
	return a->word == b->word && a->constant == b->constant && a->arg[0] == b->arg[0] &&
	       a->arg[1] == b->arg[1] && a->arg[2] == b->arg[2] &&
	       (!a->entries ||
		VG_(memcmp)(a->entries, b->entries, table_bytes(EXPR_W(a->word))) == 0);
}

static UInt place(const struct node *key)
{
	UInt i = hash(key) & (nodes.table_cap - 1);
	while (nodes.table[i] && !equal(node_at(nodes.table[i]), key))
		i = (i + 1) & (nodes.table_cap - 1);
	return i;
}

static void table_grow(void)
{
	if (nodes.table)
		VG_(free)(nodes.table);
	nodes.table_cap = nodes.table_cap ? nodes.table_cap * 2 : 16384;
	nodes.table = VG_(calloc)("hf.nodes", nodes.table_cap, sizeof *nodes.table);
	for (UInt id = 1; id <= nodes.n; id++)
		nodes.table[place(node_at(id))] = id;
}

void sym_node_prepare(void)
{
	if (!nodes.table)
		table_grow();
	if (!nodes.chunk[0])
		nodes.chunk[0] = VG_(malloc)("hf.nodes", CHUNK * sizeof(struct node));
}

static UInt intern(struct node *key)
{
	UInt i, id;
	if (nodes.n * 2 >= nodes.table_cap)
		table_grow();
	i = place(key);
	if (nodes.table[i])
		return nodes.table[i];
	id = ++nodes.n;
	if (id / CHUNK == CHUNKS)
		core_out_of_memory("holdfast: expressions", CHUNK * sizeof *key);
	if (!nodes.chunk[id / CHUNK])
		nodes.chunk[id / CHUNK] = VG_(malloc)("hf.nodes", CHUNK * sizeof *key);
	if (key->entries) {
		UInt size = table_bytes(EXPR_W(key->word));
		key->entries = VG_(memcpy)(VG_(malloc)("hf.table", size), key->entries, size);
	}
	*node_at(id) = *key;
	nodes.table[i] = id;
	sym_node_made(id, key->word, key->constant, key->arg, key->entries,
		      key->entries ? table_bytes(EXPR_W(key->word)) : 0);
	return id;
}

UInt sym_node(UInt word, struct sym_operand a, struct sym_operand b, struct sym_operand c,
	      ULong *value)
{
	const struct sym_operand *arg[3] = { &a, &b, &c };
	struct node n = { .word = word, .single = -2 };
	*value = n.value = expr_apply(word, a.value, b.value, c.value);
	if (!(a.node | b.node | c.node))
		return 0;
	for (UInt i = 0; i < 3; i++) {
		Int s;
		if (!arg[i]->node) {
			n.constant |= (UChar)(1u << i);
			n.arg[i] = arg[i]->value;
			continue;
		}
		n.arg[i] = arg[i]->node;
		s = node_at(arg[i]->node)->single;
		n.single = n.single == -2 || n.single == s ? s : -1;
	}
	return intern(&n);
}

UInt sym_input_node(UInt byte, UChar value)
{
	struct node n = { .word = EXPR_WORD(EXPR_INPUT, 8, 0, 0), .constant = 7 };
	n.arg[0] = byte;
	n.value = value;
	n.single = (Int)byte;
	return intern(&n);
}

static ULong entry(const struct node *n, ULong i)
{
	UInt size = (EXPR_W(n->word) + 7) / 8;
	ULong v = 0;
	VG_(memcpy)(&v, n->entries + (i & 0xff) * size, size);
	return v & expr_mask(EXPR_W(n->word));
}

UInt sym_table_node(UInt w, UInt index_node, const UChar *entries)
{
	struct node n = { .word = EXPR_WORD(EXPR_TABLE, w, 8, 0), .constant = 6 };
	n.arg[0] = index_node;
	n.entries = entries;
	n.single = node_at(index_node)->single;
	n.value = entry(&n, node_at(index_node)->value);
	return intern(&n);
}

/* ---- asking ---- */

UInt sym_word(UInt node)
{
	return node_at(node)->word;
}

UInt sym_args(UInt node, struct sym_operand arg[3])
{
	const struct node *n = node_at(node);
	for (UInt i = 0; i < 3; i++) {
		Bool constant = (n->constant >> i & 1) != 0;
		arg[i].node = constant ? 0 : (UInt)n->arg[i];
		arg[i].value = constant ? n->arg[i] : node_at((UInt)n->arg[i])->value;
	}
	return n->word;
}

ULong sym_value_of(UInt node)
{
	return node_at(node)->value;
}

Long sym_single_input(UInt node)
{
	return node_at(node)->single;
}

ULong sym_table_entry(UInt node, ULong i)
{
	return entry(node_at(node), i);
}

Bool sym_decided(UInt node)
{
	return node_at(node)->decided;
}

void sym_decide(UInt node)
{
	node_at(node)->decided = 1;
}

/* ---- all values of an expression over one byte ---- */

static struct {
	UInt list[EVAL_NODES];
	ULong value[EVAL_NODES];
	UInt n, mark;
} eval;

/* Operands come before what they are operands of. */
static Bool collect(UInt id)
{
	struct node *n = node_at(id);
	if (n->mark == eval.mark)
		return True;
	n->mark = eval.mark;
	for (UInt i = 0; i < 3; i++)
		if (!(n->constant >> i & 1) && !collect((UInt)n->arg[i]))
			return False;
	if (eval.n == EVAL_NODES)
		return False;
	n->slot = eval.n;
	eval.list[eval.n++] = id;
	return True;
}

static ULong eval_one(const struct node *n, const ULong *v, ULong input)
{
	ULong arg[3];
	if (EXPR_OP(n->word) == EXPR_INPUT)
		return input;
	for (UInt i = 0; i < 3; i++)
		arg[i] = n->constant >> i & 1 ? n->arg[i] : v[node_at((UInt)n->arg[i])->slot];
	if (EXPR_OP(n->word) == EXPR_TABLE)
		return entry(n, arg[0]);
	return expr_apply(n->word, arg[0], arg[1], arg[2]);
}

Bool sym_eval_all(UInt node, ULong out[256])
{
	ULong *v = eval.value;
	eval.n = 0;
	eval.mark++;
	if (!collect(node))
		return False;
	for (UInt input = 0; input < 256; input++) {
		for (UInt i = 0; i < eval.n; i++)
			v[i] = eval_one(node_at(eval.list[i]), v, input);
		out[input] = v[eval.n - 1];
	}
	return True;
}
