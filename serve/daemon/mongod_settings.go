package daemon

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/serve/flags"
)

// mongodSetting is a setting of mongod under its names there, and the setting of cantle serve with the same purpose.
type mongodSetting struct {
	flags string // names on the command line of mongod, separated by blanks
	keys  string // names in mongod.conf, separated by blanks
	ours  string // name of the flag of cantle serve, "" if there is none
	value string // an example of its value, "" for a flag without one
	note  string // a clause with a difference, or with the reason why there is no such setting
}

// mongodSettings are the settings of mongod that errors explain. A setting with the same name in both programs, such
// as --auth, has a row only if its key in mongod.conf differs.
// Manual: reference/program/mongod, reference/configuration-options.
var mongodSettings = []mongodSetting{
	{"port", "net.port", "listen", "127.0.0.1:PORT", ""},
	{"bind_ip", "net.bindIp", "listen", "ADDRESS:27017", "an address that other machines reach also needs --auth"},
	{"bind_ip_all", "net.bindIpAll", "listen", "0.0.0.0:27017", "an address that other machines reach also needs --auth"},
	{"ipv6", "net.ipv6", "listen", "[::1]:27017", ""},
	{"unixSocketPrefix nounixsocket", "net.unixDomainSocket.pathPrefix net.unixDomainSocket.enabled", "listen", "127.0.0.1:27017,unix:/run/cantle.sock", ""},
	{"maxConns", "net.maxIncomingConnections", "max-connections", "NUMBER", ""},
	{"tlsMode sslMode", "net.tls.mode net.ssl.mode", "tls-mode", "requireTLS", ""},
	{"tlsCertificateKeyFile sslPEMKeyFile", "net.tls.certificateKeyFile net.ssl.PEMKeyFile", "tls-certificate-key-file", "FILE", ""},
	{"tlsCertificateKeyFilePassword sslPEMKeyPassword", "net.tls.certificateKeyFilePassword net.ssl.PEMKeyPassword", "tls-certificate-key-file-password", "PASSWORD", ""},
	{"tlsCAFile sslCAFile", "net.tls.CAFile net.ssl.CAFile", "tls-ca-file", "FILE", ""},
	{"tlsCRLFile sslCRLFile", "net.tls.CRLFile net.ssl.CRLFile", "tls-crl-file", "FILE", ""},
	{"tlsAllowConnectionsWithoutCertificates", "net.tls.allowConnectionsWithoutCertificates", "tls-allow-connections-without-certificates", "", ""},
	{"dbpath", "storage.dbPath", "data", "FOLDER", "cantle does not open the files of mongod: \"cantle restore\" loads a dump of mongodump"},
	{"storageEngine", "storage.engine", "storage", "pebble", ""},
	{"wiredTigerCacheSizeGB", "storage.wiredTiger.engineConfig.cacheSizeGB", "cache-size", "1GB", ""},
	{"journal nojournal journalCommitInterval", "storage.journal.enabled storage.journal.commitIntervalMs", "sync", "always", "--sync interval:100 acknowledges writes before they are on disk"},
	{"directoryperdb wiredTigerDirectoryForIndexes", "storage.directoryPerDB storage.wiredTiger.engineConfig.directoryForIndexes", "", "", "all databases and indexes are in one store"},
	{"oplogSize", "replication.oplogSizeMB", "log-size", "50GB", ""},
	{"oplogMinRetentionHours", "storage.oplogMinRetentionHours", "log-retention", "24h", ""},
	{"repair", "", "", "", "\"cantle check\" lists damage, \"cantle salvage\" extracts the readable documents"},
	{"replSet", "replication.replSetName", "replica-set", "NAME", "the replica set has one member and needs no rs.initiate()"},
	{"keyFile clusterAuthMode", "security.keyFile security.clusterAuthMode", "", "", "there is no login between servers; --auth alone makes users log in"},
	{"shardsvr configsvr configdb", "sharding.clusterRole sharding.configDB", "", "", "each server has partitions without config servers and shards: leave it out"},
	{"noauth", "", "", "", "logins are off unless --auth is given: leave it out"},
	{"", "security.authorization", "auth", "", ""},
	{"noscripting", "security.javascriptEnabled", "javascript", "false", ""},
	{"redactClientLogData", "security.redactClientLogData", "log-values", "false", "values are left out of the log unless it is true"},
	{"fork", "processManagement.fork", "", "", "the server stays in the foreground: let a service manager start it, as the packaged systemd service does, or end the command with &"},
	{"pidfilepath", "processManagement.pidFilePath", "", "", "a service manager keeps the process ID: leave it out"},
	{"", "processManagement.timeZoneInfo", "", "", "time zones are part of the program: leave it out"},
	{"f", "", "config", "FILE", "its lines are \"name: value\" with the names of the flags"},
	{"logpath logappend syslog", "systemLog.path systemLog.destination systemLog.logAppend", "", "", "the log is written to standard error: redirect it (2>>FILE), or read it with journalctl"},
	{"verbose v quiet", "systemLog.verbosity systemLog.quiet", "log-level", "debug", ""},
	{"setParameter", "setParameter", "", "", "set parameters after the start: db.adminCommand({setParameter: 1, NAME: VALUE})"},
	{"", "operationProfiling.mode", "profile", "1", ""},
	{"", "operationProfiling.slowOpThresholdMs", "slowms", "100", ""},
	{"slowOpSampleRate", "operationProfiling.slowOpSampleRate", "slow-sample-rate", "0.5", ""},
}

