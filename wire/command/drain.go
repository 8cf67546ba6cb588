package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
)

// Drain reads a pipeline to its end, or until visit fails. The hint is for what a view is
// on; the zero value is none.
func (c *Call) Drain(ns collection.Namespace, stages []bson.Raw, hint bson.Value, visit func(bson.Raw) error) error {
	s, err := c.Cluster.Aggregate(&c.Op, ns, agg.NewOutline(stages), hint)
	if err != nil {
		return err
	}
	defer s.Close()
	defer s.Settle()
	for {
		row, err := s.Next(c.Env())
		if row == nil || err != nil {
			return err
		}
		if err := visit(row.Doc); err != nil {
			return err
		}
	}
}
