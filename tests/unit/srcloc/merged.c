/* SPDX-License-Identifier: BSD-3-Clause */
/* Fixture: two statements that a compiler makes one instruction, which then has no line. */
struct shelf {
	long kept, lent, lost;
};

__attribute__((noinline)) void ask(struct shelf *s)
{
	__asm__ volatile("" : : "r"(s) : "memory");
}

static inline void lend(struct shelf *s)
{
	ask(s);
	s->lent++;
}

static inline void lose(struct shelf *s)
{
	ask(s + 1);
	s->lost++;
}

void work(struct shelf *s, int way)
{
	if (way)
		lend(s); /* CALL(lend) */
	else
		lose(s); /* CALL(lose) */
}

int main(int argc, char **argv)
{
	static struct shelf s[2];
	(void)argv;
	for (int i = 0; i < argc; i++)
		work(s, i & 1);
	return (int)s[0].lent;
}
