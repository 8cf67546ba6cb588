package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
)

// Drain reads a pipeline to its end, or until visit fails. If ns is a view, the hint applies to the
// collection below it; the zero value is no hint.
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
