package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/cursor"
)

// ReplyList answers with a cursor over documents. size is negative when the
// client named none: then all that fits comes at once. The documents are there whatever becomes
// of what they tell of.
func (c *Call) ReplyList(ns collection.Namespace, docs []bson.Raw, size int64) error {
	if size == 0 && len(docs) > 0 {
		return c.OpenCursor(cursor.Options{Namespace: ns, Outlives: true}, cursor.NewDocs(docs), 0, false)
	}
	if size < 0 {
		size = int64(len(docs))
	}
	first := int(min(size, int64(len(docs)+1)))
	if len(docs) == 0 {
		first++ // which leaves none for another batch
	}
	return c.OpenCursor(cursor.Options{Namespace: ns, Outlives: true}, cursor.NewDocs(docs), first, false)
}
