package shards

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/shard/history"
)

// untaken is the part of a table of shapes for TakeShapes. The mutex of the table guards it.
type untaken struct {
	busy    bool                                       // shapes have pending work
	removed map[collection.Namespace]history.ShapeWork // pending work of shapes that were removed
}

// removedMax is the maximum number of collections in untaken.removed.
const removedMax = 64

// keep keeps the pending work of a shape that is removed.
func (u *untaken) keep(s *shape) {
	if s.pending == (history.ShapeWork{}) {
		return
	}
	if u.removed == nil {
		u.removed = map[collection.Namespace]history.ShapeWork{}
	}
	ns := s.ns
	if _, ok := u.removed[ns]; !ok && len(u.removed) >= removedMax {
		ns = collection.Namespace{}
	}
	w := u.removed[ns]
	w.Add(s.pending)
	u.removed[ns] = w
}

// take visits each shape that did work since the last call, with that work. Shapes that were removed meanwhile count as
// others of their collection.
func (x *shapes) take(visit func(history.Shape, history.ShapeWork)) {
	for i := range x.parts {
		p := &x.parts[i]
		p.mu.Lock()
		if p.busy {
			for _, s := range p.by {
				if s.pending != (history.ShapeWork{}) {
					visit(*s.billed, s.pending)
					s.pending = history.ShapeWork{}
				}
			}
			p.busy = false
		}
		for ns, w := range p.removed {
			s := history.Shape{}
			if ns.DB != "" {
				s.Namespace = ns.String()
			}
			visit(s, w)
		}
		clear(p.removed)
		p.mu.Unlock()
	}
}

// TakeShapes visits each query shape that did work since the last call, with that work, for the history.
func (s *State) TakeShapes(visit func(history.Shape, history.ShapeWork)) { s.shapes.take(visit) }
