// SPDX-License-Identifier: BSD-3-Clause
// A sorted table of accounts that is changed under a redo journal.
//
//   0      magic, number of rows, epoch          64     the same epoch again: a copy of the file that was cut is found out
//   128    journal: its header, then up to 120 rows
//   …      rows, four to a line, sorted          …      memos, two copies of each, for amounts of 2^32 and more
//   …      owners: the key that each memo belongs to, a line each; only in variants
//
// A change writes all rows from the first that differs on into the journal, and a header with the sum of all that: rows and
// header need no order, for a journal whose sum is wrong means nothing. When it is persistent the rows are changed in place, and
// then the header is cleared. Recovery repeats what a whole journal says.
//
// A memo is written before the journal is. It has two copies; a reader takes one whose sum is right.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

extern "C" {
#include "common/corpus.h"
#include "common/pm.h"
}

namespace
{

// The epoch is stored beside the journal: between its two words nothing is right.
#if defined(BUG_LEDGER_EPOCH_WINDOW) || defined(BUG_LEDGER_MEMO_IN_WINDOW) || defined(BUG_LEDGER_SUM_IN_WINDOW)
constexpr bool EpochBeside = true;
#else
constexpr bool EpochBeside = false;
#endif

// How many copies of a memo are written back only together with the journal.
#if defined(BUG_LEDGER_MEMO_IN_WINDOW) || defined(BUG_LEDGER_MEMO_BEHIND_OWNERS) || defined(BUG_LEDGER_COPIES_BEHIND_OWNERS)
[[maybe_unused]] constexpr std::size_t Late = 2;
#elif defined(TRAP_LEDGER_SECOND_COPY)
[[maybe_unused]] constexpr std::size_t Late = 1;
#else
[[maybe_unused]] constexpr std::size_t Late = 0;
#endif

// Memos lie in pages of twelve. Those of later pages are written back only together with the journal.
constexpr std::size_t LateOf([[maybe_unused]] std::size_t memo)
{
#ifdef BUG_LEDGER_LATER_PAGE
    return memo / 12 ? 2 : 0;
#else
    return Late;
#endif
}

// Owners, which nobody writes back.
#if defined(BUG_LEDGER_OWNERS) || defined(BUG_LEDGER_MEMO_BEHIND_OWNERS) || defined(BUG_LEDGER_WIPE_BEHIND_OWNERS) || \
    defined(BUG_LEDGER_COPIES_BEHIND_OWNERS)
constexpr bool HasOwners = true;
#else
constexpr bool HasOwners = false;
#endif

constexpr std::uint64_t Magic = 0x3172656764656c2dULL;
constexpr std::size_t MaxRows = 120;
constexpr std::size_t Memos = MaxRows + 1; // a row that is replaced keeps its own until then
constexpr std::uint64_t Large = 1ULL << 32;
constexpr std::uint64_t IsMemo = 1ULL << 63;

struct Row
{
    std::uint64_t key;
    std::uint64_t amount; // or IsMemo and the number of a memo
};

struct alignas(PM_LINE) Memo
{
    std::uint64_t key, amount, sum;
};

struct alignas(PM_LINE) Owner
{
    std::uint64_t key;
};

struct alignas(PM_LINE) Journal
{
    std::uint64_t first, count, total, epoch; // rows [first, total) are in it: count of them
    std::uint64_t wipe;                       // a memo that nobody needs any more, and 1
    std::uint64_t sum;                        // 0: there is no journal
    alignas(PM_LINE) std::array<Row, MaxRows> rows;
};

struct Ledger
{
    std::uint64_t magic, total, epoch;
    struct alignas(PM_LINE)
    {
        std::uint64_t epoch;
    } end;
    Journal journal;
    alignas(PM_LINE) std::array<Row, MaxRows> rows;
    std::array<std::array<Memo, 2>, Memos> memos;
    std::array<Owner, Memos> owners;
};

std::uint64_t Mix(std::uint64_t h, std::uint64_t word)
{
    h = (h ^ word) * 0xff51afd7ed558ccdULL;
    return h ^ h >> 32;
}

template <class T>
void WriteBack(T const & what)
{
    pm_flush(&what, sizeof what);
}

class Store
{
public:
    Store(Ledger * ledger, bool fresh) : l(ledger)
    {
        if (fresh)
            Format();
        if (l->journal.sum && l->journal.sum == JournalSum())
            Replay();
    }

    Ledger * Pool() const { return l; }

    // The row of a key, or where it would be.
    std::size_t Find(std::uint64_t key) const
    {
        auto end = l->rows.begin() + Total();
        return std::lower_bound(l->rows.begin(), end, key, [](Row const & r, std::uint64_t k) { return r.key < k; }) - l->rows.begin();
    }

    bool Has(std::size_t at, std::uint64_t key) const { return at < Total() && l->rows[at].key == key; }
    std::size_t Total() const { return std::min<std::size_t>(l->total, MaxRows); }

