package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/cursor"
)

// ReplyList replies with a cursor over docs, the descriptions of listed objects. size is the batch size of the
// client; if it is negative because the client sent none, the first batch has all documents that fit. The cursor
// stays valid if the listed objects are dropped.
func (c *Call) ReplyList(ns collection.Namespace, docs []bson.Raw, size int64) error {
	if size == 0 && len(docs) > 0 {
		return c.OpenCursor(cursor.Options{Namespace: ns, SurvivesDrop: true}, cursor.NewDocs(docs), 0, false)
	}
	if size < 0 {
		size = int64(len(docs))
	}
	first := int(min(size, int64(len(docs)+1)))
	if len(docs) == 0 {
		first++ // so that no second batch is needed
	}
	return c.OpenCursor(cursor.Options{Namespace: ns, SurvivesDrop: true}, cursor.NewDocs(docs), first, false)
}
