package shards

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// customArgs holds the arguments of all actions of customAction, the command with the extensions of Azure Cosmos DB.
type customArgs struct {
	ns          collection.Namespace
	hasColl     bool
	budget      bool // an argument chooses throughput
	throughput  catalog.Throughput
	shardKey    bson.Raw
	suffix      bson.Raw
	indexes     []bson.Raw
	hasIndexes  bool
	showIndexes bool
	capacity    bool
	top         int64
	startAt     bson.Value // a timestamp, missing for now
	rule        ratelimit.RefuseRule
	off         bool
	reset       bool
	history     bool
	values      bool
	whatIf      bool
	clock       clockArgs
	migrateTo   string // "autoscale" or "manual"
	targets     []ratelimit.Share
	sources     []int
	equal       bool
	to          string // the folder of a backup
	recorded    recordedArgs
	plan        plannedArgs
}

// customRequest is a customAction whose arguments have been read.
type customRequest struct {
	customArgs
	row customAction
}

// Needs notes the privileges of a customAction, which the row of the action determines.
func (r *customRequest) Needs(q *command.PrivilegeCheck) { r.row.needs(q, &r.customArgs) }

// Run runs the action.
func (r *customRequest) Run(c *command.Call) error {
	if r.hasIndexes {
		if err := checkCustomIndexes(c, &r.customArgs); err != nil {
			return err
		}
	}
	return r.row.do(c, &r.customArgs)
}

