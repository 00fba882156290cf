/* SPDX-License-Identifier: BSD-3-Clause */
/****************************************************************************
 *
 *  packed.c - table of packed records with values of fifteen bytes
 *
 *  Offset 0 holds the signature. From offset 4096 on there are CRECORDS
 *  records of 39 bytes, one directly after the other:
 *
 *      bCurrent        1 byte: 0 free, 1 or 2 the current value
 *      qwKey           8 bytes
 *      rgbValue[2]    15 bytes each, of which one is current
 *
 *  Most records, and many values, lie in two cache lines. A value is written
 *  where it is not current, made persistent, and then made current by a store
 *  of one byte.
 *
 ****************************************************************************/
#include <stdlib.h>
#include <string.h>

#include "common/corpus.h"
#include "common/pm.h"

typedef uint8_t BYTE;
typedef uint32_t DWORD;
typedef uint64_t QWORD;
typedef int BOOL;
typedef volatile BYTE *PBYTE_PM;

#define QW_SIGNATURE 0x31646b6361706b70ull
#define CB_VALUE 15
#define CRECORDS 256
#define OFS_RECORDS 4096u
#define CB_POOL (OFS_RECORDS + CRECORDS * sizeof(RECORD))

#define STATE_FREE 0

typedef struct tagRECORD {
	BYTE bCurrent;
	QWORD qwKey;
	BYTE rgbValue[2][CB_VALUE];
#if defined(TRAP_PACKED_HINT)
	BYTE bHint; /* a lookup came by since the pool was opened */
#endif
} __attribute__((packed)) RECORD;

typedef struct tagTABLE {
	BYTE *pbBase;
	RECORD *prgRecord;
	RECORD *pFreed; /* only in a variant: freed, and not yet committed */
} TABLE, *PTABLE;

/* ---------------- values ---------------- */

/* Eight bytes of value and seven that check it. */
static void EncodeValue(QWORD qwKey, QWORD qwValue, BYTE *pbOut)
{
	QWORD qwSum = (qwKey * 0x9e3779b97f4a7c15ull ^ qwValue) * 0xbf58476d1ce4e5b9ull;

	qwSum ^= qwSum >> 29;
	memcpy(pbOut, &qwValue, sizeof(qwValue));
	memcpy(pbOut + sizeof(qwValue), &qwSum, CB_VALUE - sizeof(qwValue));
}

static QWORD DecodeValue(const BYTE *pbValue)
{
	QWORD qwValue;

	memcpy(&qwValue, pbValue, sizeof(qwValue));
	return qwValue;
}

static BOOL FIsValue(QWORD qwKey, const BYTE *pbValue)
{
	BYTE rgb[CB_VALUE];

	EncodeValue(qwKey, DecodeValue(pbValue), rgb);
	return memcmp(rgb, pbValue, CB_VALUE) == 0;
}

/* ---------------- persistence ---------------- */

static void CopyBytes(BYTE *pbTo, const BYTE *pbFrom, DWORD cb)
{
	PBYTE_PM pbPm = pbTo;

	while (cb--)
		*pbPm++ = *pbFrom++; /* BUG(packed-first-line) */
}

static void WriteBackLines(const void *pv, size_t cb)
{
#if defined(BUG_PACKED_FIRST_LINE)
	(void)cb;
	pm_flush(pv, 1);
#elif defined(BUG_PACKED_EVERY_BYTE)
	for (size_t ib = 0; ib < cb; ib++)
		pm_flush((const BYTE *)pv + ib, 1); /* BUG(packed-every-byte) */
#else
	pm_flush(pv, cb);
#endif
}

static void Commit(const void *pv, size_t cb)
{
	WriteBackLines(pv, cb);
	pm_fence();
}

static void SetCurrent(RECORD *pRecord, BYTE b)
{
	*(PBYTE_PM)&pRecord->bCurrent = b; /* BUG(packed-state-uncommitted) */
#if !defined(BUG_PACKED_STATE_UNCOMMITTED)
	pm_flush(&pRecord->bCurrent, 1);
	pm_fence();
#endif
}

/* ---------------- records ---------------- */

static RECORD *PRecordFind(PTABLE pTable, QWORD qwKey)
{
	for (DWORD i = 0; i < CRECORDS; i++) {
		RECORD *pRecord = &pTable->prgRecord[i];

		if (pRecord->bCurrent != STATE_FREE && pRecord->qwKey == qwKey) {
#if defined(TRAP_PACKED_HINT)
			*(PBYTE_PM)&pRecord->bHint = 1; /* TRAP(packed-hint) */
#endif
			return pRecord;
		}
	}
	return NULL;
}

