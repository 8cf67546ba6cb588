package changestream

// commandEntries holds the commands that an entry of the log can contain as commands to be run again. Other
// commands, on the partitions of one deployment, become notes.
// Observed: mongorestore --oplogReplay rejects unknown commands.
var commandEntries = map[string]bool{
	"collMod": true, "create": true, "createIndexes": true, "drop": true, "dropDatabase": true, "dropIndexes": true,
	"renameCollection": true,
}

// appendCommand appends op, ns, ui, o and o2 of a DDL command, without the fields that only this server's own readers
// need. A command that is not in commandEntries becomes a note.
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
				continue // these have no _id index of their own
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