    std::uint64_t Amount(std::size_t at) const
    {
        auto & row = l->rows[at];
        if (!(row.amount & IsMemo))
            return row.amount;
        auto & copies = l->memos[(row.amount & ~IsMemo) % Memos];
        return Whole(copies[0], row.key) ? copies[0].amount : copies[1].amount;
    }

    bool Put(std::size_t at, std::uint64_t key, std::uint64_t amount)
    {
        std::vector<Row> rows(l->rows.begin() + at, l->rows.begin() + Total());
        std::uint64_t wipe = 0;
        if (Has(at, key))
            wipe = rows.front().amount & IsMemo ? (rows.front().amount & ~IsMemo) + 1 : 0;
        else if (Total() == MaxRows)
            return false;
        else
            rows.insert(rows.begin(), Row{key, 0});
        Begin();
        rows.front().amount = amount < Large ? amount : WriteMemo(key, amount);
        Change(at, rows, at + rows.size(), wipe);
        return true;
    }

    void Remove(std::size_t at)
    {
        std::uint64_t amount = l->rows[at].amount;
        std::vector<Row> rows(l->rows.begin() + at + 1, l->rows.begin() + Total());
        Begin();
        Change(at, rows, at + rows.size(), amount & IsMemo ? (amount & ~IsMemo) + 1 : 0);
    }

    void Check() const
    {
        if (l->epoch != l->end.epoch)
            corpus_wrong("epochs %lu and %lu", l->epoch, l->end.epoch);
        if (l->total > MaxRows)
            corpus_wrong("%lu rows", l->total);
        for (std::size_t i = 0; i < Total(); i++)
            CheckRow(i);
    }

private:
    Ledger * l;
    std::uint64_t changed = 0; // the key whose memo was written

    static std::uint64_t MemoSum(Memo const & m) { return Mix(Mix(5, m.key), m.amount); }
    static bool Whole(Memo const & m, std::uint64_t key) { return m.key == key && m.sum == MemoSum(m); }

    void CheckRow(std::size_t i) const
    {
        auto & row = l->rows[i];
        if (!row.key || (i && row.key <= l->rows[i - 1].key))
            corpus_wrong("row %zu is out of order", i);
        if (!(row.amount & IsMemo))
            return;
        auto & copies = l->memos[(row.amount & ~IsMemo) % Memos];
        if (HasOwners && l->owners[(row.amount & ~IsMemo) % Memos].key != row.key)
            corpus_wrong("the memo of row %zu belongs to another", i);
#ifdef BUG_LEDGER_MEMO_BEHIND_OWNERS
        if (!Whole(copies[0], row.key)) // the second is for other tools
#else
        if (!Whole(copies[0], row.key) && !Whole(copies[1], row.key))
#endif
            corpus_wrong("row %zu has no memo", i);
    }

    std::uint64_t JournalSum() const
    {
        auto & j = l->journal;
        std::uint64_t h = Mix(Mix(Mix(Mix(Mix(9, j.first), j.count), j.total), j.epoch), j.wipe);
        std::size_t n = std::min<std::size_t>(j.count, MaxRows);
#ifdef BUG_LEDGER_SUM_IN_WINDOW
        n -= n % 4; // whole lines only
#endif
        for (std::size_t i = 0; i < n; i++)
            h = Mix(Mix(h, j.rows[i].key), j.rows[i].amount);
        return h ? h : 1;
    }

    void Format()
    {
        pm_store64(&l->magic, Magic);
        WriteBack(l->magic);
        pm_fence();
    }

    void Begin()
    {
        if (EpochBeside)
            pm_store64(&l->epoch, l->epoch + 1); // BUG(ledger-epoch-window)
    }

    // Where no row refers to.
    std::size_t FreeMemo() const
    {
        std::array<bool, Memos> busy{};
        for (std::size_t i = 0; i < Total(); i++)
            if (l->rows[i].amount & IsMemo)
                busy[(l->rows[i].amount & ~IsMemo) % Memos] = true;
        std::size_t at = 0;
        while (busy[at])
            at++;
        return at;
    }

    std::uint64_t WriteMemo(std::uint64_t key, std::uint64_t amount)
    {
        std::size_t number = FreeMemo();
        if (HasOwners)
            pm_store64(&l->owners[number].key, key); // BUG(ledger-owners)
        for (auto & copy : l->memos[number]) {
            pm_store64(&copy.key, key);
            pm_store64(&copy.amount, amount); // TRAP(ledger-second-copy) BUG(ledger-memo-in-window) BUG(ledger-memo-behind-owners) BUG(ledger-copies-behind-owners) BUG(ledger-later-page)
            pm_store64(&copy.sum, MemoSum(copy));
        }
        if (LateOf(number) < 2) {
            for (std::size_t i = 0; i < 2 - LateOf(number); i++)
                WriteBack(l->memos[number][i]);
            pm_fence();
        }
        changed = key;
        return IsMemo | number;
    }