static RECORD *PRecordFree(PTABLE pTable)
{
	for (DWORD i = 0; i < CRECORDS; i++)
		if (pTable->prgRecord[i].bCurrent == STATE_FREE)
			return &pTable->prgRecord[i];
	return NULL;
}

static BYTE *PbCurrent(RECORD *pRecord)
{
	return pRecord->rgbValue[(pRecord->bCurrent - 1) & 1];
}

/* What was freed last goes with the next change. */
static void CommitFreed(PTABLE pTable)
{
	if (pTable->pFreed) {
		pm_flush(&pTable->pFreed->bCurrent, 1);
		pm_fence();
	}
	pTable->pFreed = NULL;
}

static BOOL FInsert(PTABLE pTable, QWORD qwKey, QWORD qwValue)
{
	RECORD *pRecord = PRecordFree(pTable);
	BYTE rgb[sizeof(QWORD) + CB_VALUE];

	if (!pRecord)
		return 0;
	CommitFreed(pTable);
	memcpy(rgb, &qwKey, sizeof(qwKey));
	EncodeValue(qwKey, qwValue, rgb + sizeof(qwKey));
#if defined(BUG_PACKED_STATE_FIRST)
	CopyBytes((BYTE *)pRecord + 1, rgb, sizeof(rgb));
	WriteBackLines((BYTE *)pRecord + 1, sizeof(rgb));
	*(PBYTE_PM)&pRecord->bCurrent = 1; /* BUG(packed-state-first) */
	Commit(&pRecord->bCurrent, 1);
#else
	CopyBytes((BYTE *)pRecord + 1, rgb, sizeof(rgb));
	Commit((BYTE *)pRecord + 1, sizeof(rgb));
	SetCurrent(pRecord, 1);
#endif
	return 1;
}

static void Replace(RECORD *pRecord, QWORD qwValue)
{
	BYTE rgb[CB_VALUE], bNext = (BYTE)(3 - pRecord->bCurrent);

	EncodeValue(pRecord->qwKey, qwValue, rgb);
#if defined(BUG_PACKED_IN_PLACE)
	(void)bNext;
	for (DWORD ib = 0; ib < CB_VALUE; ib++)
		((PBYTE_PM)PbCurrent(pRecord))[ib] = rgb[ib]; /* BUG(packed-in-place) */
	Commit(PbCurrent(pRecord), CB_VALUE);
#elif defined(BUG_PACKED_VALUE_UNWAITED)
	CopyBytes(pRecord->rgbValue[bNext - 1], rgb, CB_VALUE);
	WriteBackLines(pRecord->rgbValue[bNext - 1], CB_VALUE);
	*(PBYTE_PM)&pRecord->bCurrent = bNext; /* BUG(packed-value-unwaited) */
	Commit(&pRecord->bCurrent, 1);
#elif defined(TRAP_PACKED_FLIP)
	if (memcmp(rgb, pRecord->rgbValue[bNext - 1], CB_VALUE) != 0) { /* else it is there from the last time but one */
		CopyBytes(pRecord->rgbValue[bNext - 1], rgb, CB_VALUE);
		Commit(pRecord->rgbValue[bNext - 1], CB_VALUE);
	}
	SetCurrent(pRecord, bNext); /* TRAP(packed-flip) */
#elif defined(TRAP_PACKED_SAME)
	if (memcmp(rgb, PbCurrent(pRecord), CB_VALUE) == 0) {
		for (DWORD ib = 0; ib < CB_VALUE; ib++)
			((PBYTE_PM)PbCurrent(pRecord))[ib] = rgb[ib]; /* TRAP(packed-same) */
		return;
	}
	CopyBytes(pRecord->rgbValue[bNext - 1], rgb, CB_VALUE);
	Commit(pRecord->rgbValue[bNext - 1], CB_VALUE);
	SetCurrent(pRecord, bNext);
#else
	CopyBytes(pRecord->rgbValue[bNext - 1], rgb, CB_VALUE);
	Commit(pRecord->rgbValue[bNext - 1], CB_VALUE);
	SetCurrent(pRecord, bNext);
#endif
}

/* ---------------- operations ---------------- */

