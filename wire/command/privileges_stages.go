package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
)

// stages compares the stages of a pipeline on a collection.
// Manual: the pages of the stages under reference/operator/aggregation.
func (q *PrivilegeCheck) stages(ns collection.Namespace, o *agg.Outline, bypass bool) {
	// A pipeline on a database that begins otherwise is refused by the parser.
	if ns.Coll != "" && o.ReadsCollection() {
		q.Need(auth.Find, ns)
	}
	if o.Err != nil {
		return // the command says why
	}
	for i := range o.Involved {
		s := &o.Involved[i]
		input := ns
		if s.Nested {
			input = q.within(s.On)
		}
		q.stage(s, input)
		if bypass && s.Writes && s.NS != (collection.Namespace{}) {
			q.Need(auth.BypassDocumentValidation, q.within(s.NS))
		}
	}
}

// stage compares the privileges in the row of a stage whose pipeline runs on input.
func (q *PrivilegeCheck) stage(s *agg.Involved, input collection.Namespace) {
	arg, _ := s.Arg.Doc()
	for _, p := range s.Privileges {
		if p.If != nil && !p.If(arg, q.Call.Peer.User) {
			continue
		}
		a := stageAction(p.Action)
		switch p.On {
		case agg.OnTarget:
			if s.NS != (collection.Namespace{}) {
				q.Need(a, q.within(s.NS))
			}
		case agg.OnInput:
			q.Need(a, input)
		case agg.OnCluster:
			q.NeedOnCluster(a)
		case agg.Everywhere:
			if !q.Grants.MayEverywhere(a) {
				q.Denied = true
			}
		}
	}
}

// stageAction is an action that the row of a stage names.
func stageAction(name string) auth.Action {
	a, ok := auth.ActionNamed(name)
	if !ok {
		mongoerr.Bug("a stage needs an action %q, which does not exist", name)
	}
	return a
}

// within is a namespace as a stage names it, in the command's database if it names
// none.
func (q *PrivilegeCheck) within(ns collection.Namespace) collection.Namespace {
	if ns.DB == "" {
		ns.DB = q.DB
	}
	return ns
}

// Pipeline compares a pipeline on a collection, or with an empty ns.Coll on a
// database. What is no pipeline is denied: the command would not say what it is.
func (q *PrivilegeCheck) Pipeline(ns collection.Namespace, list bson.Raw) {
	q.stages(ns, q.Call.OutlineOf(list), q.Arg("bypassDocumentValidation").Truthy())
}
