package shards

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/planned"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// plannedArgs holds the arguments of PrepareThroughput and ScheduleThroughput.
type plannedArgs struct {
	dated               bool // from and to are dates
	splitFrom, from, to time.Time
	cancel              bool
	zone                string
	rows                []catalog.ScheduleRow
	hasRows             bool
	mode                catalog.ThroughputMode // of the rows
}

// plannedArg reads one argument of PrepareThroughput or ScheduleThroughput.
func plannedArg(c *command.Call, a *plannedArgs, name string, v bson.Value) (err error) {
	if v.IsMissing() {
		return nil
	}
	switch name {
	case "splitFrom":
		a.splitFrom, err = dateArg(c, name, v)
	case "from":
		a.from, err = dateArg(c, name, v)
	case "to":
		a.to, err = dateArg(c, name, v)
	case "cancel":
		a.cancel, err = c.BoolArg(name, v)
	case "timezone":
		a.zone, err = c.StringArg(name, v)
	case "schedule":
		a.hasRows = true
		return scheduleArg(c, a, name, v)
	}
	return err
}

// dateArg reads a date. Errors: TypeMismatch (14).
func dateArg(c *command.Call, name string, v bson.Value) (time.Time, error) {
	ms, ok := v.DateTime()
	if !ok {
		return time.Time{}, mongoerr.WrongType(c.Field(name), v.Type.String(), "date")
	}
	return time.UnixMilli(ms).UTC(), nil
}

// scheduleArg reads [{cron: "0 8 * * 1-5", offerThroughput: 20000}, …]; all rows have the same mode.
func scheduleArg(c *command.Call, a *plannedArgs, name string, v bson.Value) error {
	list, err := c.DocArray(name, v, planned.RowsMax)
	if err != nil {
		return err
	}
	for _, d := range list {
		row, own := catalog.ScheduleRow{}, customArgs{}
		err := c.ReadFields(name, d,
			arguments.String("cron", &row.Cron).Required(),
			arguments.By("offerThroughput", func(v bson.Value) error { return customArg(c, &own, "offerThroughput", v) }),
			arguments.By("autoScaleSettings", func(v bson.Value) error { return customArg(c, &own, "autoScaleSettings", v) }),
		)
		row.RU = own.throughput.RU
		switch {
		case err != nil:
			return err
		case own.throughput.Mode == catalog.ThroughputNone:
			return mongoerr.MissingField("customAction." + name + ".offerThroughput")
		case a.mode != catalog.ThroughputNone && a.mode != own.throughput.Mode:
			return bothModes()
		}
		a.mode, a.rows = own.throughput.Mode, append(a.rows, row)
	}
	return nil
}

// prepareThroughput runs {customAction: "PrepareThroughput", collection: "c", offerThroughput: 20000, from: date, to:
// date}, which Azure Cosmos DB does not have: the partitions are split before from, and the RU/s hold from then to to.
// Without a collection it prepares the throughput that the collections of the database share. {cancel: true} cancels
// what is prepared, with from only what begins then. The reply lists what is planned.
// Errors: the errors of Definer.PrepareThroughput; IDLFailedToParse (40414).
func prepareThroughput(c *command.Call, a *customArgs) error {
	if err := checkPlannedNamespace(c, a); err != nil {
		return err
	}
	var err error
	switch p := &a.plan; {
	case p.cancel && (a.throughput.Mode != catalog.ThroughputNone || !p.to.IsZero() || !p.splitFrom.IsZero()):
		return mongoerr.New(mongoerr.BadValue, "'cancel' takes no field but 'collection' and 'from'")
	case p.cancel:
		err = c.Server.DDL.CancelThroughput(&c.Op, a.ns, p.from)
	case a.throughput.Mode == catalog.ThroughputNone:
		return mongoerr.MissingField("customAction.offerThroughput")
	case p.to.IsZero():
		return mongoerr.MissingField("customAction.to")
	default:
		err = c.Server.DDL.PrepareThroughput(&c.Op, a.ns, ddl.Preparation{Throughput: a.throughput, SplitFrom: p.splitFrom, From: p.from, To: p.to})
	}
	return replyPlanned(c, a.ns, err)
}

