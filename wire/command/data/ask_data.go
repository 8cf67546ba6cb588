package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// What commands on documents need beyond the Action of their row.
// Manual: the section "Required Access" of each command's page.

// askBypass: bypassDocumentValidation has an action of its own.
func askBypass(q *command.PrivilegeCheck) {
	if q.Arg("bypassDocumentValidation").Truthy() {
		q.Need(auth.BypassDocumentValidation, q.Namespace())
	}
}

// askUpdate: an upsert inserts.
func askUpdate(q *command.PrivilegeCheck) {
	askBypass(q)
	upserts := false
	q.Docs("updates", func(d bson.Raw) { upserts = upserts || d.Get("upsert").Truthy() })
	if upserts {
		q.Need(auth.Insert, q.Namespace())
	}
}

// askFindAndModify: it finds, and then does what it is asked to.
func askFindAndModify(q *command.PrivilegeCheck) {
	askBypass(q)
	ns := q.Namespace()
	q.Need(auth.Find, ns)
	if q.Arg("remove").Truthy() {
		q.Need(auth.Remove, ns)
		return
	}
	q.Need(auth.Update, ns)
	if q.Arg("upsert").Truthy() {
		q.Need(auth.Insert, ns)
	}
}

// askBulkWrite: what each operation does on its namespace.
func askBulkWrite(q *command.PrivilegeCheck) {
	var targets []collection.Namespace
	q.Docs("nsInfo", func(d bson.Raw) {
		s, _ := d.Get("ns").Str()
		targets = append(targets, collection.ParseNamespace(s))
	})
	bypass := q.Arg("bypassDocumentValidation").Truthy()
	q.Docs("ops", func(d bson.Raw) {
		f, _ := d.First()
		i, ok := f.Value.AsInt64()
		if !ok || i < 0 || i >= int64(len(targets)) {
			return // the command says so
		}
		ns := targets[i]
		switch string(f.Name) {
		case "insert":
			q.Need(auth.Insert, ns)
		case "update":
			q.Need(auth.Update, ns)
			if d.Get("upsert").Truthy() {
				q.Need(auth.Insert, ns)
			}
		case "delete":
			q.Need(auth.Remove, ns)
		}
		if bypass && string(f.Name) != "delete" {
			q.Need(auth.BypassDocumentValidation, ns)
		}
	})
}

// askMapReduce: it writes where out says.
func askMapReduce(q *command.PrivilegeCheck) {
	ns := collection.Namespace{DB: q.DB}
	out := q.Arg("out")
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
	q.Need(auth.Insert, ns)
	if kind == "replace" {
		q.Need(auth.Remove, ns)
	} else {
		q.Need(auth.Update, ns)
	}
	askBypass(q)
}

// askAggregate: what the first stage reads, and what the others read and write.
func askAggregate(q *command.PrivilegeCheck) {
	ns := collection.Namespace{DB: q.DB}
	ns.Coll, _ = q.Value.Str()
	list, _ := q.Arg("pipeline").Array()
	q.Pipeline(ns, list)
}
