package exec

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cantledb/cantle/collection/mql"
)

// sortRef stands for an item while items are sorted. It holds the first bytes of the item's key, so that most
// comparisons read no item, and is small beside a row.
type sortRef struct {
	KeyPrefix
	at int // index of the item
}

// sortRefBytes is the memory of a sortRef.
const sortRefBytes = 24

// KeyPrefix holds the first sixteen bytes of a key, as numbers that compare as they do. Keys with equal prefixes have
// still to be compared.
type KeyPrefix struct{ first, second uint64 }

// PrefixOf returns the prefix of a key. A key of less than sixteen bytes is continued by zeros.
func PrefixOf[K []byte | string](key K) KeyPrefix {
	var b [16]byte
	copy(b[:], key)
	return KeyPrefix{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}

// SortByKeys sorts items by keys of bytes: prefix returns the prefix of an item's key, and compare compares two items by
// their whole keys; it must distinguish all items. If the command must end meanwhile, the order of the items stays.
// Errors: the reason why the command must end.
func SortByKeys[T any](env *mql.Env, items []T, prefix func(*T) KeyPrefix, compare func(a, b *T) int) (err error) {
	refs := make([]sortRef, len(items))
	for i := range items {
		refs[i] = sortRef{prefix(&items[i]), i}
	}
	slices.SortFunc(refs, func(a, b sortRef) int {
		if err == nil {
			err = env.Tick()
		}
		switch {
		case err != nil:
			return 0
		case a.first != b.first:
			return cmp.Compare(a.first, b.first)
		case a.second != b.second:
			return cmp.Compare(a.second, b.second)
		}
		return compare(&items[a.at], &items[b.at])
	})
	if err == nil {
		arrange(items, refs)
	}
	return err
}

// arrange moves the items into the order of the references, which it overwrites. Each item is moved once.
func arrange[T any](items []T, refs []sortRef) {
	for start := range refs {
		if refs[start].at == start {
			continue
		}
		first, to := items[start], start
		for from := refs[to].at; from != start; from = refs[to].at {
			items[to] = items[from]
			refs[to].at = to
			to = from
		}
		items[to] = first
		refs[to].at = to
	}
}

// sortRows sorts rows by key, and by input order if keys are equal. Errors: the reason why the command must end.
func sortRows(env *mql.Env, rows []sortRow) error {
	return SortByKeys(env, rows, func(r *sortRow) KeyPrefix { return PrefixOf(r.key) }, func(a, b *sortRow) int {
		if c := bytes.Compare(a.key, b.key); c != 0 {
			return c
		}
		return cmp.Compare(a.seq, b.seq)
	})
}
