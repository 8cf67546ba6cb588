package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// The stages about the server itself; the Opener makes their rows.
var (
	stageCollStats = StageDef{Name: "$collStats", Parse: parseInfo(checkCollStats), Skim: skimInfo, Constraints: ofCollection,
		Privileges: []Privilege{{Action: "collStats", On: OnInput}}, Unstable: moreThanCount, Doc: "reference/operator/aggregation/collStats"}
	stageCurrentOp = StageDef{Name: "$currentOp", Parse: parseInfo(checkCurrentOp), Skim: skimInfo, Constraints: onAdmin,
		Privileges: []Privilege{{Action: "inprog", On: OnCluster, If: allUsers}}, ReadLevel: "local", Unstable: always, Doc: "reference/operator/aggregation/currentOp"}
	stageIndexStats = StageDef{Name: "$indexStats", Parse: parseInfo(checkIndexStats), Skim: skimInfo, Constraints: ofCollection,
		Privileges: []Privilege{{Action: "indexStats", On: OnInput}}, Unstable: always, Doc: "reference/operator/aggregation/indexStats"}
	stageListClusterCatalog = StageDef{Name: "$listClusterCatalog", Parse: parseInfo(checkClusterCatalog), Skim: skimInfo, Constraints: ofDatabase,
		Privileges: []Privilege{{Action: "listClusterCatalog", On: OnInput}}, Doc: "reference/operator/aggregation/listClusterCatalog"}
	stageListLocalSessions = StageDef{Name: "$listLocalSessions", Parse: parseInfo(checkListSessions), Skim: skimInfo, Constraints: onDatabase,
		Privileges: []Privilege{{Action: "listSessions", On: OnCluster, If: othersSessions}}, ReadLevel: "local", Unstable: always, Doc: "reference/operator/aggregation/listLocalSessions"}
	stageListSampledQueries = StageDef{Name: "$listSampledQueries", Parse: parseInfo(checkSampledQueries), Skim: skimInfo, Constraints: onAdmin,
		Privileges: []Privilege{{Action: "listSampledQueries", On: OnCluster}}, Doc: "reference/operator/aggregation/listSampledQueries"}
	stageListSearchIndexes = StageDef{Name: "$listSearchIndexes", Parse: parseSearch, Doc: "reference/operator/aggregation/listSearchIndexes"}
	stageListSessions      = StageDef{Name: "$listSessions", Parse: parseListSessions, Skim: skimInfo, Constraints: ofSessions,
		Privileges: []Privilege{{Action: "listSessions", On: OnCluster, If: othersSessions}}, Unstable: always, Doc: "reference/operator/aggregation/listSessions"}
	stagePlanCacheStats = StageDef{Name: "$planCacheStats", Parse: parseInfo(checkPlanCacheStats), Skim: skimInfo, Constraints: ofCollection,
		Privileges: []Privilege{{Action: "planCacheRead", On: OnInput}}, ReadLevel: "local", Unstable: always, Doc: "reference/operator/aggregation/planCacheStats"}
	stageQuerySettings = StageDef{Name: "$querySettings", Parse: parseInfo(checkQuerySettings), Skim: skimInfo, Constraints: onDatabase,
		Privileges: []Privilege{{Action: "querySettings", On: OnCluster}}, NoSettings: true, Doc: "reference/operator/aggregation/querySettings"}
	stageQueryStats = StageDef{Name: "$queryStats", Parse: parseInfo(checkQueryStats), Skim: skimInfo, Constraints: onAdmin,
		Privileges: []Privilege{{Action: "queryStatsRead", On: OnCluster}}, Doc: "reference/operator/aggregation/queryStats"}
	stageShardedData = StageDef{Name: "$shardedDataDistribution", Parse: parseInfo(checkEmpty("$shardedDataDistribution", 6789100)), Skim: skimInfo, Constraints: onAdmin,
		Privileges: []Privilege{{Action: "shardedDataDistribution", On: OnCluster}}, Doc: "reference/operator/aggregation/shardedDataDistribution"}
)

// placesOfInfo are the places that refuse sources about the server.
const placesOfInfo = InFacet | InTransaction | InUpdate

// The surroundings of these sources: what they are asked of.
var (
	ofCollection = Constraints{First: true, Source: true, NotIn: placesOfInfo}
	ofSessions   = Constraints{First: true, Source: true, NotIn: placesOfInfo, NoView: mongoerr.InvalidNamespace}
	onDatabase   = Constraints{First: true, Source: true, NotIn: placesOfInfo, NoView: mongoerr.InvalidNamespace, Collectionless: true}
	onAdmin      = Constraints{First: true, Source: true, NotIn: placesOfInfo, NoView: mongoerr.InvalidNamespace, Collectionless: true, AdminOnly: true}
	ofDatabase   = Constraints{First: true, Source: true, NotIn: placesOfInfo, NoView: mongoerr.InvalidNamespace, Collectionless: true,
		NoCollection: noCatalogOfCollection}
)

