package exec

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// pages delivers documents that a function computes page by page.
type pages struct {
	documents
	next func(context.Context) ([]bson.Raw, error)
	done bool
}

// Pages returns the operator that delivers the documents of next until it returns none. One page at a time counts in the
// command's memory.
func Pages(env *mql.Env, next func(context.Context) ([]bson.Raw, error)) Operator {
	return &pages{documents: documents{memory: env.Memory}, next: next}
}

// Next implements Operator. Errors: ExceededMemoryLimit (146), errors of the function.
func (p *pages) Next(env *mql.Env) (*Row, error) {
	if p.at == len(p.docs) && !p.done {
		p.documents.Close()
		docs, err := p.next(env.Context())
		if err != nil {
			return nil, err
		}
		if err := p.hold(docs); err != nil {
			return nil, err
		}
		p.done = len(docs) == 0
	}
	return p.documents.Next(env)
}

// Close implements Operator.
func (p *pages) Close() {
	p.documents.Close()
	p.done = true
}
