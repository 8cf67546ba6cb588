package schema

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// listDatabasesArgs holds the arguments of listDatabases.
type listDatabasesArgs struct {
	filter               bson.Raw
	nameOnly, authorized bool
	all                  bool // authorizedDatabases is false
}

// parseListDatabases reads listDatabases. Manual: reference/command/listDatabases.
func parseListDatabases(c *command.Call) (command.Request, error) {
	a := &listDatabasesArgs{}
	given := false
	err := c.ReadArgs(
		arguments.Doc("filter", &a.filter),
		arguments.Bool("nameOnly", &a.nameOnly),
		arguments.StrictBool("authorizedDatabases", &a.authorized).Given(&given),
	)
	a.all = given && !a.authorized
	return a, err
}

// Needs notes the privilege listDatabases, if the command requests all databases. Without such a request it needs
// nothing: without listDatabases, the user then sees only the databases on which it has privileges.
func (a *listDatabasesArgs) Needs(q *command.PrivilegeCheck) {
	if a.all {
		q.NeedOnCluster(auth.ListDatabases)
	}
}

// Run answers listDatabases.
func (a *listDatabasesArgs) Run(c *command.Call) error {
	keeps, err := match.Keeper(c.Env(), a.filter)
	if err != nil {
		return err
	}
	total := int64(0)
	c.Reply.BeginArray("databases")
	authorized := c.Server.RequireAuth && (a.authorized || !c.ConnState.Login.Grants.MayCluster(auth.ListDatabases))
	for _, name := range databaseNames(c) {
		if authorized && !c.ConnState.Login.Grants.SomethingIn(name) {
			continue
		}
		b, size, empty := bson.NewBuilder(nil), int64(0), false
		b.String("name", name)
		if !a.nameOnly {
			size, empty = databaseSize(c, name)
			b.Int64("sizeOnDisk", size)
			b.Bool("empty", empty)
		}
		d := b.Doc()
		ok, err := keeps(d)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		c.Reply.Raw("", d)
		total += size
		if err := c.CheckReplySize(); err != nil {
			return err
		}
	}
	c.Reply.End()
	if !a.nameOnly {
		c.Reply.Int64("totalSize", total)
		c.Reply.Int64("totalSizeMb", total>>20)
	}
	return nil
}

// databaseNames returns the names of all databases in order, with admin, config and local, which every server has.
// Clients of the Cosmos listener do not see these three.
// Source: Azure-Samples/azure-cosmos-db-mongodb-python-getting-started, 200-admin.
func databaseNames(c *command.Call) []string {
	var names []string
	if !c.Strict() {
		names = append(names, "admin", "config", "local")
	}
	for _, d := range c.Cluster.Catalog().Databases() {
		if d.Name != "admin" && d.Name != "config" && d.Name != "local" {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}

// databaseSize returns the size of a database in bytes: that of its documents, and collectionBytesMin for each index;
// at least collectionBytesMin. empty reports that it has no collection, not even a virtual one.
func databaseSize(c *command.Call, db string) (bytes int64, empty bool) {
	empty = len(c.Server.Virtual.Names(db, c.Server.ReplicaSet.Name != "")) == 0
	for _, coll := range c.Cluster.Catalog().Collections(db) {
		empty = false
		if !coll.IsView() {
			bytes += c.Cluster.Counts(coll.ID).Total(coll.Map).Bytes + int64(len(coll.Indexes))*collectionBytesMin
		}
	}
	return max(bytes, collectionBytesMin), empty
}

// collectionBytesMin is the minimum size on disk of a database, collection or index in replies: one page, in bytes.
const collectionBytesMin = 4096
