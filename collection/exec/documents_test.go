package exec

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// A list of documents that an operator delivers counts in the command's memory until Close. It is refused if
// all commands together hold too much.
func TestDocumentsAreHeld(t *testing.T) {
	env := mql.NewEnv(t.Context())
	env.Memory.Reset(1<<20, ratelimit.NewMemory(1<<20))
	b := bson.NewBuilder(nil)
	b.String("text", string(make([]byte, 100_000)))
	doc := b.Doc()
	before := env.Memory.Used()
	op, err := Documents(env, []bson.Raw{doc, doc})
	if err != nil || env.Memory.Used()-before < int64(2*len(doc)) {
		t.Fatalf("%d bytes are counted for two of %d, %v", env.Memory.Used()-before, len(doc), err)
	}
	op.Close()
	op.Close()
	if env.Memory.Used() != before {
		t.Errorf("%d bytes are counted after Close", env.Memory.Used()-before)
	}
	many := make([]bson.Raw, 100)
	for i := range many {
		many[i] = doc
	}
	if _, err := Documents(env, many); mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit || env.Memory.Used() != before {
		t.Errorf("%v, %d bytes are counted", err, env.Memory.Used()-before)
	}
}
