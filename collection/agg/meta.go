package agg

import (
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
)

// metaKinds is the metadata that expressions read, as bits by expr.MetaKind.
type metaKinds uint32

// of adds what an expression reads.
func (k *metaKinds) of(e expr.Expr) {
	expr.NeedsMeta(e, func(m expr.MetaKind) { *k |= 1 << m })
}

// ofFilter adds what a filter reads.
func (k *metaKinds) ofFilter(n match.Node) {
	match.Walk(n, func(n match.Node) {
		if e, ok := n.(*match.Expr); ok {
			k.of(e.Expression())
		}
	})
}

// give hands the metadata of a row to the expressions.
func (k metaKinds) give(r *exec.Row, s *expr.Scratch) {
	if k != 0 {
		r.SetMeta(s, uint32(k))
	}
}
