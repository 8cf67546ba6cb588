package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/cursor"
)

// ReplyList replies with a cursor over docs. size is the batch size; if it is negative because the client
// named none, all documents that fit are in the first batch. The cursor stays valid if the listed objects are
// dropped.
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