// findMongod returns the row of a setting of mongod by a name on the command line or in mongod.conf; nil if there is
// none.
func findMongod(name string) *mongodSetting {
	for i, m := range mongodSettings {
		if slices.Contains(strings.Fields(m.flags+" "+m.keys), name) {
			return &mongodSettings[i]
		}
	}
	return nil
}

// explained returns the end of an error text: the setting of cantle as text shows it, with a note.
func (m *mongodSetting) explained(text string) string {
	switch {
	case m.ours == "":
		return m.note
	case m.note == "":
		return "use " + text
	}
	return "use " + text + " (" + m.note + ")"
}

// asFlag explains the setting with cantle's flag.
func (m *mongodSetting) asFlag() string { return m.explained(m.flagLine()) }

// flagLine returns cantle's flag with an example of its value.
func (m *mongodSetting) flagLine() string {
	if m.value == "false" { // a flag with an optional value
		return "--" + m.ours + "=false"
	}
	return strings.TrimSpace("--" + m.ours + " " + m.value)
}

// asSetting explains the setting with the line of cantle's settings file.
func (m *mongodSetting) asSetting() string {
	value := m.value
	if value == "" {
		value = "true"
	}
	if m.ours == "config" {
		return "it is for the command line"
	}
	return m.explained(`"` + m.ours + ": " + value + `"`)
}

// asVariable explains the setting with cantle's environment variable.
func (m *mongodSetting) asVariable() string { return m.explained(variableOf(m.ours)) }

// mongodKey returns the error text for a line of a settings file that has the form of a line of mongod.conf. key is its
// full name.
func mongodKey(key string) string {
	if m := findMongod(key); m != nil {
		return fmt.Sprintf("%s is a setting of mongod.conf: %s", key, m.asSetting())
	}
	return fmt.Sprintf("%s has the form of mongod.conf, and cantle has no such setting; lines are \"name: value\" with the name of a flag (cantle serve --help)", key)
}

// ExplainFlag rewords an error of parsing the flags of cantle serve for users: a flag of mongod is explained by
// cantle's, for other errors see flags.Explain.
func ExplainFlag(f *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if m := findMongod(name); m != nil {
			dashes := "--"
			if len(name) == 1 {
				dashes = "-"
			}
			return fmt.Errorf("there is no flag %s%s: it is mongod's; %s", dashes, name, m.asFlag())
		}
	}
	return flags.Explain(f, err)
}

// StartLine returns the beginning of a command line that starts a server with the setting of a flag, which may be one
// of mongod: "cantle serve --listen 127.0.0.1:PORT".
func StartLine(flag string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	if m := findMongod(name); m != nil && m.ours != "" {
		return "cantle serve " + m.flagLine()
	}
	return "cantle serve " + flag
}
