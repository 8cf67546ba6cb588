package settings

import (
	"math"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// logComponents returns the components of the log whose verbosity can be set; a component comes before its
// subcomponents. Manual: reference/log-messages#components.
func logComponents() []string {
	return []string{
		"accessControl", "assert", "command", "control", "executor", "ftdc", "geo", "index",
		"network", "network.asio", "network.bridge", "network.connectionPool",
		"processHealth", "query", "query.ce", "query.optimizer", "query.rejected", "queryStats",
		"replication", "replication.election", "replication.heartbeats", "replication.initialSync", "replication.rollback",
		"sharding", "sharding.migration", "sharding.rangeDeleter", "sharding.shardingCatalogRefresh", "sharding.migrationPerf",
		"storage", "storage.journal", "storage.recovery", "storage.wt",
		"tenantMigration", "test", "tracking", "transaction", "write",
	}
}

// appendVerbosity appends the parameter logComponentVerbosity: {verbosity, component: {verbosity, ...}, ...}. A
// verbosity of -1 means that the verbosity of the parent component applies.
func appendVerbosity(s *State, c *command.Call, name string) {
	b := c.Reply
	b.BeginDoc(name)
	b.Int32("verbosity", int32(s.params.now[s.params.at["logLevel"]].num))
	inner := false
	list := logComponents()
	for i, c := range list {
		whole, part, isPart := strings.Cut(c, ".")
		if !isPart {
			part = whole
		}
		if inner && !isPart {
			b.End()
			inner = false
		}
		b.BeginDoc(part)
		n, ok := s.params.verbo[c]
		if !ok {
			n = -1
		}
		b.Int32("verbosity", n)
		if !isPart && i+1 < len(list) && strings.HasPrefix(list[i+1], c+".") {
			inner = true
			continue
		}
		b.End()
	}
	if inner {
		b.End()
	}
	b.End()
}

// setVerbosity sets the parameter logComponentVerbosity, in the form of appendVerbosity; a number in place of a
// component's document stands for {verbosity: number}. With check it only validates the value. Errors: TypeMismatch
// (14), BadValue (2).
func setVerbosity(s *State, v bson.Value, check bool) error {
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return mongoerr.New(mongoerr.TypeMismatch, "log component verbosity is not a BSON object: %s", v.Type)
	}
	return s.params.verbosity("", d, check)
}

// verbosity sets the verbosities {verbosity, component: {…}} of the log components below prefix; with check it only
// validates the value.
func (p *parameters) verbosity(prefix string, d bson.Raw, check bool) error {
	for it := d.Iter(); it.Next(); {
		name := prefix + string(it.Name)
		if string(it.Name) == "verbosity" {
			if err := p.setOne(strings.TrimSuffix(prefix, "."), it.Value, check); err != nil {
				return err
			}
			continue
		}
		known := false
		for _, c := range logComponents() {
			known = known || c == name
		}
		if !known {
			return mongoerr.New(mongoerr.BadValue, "Invalid component name %s", name)
		}
		if sub, ok := it.Value.Doc(); ok {
			if err := p.verbosity(name+".", sub, check); err != nil {
				return err
			}
		} else if err := p.setOne(name, it.Value, check); err != nil {
			return err
		}
	}
	return nil
}

// setOne sets one component's verbosity. A negative verbosity removes it, so that the parent's applies. The component
// "" is the log level, for which a negative verbosity counts as 0. With check it only validates the value.
func (p *parameters) setOne(component string, v bson.Value, check bool) error {
	n, ok := v.AsFloat()
	if !ok || math.IsNaN(n) || n < math.MinInt32 || n > math.MaxInt32 {
		return mongoerr.New(mongoerr.BadValue, "Expected a number for the verbosity of component '%s'", component)
	}
	switch {
	case check:
	case component == "":
		p.now[p.at["logLevel"]].num = max(0, math.Trunc(n))
	case n < 0:
		delete(p.verbo, component)
	default:
		p.verbo[component] = int32(n)
	}
	return nil
}
