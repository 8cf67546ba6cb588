package changestream

// commandEntries are the commands that an entry of the log can tell to run again.
// Others, which concern the partitions of one deployment, are notes.
// Observed: mongorestore --oplogReplay refuses what it does not know.
var commandEntries = map[string]bool{
	"collMod": true, "create": true, "createIndexes": true, "drop": true, "dropDatabase": true, "dropIndexes": true,
	"renameCollection": true,
}

// appendCommand appends op, ns, ui, o and o2 of a DDL command, without what only
// this server's own readers need.
func appendCommand(b *eventBuilder, c *command) {
	if !commandEntries[c.name] {
		b.String("op", "n")
		b.String("ns", c.ns.String())
		appendUUID(b, c)
		b.BeginDoc("o")
		b.BeginDoc("msg")
		b.String(c.name, c.ns.String())
		b.End()
		b.End()
		b.Raw("o2", c.o)
		return
	}
	b.String("op", "c")
	b.String("ns", c.ns.DB+".$cmd")
	appendUUID(b, c)
	b.BeginDoc("o")
	for name, v := range c.o.Fields() {
		switch string(name) {
		case "shardKey":
			continue
		case "idIndex":
			if !c.o.Get("clusteredIndex").IsMissing() || !c.o.Get("timeseries").IsMissing() {
				continue // which have none of their own
			}
		}
		b.ValueBytes(name, v)
	}
	b.End()
	switch c.name {
	case "collMod":
		b.BeginDoc("o2")
		for name, v := range c.o2.Fields() {
			b.Value(string(name)+"_old", v)
		}
		b.End()
	case "dropIndexes":
		b.Raw("o2", c.o2)
	}
}

func appendUUID(b *eventBuilder, c *command) {
	if !c.uuid.IsMissing() {
		b.Value("ui", c.uuid)
	}
}
