package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stageListLocalSessions = info(StageDef{Name: "$listLocalSessions", Constraints: onDatabase,
	Privileges: othersSessions, ReadLevel: "local", Unstable: always, Since: "3.6", Doc: "reference/operator/aggregation/listLocalSessions"}, checkListSessions)

var stageListSessions = onlySessions(info(StageDef{Name: "$listSessions", Constraints: ofSessions,
	Privileges: othersSessions, Unstable: always, Since: "3.6", Doc: "reference/operator/aggregation/listSessions"}, checkListSessions))

// othersSessions are the privileges that $listSessions and $listLocalSessions require.
var othersSessions = []Privilege{{Action: "listSessions", On: OnCluster, If: where(infoArgs.othersSessions), Case: "for sessions of others"}}

// ofSessions are the constraints of $listSessions: it must be the first stage, makes documents without input, and no
// view may begin with it.
var ofSessions = Constraints{First: true, Source: true, NotIn: placesOfInfo, NoView: mongoerr.InvalidNamespace}

// onlySessions returns the definition d with a Parse that rejects every collection but config.system.sessions.
// Manual: reference/operator/aggregation/listSessions.
// Errors: InvalidNamespace (73).
func onlySessions(d StageDef) StageDef {
	parse := d.Parse
	d.Parse = func(p *parser, name string, arg bson.Value) ([]Stage, error) {
		if p.ns.Coll != "" && (p.ns.DB != "config" || p.ns.Coll != "system.sessions") {
			return nil, mongoerr.New(mongoerr.InvalidNamespace, "%s may only be run against config.system.sessions", name)
		}
		return parse(p, name, arg)
	}
	return d
}

// othersSessions reports whether the stage shows sessions of users other than the caller.
func (a infoArgs) othersSessions(user collection.User) bool {
	if a.doc.Get("allUsers").Truthy() {
		return true
	}
	list, _ := a.doc.Get("users").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		name, _ := d.Get("user").Str()
		db, _ := d.Get("db").Str()
		if !user.Called(name, db) {
			return true
		}
	}
	return false
}

// checkListSessions validates the argument of $listSessions and $listLocalSessions. The messages always name
// $listLocalSessions.
func checkListSessions(v bson.Value) error {
	const name = "$listLocalSessions"
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(mongoerr.TypeMismatch, "%s options must be specified in an object, but found: %s", name, v.Type)
	}
	if err := checkOptions(name, d, 40415, option{"allUsers", bson.TypeBool}, option{"users", bson.TypeArray}, option{"$_internalPredicate", bson.TypeMissing}); err != nil {
		return err
	}
	users, _ := d.Get("users").Array()
	for it := users.Iter(); it.Next(); {
		u, ok := it.Value.Doc()
		if it.Value.Type == bson.TypeNull {
			continue
		}
		if !ok {
			return mongoerr.WrongType(name+".users", it.Value.Type.String(), "object")
		}
		if twice, ok := u.Repeated(); ok {
			return mongoerr.RepeatedField(name + ".users." + string(twice))
		}
		if err := checkOptions(name+".users", u, 40415, option{"user", bson.TypeString}, option{"db", bson.TypeString}); err != nil {
			return err
		}
		for _, f := range [...]string{"user", "db"} {
			if u.Get(f).IsNullish() {
				return mongoerr.New(40414, "BSON field '%s.users.%s' is missing but a required field", name, f)
			}
		}
	}
	if all, _ := d.Get("allUsers").Boolean(); all && !users.IsEmpty() {
		return mongoerr.New(mongoerr.UnsupportedFormat, "%s may not specify {allUsers:true} and {users:[...]} at the same time", name)
	}
	return nil
}
