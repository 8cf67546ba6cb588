package plan

import (
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// impliedBySchema adds the types and limits of the required properties of a $jsonSchema.
// Manual: reference/operator/query/jsonSchema.
func impliedBySchema(_ *mql.Env, n match.Node, add func(conjunct)) {
	s, ok := n.(*match.Schema)
	if !ok {
		return
	}
	for _, i := range s.Implied() {
		if restricts(i.Intervals) {
			add(conjunct{path: i.Path.String(), intervals: i.Intervals})
		}
	}
}
