package command

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
)

// Pipeline checks the privileges for a pipeline on a collection, or on a database if ns.Coll is "". bypass is true if
// documents that the pipeline writes are not validated, which needs a further privilege. A pipeline with an invalid
// stage does not run: the error of the stage becomes the error of the command.
// Manual: the pages of the stages under reference/operator/aggregation.
func (q *PrivilegeCheck) Pipeline(ns collection.Namespace, o *agg.Outline, bypass bool) {
	if ns.Coll != "" && o.ReadsCollection() {
		q.Need(auth.Find, ns)
	}
	if o.Err != nil {
		q.unread = o.Err
		return
	}
	for i := range o.Involved {
		s := &o.Involved[i]
		input := ns
		if s.Nested {
			input = q.within(s.On)
		}
		q.stage(s, input)
		if bypass && s.Writes && s.NS.Coll != "" {
			q.Need(auth.BypassDocumentValidation, q.within(s.NS))
		}
	}
}

// stage checks the privileges that the row of one pipeline stage lists. input is the collection on which the stage's
// pipeline runs.
func (q *PrivilegeCheck) stage(s *agg.Involved, input collection.Namespace) {
	for i := range s.Privileges {
		p := &s.Privileges[i]
		if !s.Needs(p, q.Call.ConnState.User) {
			continue
		}
		a := stageAction(p.Action)
		switch p.On {
		case agg.OnTarget:
			if s.NS.Coll != "" {
				q.need(auth.Needed{Action: a, On: q.within(s.NS)})
			}
		case agg.OnInput:
			q.need(auth.Needed{Action: a, On: input})
		case agg.OnCluster:
			q.need(auth.Needed{Action: a, Reach: auth.TheCluster})
		case agg.OnInputOrEverywhere:
			if input.Coll != "" {
				q.need(auth.Needed{Action: a, On: input})
			} else {
				q.need(auth.Needed{Action: a, Reach: auth.Everywhere})
			}
		case agg.Everywhere:
			q.need(auth.Needed{Action: a, Reach: auth.Everywhere})
		}
	}
}

// stageAction returns the action that the row of a stage names.
func stageAction(name string) auth.Action {
	a, ok := auth.ActionNamed(name)
	if !ok {
		mongoerr.Bug("a stage needs an action %q, which does not exist", name)
	}
	return a
}

// within returns the namespace of a stage, with the database of the command if the stage names no database.
func (q *PrivilegeCheck) within(ns collection.Namespace) collection.Namespace {
	if ns.DB == "" {
		ns.DB = q.DB
	}
	return ns
}
