package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var opCurrentDate = Operator{Name: "$currentDate", parse: parseCurrentDate, Doc: "reference/operator/update/currentDate"}

func parseCurrentDate(_ *parser, at *fieldPath, arg bson.Value) (action, error) {
	if arg.Type == bson.TypeBool {
		return currentDateAction{}, nil
	}
	d, ok := arg.Doc()
	if !ok {
		return nil, mongoerr.New(mongoerr.BadValue,
			"%s is not valid type for $currentDate. Please use a boolean ('true') or a $type expression ({$type: 'timestamp/date'}).", arg.Type)
	}
	a := currentDateAction{}
	found := false
	for it := d.Iter(); it.Next(); {
		if string(it.Name) != "$type" {
			return nil, mongoerr.New(mongoerr.BadValue, "Unrecognized $currentDate option: %s", it.Name)
		}
		found = true
		text, _ := it.Value.Str()
		switch {
		case it.Value.Type == bson.TypeString && text == "date":
		case it.Value.Type == bson.TypeString && text == "timestamp":
			a.timestamp = true
		default:
			return nil, mongoerr.New(mongoerr.BadValue,
				"The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}")
		}
	}
	if !found {
		return nil, mongoerr.New(mongoerr.BadValue,
			"The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}")
	}
	return a, nil
}

// currentDateAction stores the time at which the command started.
type currentDateAction struct{ timestamp bool }

func (currentDateAction) traits() traits { return creates }

func (c currentDateAction) apply(a *applier, _ *node, _ bson.Value) (bson.Value, outcome, error) {
	if c.timestamp {
		return a.s.Timestamp(uint32(a.env.ClusterTime>>32), uint32(a.env.ClusterTime)), set, nil
	}
	return a.s.DateTime(a.env.NowMillis), set, nil
}
