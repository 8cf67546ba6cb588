package data

import (
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// checkStages refuses an aggregate if one of its stages is not allowed with the command's read concern, or with
// apiStrict of the stable API.
// Manual: reference/read-concern, reference/stable-api.
// Errors: InvalidOptions (72), APIStrictError (323).
func checkStages(c *command.Call, a *aggregateArgs) error {
	for _, s := range a.pipeline.Limited {
		if s.ReadLevel != "" && c.ReadConcern != "" && c.ReadConcern != s.ReadLevel {
			return mongoerr.New(mongoerr.InvalidOptions, "Aggregation stage %s cannot run with a readConcern other than '%s'. Current readConcern: %s", s.Name, s.ReadLevel, c.ReadConcern)
		}
		if c.StableOnly() && s.Unstable != nil && s.Unstable(s.Arg) {
			return mongoerr.New(mongoerr.APIStrictError, "stage %s is not allowed with 'apiStrict: true' in API Version 1", s.Name)
		}
	}
	return nil
}

// checkStableFirst refuses an aggregate with apiStrict if its first stage has an option that version 1 of the stable
// API does not have. Manual: reference/stable-api.
// Errors: APIStrictError (323).
func checkStableFirst(c *command.Call, o *agg.Outline) error {
	if o.First == nil || o.First.UnstableField == "" || !c.StableOnly() {
		return nil
	}
	arg, _ := o.FirstArg().Doc()
	if arg.Get(o.First.UnstableField).IsMissing() {
		return nil
	}
	return c.Unstable(o.First.Name + "." + o.First.UnstableField)
}