// parseCustomAction reads the arguments of customAction, by the row of the action. It exists on all listeners.
// Source: Azure Cosmos DB for MongoDB, "custom-commands".
func (s *State) parseCustomAction(c *command.Call) (command.Request, error) {
	if c.Value.Type != bson.TypeString {
		return nil, mongoerr.WrongType("customAction", c.Value.Type.String(), "string")
	}
	action, _ := c.Value.Str()
	run, ok := s.customActions()[action]
	if !ok {
		return nil, unknownAction(action)
	}
	if c.Args.InTxn {
		return nil, mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot run customAction in a multi-document transaction.")
	}
	r := &customRequest{row: run}
	a := &r.customArgs
	a.ns.DB, a.plan.dated = c.DB, slices.Contains(run.fields, "splitFrom")
	rows := make([]arguments.Arg, len(run.fields))
	for i, name := range run.fields {
		rows[i] = arguments.By(name, func(v bson.Value) error { return customArg(c, a, name, v) }).WithNull()
	}
	err := c.ReadArgs(rows...)
	if err != nil {
		return nil, err
	}
	if run.fields[0] == "collection" {
		if !a.hasColl {
			return nil, mongoerr.MissingField("customAction.collection")
		}
		if err := collection.CheckNamespace(a.ns); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// unknownAction returns the error for the name of a customAction that does not exist. Errors: BadValue (2).
func unknownAction(action string) error {
	return mongoerr.New(mongoerr.BadValue, "customAction '%s' is not known", action)
}

// customAction is the row of one action of the command customAction: its arguments, the privileges that it needs, and
// its function. The actions of Azure Cosmos DB work on a collection or a database, and have no privileges of their
// own, so rows use those of similar commands.
type customAction struct {
	fields []string
	needs  func(q *command.PrivilegeCheck, a *customArgs)
	do     func(*command.Call, *customArgs) error
}

// customActionActions lists all privilege actions that the rows of customAction may need.
var customActionActions = []string{"appendOplogNote", "createCollection", "setThroughput", "changeStream", "collStats", "dbStats", "setParameter", "splitChunk", "collMod", "top"}

// onNamespace returns the function needs of a customAction row that requires a privilege action on the collection of
// the arguments, or without a collection on the database.
func onNamespace(action auth.Action) func(*command.PrivilegeCheck, *customArgs) {
	return func(q *command.PrivilegeCheck, a *customArgs) { q.Need(action, a.ns) }
}

// onCluster returns the function needs of a customAction row that requires a privilege action on the cluster.
func onCluster(action auth.Action) func(*command.PrivilegeCheck, *customArgs) {
	return func(q *command.PrivilegeCheck, _ *customArgs) { q.NeedOnCluster(action) }
}

// needsReport notes the privileges of GetRequestReport. Shapes have no values, so users with the action top on the
// cluster, which the role clusterMonitor has, may read all of them, but not reset them.
func needsReport(q *command.PrivilegeCheck, a *customArgs) {
	if a.reset || !q.MayOnCluster(auth.Top) {
		q.Need(auth.CollMod, a.ns)
	}
}

// grantedBy returns the function needs of a row whose error names the built-in roles that grant the action.
func grantedBy(roles string, needs func(*command.PrivilegeCheck, *customArgs)) func(*command.PrivilegeCheck, *customArgs) {
	return func(q *command.PrivilegeCheck, a *customArgs) {
		if needs(q, a); q.Denied {
			q.Roles = roles
		}
	}
}

// needsCreate notes the privileges of the actions that create a collection or database: to create and, if the
// arguments choose a throughput, to set it.
func needsCreate(q *command.PrivilegeCheck, a *customArgs) {
	q.Need(auth.CreateCollection, a.ns)
	if a.budget {
		q.Need(auth.SetThroughput, a.ns)
	}
}

// needsUpdate notes the privileges of the actions that change a collection or database: to set a throughput, to
// change indexes, or both, by the arguments.
func needsUpdate(q *command.PrivilegeCheck, a *customArgs) {
	if a.budget {
		q.Need(auth.SetThroughput, a.ns)
	}
	if !a.budget || a.hasIndexes {
		q.Need(auth.CollMod, a.ns)
	}
}

// customActions returns the rows of all actions of customAction by name, each with the arguments that it accepts.
func (s *State) customActions() map[string]customAction {
	return map[string]customAction{
		// The action Backup reads all data, so it needs a privilege that few users have: of the built-in roles only
		// backup, clusterManager and those that include them may append to the oplog, and no role of a database may.
		"Backup":           {[]string{"to"}, grantedBy("the roles backup and clusterManager", onCluster(auth.AppendOplogNote)), s.makeBackup},
		"Clock":            {[]string{"", "stop", "advanceMs", "advanceTo", "run"}, onCluster(auth.SetParameter), setClock},
		"CreateCollection": {append([]string{"collection", "offerThroughput", "autoScaleSettings", "serverless", "shardKey", "suffix", "indexes"}, collectionSwitchFields...), needsCreate, createCollection},
		"CreateDatabase":   {append([]string{"offerThroughput", "autoScaleSettings"}, switchFields...), needsCreate, createDatabase},

		"GetChangeStreamTokens":  {[]string{"collection", "startAtOperationTime"}, onNamespace(auth.ChangeStream), changeStreamTokens},
		"GetCollection":          {[]string{"collection", "showIndexes", "showCapacity"}, onNamespace(auth.CollStats), s.getCollection},
		"GetDatabase":            {[]string{""}, onNamespace(auth.DbStats), getDatabase},
		"GetPartitions":          {[]string{"collection", "top"}, grantedBy("the roles clusterMonitor and read", onNamespace(auth.CollStats)), s.getPartitions},
		"GetRecordedTraffic":     {[]string{"collection", "shardKey", "suffix", "partitions", "from", "to"}, grantedBy("the roles clusterMonitor and read", onNamespace(auth.CollStats)), s.getRecordedTraffic},
		"GetRequestReport":       {[]string{"top", "collection", "reset", "history", "values"}, grantedBy("the roles clusterMonitor (without reset) and dbAdmin", needsReport), s.getRequestReport},
		"InjectThrottle":         {[]string{"nth", "count", "every", "kind", "retryAfterMs", "collection", "off"}, onCluster(auth.SetParameter), injectThrottle},
		"MergePartitions":        {[]string{"collection", "whatIf"}, grantedBy("the role clusterManager", onNamespace(auth.SplitChunk)), mergePartitions},
		"MigrateThroughput":      {[]string{"throughputType", "collection"}, grantedBy("the role clusterManager", onNamespace(auth.SetThroughput)), migrateThroughput},
		"PrepareThroughput":      {[]string{"offerThroughput", "autoScaleSettings", "splitFrom", "from", "to", "cancel", "collection"}, grantedBy("the role clusterManager", onNamespace(auth.SetThroughput)), prepareThroughput},
		"RedistributeThroughput": {[]string{"collection", "targets", "sources", "equal"}, grantedBy("the role clusterManager", onNamespace(auth.SetThroughput)), redistribute},
		"ScheduleThroughput":     {[]string{"schedule", "timezone", "collection"}, grantedBy("the role clusterManager", onNamespace(auth.SetThroughput)), scheduleThroughput},
		"UpdateCollection":       {append([]string{"collection", "offerThroughput", "autoScaleSettings", "indexes"}, collectionSwitchFields...), needsUpdate, updateCollection},
		"UpdateDatabase":         {append([]string{"offerThroughput", "autoScaleSettings"}, switchFields...), needsUpdate, updateDatabase},
	}
}

// customArg reads one argument.
func customArg(c *command.Call, a *customArgs, name string, v bson.Value) (err error) {
	a.budget = a.budget || slices.Contains(throughputFields, name)
	switch name {
	case "collection":
		a.hasColl = !v.IsMissing()
		a.ns.Coll, err = c.StringArg(name, v)
	case "offerThroughput":
		if v.IsMissing() {
			return nil
		}
		if a.throughput.Mode != catalog.ThroughputNone {
			return bothModes()
		}
		a.throughput.Mode = catalog.ThroughputManual
		a.throughput.RU, err = wholeArg(c, name, v)
	case "autoScaleSettings":
		return autoscaleArg(c, a, name, v)
	case "serverless":
		var yes bool
		if yes, err = c.BoolArg(name, v); yes && err == nil {
			if a.throughput.Mode != catalog.ThroughputNone {
				return mongoerr.New(mongoerr.BadValue, "a serverless collection takes neither offerThroughput nor autoScaleSettings")
			}
			a.throughput.Mode = catalog.ThroughputServerless
		}
	case "shardKey":
		if a.shardKey, err = c.ShardKeyArg(name, v); err == nil {
			a.shardKey = a.shardKey.Clone()
		}
	case "suffix":
		a.suffix, err = c.DocArg(name, v)
	case "indexes":
		if a.hasIndexes = !v.IsMissing(); a.hasIndexes {
			a.indexes, err = c.DocArray(name, v, index.SpecsMax)
		}
	case "showIndexes", "showCapacity", "off", "history", "values", "reset", "whatIf":
		err = flagArg(c, a, name, v)
	case "top":
		if a.top, err = c.LongArg(name, v); err == nil && !v.IsMissing() {
			err = arguments.Between(name, a.top, 1, topMax)
		}
	case "startAtOperationTime":
		if _, _, ok := v.Timestamp(); !ok && !v.IsMissing() {
			err = mongoerr.WrongType(c.Field(name), v.Type.String(), "timestamp")
		}
		a.startAt = v
	case "serverSideRetry", "burst", "ruPerMinute", "throughputBuckets", "defaultMaxRequestUnits", "tenants":
		err = switchArg(c, &a.throughput.Switches, name, v)
	case "nth", "count", "every", "kind", "retryAfterMs":
		err = injectArg(c, &a.rule, name, v)
	case "stop", "advanceMs", "advanceTo", "run":
		err = clockArg(c, &a.clock, name, v)
	case "throughputType":
		if !v.IsMissing() {
			a.migrateTo, err = c.EnumArg(name, v, "autoscale", "manual")
		}
	case "splitFrom", "cancel", "schedule", "timezone":
		err = plannedArg(c, &a.plan, name, v)
	case "partitions", "from":
		if a.plan.dated {
			return plannedArg(c, &a.plan, name, v)
		}
		err = recordedArg(c, &a.recorded, name, v)
	case "to":
		if a.plan.dated {
			return plannedArg(c, &a.plan, name, v)
		}
		if v.IsNumber() {
			err = recordedArg(c, &a.recorded, name, v)
		} else if !v.IsMissing() {
			a.to, err = c.StringArg(name, v)
		}
	case "targets", "sources", "equal":
		err = sharesArg(c, a, name, v)
	}
	return err
}

// flagArg reads an argument that is true or false.
func flagArg(c *command.Call, a *customArgs, name string, v bson.Value) (err error) {
	flags := map[string]*bool{
		"showIndexes": &a.showIndexes, "showCapacity": &a.capacity, "off": &a.off, "history": &a.history,
		"values": &a.values, "reset": &a.reset, "whatIf": &a.whatIf,
	}
	*flags[name], err = c.BoolArg(name, v)
	return err
}

// bothModes returns the error for arguments that choose both a manual and an autoscale throughput. Errors: BadValue
// (2).
func bothModes() error {
	return mongoerr.New(mongoerr.BadValue, "offerThroughput and autoScaleSettings cannot both be given")
}

// wholeArg reads an argument that must be a number without a fraction. Errors: TypeMismatch (14), BadValue (2).
func wholeArg(c *command.Call, name string, v bson.Value) (int64, error) {
	if !v.IsNumber() {
		return 0, mongoerr.WrongType(c.Field(name), v.Type.String(), "int", "long", "double", "decimal")
	}
	n, ok := v.AsInt64()
	if !ok {
		return 0, mongoerr.New(mongoerr.BadValue, "%s must be a whole number, got %s", name, v)
	}
	return n, nil
}

// autoscaleArg reads {maxThroughput: n}.
func autoscaleArg(c *command.Call, a *customArgs, name string, v bson.Value) error {
	d, err := c.DocArg(name, v)
	if err != nil || v.IsMissing() {
		return err
	}
	if a.throughput.Mode != catalog.ThroughputNone {
		return bothModes()
	}
	err = c.ReadFields(name, d, arguments.By("maxThroughput", func(v bson.Value) (err error) {
		a.throughput.RU, err = wholeArg(c, name+".maxThroughput", v)
		return err
	}).Required())
	a.throughput.Mode = catalog.ThroughputAutoscale
	return err
}

// checkCustomIndexes checks the argument indexes: it must contain the _id index, which is removed from it. Indexes
// without a name get one; on the Cosmos listener each index is converted by accountIndex.
func checkCustomIndexes(c *command.Call, a *customArgs) error {
	hasID := false
	var rest []bson.Raw
	for _, spec := range a.indexes {
		key, ok := spec.Get("key").Doc()
		if !ok {
			return mongoerr.New(mongoerr.BadValue, "The field 'key' of an index specification must be an object: %s", spec)
		}
		if n, ok := key.Get("_id").AsInt64(); ok && n == 1 && key.Len() == 1 {
			if spec.Has("unique") {
				return mongoerr.New(mongoerr.BadValue, "The field 'unique' is not valid for _id index specification")
			}
			hasID = true
			continue
		}
		switch {
		case c.Strict():
			spec = accountIndex(spec, key)
		case !spec.Has("name"):
			b := bson.NewBuilder(nil)
			b.Splice(spec.Elements())
			b.String("name", index.DefaultName(key))
			spec = b.Doc()
		}
		rest = append(rest, spec)
	}
	if !hasID {
		return mongoerr.New(mongoerr.BadValue, "indexes must contain the _id index: {key: {_id: 1}, name: \"_id_\"}")
	}
	a.indexes = rest
	return nil
}

// accountIndex returns an index specification in the form in which accounts of Azure Cosmos DB list it: directions
// are 1 or -1, and the name is derived from the key, whatever name the request has.
// Source: Azure-Samples/azure-cosmos-db-mongodb-python-getting-started, 001-quickstart.
func accountIndex(spec, key bson.Raw) bson.Raw {
	directions := bson.NewBuilder(nil)
	for it := key.Iter(); it.Next(); {
		n, ok := it.Value.AsFloat()
		switch {
		case !ok:
			directions.ValueBytes(it.Name, it.Value)
		case n < 0:
			directions.Int32(string(it.Name), -1)
		default:
			directions.Int32(string(it.Name), 1)
		}
	}
	shown, b := directions.Doc(), bson.NewBuilder(nil)
	for it := spec.Iter(); it.Next(); {
		if name := string(it.Name); name != "key" && name != "name" {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	b.Raw("key", shown)
	b.String("name", index.DefaultName(shown))
	return b.Doc()
}

// createDatabase answers CreateDatabase.
func createDatabase(c *command.Call, a *customArgs) error {
	return c.Server.DDL.CreateDatabase(&c.Op, c.DB, a.throughput)
}

// updateDatabase changes the throughput of a database. Without a throughput in the arguments it only checks that the
// database exists.
func updateDatabase(c *command.Call, a *customArgs) error {
	if a.throughput == (catalog.Throughput{}) {
		_, err := c.Server.DDL.DatabaseThroughput(c.DB)
		return err
	}
	return c.Server.DDL.SetDatabaseThroughput(&c.Op, c.DB, a.throughput)
}

// getDatabase answers GetDatabase.
func getDatabase(c *command.Call, _ *customArgs) error {
	t, err := c.Server.DDL.DatabaseThroughput(c.DB)
	if err != nil {
		return err
	}
	c.Reply.String("database", c.DB)
	ddl.AppendThroughput(c.Reply, t)
	appendSwitches(c.Reply, t.Switches, false)
	if d := c.Cluster.Catalog().Database(c.DB); d != nil && !c.Strict() {
		appendPlannedOfDatabase(c, d)
	}
	return nil
}

// createCollection creates a collection by customAction. If neither the arguments nor the database have a throughput,
// the collection gets the smallest manual throughput.
func createCollection(c *command.Call, a *customArgs) error {
	shared := catalog.Throughput{}
	if d := c.Cluster.Catalog().Database(c.DB); d != nil {
		shared = d.Throughput
	}
	if a.throughput.Mode == catalog.ThroughputNone && shared.Mode == catalog.ThroughputNone {
		a.throughput.Mode, a.throughput.RU = catalog.ThroughputManual, ratelimit.ManualMin
	}
	if c.Cluster.Catalog().Collection(a.ns) != nil {
		return mongoerr.NamespaceTaken(a.ns.String())
	}
	key, err := shard.WithSuffix(a.shardKey, a.suffix)
	if err != nil {
		return err
	}
	if t := a.throughput.Switches.Tenants; t != nil {
		planned := &catalog.Collection{Throughput: a.throughput}
		if !key.IsEmpty() {
			if planned.Key, err = shard.ParseKeyPattern(key); err != nil {
				return err
			}
		}
		if err := checkTenants(planned, t); err != nil {
			return err
		}
	}
	return c.Server.DDL.Create(&c.Op, a.ns, ddl.CreateOptions{ShardKey: key, Throughput: a.throughput, Indexes: a.indexes})
}

// updateCollection changes the throughput of a collection, and replaces its indexes by those of the arguments, if
// there are any.
func updateCollection(c *command.Call, a *customArgs) error {
	coll, err := c.Collection(a.ns)
	if err != nil {
		return err
	}
	planned := &catalog.Collection{Key: coll.Key, Throughput: coll.Throughput}
	if a.throughput.Mode != catalog.ThroughputNone {
		planned.Throughput = a.throughput
	}
	if err := checkTenants(planned, a.throughput.Switches.Tenants); err != nil {
		return err
	}
	switch {
	case a.hasIndexes:
		return c.Server.DDL.UpdateCollection(&c.Op, a.ns, a.throughput, a.indexes)
	case a.throughput != (catalog.Throughput{}):
		return c.Server.DDL.SetThroughput(&c.Op, a.ns, a.throughput)
	}
	return nil
}

// getCollection answers GetCollection.
func (s *State) getCollection(c *command.Call, a *customArgs) error {
	coll, err := c.Collection(a.ns)
	if err != nil {
		return err
	}
	b := c.Reply
	b.String("database", c.DB)
	b.String("collection", a.ns.Coll)
	if coll.Sharded() {
		b.Raw("shardKeyDefinition", coll.Key.Spec())
	}
	ddl.AppendThroughput(b, coll.Throughput)
	appendSwitches(b, coll.Throughput.Switches, c.SeesValues(coll.Namespace))
	if have, needed := c.Server.DDL.Scaling(coll); !coll.IsView() && have < needed {
		b.BeginDoc("scaling")
		b.Int32("partitions", int32(have))
		b.Int32("needed", int32(needed))
		b.End()
	}
	if !c.Strict() {
		appendPlannedOf(c, coll)
	}
	if a.capacity && !coll.IsView() {
		if err := s.appendCapacity(c, coll); err != nil {
			return err
		}
	}
	if !a.showIndexes {
		return nil
	}
	b.BeginArray("indexes")
	for _, ix := range coll.UnstagedIndexes() {
		b.BeginDoc("")
		b.Splice(ix.Account(a.ns.String()).Elements())
		if ix.LastWrite && !c.Strict() {
			b.Bool(index.LastWriteOption, true)
		}
		if ix.State == catalog.IndexBuilding {
			b.Bool("requiresReIndex", true)
		}
		b.End()
	}
	b.End()
	return nil
}

// throughputFields are the arguments of customAction that choose a throughput. They need the action setThroughput.
var throughputFields = append([]string{"offerThroughput", "autoScaleSettings", "serverless"}, collectionSwitchFields...)
