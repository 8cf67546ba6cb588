package authfuzz

import (
	"slices"
	"strings"
)

// Classes of marks, by the data that they are in.
const (
	inVault    = 'D' // documents of database vault
	inGold     = 'M' // documents of mine.gold
	ofVault    = 'N' // definitions and names of collections, indexes and views, in vault and in a hidden database
	ofMine     = 'O' // those of mine
	ofUsers    = 'U' // users and roles of other databases than realm, and the data of these users
	ofSecrets  = 'C' // traces of passwords
	ofActivity = 'Q' // operations, cursors and sessions of others
	ofServer   = 'S' // settings
	inProfile  = 'P' // entries of vault's profiler
)

// user is one sender of requests: a user with one narrow role, or without a role.
type user struct {
	name, db string
	// privileges and roles are those of the user's role, as lists for createRole and createUser in extended JSON.
	privileges, roles string
	// sees holds the letters of the classes of marks that the user may see, and v or m if the user may see the number
	// of documents of vault.gold or mine.gold.
	sees string
	// matches allows the reply to a write to contain the number of matched documents of the user's own collections.
	matches bool
	// about are commands and stages that the role allows: half of the user's new requests are about them. The other
	// half is drawn from the requests for all users.
	about []string
	// may reports whether the role allows a change, given by its key in the state; nil allows no change.
	may func(key string) bool
}

// in returns a function for the field may that allows changes of the given kinds in one database.
func in(db string, kinds ...string) func(string) bool {
	return func(key string) bool {
		kind, of, _ := strings.Cut(key, " ")
		return slices.Contains(kinds, kind) && (of == db || strings.HasPrefix(of, db+"."))
	}
}

// just returns a function that allows only these changes.
func just(keys ...string) func(string) bool {
	return func(key string) bool { return slices.Contains(keys, key) }
}

// structure are the kinds of changes that DDL makes.
var structure = []string{"database", "collection", "indexes", "documents", "kept", "beyond", "profile"}

// privilege returns the document for createRole of a privilege on a collection of the database mine; coll = "" means
// all of them.
func privilege(coll, actions string) string {
	return `{resource: {db: "mine", collection: "` + coll + `"}, actions: [` + actions + `]}`
}

var users = []*user{
	{name: "powerless", db: "mine"},
	{name: "finder", db: "mine", privileges: privilege("own", `"find"`), about: []string{"aggregate", "find", "explain", "mapReduce"}},
	{name: "reader", db: "mine", roles: `"read"`, sees: "MOm", about: []string{"aggregate", "find", "explain", "mapReduce", "listCollections"}},
	{name: "writer", db: "mine", roles: `"readWrite"`, sees: "MOm", matches: true, may: in("mine", structure...)},
	{name: "keeper", db: "mine", privileges: privilege("", `"find", "insert", "update"`), sees: "MOm", matches: true,
		about: []string{"mapReduce", "mapReduce", "aggregate", "update", "bulkWrite"}, may: in("mine", "documents", "database", "collection", "indexes", "beyond")},
	{name: "inserter", db: "mine", privileges: privilege("own", `"insert"`), matches: true, may: just("documents mine.own")},
	{name: "updater", db: "mine", privileges: privilege("own", `"update"`), matches: true, may: just("documents mine.own"),
		about: []string{"update", "bulkWrite", "findAndModify", "aggregate"}},
	{name: "remover", db: "mine", privileges: privilege("own", `"remove"`), matches: true, may: just("documents mine.own", "kept mine.own")},
	{name: "viewer", db: "mine", privileges: privilege("own", `"find"`) + ", " + privilege("ownview", `"find", "collMod"`), about: []string{"collMod"}, may: just("collection mine.ownview")},
	{name: "creator", db: "mine", privileges: privilege("", `"createCollection"`) + ", " + privilege("own", `"find"`) + ", " + privilege("made", `"find"`), sees: "O",
		about: []string{"create", "aggregate", "cloneCollectionAsCapped", "renameCollection", "applyOps"},
		may: func(key string) bool {
			// A view that its owner cannot read may be over anything. Manual:
			// reference/command/create#required-access.
			return in("mine", "collection", "indexes", "documents", "beyond")(key) && key != "beyond mine.made"
		}},
	{name: "dbadmin", db: "mine", roles: `"dbAdmin"`, sees: "Om", may: in("mine", structure...),
		about: []string{"collMod", "renameCollection", "createIndexes", "validate", "collStats", "applyOps"}},
	{name: "useradmin", db: "realm", roles: `"userAdmin"`, matches: true, may: in("realm", append(structure, "user", "role")...),
		about: []string{"grantRolesToUser", "grantRolesToRole", "createUser", "createRole", "updateUser", "updateRole", "revokeRolesFromUser", "revokeRolesFromRole",
			"grantPrivilegesToRole", "usersInfo", "rolesInfo"}},
	{name: "monitor", db: "admin", sees: "NOQSUvm", privileges: `{resource: {cluster: true}, actions: ["serverStatus", "inprog", "top", "hostInfo", "getParameter", "listDatabases", "listShards"]},
		{resource: {db: "", collection: ""}, actions: ["collStats", "dbStats", "indexStats"]}`},
}

// owner returns the database of the user's own data.
func (u *user) owner() string {
	if u.db == "admin" {
		return "mine"
	}
	return u.db
}

// names returns the names that can replace each token in a user's requests: first the list of the user's own names,
// then a list of names that are mostly those of others.
func (w *world) names(u *user) map[string][2][]string {
	db := u.owner()
	foreign := []string{"vault", "vault", "vault", "admin", "config", "local", "mine"}
	if db == "mine" {
		foreign[6] = "realm"
	}
	colls := []string{"gold", "gold", "gold", "own", "view", "parts", "ruled", "system.users", "system.roles", "system.version", "system.js", "system.profile", "system.views", "oplog.rs", "system.sessions", "settings", "mine", ""}
	return map[string][2][]string{
		"db":     {{db}, foreign},
		"dbname": {{db + "." + u.name}, {"vault.victim", "admin.root"}},
		"coll":   {{"own", "own", "own", "ownview", db}, colls},
		"view":   {{"ownview"}, {"view", "gold"}},
		"new":    {{"made", "made2"}, {"made", "gold", "own", "system.js", "system.users"}},
		"ns":     {{db + ".own"}, {"vault.gold", "vault.gold", "vault.own", "mine.gold", "admin.system.users", "admin.system.roles", "config.settings", "vault.system.js", "local.oplog.rs", "vault.made", "vault", ""}},
		"cmd":    {{db + ".$cmd"}, {"vault.$cmd", "admin.$cmd", "mine.$cmd"}},
		"user":   {{u.name, u.name, "pal"}, {"victim", "root", "hidden", "other"}},
		"role":   {{"narrow", "read", "readWrite", "pals"}, {"root", "read", "readWrite", "victims", "userAdminAnyDatabase", "dbOwner"}},
		"index":  {{"x_1"}, {"k_1"}},
		"secret": {{loggedNever}, {loggedNever}},
	}
}

// turns returns the users in the order in which they send batches of requests. Some users come more often, because
// few of their requests get as far as the commands that their role allows.
func turns() []*user {
	var often []*user
	for _, u := range users {
		if slices.Contains([]string{"keeper", "viewer", "useradmin"}, u.name) {
			often = append(often, u)
		}
	}
	return append(slices.Clone(users), often...)
}
