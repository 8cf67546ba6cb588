package changestream

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// Filter is the condition at the head of a stream's pipeline, in a form that is evaluated once for
// all streams with the same condition, while they wait. Immutable, safe for concurrent use.
type Filter struct {
	node      match.Node
	collation *mql.Collation
	// head is the part on operationType and ns alone: it is evaluated once for each collection
	// instead of for each event. nil = none.
	head match.Node
	// images is true if the filter reads fullDocument.
	images bool
	// key is equal for equal filters.
	key string
}

// NewFilter makes the Filter of the $match stages at the head of a pipeline. It returns nil if there are
// none, or if they cannot be evaluated outside of their stream, for example because they read the resume token, or
// contain an expression, whose variables belong to the command, or a schema.
func NewFilter(env *mql.Env, n match.Node) *Filter {
	if n == nil {
		return nil
	}
	f := &Filter{node: match.Normalize(n), collation: env.Collation}
	shared := true
	match.Walk(n, func(n match.Node) {
		switch n := n.(type) {
		case *match.And, *match.Or, *match.Nor, match.Always:
		case *match.Leaf, *match.Not, *match.ElemMatch:
			switch root, _, _ := strings.Cut(n.(match.Pathed).Path().String(), "."); root {
			case "_id":
				shared = false
			case "fullDocument":
				f.images = true
			}
		default:
			shared = false
		}
	})
	if !shared {
		return nil
	}
	parts := []match.Node{f.node}
	if and, ok := f.node.(*match.And); ok {
		parts = and.Children()
	}
	var head []match.Node
	for _, p := range parts {
		if aboutKind(p) {
			head = append(head, p)
		}
	}
	if len(head) > 0 {
		f.head = match.AllOf(head...)
	}
	b := bson.NewBuilder(nil)
	f.collation.Append(b, "collation")
	b.BeginDoc("filter")
	f.node.Append(b)
	b.End()
	f.key = string(b.Doc())
	return f
}

// aboutKind reports whether a condition reads nothing but operationType and ns.
func aboutKind(n match.Node) bool {
	yes := true
	match.Walk(n, func(n match.Node) {
		switch n := n.(type) {
		case *match.And, *match.Or, *match.Nor, match.Always:
		case *match.Leaf, *match.Not:
			p := n.(match.Pathed).Path().String()
			yes = yes && (p == "operationType" || p == "ns" || strings.HasPrefix(p, "ns."))
		default:
			yes = false
		}
	})
	return yes
}

// opSet is a set of operations on documents.
type opSet uint8

const allOps = opSet(1<<changelog.Insert | 1<<changelog.Update | 1<<changelog.Replace | 1<<changelog.Delete)

func (o opSet) has(op changelog.Op) bool { return o>>op&1 != 0 }

// ops returns the operations on documents of a collection that can pass the filter, by its conditions on
// operationType and ns; all can pass a Filter without such conditions, or nil.
func (f *Filter) ops(env *mql.Env, ns collection.Namespace) opSet {
	if f == nil || f.head == nil {
		return allOps
	}
	own := *env
	own.Collation = f.collation
	var s expr.Scratch
	var b eventBuilder
	ops := opSet(0)
	for op, name := range operations {
		if name == "" {
			continue
		}
		b.begin()
		b.String("operationType", name)
		appendNamespace(&b, "ns", ns)
		s.Reset()
		if ok, err := f.head.Matches(&own, b.end(), &s); ok || err != nil {
			ops |= 1 << op
		}
	}
	return ops
}

// passes reports whether an event passes the filter.
func (f *Filter) passes(env *mql.Env, event bson.Raw, s *expr.Scratch) (bool, error) {
	s.Reset()
	return f.node.Matches(env, event, s)
}