// scheduleThroughput runs {customAction: "ScheduleThroughput", collection: "c", schedule: [{cron: "0 8 * * 1-5",
// offerThroughput: 20000}], timezone: "Europe/Berlin"}, which Azure Cosmos DB does not have: the RU/s of the row that was due last
// hold. Without a collection it is about the throughput that the collections of the database share. An empty schedule
// removes it. The reply lists what is planned.
// Errors: the errors of Definer.ScheduleThroughput; IDLFailedToParse (40414).
func scheduleThroughput(c *command.Call, a *customArgs) error {
	if err := checkPlannedNamespace(c, a); err != nil {
		return err
	}
	if !a.plan.hasRows {
		return mongoerr.MissingField("customAction.schedule")
	}
	return replyPlanned(c, a.ns, c.Server.DDL.ScheduleThroughput(&c.Op, a.ns, a.plan.mode, a.plan.zone, a.plan.rows))
}

// checkPlannedNamespace checks the collection of an action that can have one.
func checkPlannedNamespace(c *command.Call, a *customArgs) error {
	if a.ns.DB = c.DB; a.hasColl {
		return collection.CheckNamespace(a.ns)
	}
	return nil
}

// replyPlanned answers an action that has changed what is planned.
func replyPlanned(c *command.Call, ns collection.Namespace, err error) error {
	if err != nil {
		return err
	}
	if ns.Coll == "" {
		d := c.Cluster.Catalog().Database(ns.DB)
		if d != nil {
			ddl.AppendThroughput(c.Reply, d.Throughput)
			appendPlannedOfDatabase(c, d)
		}
		return nil
	}
	coll, err := c.Collection(ns)
	if err != nil {
		return err
	}
	ddl.AppendThroughput(c.Reply, coll.Throughput)
	appendPlannedOf(c, coll)
	return nil
}

// appendPlannedOf appends what is planned for a collection.
func appendPlannedOf(c *command.Call, coll *catalog.Collection) {
	partitions := 0
	if coll.Sharded() {
		partitions = coll.Map.Len()
	}
	appendPlanned(c, coll.Throughput, coll.Planned, partitions)
}

// appendPlannedOfDatabase appends what is planned for a database. Its partitions are those of the sharded collection with the
// fewest that shares the RU/s.
func appendPlannedOfDatabase(c *command.Call, d *catalog.Database) {
	partitions := 0
	for _, coll := range jobs.Sharing(c.Cluster.Catalog(), d.Name) {
		if n := coll.Map.Len(); coll.Sharded() && (partitions == 0 || n < partitions) {
			partitions = n
		}
	}
	appendPlanned(c, d.Throughput, d.Planned, partitions)
}

// appendPlanned appends the planned changes of a throughput; nothing if there are none. partitions is the number of
// partitions of sharded collections, 0 without any.
func appendPlanned(c *command.Call, t catalog.Throughput, p *catalog.Planned, partitions int) {
	if p == nil {
		return
	}
	b, now := c.Reply, c.Cluster.Now()
	if len(p.Prepared) > 0 {
		b.BeginArray("prepared")
		for _, x := range p.Prepared {
			b.BeginDoc("")
			appendAmount(b, t, x.RU)
			b.DateTime("splitFrom", x.SplitFrom.UnixMilli())
			b.DateTime("from", x.From.UnixMilli())
			b.DateTime("to", x.To.UnixMilli())
			needed := 0
			if partitions > 0 {
				needed = c.Server.DDL.PartitionsFor(x.RU)
				b.Int32("partitions", int32(partitions))
				b.Int32("needed", int32(needed))
			}
			b.String("state", preparedState(&x, now, partitions >= needed))
			if x.Running {
				b.Int("formerThroughput", x.Former)
			}
			b.End()
		}
		b.End()
	}
	if len(p.Schedule.Rows) == 0 {
		return
	}
	next := planned.Due(p.Schedule, now)
	b.BeginArray("schedule")
	for i, row := range p.Schedule.Rows {
		b.BeginDoc("")
		b.String("cron", row.Cron)
		appendAmount(b, t, row.RU)
		if !next[i].IsZero() {
			b.DateTime("next", next[i].UnixMilli())
		}
		b.End()
	}
	b.End()
	if p.Schedule.Zone != "" {
		b.String("timezone", p.Schedule.Zone)
	}
}

// preparedState returns the state of prepared throughput in replies.
func preparedState(x *catalog.Prepared, now time.Time, enough bool) string {
	switch {
	case x.Running:
		return "running"
	case enough:
		return "ready"
	case now.Before(x.SplitFrom):
		return "waiting"
	}
	return "splitting"
}

// appendAmount appends RU/s in the form in which the actions take them.
func appendAmount(b *bson.Builder, t catalog.Throughput, rus int64) {
	if t.Mode == catalog.ThroughputAutoscale {
		b.BeginDoc("autoScaleSettings")
		b.Int("maxThroughput", rus)
		b.End()
		return
	}
	b.Int("offerThroughput", rus)
}
