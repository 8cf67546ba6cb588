package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// checkStages refuses stages that do not go with the read concern or with the
// stable API. Manual: reference/read-concern, reference/stable-api.
// Errors: InvalidOptions (72), APIStrictError (323).
func (c *Call) checkStages(a *aggregateArgs) error {
	strict := c.Body.Get("apiStrict").Truthy()
	if strict && a.explain {
		return mongoerr.New(mongoerr.APIStrictError, "The explain option of aggregate is not in API Version 1")
	}
	for _, stage := range a.pipeline {
		f, ok := stage.First()
		if !ok {
			continue // the parser knows what to say
		}
		name := string(f.Name)
		if c.ReadConcern != "" && c.ReadConcern != "local" && readsServer(name) {
			return mongoerr.New(mongoerr.InvalidOptions, "Aggregation stage %s cannot run with a readConcern other than 'local'. Current readConcern: %s", name, c.ReadConcern)
		}
		if name == "$changeStream" && c.ReadConcern != "" && c.ReadConcern != "majority" {
			return mongoerr.New(mongoerr.InvalidOptions, "Aggregation stage $changeStream cannot run with a readConcern other than 'majority'. Current readConcern: %s", c.ReadConcern)
		}
		if strict && !stableStage(name, f.Value) {
			return mongoerr.New(mongoerr.APIStrictError, "stage %s is not allowed with 'apiStrict: true' in API Version 1", name)
		}
	}
	return nil
}

// readsServer reports stages that show what the server is doing rather than data.
func readsServer(name string) bool {
	switch name {
	case "$currentOp", "$listLocalSessions", "$planCacheStats":
		return true
	}
	return false
}

// stableStage reports the stages of stable API version 1.
func stableStage(name string, arg bson.Value) bool {
	switch name {
	case "$currentOp", "$indexStats", "$listLocalSessions", "$listSessions", "$planCacheStats", "$search":
		return false
	case "$collStats":
		d, _ := arg.Doc()
		for it := d.Iter(); it.Next(); {
			if string(it.Name) != "count" {
				return false
			}
		}
	}
	return true
}
