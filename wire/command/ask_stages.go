package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/wire/auth"
)

// stages compares the stages of a pipeline.
// Manual: the pages of the stages under reference/operator/aggregation.
func (q *asking) stages(ns collection.Namespace, stages []bson.Raw, bypass bool) {
	// A pipeline on a database that begins otherwise is refused by the parser.
	if ns.Coll != "" && readsCollection(stages) {
		q.need(auth.Find, ns)
	}
	list, err := agg.Skim(stages)
	if err != nil {
		return // the command says why
	}
	for _, i := range list {
		at := ns
		if i.Nested {
			at = q.within(i.On)
		}
		if i.NS == (collection.Namespace{}) {
			q.source(i, at)
			continue
		}
		target := q.within(i.NS)
		switch i.Stage {
		case "$out":
			q.need(auth.Insert, target)
			q.need(auth.Remove, target)
		case "$merge":
			q.merge(i.Arg, target)
		default:
			q.need(auth.Find, target)
			continue
		}
		if bypass {
			q.need(auth.BypassDocumentValidation, target)
		}
	}
}

// within is a namespace as a stage names it, in the command's database if it names
// none.
func (q *asking) within(ns collection.Namespace) collection.Namespace {
	if ns.DB == "" {
		ns.DB = q.db
	}
	return ns
}

// readsCollection reports a pipeline that reads the documents of its collection.
func readsCollection(stages []bson.Raw) bool {
	if len(stages) == 0 {
		return true
	}
	f, _ := stages[0].First()
	switch string(f.Name) {
	case "$changeStream", "$collStats", "$currentOp", "$documents", "$indexStats", "$listClusterCatalog", "$listLocalSessions",
		"$listSampledQueries", "$listSessions", "$planCacheStats", "$querySettings", "$queryStats", "$shardedDataDistribution":
		return false
	}
	return true
}

// source compares a stage that shows something else than documents.
func (q *asking) source(i agg.Involved, ns collection.Namespace) {
	spec, _ := i.Arg.Doc()
	switch i.Stage {
	case "$changeStream":
		if spec.Get("allChangesForCluster").Truthy() {
			if !q.grants.MayEverywhere(auth.ChangeStream) || !q.grants.MayEverywhere(auth.Find) {
				q.denied = true
			}
			return
		}
		q.need(auth.ChangeStream, ns)
		q.need(auth.Find, ns)
	case "$collStats":
		q.need(auth.CollStats, ns)
	case "$indexStats":
		q.need(auth.IndexStats, ns)
	case "$planCacheStats":
		q.need(auth.PlanCacheRead, ns)
	case "$listClusterCatalog":
		q.need(auth.ListClusterCatalog, ns)
	case "$currentOp":
		if spec.Get("allUsers").Truthy() {
			q.cluster(auth.Inprog)
		}
	case "$listSessions", "$listLocalSessions":
		if spec.Get("allUsers").Truthy() || hasField(spec, "users") && !q.ownUsers(spec) {
			q.cluster(auth.ListSessions)
		}
	case "$shardedDataDistribution":
		q.cluster(auth.ShardedDataDistribution)
	case "$listSampledQueries":
		q.cluster(auth.ListSampledQueries)
	case "$queryStats":
		q.cluster(auth.QueryStatsRead)
	case "$querySettings":
		q.cluster(auth.QuerySettings)
	}
}

// ownUsers reports that {users: [{user, db}, …]} names only the user of the
// connection.
func (q *asking) ownUsers(spec bson.Raw) bool {
	list, _ := spec.Get("users").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		user, _ := d.Get("user").Str()
		db, _ := d.Get("db").Str()
		if (auth.Name{Name: user, DB: db}).String() != q.c.Peer.user {
			return false
		}
	}
	return true
}

// merge compares $merge: what it may do with documents that match and with others.
func (q *asking) merge(arg bson.Value, target collection.Namespace) {
	d, _ := arg.Doc()
	matched, _ := d.Get("whenMatched").Str()
	others, _ := d.Get("whenNotMatched").Str()
	keeps := matched == "keepExisting" || matched == "fail"
	if !keeps {
		q.need(auth.Update, target)
	}
	if keeps || others != "discard" && others != "fail" {
		q.need(auth.Insert, target)
	}
}