// noCatalogOfCollection is the error of $listClusterCatalog on a collection.
func noCatalogOfCollection() error {
	return mongoerr.New(9621301, "The $listClusterCatalog stage must be run on a database")
}

// allUsers reports a stage that is asked about everybody.
func allUsers(arg bson.Raw, _ string) bool { return arg.Get("allUsers").Truthy() }

// othersSessions reports a stage that is asked about the sessions of others than
// the user.
func othersSessions(arg bson.Raw, user string) bool {
	if arg.Get("allUsers").Truthy() {
		return true
	}
	list, _ := arg.Get("users").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		name, _ := d.Get("user").Str()
		db, _ := d.Get("db").Str()
		if name+"@"+db != user {
			return true
		}
	}
	return false
}

// moreThanCount reports an argument of $collStats that asks for more than a count,
// all that is in the stable API.
func moreThanCount(arg bson.Value) bool {
	d, _ := arg.Doc()
	for name := range d.Fields() {
		if string(name) != "count" {
			return true
		}
	}
	return false
}

// infoStage is one of them.
type infoStage struct {
	name string
	ns   collection.Namespace
	arg  bson.Raw
	c    Constraints
}

func parseInfo(check func(bson.Value) error) func(*parser, string, bson.Value) ([]Stage, error) {
	return func(p *parser, name string, arg bson.Value) ([]Stage, error) {
		if err := check(arg); err != nil {
			return nil, err
		}
		d, _ := arg.Doc()
		if d == nil {
			d = bson.Empty
		}
		return []Stage{&infoStage{name, p.ns, d, p.find(name).Constraints}}, nil
	}
}

// parseListSessions wants to be asked of the collection that keeps the sessions.
// Manual: reference/operator/aggregation/listSessions. Errors: InvalidNamespace (73).
func parseListSessions(p *parser, name string, arg bson.Value) ([]Stage, error) {
	if p.ns.Coll != "" && (p.ns.DB != "config" || p.ns.Coll != "system.sessions") {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "%s may only be run against config.system.sessions", name)
	}
	return parseInfo(checkListSessions)(p, name, arg)
}

func skimInfo(_ bson.Value, add func(Involved) error) ([]bson.Value, error) {
	return nil, add(Involved{})
}

func (s *infoStage) Name() string             { return s.name }
func (s *infoStage) Constraints() Constraints { return s.c }
func (s *infoStage) Split() Split             { return merged(s) }
func (s *infoStage) Append(b *bson.Builder)   { b.Raw(s.name, s.arg) }
func (s *infoStage) Reads(func(string)) bool  { return true }

func (s *infoStage) Open(env *mql.Env, _ exec.Operator, o Opener) (exec.Operator, error) {
	in, err := o.Info(env, s.ns, s.name, s.arg)
	if err != nil {
		return nil, err
	}
	return &passOp{base{in: in, stage: s}}, nil
}

// checkEmpty wants an empty object.
func checkEmpty(name string, code mongoerr.Code) func(bson.Value) error {
	return func(v bson.Value) error {
		if d, ok := v.Doc(); !ok || !d.IsEmpty() {
			return mongoerr.New(code, "The %s stage specification must be an empty object", name)
		}
		return nil
	}
}

func checkIndexStats(v bson.Value) error { return checkEmpty("$indexStats", 28803)(v) }

// option is one field of an argument and the type it must have.
type option struct {
	name string
	t    bson.Type
}

// checkOptions looks at the fields of an argument.
func checkOptions(stage string, d bson.Raw, unknown mongoerr.Code, options ...option) error {
next:
	for it := d.Iter(); it.Next(); {
		for _, o := range options {
			if o.name != string(it.Name) {
				continue
			}
			if o.t != it.Value.Type && o.t != bson.TypeMissing && it.Value.Type != bson.TypeNull {
				return mongoerr.WrongType(stage+"."+o.name, it.Value.Type.String(), o.t.String())
			}
			continue next
		}
		return mongoerr.New(unknown, "BSON field '%s.%s' is an unknown field.", stage, it.Name)
	}
	return nil
}

