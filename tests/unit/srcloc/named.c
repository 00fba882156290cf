/* SPDX-License-Identifier: BSD-3-Clause */
/* Fixture: a function whose symbol is NAME. */
void named(void) __asm__(NAME);
void named(void)
{
	__asm__(".globl mark_f\nmark_f:\n\tnop");
}

int main(void)
{
	named();
	return 0;
}
