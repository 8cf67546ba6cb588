package verify

import "hash/maphash"

// ledger compares two sets of entries without holding them: each is hashed into a bucket,
// whose sum the one set adds to and the other takes from. Where the sets are equal all
// sums are zero; that they are although the sets differ has a chance of one in 2⁶⁴.
type ledger struct {
	buckets []uint64
	uneven  int // buckets that are not zero, counted by even
	counted bool
}

// ledgerBuckets is how finely a difference is narrowed down: 128 KB for each index.
const ledgerBuckets = 1 << 14

func newLedger() *ledger { return &ledger{buckets: make([]uint64, ledgerBuckets)} }

var seed = maphash.MakeSeed()

func sum(entry []byte) uint64 { return maphash.Bytes(seed, entry) }

func (l *ledger) add(s uint64)  { l.buckets[s%ledgerBuckets] += s | 1<<63 }
func (l *ledger) take(s uint64) { l.buckets[s%ledgerBuckets] -= s | 1<<63 }

// spoil makes sure that a bucket is looked at.
func (l *ledger) spoil(s uint64) { l.buckets[s%ledgerBuckets] += 2*s + 1 }

// evenAt reports that the bucket of an entry is zero.
func (l *ledger) evenAt(s uint64) bool { return l.buckets[s%ledgerBuckets] == 0 }

// even reports that all buckets are zero; nothing is added or taken afterwards.
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