func checkCollStats(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(5447000, "$collStats must take a nested object but found: %s", v.Type)
	}
	for it := d.Iter(); it.Next(); {
		sub, ok := it.Value.Doc()
		switch name := string(it.Name); {
		case name != "latencyStats" && name != "storageStats" && name != "count" && name != "queryExecStats" && name != "operationStats" && name != "targetAllNodes":
			return mongoerr.New(40415, "BSON field '$collStats.%s' is an unknown field.", name)
		case it.Value.Type == bson.TypeNull:
		case name == "targetAllNodes":
			if it.Value.Type != bson.TypeBool {
				return mongoerr.WrongType("$collStats.targetAllNodes", it.Value.Type.String(), "bool")
			}
		case !ok:
			return mongoerr.WrongType("$collStats."+name, it.Value.Type.String(), "object")
		case name == "count" || name == "queryExecStats":
			if !sub.IsEmpty() {
				return mongoerr.New(31170, "The '%s' option to $collStats must be an empty object", name)
			}
		case name == "latencyStats":
			if err := checkOptions("$collStats.latencyStats", sub, 40415, option{"histograms", bson.TypeBool}); err != nil {
				return err
			}
		case name == "storageStats":
			if err := checkStorageStats(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkStorageStats(d bson.Raw) error {
	for _, name := range [...]string{"verbose", "waitForLock", "numericOnly"} {
		if v, ok := d.Lookup(name); ok && v.Type != bson.TypeBool && v.Type != bson.TypeNull {
			return mongoerr.WrongType("$collStats.storageStats."+name, v.Type.String(), "bool")
		}
	}
	v, ok := d.Lookup("scale")
	if !ok || v.Type == bson.TypeNull {
		return nil
	}
	if !v.IsNumber() {
		return mongoerr.WrongType("$collStats.storageStats.scale", v.Type.String(), "long", "int", "decimal", "double")
	}
	if n, _ := v.TruncInt64(); n < 1 {
		return mongoerr.OutOfRange("$collStats.storageStats.scale", n, ">=", 1)
	}
	return nil
}

func checkCurrentOp(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(mongoerr.TypeMismatch, "$currentOp options must be specified in an object, but found: %s", v.Type)
	}
	for it := d.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "allUsers", "idleConnections", "idleSessions", "localOps", "truncateOps", "idleCursors", "backtrace", "targetAllNodes":
			if it.Value.Type != bson.TypeBool {
				return mongoerr.New(mongoerr.TypeMismatch, "The '%s' parameter of the $currentOp stage must be a boolean value, but found: %s", name, it.Value.Type)
			}
		default:
			return mongoerr.New(40415, "Unrecognized option '%s' in $currentOp stage.", name)
		}
	}
	local, _ := d.Get("localOps").Boolean()
	all, _ := d.Get("targetAllNodes").Boolean()
	if local && all {
		return mongoerr.New(mongoerr.FailedToParse, "The 'localOps' parameter of the $currentOp stage cannot be true when 'targetAllNodes' is also true")
	}
	return nil
}

func checkClusterCatalog(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(9621302, "The $listClusterCatalog stage specification must be an object. Found: %s", v.Type)
	}
	return checkOptions("$listClusterCatalog", d, 40415, option{"shards", bson.TypeBool},
		option{"balancingConfiguration", bson.TypeBool}, option{"tracked", bson.TypeBool})
}

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

func checkSampledQueries(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(6876001, "$listSampledQueries must take a nested object but found: %s", v.Type)
	}
	return checkOptions("$listSampledQueries", d, 40415, option{"namespace", bson.TypeString})
}

func checkPlanCacheStats(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(mongoerr.FailedToParse, "$planCacheStats value must be an object. Found: %s", v.Type)
	}
	for it := d.Iter(); it.Next(); {
		if string(it.Name) != "allHosts" {
			return mongoerr.New(mongoerr.FailedToParse, "$planCacheStats parameters object may contain only 'allHosts' field. Found: %s", it.Name)
		}
		all, ok := it.Value.Boolean()
		if !ok {
			return mongoerr.New(13111, "Field 'allHosts' should be a boolean value, but found: %s", it.Value.Type)
		}
		if all {
			return mongoerr.New(4503200, "$planCacheStats stage supports allHosts parameter only for sharded clusters")
		}
	}
	return nil
}

func checkQuerySettings(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(7746800, "$querySettings stage expects a document as argument")
	}
	if v, ok := d.Lookup("showDebugQueryShape"); ok && v.IsNullish() {
		return mongoerr.WrongType("$querySettings.showDebugQueryShape", v.Type.String(), "bool")
	}
	return checkOptions("$querySettings", d, 40415, option{"showDebugQueryShape", bson.TypeBool})
}

func checkQueryStats(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(mongoerr.FailedToParse, "$queryStats value must be an object. Found: %s", v.Type)
	}
	return checkOptions("$queryStats", d, 40415, option{"transformIdentifiers", bson.TypeDocument})
}
