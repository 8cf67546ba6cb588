package command

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/wire/cursor"
)

// ReplyList answers with a cursor over documents. size is negative when the
// client named none: then all that fits comes at once.
func (c *Call) ReplyList(ns collection.Namespace, docs []bson.Raw, size int64) error {
	if size == 0 && len(docs) > 0 {
		return c.OpenCursor(cursor.Options{Namespace: ns}, cursor.NewDocs(docs), 0, false)
	}
	if size < 0 {
		size = int64(len(docs))
	}
	first := int(min(size, int64(len(docs)+1)))
	if len(docs) == 0 {
		first++ // which leaves none for another batch
	}
	return c.OpenCursor(cursor.Options{Namespace: ns}, cursor.NewDocs(docs), first, false)
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