static enum corpus_result PackedGet(void *pv, uint64_t qwKey, uint64_t *pqwOut)
{
	RECORD *pRecord = PRecordFind(pv, qwKey);

	if (!pRecord)
		return CORPUS_NONE;
	*pqwOut = DecodeValue(PbCurrent(pRecord));
	return CORPUS_VALUE;
}

static enum corpus_result PackedUpd(void *pv, uint64_t qwKey, uint64_t qwValue, uint64_t *pqwOut)
{
	RECORD *pRecord = PRecordFind(pv, qwKey);

	if (!pRecord)
		return CORPUS_NONE;
	*pqwOut = DecodeValue(PbCurrent(pRecord));
	CommitFreed(pv);
	Replace(pRecord, qwValue);
	return CORPUS_OLD;
}

static enum corpus_result PackedPut(void *pv, uint64_t qwKey, uint64_t qwValue, uint64_t *pqwOut)
{
	enum corpus_result result = PackedUpd(pv, qwKey, qwValue, pqwOut);

	if (result != CORPUS_NONE)
		return result;
	return FInsert(pv, qwKey, qwValue) ? CORPUS_NEW : CORPUS_FULL;
}

static enum corpus_result PackedDel(void *pv, uint64_t qwKey, uint64_t *pqwOut)
{
	RECORD *pRecord = PRecordFind(pv, qwKey);

	if (!pRecord)
		return CORPUS_NONE;
	*pqwOut = DecodeValue(PbCurrent(pRecord));
#if defined(BUG_PACKED_DEL_UNFENCED)
	*(PBYTE_PM)&pRecord->bCurrent = STATE_FREE; /* BUG(packed-del-unfenced) */
	pm_flush(&pRecord->bCurrent, 1);
#elif defined(BUG_PACKED_DEL_LAZY)
	CommitFreed(pv);
	*(PBYTE_PM)&pRecord->bCurrent = STATE_FREE; /* BUG(packed-del-lazy) */
	((PTABLE)pv)->pFreed = pRecord;
#else
	SetCurrent(pRecord, STATE_FREE);
#endif
#if defined(BUG_PACKED_DEL_FENCE)
	pm_fence(); /* BUG(packed-del-fence) */
#endif
	return CORPUS_OLD;
}

static void PackedCheck(void *pv)
{
	PTABLE pTable = pv;

	for (DWORD i = 0; i < CRECORDS; i++) {
		RECORD *pRecord = &pTable->prgRecord[i];
		QWORD qwKey = pRecord->qwKey;

		if (pRecord->bCurrent == STATE_FREE)
			continue;
		if (pRecord->bCurrent > 2 || !FIsValue(qwKey, PbCurrent(pRecord)))
			corpus_wrong("record %u of key %lu is damaged", i, qwKey);
		for (DWORD j = 0; j < i; j++)
			if (pTable->prgRecord[j].bCurrent != STATE_FREE && pTable->prgRecord[j].qwKey == qwKey)
				corpus_wrong("records %u and %u have key %lu", j, i, qwKey);
	}
}

static void *PackedOpen(const char *szPath)
{
	PTABLE pTable = calloc(1, sizeof(*pTable));
	int fFresh;

	pTable->pbBase = corpus_pool_map(szPath, CB_POOL, QW_SIGNATURE, NULL, &fFresh);
	if (!pTable->pbBase) {
		free(pTable);
		return NULL;
	}
	pTable->prgRecord = (RECORD *)(pTable->pbBase + OFS_RECORDS);
	if (fFresh) {
		pm_store64((QWORD *)pTable->pbBase, QW_SIGNATURE);
		pm_flush(pTable->pbBase, sizeof(QWORD));
		pm_fence();
	}
#if defined(TRAP_PACKED_HINT)
	for (DWORD i = 0; i < CRECORDS; i++)
		if (pTable->prgRecord[i].bHint)
			*(PBYTE_PM)&pTable->prgRecord[i].bHint = 0;
#endif
	return pTable;
}

static void PackedClose(void *pv)
{
	PTABLE pTable = pv;

	CommitFreed(pTable);
	corpus_pool_unmap(pTable->pbBase, CB_POOL);
	free(pTable);
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "packed",
		.open = PackedOpen,
		.close = PackedClose,
		.check = PackedCheck,
		.put = PackedPut,
		.get = PackedGet,
		.del = PackedDel,
		.upd = PackedUpd,
	};

	return corpus_main(&program, argc, argv);
}
