package schema

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
)

// TestFindLeavesStagedIndex checks that the key pattern in a collMod does not match an index that is staged for
// another command, and not visible yet.
func TestFindLeavesStagedIndex(t *testing.T) {
	b := bson.NewBuilder(nil)
	b.Int32("u", 1)
	key := b.Doc()
	listed := &catalog.Index{Spec: &index.Spec{Name: "u", Key: key}}
	coll := &catalog.Collection{Indexes: []*catalog.Index{listed, {Spec: &index.Spec{Name: "u", Key: key}, Staged: true}}}
	x := indexChange{key: key}
	if ix, err := x.find(coll); ix != listed || err != nil {
		t.Errorf("%v, %v", ix, err)
	}
}
