/* SPDX-License-Identifier: BSD-3-Clause */
/* An object of libpmemobj whose type nobody names: 40 bytes of type 9, filled by a copy in a transaction. */
#include <libpmemobj.h>
#include <string.h>

int main(int argc, char **argv)
{
	PMEMobjpool *pop =
		argc > 1 ? pmemobj_create(argv[1], "objects", PMEMOBJ_MIN_POOL, 0600) : NULL;
	static const char text[40] = "thirty-nine characters and a zero byte.";
	if (!pop)
		return 1;
	TX_BEGIN(pop)
	{
		void *p = pmemobj_direct(pmemobj_tx_alloc(sizeof text, 9));
		memcpy(p, text, sizeof text);
	}
	TX_END
	pmemobj_close(pop);
	return 0;
}
