package cli

import (
	"slices"
	"strings"
)

// habits are names of commands that other programs have and cantle has not, with advice. They take precedence over
// names that look similar, because "stop" is near to "top" by its letters only.
var habits = []struct{ names, advice string }{
	{"start run up server mongod daemon init initdb new", `"cantle serve" starts a server, and creates its database; "cantle serve --memory" starts one for a test`},
	{"stop shutdown quit kill down exit", "press Ctrl-C where the server runs, or send its process SIGTERM; from mongosh: db.shutdownServer() in admin; the packaged service: systemctl stop cantle"},
	{"restart reload", "the packaged service: systemctl restart cantle; SIGHUP reloads the certificates only"},
	{"status health info alive", `"cantle ping" checks whether a server answers, "cantle doctor" finds problems, "cantle top" shows its load`},
	{"shell sh cli mongosh mongo connect repl console eval", `the shell is the separate program mongosh: mongosh mongodb://127.0.0.1:27017/ (to install it: npm install -g mongosh); the browser console: "cantle serve --console-listen 127.0.0.1:8080"`},
	{"stats stat metrics monitor watch mongostat mongotop", `"cantle top" shows the load of a server live; "cantle serve --metrics-listen 127.0.0.1:9216" serves metrics for Prometheus`},
	{"logs log journal tail", "the log is the standard error of cantle serve; the packaged service: journalctl -u cantle; a container: docker logs; db.adminCommand({getLog: \"global\"}) returns its last lines"},
	{"config configure settings set", `"cantle serve --help" lists the settings, "cantle serve --check-config" checks them`},
	{"mongodump bsondump snapshot", `"cantle dump" writes dumps as mongodump does, "cantle backup" backs up a running server`},
	{"mongorestore recover", `"cantle restore" loads dumps of mongodump and restores backups, "cantle salvage" extracts the data of a damaged database`},
	{"mongoimport load", `"cantle import" loads JSON, CSV and TSV`},
	{"mongoexport", `"cantle export" prints JSON or CSV`},
	{"repair fix fsck validate verify", `"cantle check" lists the damage of a database, "cantle salvage" extracts its readable data`},
	{"shards shard chunks split heat", `"cantle partitions" shows the partitions of a collection; sh.shardCollection() in mongosh shards one`},
	{"explain slow queries profile requests", `"cantle report" shows the cost of commands by their shape`},
	{"price prices cost ru", `"cantle estimate" prices a workload, "cantle report" shows what commands cost`},
	{"user adduser useradd createuser passwd", "users are created in mongosh: db.createUser({user: \"…\", pwd: passwordPrompt(), roles: [\"root\"]}) in admin; \"cantle users\" takes those of an Azure Cosmos DB account"},
	{"update upgrade", "install the new program over the old one and restart the server: docs/upgrades.md"},
	{"tls certs certificate certificates", `"cantle cert" makes certificates for development`},
}

// habit returns advice for the name of a command of another program, "" for other names.
func habit(name string) string {
	for _, h := range habits {
		if slices.Contains(strings.Fields(h.names), strings.ToLower(name)) {
			return h.advice
		}
	}
	return ""
}
