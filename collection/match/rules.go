package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

// rules determine how a filter compares values: by the collation of the command, and as the release of MongoDB that
// the client sees treats null.
type rules struct {
	order     bson.StringOrder
	undefined bool // null equals undefined
	through   bool // a path that ends inside an array without documents is null
}

func rulesOf(env *mql.Env) rules {
	return rules{
		order:     env.Order(),
		undefined: !env.Release.Has(release.NullSkipsUndefined),
		through:   env.Release.Has(release.NullThroughArrays),
	}
}

// equalsNull reports whether v equals null.
func (r rules) equalsNull(v bson.Value) bool {
	return v.IsNullish() && (r.undefined || v.Type != bson.TypeUndefined)
}

// nullThrough reports whether the predicate matches null, and the client's release of MongoDB counts a path that
// ends inside an array without documents as null.
func nullThrough(p predicate) bool {
	switch p := p.(type) {
	case *comparison:
		return p.through && p.matchesNull()
	case *in:
		return p.through && p.null
	}
	return false
}
