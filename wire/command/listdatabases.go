package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/auth"
)

// runListDatabases answers listDatabases.
// Manual: reference/command/listDatabases.
func runListDatabases(c *Call) error {
	var filter bson.Raw
	var nameOnly, authorized bool
	err := c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "filter":
			filter, err = c.docArg(name, v)
		case "nameOnly":
			nameOnly, err = c.boolArg(name, v)
		case "authorizedDatabases":
			authorized, err = c.strictBool(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	var docs []bson.Raw
	authorized = c.RequireAuth && (authorized || !c.Peer.login.grants.MayCluster(auth.ListDatabases))
	for _, name := range c.databaseNames() {
		if authorized && !c.Peer.login.grants.SomethingIn(name) {
			continue
		}
		b := bson.NewBuilder(nil)
		b.String("name", name)
		if !nameOnly {
			size, empty := c.databaseSize(name)
			b.Int64("sizeOnDisk", size)
			b.Bool("empty", empty)
		}
		docs = append(docs, b.Doc())
	}
	if docs, err = c.filterDocs(docs, filter); err != nil {
		return err
	}
	total := int64(0)
	c.Reply.BeginArray("databases")
	for _, d := range docs {
		c.Reply.Raw("", d)
		n, _ := d.Get("sizeOnDisk").Int64()
		total += n
	}
	c.Reply.End()
	if !nameOnly {
		c.Reply.Int64("totalSize", total)
		c.Reply.Int64("totalSizeMb", total>>20)
	}
	return nil
}

// databaseNames lists the databases, and the ones that every server has.
func (c *Call) databaseNames() []string {
	names := []string{"admin", "config", "local"}
	for _, d := range c.Cluster.Catalog.Peek().Databases() {
		if d.Name != "admin" && d.Name != "config" && d.Name != "local" {
			names = append(names, d.Name)
		}
	}
	sortStrings(names)
	return names
}

// databaseSize is what a database takes, and whether it holds no collection.
func (c *Call) databaseSize(db string) (bytes int64, empty bool) {
	empty = len(c.virtualNames(db)) == 0
	for _, coll := range c.Cluster.Catalog.Peek().Collections(db) {
		empty = false
		if !coll.IsView() {
			bytes += c.Cluster.Tally.Of(coll.ID).Total(coll.Map).Bytes + int64(len(coll.Indexes))*collectionBytesMin
		}
	}
	return max(bytes, collectionBytesMin), empty
}

// collectionBytesMin is the smallest size reported of anything: one page.
const collectionBytesMin = 4096
