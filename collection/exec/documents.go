package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// documents delivers given documents.
type documents struct {
	docs []bson.Raw
	at   int
	row  Row
}

// Documents is the operator of a list of documents: virtual collections and
// what the server tells about itself.
func Documents(docs []bson.Raw) Operator { return &documents{docs: docs} }

func (d *documents) Next(*mql.Env) (*Row, error) {
	if d.at == len(d.docs) {
		return nil, nil
	}
	d.row = Row{Doc: d.docs[d.at]}
	d.at++
	return &d.row, nil
}

func (d *documents) Explain(b *bson.Builder, _ bool) { b.String("stage", "VIRTUAL_SCAN") }
func (d *documents) Close()                          { d.at = len(d.docs) }
