package cursor

import (
	"context"

	"github.com/cantledb/cantle/bson"
)

// Docs is a source of documents in memory.
type Docs struct {
	docs []bson.Raw
	held int64 // bytes of the rest of docs, counted at the first call of Held
}

// NewDocs returns a source of documents.
func NewDocs(docs []bson.Raw) *Docs { return &Docs{docs: docs} }

// Append see Source.
func (l *Docs) Append(_ context.Context, b *bson.Builder, most, maxBytes int) (n int, more bool, err error) {
	start := b.Len()
	for len(l.docs) > 0 && (most == 0 || n < most) {
		if n > 0 && b.Len()-start+len(l.docs[0]) > maxBytes {
			break
		}
		b.Value("", l.docs[0].Value())
		l.held -= int64(len(l.docs[0]))
		l.docs = l.docs[1:]
		n++
	}
	return n, len(l.docs) > 0, nil
}

// Close see Source.
func (l *Docs) Close() { l.docs = nil }

// Held see Holder.
func (l *Docs) Held() int64 {
	if l.held <= 0 {
		l.held = 0
		for _, d := range l.docs {
			l.held += int64(len(d))
		}
	}
	return l.held
}

// Park see Holder.
func (l *Docs) Park() bool { return true }
