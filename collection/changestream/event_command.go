package changestream

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// inScope reports whether the stream delivers events of a collection with that name.
// Manual: changeStreams#watch-a-collection-database-or-deployment.
func (s *Stream) inScope(ns collection.Namespace) bool {
	switch {
	case s.everything:
		return true
	case s.ns.Coll != "":
		return ns == s.ns
	case !s.spec.System && strings.HasPrefix(ns.Coll, "system."):
		return false
	case s.ns.DB != "":
		return ns.DB == s.ns.DB
	}
	return ns.DB != "admin" && ns.DB != "local" && ns.DB != "config"
}

// expandedOnly holds the operation types of the commands that are shown only with
// showExpandedEvents. Manual: reference/change-events.
var expandedOnly = map[string]string{
	"commitIndexBuild":         "createIndexes",
	"create":                   "create",
	"createIndexes":            "createIndexes",
	"dropIndexes":              "dropIndexes",
	"collMod":                  "modify",
	"shardCollection":          "shardCollection",
	"reshardCollection":        "reshardCollection",
	"refineCollectionShardKey": "refineCollectionShardKey",
}

// hiddenOfSeries holds the commands on time-series collections that are not shown.
var hiddenOfSeries = map[string]bool{"createIndexes": true, "commitIndexBuild": true, "dropIndexes": true}

// shows reports whether a command makes events in the stream.
func (s *Stream) shows(c *command) bool {
	switch {
	case s.everything:
		return true
	case s.spec.Latest:
		return s.ends(c)
	case c.name == "dropDatabase":
		return s.ns.Coll == "" && s.inScope(c.ns)
	case c.view && (!s.spec.Expanded || s.ns.Coll != ""), c.series && hiddenOfSeries[c.name]:
		return false
	case c.name == "renameCollection":
		return s.inScope(c.ns) || s.inScope(c.to)
	case c.name == "drop":
		return s.inScope(c.ns)
	}
	return s.spec.Expanded && expandedOnly[c.name] != "" && s.inScope(c.ns)
}

// ends reports whether a command ends the stream.
// Manual: reference/change-events/invalidate.
func (s *Stream) ends(c *command) bool {
	switch c.name {
	case "drop":
		return c.ns == s.ns && !c.view
	case "renameCollection":
		return s.ns.Coll != "" && (c.ns == s.ns || c.to == s.ns)
	case "dropDatabase":
		return s.ns.DB != "" && s.ns.Coll == "" && c.ns.DB == s.ns.DB
	}
	return false
}

// commandEvent makes the event of a command. If the command ends the stream, the second call makes an invalidate
// event. With Latest it fails with NamespaceNotFound (26).
func (s *Stream) commandEvent(it *item, t Token) (bson.Raw, Token, error) {
	c := it.cmd
	switch {
	case s.spec.Latest:
		return nil, t, mongoerr.New(mongoerr.NamespaceNotFound, "the collection %s does not exist any more", s.ns)
	case t.Sub == 0:
		return s.ddlEvent(c, t), t, nil
	case t.Sub == 1 && s.ends(c):
		t.Invalidate = true
		return s.head(t, "invalidate", nil, &changelog.Record{Wall: c.rec.Wall}).end(), t, nil
	}
	return nil, t, nil
}

// ddlEvent makes the event of a command.
// Manual: reference/change-events/create, …/drop, …/rename and so on.
func (s *Stream) ddlEvent(c *command, t Token) bson.Raw {
	operation := expandedOnly[c.name]
	switch c.name {
	case "drop":
		operation = "drop"
	case "dropDatabase":
		operation = "dropDatabase"
	case "renameCollection":
		operation = "rename"
		if s.copiedAway(c) {
			operation = "drop"
		}
	}
	var uuid []byte
	if c.name != "dropDatabase" && !c.view { // a view has no UUID
		_, uuid, _ = c.uuid.Binary()
	}
	b := s.head(t, operation, uuid, &c.rec)
	appendNamespace(b, "ns", c.ns)
	if operation == "drop" {
		return b.end()
	}
	if c.name == "renameCollection" {
		appendNamespace(b, "to", c.to)
	}
	if s.spec.Described {
		describe(b, c)
	}
	if c.name == "create" && s.spec.Kinds {
		b.String("nsType", c.kind())
	}
	return b.end()
}

// kind returns the type of what a create has made, as listCollections names it.
func (c *command) kind() string {
	switch {
	case c.series:
		return "timeseries"
	case c.view:
		return "view"
	}
	return "collection"
}

// copiedAway reports whether a command renames a collection of the stream's scope into another database. MongoDB copies
// such a collection and drops it, and its streams have the event drop.
// Manual: reference/command/renameCollection#behavior.
func (s *Stream) copiedAway(c *command) bool {
	return c.name == "renameCollection" && c.ns.DB != c.to.DB && s.inScope(c.ns)
}

// describe appends operationDescription and the other fields that a described event has for its command; none for drop
// and dropDatabase.
func describe(b *eventBuilder, c *command) {
	switch c.name {
	case "drop", "dropDatabase":
		return
	}
	b.BeginDoc("operationDescription")
	switch c.name {
	case "create":
		appendRest(b, c.o, "shardKey")
	case "createIndexes":
		b.BeginArray("indexes")
		b.BeginDoc("")
		appendRest(b, c.o, "")
		b.End()
		b.End()
	case "commitIndexBuild":
		b.Value("indexes", c.o.Get("indexes"))
	case "dropIndexes":
		b.BeginArray("indexes")
		b.BeginDoc("")
		if c.o2.IsEmpty() {
			b.Value("name", c.o.Get("index"))
		} else {
			b.Splice(c.o2.Elements())
		}
		b.End()
		b.End()
	case "renameCollection":
		appendNamespace(b, "to", c.to)
		if v := c.o.Get("dropTarget"); !v.IsMissing() {
			b.Value("dropTarget", v)
		}
	default:
		appendRest(b, c.o, "")
	}
	b.End()
	if c.name == "collMod" && !c.o2.IsEmpty() {
		b.Raw("stateBeforeChange", c.o2)
	}
}

// appendRest appends the fields of a command after the first, which is the command's name, except the field without.
func appendRest(b *eventBuilder, o bson.Raw, without string) {
	it := o.Iter()
	it.Next()
	for it.Next() {
		if string(it.Name) != without {
			b.ValueBytes(it.Name, it.Value)
		}
	}
}
