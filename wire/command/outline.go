package command

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// cachedOutline holds the pipeline of a command and the outline that is computed at its first use.
type cachedOutline struct {
	list    bson.Raw // the argument; nil before the first use
	outline agg.Outline
}

// OutlineOf returns the outline of a pipeline that is an argument of the command: the collections and privileges that
// its stages need. An element that is no document becomes a nil stage.
func (c *Call) OutlineOf(list bson.Raw) *agg.Outline {
	x := &c.cachedOutline
	if x.list != nil && bytes.Equal(x.list, list) {
		return &x.outline
	}
	if x.list != nil { // another pipeline of the same command, which does not replace the cached one
		x = &cachedOutline{}
	}
	stages := make([]bson.Raw, 0, list.Len())
	for v := range list.Values() {
		d, _ := v.Doc()
		stages = append(stages, d)
	}
	x.list = list
	x.outline.Read(stages)
	return &x.outline
}

// AggregatePipeline reads the pipeline of an aggregate. Errors: TypeMismatch (14).
func (c *Call) AggregatePipeline(v bson.Value) (*agg.Outline, error) {
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "'pipeline' option must be specified as an array")
	}
	o := c.OutlineOf(list)
	if slices.ContainsFunc(o.Stages, func(d bson.Raw) bool { return d == nil }) {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
	}
	return o, nil
}
