package verify

import "hash/maphash"

// ledger compares two sets of index entries without storing them: each entry is hashed into a bucket, to whose sum
// the first set adds 63 bits of the hash, and from which the second subtracts them. If the sets are equal, all sums
// are zero. If the sets differ, all sums are zero with a probability of at most 2⁻⁶³. Bit 63 of each term is set, so
// that a single missing entry is always found.
type ledger struct {
	buckets []uint64
	uneven  int // buckets that are not zero, counted by even
	counted bool
}

// ledgerBuckets is the number of buckets of a ledger: after a difference, only the entries of uneven buckets are
// looked up. The buckets take 128 KiB for each index.
const ledgerBuckets = 1 << 14

func newLedger() *ledger { return &ledger{buckets: make([]uint64, ledgerBuckets)} }

var seed = maphash.MakeSeed()

func sum(entry []byte) uint64 { return maphash.Bytes(seed, entry) }

func (l *ledger) add(s uint64)  { l.buckets[s%ledgerBuckets] += s | 1<<63 }
func (l *ledger) take(s uint64) { l.buckets[s%ledgerBuckets] -= s | 1<<63 }

// markUneven makes a bucket uneven, so that it is checked.
func (l *ledger) markUneven(s uint64) { l.buckets[s%ledgerBuckets] += 2*s + 1 }

// evenAt reports whether the bucket of an entry is zero.
func (l *ledger) evenAt(s uint64) bool { return l.buckets[s%ledgerBuckets] == 0 }

// even reports whether all buckets are zero: the two sets are equal. The result is kept, so that no entry may be
// added or taken after the first call.
func (l *ledger) even() bool {
	if !l.counted {
		for _, b := range l.buckets {
			if b != 0 {
				l.uneven++
			}
		}
		l.counted = true
	}
	return l.uneven == 0
}
