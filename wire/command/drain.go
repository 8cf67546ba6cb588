package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
)

// Drain runs a pipeline and calls visit with each result document, until the pipeline ends or visit returns an error.
// ns is the pipeline's collection. If ns is a view, the index hint applies to the view's collection; the zero hint is
// none.
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
