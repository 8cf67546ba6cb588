package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// documents delivers the documents of a list.
type documents struct {
	docs   []bson.Raw
	at     int
	row    Row
	memory *mql.Memory
	held   int // bytes counted in memory
}

// documentBytes is the memory that a document in a list takes in addition to its bytes.
const documentBytes = 64

// Documents returns the operator that delivers a list of documents, for virtual collections and for the
// server's own state. The list counts in the command's memory until Close.
// Errors: ExceededMemoryLimit (146).
func Documents(env *mql.Env, docs []bson.Raw) (Operator, error) {
	d := &documents{memory: env.Memory}
	if err := d.hold(docs); err != nil {
		return nil, err
	}
	return d, nil
}

// hold sets the list of an operator that has none. Errors: ExceededMemoryLimit (146).
func (d *documents) hold(docs []bson.Raw) error {
	bytes := 0
	for _, doc := range docs {
		bytes += documentBytes + len(doc)
	}
	if err := d.memory.GrowValues(bytes, "a list of what the server shows of itself"); err != nil {
		return err
	}
	d.docs, d.held = docs, bytes
	return nil
}

func (d *documents) Next(*mql.Env) (*Row, error) {
	if d.at == len(d.docs) {
		return nil, nil
	}
	d.row = Row{Doc: d.docs[d.at]}
	d.at++
	return &d.row, nil
}

func (d *documents) Explain(b *bson.Builder, _ bool) { b.String("stage", "VIRTUAL_SCAN") }

func (d *documents) Close() {
	d.memory.ShrinkValues(d.held)
	d.docs, d.at, d.held = nil, 0, 0
}
