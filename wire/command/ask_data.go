package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
)

// What commands on documents need beyond the Action of their row.
// Manual: the section "Required Access" of each command's page.

// askBypass: bypassDocumentValidation has an action of its own.
func askBypass(q *asking) {
	if q.arg("bypassDocumentValidation").Truthy() {
		q.need(auth.BypassDocumentValidation, q.namespace())
	}
}

// askUpdate: an upsert inserts.
func askUpdate(q *asking) {
	askBypass(q)
	upserts := false
	q.docs("updates", func(d bson.Raw) { upserts = upserts || d.Get("upsert").Truthy() })
	if upserts {
		q.need(auth.Insert, q.namespace())
	}
}

// askFindAndModify: it finds, and then does what it is asked to.
func askFindAndModify(q *asking) {
	askBypass(q)
	ns := q.namespace()
	q.need(auth.Find, ns)
	if q.arg("remove").Truthy() {
		q.need(auth.Remove, ns)
		return
	}
	q.need(auth.Update, ns)
	if q.arg("upsert").Truthy() {
		q.need(auth.Insert, ns)
	}
}

// askBulkWrite: what each operation does on its namespace.
func askBulkWrite(q *asking) {
	var targets []collection.Namespace
	q.docs("nsInfo", func(d bson.Raw) {
		s, _ := d.Get("ns").Str()
		targets = append(targets, collection.ParseNamespace(s))
	})
	bypass := q.arg("bypassDocumentValidation").Truthy()
	q.docs("ops", func(d bson.Raw) {
		f, _ := d.First()
		i, ok := f.Value.AsInt64()
		if !ok || i < 0 || i >= int64(len(targets)) {
			return // the command says so
		}
		ns := targets[i]
		switch string(f.Name) {
		case "insert":
			q.need(auth.Insert, ns)
		case "update":
			q.need(auth.Update, ns)
			if d.Get("upsert").Truthy() {
				q.need(auth.Insert, ns)
			}
		case "delete":
			q.need(auth.Remove, ns)
		}
		if bypass && string(f.Name) != "delete" {
			q.need(auth.BypassDocumentValidation, ns)
		}
	})
}

// askMapReduce: it writes where out says.
func askMapReduce(q *asking) {
	ns := collection.Namespace{DB: q.db}
	out := q.arg("out")
	kind := "replace"
	if d, ok := out.Doc(); ok {
		f, _ := d.First()
		if kind = string(f.Name); kind == "inline" {
			return
		}
		ns.Coll, _ = f.Value.Str()
		if db, ok := d.Get("db").Str(); ok {
			ns.DB = db
		}
	} else {
		ns.Coll, _ = out.Str()
	}
	q.need(auth.Insert, ns)
	if kind == "replace" {
		q.need(auth.Remove, ns)
	} else {
		q.need(auth.Update, ns)
	}
	askBypass(q)
}

// askExplain: what the explained command needs.
func askExplain(q *asking) {
	if d, ok := q.value.Doc(); ok {
		q.other(d)
	}
}

// askAggregate: what the first stage reads, and what the others read and write.
func askAggregate(q *asking) {
	ns := collection.Namespace{DB: q.db}
	ns.Coll, _ = q.value.Str()
	list, _ := q.arg("pipeline").Array()
	q.pipeline(ns, list)
}

// pipeline compares a pipeline on a collection, or with an empty ns.Coll on a
// database. What is no pipeline is denied: the command would not say what it is.
func (q *asking) pipeline(ns collection.Namespace, list bson.Raw) {
	q.stages(ns, q.c.outlineOf(list), q.arg("bypassDocumentValidation").Truthy())
}