    // What is written back together with the journal.
    void FlushMemo(std::vector<Row> const & rows)
    {
        if (rows.empty() || !(rows.front().amount & IsMemo) || rows.front().key != changed)
            return;
        std::size_t number = rows.front().amount & ~IsMemo;
        for (std::size_t i = 2 - LateOf(number); i < 2; i++)
            WriteBack(l->memos[number][i]);
    }

    void Wipe(std::uint64_t wipe)
    {
        for (auto & copy : l->memos[(wipe - 1) % Memos]) {
            pm_store64(&copy.sum, 0); // BUG(ledger-wipe-behind-owners)
            WriteBack(copy.sum);
        }
    }

    void Change(std::size_t first, std::vector<Row> const & rows, std::size_t total, std::uint64_t wipe)
    {
        auto & j = l->journal;
#ifdef BUG_LEDGER_WIPE_BEHIND_OWNERS
        if (wipe)
            Wipe(wipe);
        wipe = 0;
#endif
        std::copy(rows.begin(), rows.end(), j.rows.begin()); // BUG(ledger-sum-in-window)
        j.first = first;
        j.count = rows.size();
        j.total = total;
        j.epoch = EpochBeside ? l->epoch : l->epoch + 1;
        j.wipe = wipe;
        pm_compiler_order();
        pm_store64(&j.sum, JournalSum());
        FlushMemo(rows);
        if (EpochBeside)
            WriteBack(l->epoch);
        if (!rows.empty())
            pm_flush(j.rows.data(), rows.size() * sizeof(Row));
        pm_flush(&j, PM_LINE);
        pm_fence();
        changed = 0;
        Replay();
        if (EpochBeside) {
            pm_store64(&l->end.epoch, l->epoch);
            WriteBack(l->end);
            pm_fence();
        }
    }

    void Replay()
    {
        auto & j = l->journal;
        if (j.first > MaxRows || j.count > MaxRows - j.first || j.total > MaxRows)
            return;
        for (std::size_t i = 0; i < j.count; i++)
            l->rows[j.first + i] = j.rows[i];
        if (j.count)
            pm_flush(&l->rows[j.first], j.count * sizeof(Row));
        pm_store64(&l->total, j.total);
        if (!EpochBeside)
            pm_store64(&l->epoch, j.epoch);
        pm_flush(l, PM_LINE);
        if (!EpochBeside) {
            pm_store64(&l->end.epoch, j.epoch);
            WriteBack(l->end);
        }
        if (j.wipe)
            Wipe(j.wipe);
        pm_fence();
        pm_store64(&j.sum, 0);
        WriteBack(j.sum);
        pm_fence();
    }
};

Store & At(void * store)
{
    return *static_cast<Store *>(store);
}

void * Open(char const * path)
{
    int fresh;
    auto ledger = static_cast<Ledger *>(corpus_pool_map(path, sizeof(Ledger), Magic, nullptr, &fresh));
    return ledger ? new Store(ledger, fresh) : nullptr;
}

void Close(void * store)
{
    corpus_pool_unmap(At(store).Pool(), sizeof(Ledger));
    delete &At(store);
}

void Check(void * store)
{
    At(store).Check();
}

corpus_result Get(void * store, std::uint64_t key, std::uint64_t * out)
{
    std::size_t at = At(store).Find(key);
    if (!At(store).Has(at, key))
        return CORPUS_NONE;
    *out = At(store).Amount(at);
    return CORPUS_VALUE;
}

corpus_result Put(void * store, std::uint64_t key, std::uint64_t amount, std::uint64_t * out)
{
    bool had = Get(store, key, out) == CORPUS_VALUE;
    if (!At(store).Put(At(store).Find(key), key, amount))
        return CORPUS_FULL;
    return had ? CORPUS_OLD : CORPUS_NEW;
}

corpus_result Update(void * store, std::uint64_t key, std::uint64_t amount, std::uint64_t * out)
{
    return Get(store, key, out) == CORPUS_VALUE ? Put(store, key, amount, out) : CORPUS_NONE;
}

corpus_result Remove(void * store, std::uint64_t key, std::uint64_t * out)
{
    if (Get(store, key, out) == CORPUS_NONE)
        return CORPUS_NONE;
    At(store).Remove(At(store).Find(key));
    return CORPUS_OLD;
}

std::size_t Scan(void * store, std::uint64_t key, std::size_t n, corpus_pair * out)
{
    std::size_t have = 0;
    for (std::size_t at = At(store).Find(key); have < n && at < At(store).Total(); at++)
        out[have++] = {At(store).Pool()->rows[at].key, At(store).Amount(at)};
    return have;
}

} // namespace

int main(int argc, char ** argv)
{
    corpus_program program{};
    program.name = "ledger";
    program.open = Open;
    program.close = Close;
    program.check = Check;
    program.put = Put;
    program.get = Get;
    program.del = Remove;
    program.upd = Update;
    program.scan = Scan;
    return corpus_main(&program, argc, argv);
}
