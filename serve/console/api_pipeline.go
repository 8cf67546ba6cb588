package console

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// refusedStages are the stages that the console does not run, and why.
var refusedStages = map[string]string{
	"$out":          "$out replaces a collection",
	"$merge":        "$merge writes to a collection",
	"$changeStream": "$changeStream does not end",
}

// aggregate runs a pipeline, and returns its first results, at most as many as the argument limit, with a cursor to the
// next ones. The time is bounded by runMillis.
func aggregate(q *query) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	command, err := q.aggregateCommand(ns)
	if err != nil {
		return nil, err
	}
	limit, err := q.pageLimit()
	if err != nil {
		return nil, err
	}
	out := findReply{}
	if err := q.estimateInto(&out, ns, command.Doc()); err != nil {
		return nil, err
	}
	if q.body.Get("estimate").Truthy() {
		return out, nil
	}
	command[2] = bson.E{"cursor", bson.D{{"batchSize", limit}}}
	err = q.readPage(&out, ns, append(command, bson.E{"maxTimeMS", int64(runMillis)}, charged), limit, wholeBatch)
	return out, err
}

// aggregateCommand returns the aggregate command that the arguments describe. Its third element is the cursor.
// Errors: those of pipeline.
func (q *query) aggregateCommand(ns collection.Namespace) (bson.D, error) {
	stages, err := q.pipeline()
	if err != nil {
		return nil, err
	}
	return bson.D{{"aggregate", ns.Coll}, {"pipeline", stages}, {"cursor", bson.D{}}}, nil
}

// pipeline returns the argument pipeline: a list of stages, or a text in the syntax of the shell that contains one or a
// single stage.
// Errors: FailedToParse (9); Unauthorized (13) for a stage that writes or does not end.
func (q *query) pipeline() (bson.Value, error) {
	v := q.body.Get("pipeline")
	if s, ok := v.Str(); ok {
		if s = strings.TrimSpace(s); s == "" {
			s = "[]"
		}
		if s[0] == '{' {
			s = "[" + strings.TrimRight(s, "; \n\r\t") + "]"
		}
		var err error
		if v, err = ejson.ParseValue(strings.TrimRight(s, "; \n\r\t")); err != nil {
			return v, mongoerr.New(mongoerr.FailedToParse, "pipeline: %s", err)
		}
	}
	list, ok := v.Array()
	if !ok {
		return v, mongoerr.New(mongoerr.FailedToParse, "pipeline is a list of stages, such as [{$match: {a: 1}}, {$limit: 10}]")
	}
	for stage := range list.Values() {
		d, _ := stage.Doc()
		first, _ := d.First()
		if why := refusedStages[string(first.Name)]; why != "" {
			return v, mongoerr.New(mongoerr.Unauthorized, "The console runs only pipelines that read and end, and %s: remove the stage, or run the pipeline in a shell or an application", why)
		}
	}
	return v, nil
}
