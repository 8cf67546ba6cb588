package cluster

import "bytes"

// chargedKey holds the shard key value of a command whose statements are all for the same value, for the ledger.
type chargedKey struct {
	bytes   []byte
	space   [32]byte // the initial memory
	several bool
}

// note compares the shard key values of a statement with the value so far.
func (k *chargedKey) note(t *touches) {
	for i := range t.list {
		key := t.keys[t.list[i].from:t.list[i].to]
		switch {
		case k.several:
			return
		case len(k.bytes) == 0:
			k.bytes = append(k.space[:0], key...)
		case !bytes.Equal(k.bytes, key):
			k.several = true
		}
	}
}
