package command

import (
	"context"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/wire/cursor"
)

// docList is a cursor source over documents made beforehand.
type docList struct {
	docs []bson.Raw
	held int64 // bytes of them, counted when first asked for
}

// Append see cursor.Source.
func (l *docList) Append(_ context.Context, b *bson.Builder, most, maxBytes int) (n int, more bool, err error) {
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

// Close see cursor.Source.
func (l *docList) Close() { l.docs = nil }

// Held see cursor.Holder.
func (l *docList) Held() int64 {
	if l.held <= 0 {
		l.held = 0
		for _, d := range l.docs {
			l.held += int64(len(d))
		}
	}
	return l.held
}

// Park see cursor.Holder.
func (l *docList) Park() bool { return true }

// ReplyList answers with a cursor over documents. size is negative when the
// client named none: then all that fits comes at once.
func (c *Call) ReplyList(ns collection.Namespace, docs []bson.Raw, size int64) error {
	if size == 0 && len(docs) > 0 {
		return c.OpenCursor(cursor.Options{Namespace: ns}, &docList{docs: docs}, 0, false)
	}
	if size < 0 {
		size = int64(len(docs))
	}
	first := int(min(size, int64(len(docs)+1)))
	if len(docs) == 0 {
		first++ // which leaves none for another batch
	}
	return c.OpenCursor(cursor.Options{Namespace: ns}, &docList{docs: docs}, first, false)
}

// FilterDocs keeps the documents that match a filter; nil keeps all.
// Errors: those of match.Parse and of the expressions in the filter.
func (c *Call) FilterDocs(docs []bson.Raw, filter bson.Raw) ([]bson.Raw, error) {
	if filter.IsEmpty() {
		return docs, nil
	}
	if err := RefuseInValidator(filter); err != nil {
		return nil, err
	}
	f, err := match.Parse(c.Env(), filter)
	if err != nil {
		return nil, err
	}
	f = match.Normalize(f)
	var s expr.Scratch
	var out []bson.Raw
	for _, d := range docs {
		s.Reset()
		ok, err := f.Matches(c.Env(), d, &s)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, d)
		}
	}
	return out, nil
}

// Millis is a duration in milliseconds, for replies.
func Millis(d time.Duration) int64 { return d.Milliseconds() }
