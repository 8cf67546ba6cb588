package status

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/wire/command"
)

// term returns the term in which the server is the primary.
func term(s *command.Server) int64 { return max(s.Term, backup.FirstTerm) }

// electionID returns the ID of the election of this primary, in MongoDB's form: the bytes 7f ff ff ff, and the term as the last
// eight. Of several primaries, drivers take the one with the highest.
// Spec: server-discovery-and-monitoring (electionId).
func electionID(s *command.Server) (id [12]byte) {
	binary.BigEndian.PutUint32(id[:], 0x7fffffff)
	binary.BigEndian.PutUint64(id[4:], uint64(term(s)))
	return id
}

// setVersion is the version of the replica set's configuration, which never changes.
const setVersion = 1

// appendSet describes the set in a hello.
// Manual: reference/command/hello#replica-sets.
func appendSet(c *command.Call, b *bson.Builder, r command.ReplicaSet) {
	b.String("setName", r.Name)
	b.Int32("setVersion", setVersion)
	b.Bool("secondary", isSecondary(c))
	b.BeginArray("hosts")
	for _, host := range r.Hosts() {
		b.String("", host)
	}
	b.End()
	if !isSecondary(c) {
		b.String("primary", r.Member)
	}
	b.String("me", r.Member)
	if c.Strict() {
		b.BeginDoc("tags")
		b.String("region", "local")
		b.End()
	}
	if !isSecondary(c) {
		b.ObjectID("electionId", electionID(c.Server))
	}
	latest := c.Cluster.Latest() // not c.Time, because an awaitable hello may have waited
	b.BeginDoc("lastWrite")
	appendOpTime(c, b, "opTime", latest)
	b.DateTime("lastWriteDate", wallMillis(latest))
	appendOpTime(c, b, "majorityOpTime", latest)
	b.DateTime("majorityWriteDate", wallMillis(latest))
	b.End()
}

// isSecondary reports whether the client sees the server as a secondary.
func isSecondary(c *command.Call) bool { return c.Server.Secondary() && !c.Strict() }

// appendOpTime appends an optime with the time of the last commit. A primary waits for no secondary, so all are equal.
func appendOpTime(c *command.Call, b *bson.Builder, name string, latest storage.Timestamp) {
	b.BeginDoc(name)
	b.Timestamp("ts", latest.Seconds(), latest.Increment())
	b.Int64("t", term(c.Server))
	b.End()
}

// wallMillis returns the timestamp of a commit as milliseconds since 1970, precise to a second.
func wallMillis(at storage.Timestamp) int64 { return int64(at.Seconds()) * 1000 }

// ownSet returns the replica set that clients see, for commands on replication. On the Cosmos address such commands
// have none.
// Errors: NoReplicationEnabled (76).
func ownSet(c *command.Call) (command.ReplicaSet, error) {
	r, ok := c.ShownSet()
	if !ok || c.Strict() {
		return r, mongoerr.New(mongoerr.NoReplicationEnabled, "This server is not a member of a replica set: it was started without --replica-set")
	}
	return r, nil
}

// runReplSetInitiate refuses to initiate the replica set, which exists from the start of the server.
// Manual: reference/command/replSetInitiate. Errors: AlreadyInitialized (23), errors of ownSet.
func runReplSetInitiate(c *command.Call) error {
	if _, err := ownSet(c); err != nil {
		return err
	}
	return mongoerr.New(mongoerr.AlreadyInitialized, "already initialized")
}

// runReplSetReconfig refuses any configuration of the replica set except one of the same name with the present members.
// Manual: reference/command/replSetReconfig.
// Errors: NewReplicaSetConfigurationIncompatible (103), TypeMismatch (14), errors of ownSet.
func runReplSetReconfig(c *command.Call) error {
	r, err := ownSet(c)
	if err != nil {
		return err
	}
	d, err := c.DocArg(c.Name(), c.Value)
	if err != nil {
		return err
	}
	if name, _ := d.Get("_id").Str(); name != r.Name {
		return mongoerr.New(mongoerr.NewReplicaSetConfigurationIncompatible,
			"New and old configurations differ in replica set name; old was %s, and new is %s", r.Name, name)
	}
	var hosts []string
	if list, ok := d.Get("members").Array(); ok {
		for v := range list.Values() {
			m, _ := v.Doc()
			host, _ := m.Get("host").Str()
			hosts = append(hosts, host)
		}
	}
	if slices.Equal(hosts, r.Hosts()) {
		return nil
	}
	if len(r.Others) > 0 {
		return mongoerr.New(mongoerr.NewReplicaSetConfigurationIncompatible,
			"The set has the members %s, which are set by the flag --replica-set name/host:port,host:port", strings.Join(r.Hosts(), ", "))
	}
	return mongoerr.New(mongoerr.NewReplicaSetConfigurationIncompatible,
		"The set has the one member %s, which is set by the flag --replica-set name/host:port", r.Member)
}

// runReplSetStepDown refuses to step down, because the set has no other member that could become primary.
// Manual: reference/command/replSetStepDown. Errors: ExceededTimeLimit (262), NotWritablePrimary (10107), errors of
// ownSet.
func runReplSetStepDown(c *command.Call) error {
	r, err := ownSet(c)
	switch {
	case err != nil:
		return err
	case isSecondary(c):
		return mongoerr.New(mongoerr.NotWritablePrimary, "not primary so can't step down")
	case len(r.Others) > 0:
		return mongoerr.New(mongoerr.ExceededTimeLimit, "No electable secondaries caught up: promote the other server instead (cantle promote, replSetStepUp)")
	}
	return mongoerr.New(mongoerr.ExceededTimeLimit, "No electable secondaries caught up: the set has one member")
}

// runReplSetStepUp makes a server that follows another one the primary. The server then starts again, which ends its
// connections. On a primary it does nothing.
// The manual has no page for the command, which is the counterpart of replSetStepDown. Errors: CommandFailed (125), errors of ownSet.
func runReplSetStepUp(c *command.Call) error {
	if _, err := ownSet(c); err != nil {
		return err
	}
	if !isSecondary(c) {
		return nil
	}
	if c.Server.Follower == nil || c.Server.StepUp == nil {
		return mongoerr.New(mongoerr.CommandFailed, "Election failed: another server was promoted in place of this one")
	}
	err := c.Server.StepUp(c.Ctx)
	if err == nil || c.Ctx.Err() != nil {
		return err
	}
	return mongoerr.New(mongoerr.CommandFailed, "Election failed: %s", err.Error()).Because(err)
}

// runReplSetGetConfig returns the configuration.
// Manual: reference/command/replSetGetConfig.
func runReplSetGetConfig(c *command.Call) error {
	r, err := ownSet(c)
	if err != nil {
		return err
	}
	c.Reply.Raw("config", config(c.Server, r))
	if v, ok := c.Body.Lookup("commitmentStatus"); ok && v.Truthy() {
		c.Reply.Bool("commitmentStatus", true)
	}
	return nil
}

// config returns the configuration of the replica set, the document in local.system.replset.
// Manual: reference/replica-configuration.
func config(s *command.Server, r command.ReplicaSet) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("_id", r.Name)
	b.Int32("version", setVersion)
	b.Int32("term", int32(term(s)))
	b.BeginArray("members")
	for i, host := range r.Hosts() {
		b.BeginDoc("")
		b.Int32("_id", int32(i))
		b.String("host", host)
		b.Bool("arbiterOnly", false)
		b.Bool("buildIndexes", true)
		b.Bool("hidden", false)
		b.Double("priority", 1)
		b.BeginDoc("tags")
		b.End()
		b.Int64("secondaryDelaySecs", 0)
		b.Int32("votes", 1)
		b.End()
	}
	b.End()
	b.Int64("protocolVersion", 1)
	b.Bool("writeConcernMajorityJournalDefault", true)
	b.BeginDoc("settings")
	b.Bool("chainingAllowed", true)
	b.Int32("heartbeatIntervalMillis", heartbeatMillis)
	b.Int32("heartbeatTimeoutSecs", 10)
	b.Int32("electionTimeoutMillis", electionMillis)
	b.Int32("catchUpTimeoutMillis", -1)
	b.Int32("catchUpTakeoverDelayMillis", 30_000)
	b.BeginDoc("getLastErrorModes")
	b.End()
	b.BeginDoc("getLastErrorDefaults")
	b.Int32("w", 1)
	b.Int32("wtimeout", 0)
	b.End()
	id := catalog.VirtualUUID("replica set " + r.Name)
	b.ObjectID("replicaSetId", [12]byte(id[:12]))
	b.End()
	return b.Doc()
}

// MongoDB's default settings of a replica set, which replies show; they have no effect here.
const (
	heartbeatMillis = 2_000
	electionMillis  = 10_000
)

// runReplSetGetStatus replies with the status of the replica set: this member has been primary, or secondary, since the
// server was started. The state of the other members is unknown, because servers of a set have no connections to each
// other.
// Manual: reference/command/replSetGetStatus.
func runReplSetGetStatus(c *command.Call) error {
	r, err := ownSet(c)
	if err != nil {
		return err
	}
	state, stateText, source, info := int32(statePrimary), "PRIMARY", "", ""
	if isSecondary(c) {
		state, stateText, info = stateSecondary, "SECONDARY", "another server was promoted in place of this one"
		if f := c.Server.Follower; f != nil {
			s := f.Status()
			source, info = s.From, s.LastErr
		}
	}
	b := c.Reply
	b.String("set", r.Name)
	b.DateTime("date", c.Start.UnixMilli())
	b.Int32("myState", state)
	b.Int64("term", term(c.Server))
	b.String("syncSourceHost", source)
	b.Int32("syncSourceId", -1)
	b.Int64("heartbeatIntervalMillis", heartbeatMillis)
	for _, name := range [...]string{"majorityVoteCount", "writeMajorityCount", "votingMembersCount", "writableVotingMembersCount"} {
		b.Int32(name, 1)
	}
	written := wallMillis(c.Time)
	b.BeginDoc("optimes")
	appendOpTime(c, b, "lastCommittedOpTime", c.Time)
	b.DateTime("lastCommittedWallTime", written)
	appendOpTime(c, b, "readConcernMajorityOpTime", c.Time)
	appendOpTime(c, b, "appliedOpTime", c.Time)
	appendOpTime(c, b, "durableOpTime", c.Time)
	b.DateTime("lastAppliedWallTime", written)
	b.DateTime("lastDurableWallTime", written)
	b.End()
	b.Timestamp("lastStableRecoveryTimestamp", c.Time.Seconds(), c.Time.Increment())
	if state == statePrimary {
		appendElection(c, b)
	}
	b.BeginArray("members")
	b.BeginDoc("")
	b.Int32("_id", 0)
	b.String("name", r.Member)
	b.Double("health", 1)
	b.Int32("state", state)
	b.String("stateStr", stateText)
	b.Int32("uptime", int32(c.Cluster.Now().Sub(c.Server.Started)/time.Second))
	appendOpTime(c, b, "optime", c.Time)
	b.DateTime("optimeDate", written)
	b.DateTime("lastAppliedWallTime", written)
	b.DateTime("lastDurableWallTime", written)
	b.String("syncSourceHost", source)
	b.Int32("syncSourceId", -1)
	b.String("infoMessage", info)
	if state == statePrimary {
		b.Timestamp("electionTime", uint32(c.Server.Started.Unix()), 1)
		b.DateTime("electionDate", c.Server.Started.UnixMilli())
	}
	b.Int32("configVersion", setVersion)
	b.Int32("configTerm", int32(term(c.Server)))
	b.Bool("self", true)
	b.String("lastHeartbeatMessage", "")
	b.End()
	for i, host := range r.Others {
		b.BeginDoc("")
		b.Int32("_id", int32(i+1))
		b.String("name", host)
		b.Double("health", 0)
		b.Int32("state", stateUnknown)
		b.String("stateStr", "UNKNOWN")
		b.Int32("configVersion", setVersion)
		b.String("lastHeartbeatMessage", "this server has no connection to it")
		b.End()
	}
	b.End()
	return nil
}

// States of members. Manual: reference/replica-states.
const (
	statePrimary   = 1
	stateSecondary = 2
	stateUnknown   = 6
)

// appendElection describes the election, which was won when the server started.
func appendElection(c *command.Call, b *bson.Builder) {
	started := c.Server.Started.UnixMilli()
	b.BeginDoc("electionCandidateMetrics")
	b.String("lastElectionReason", "electionTimeout")
	b.DateTime("lastElectionDate", started)
	b.Int64("electionTerm", term(c.Server))
	b.Int32("numVotesNeeded", 1)
	b.Double("priorityAtElection", 1)
	b.Int64("electionTimeoutMillis", electionMillis)
	b.DateTime("newTermStartDate", started)
	b.DateTime("wMajorityWriteAvailabilityDate", started)
	b.End()
}

// setDocs returns the documents of local.system.replset. Manual: reference/local-database.
func (s *State) setDocs() []bson.Raw {
	r := s.ReplicaSet
	if r.Name == "" {
		return nil
	}
	if r.Member == "" {
		r.Member = s.FirstAddress()
	}
	return []bson.Raw{config(s.Server, r)}
}

// statusReplication appends the section repl of serverStatus.
func (s *State) statusReplication(c *command.Call, b *bson.Builder) {
	r, _ := c.ShownSet()
	s.appendTopologyVersion(c, b)
	b.Bool("isWritablePrimary", !isSecondary(c))
	b.Bool("ismaster", !isSecondary(c)) // mongostat reads this field
	appendSet(c, b, r)
	b.BeginDoc("primaryOnlyServices")
	b.End()
	mode := int32(1) // users may write
	if s.writeBlock.on.Load() {
		mode = 2
	}
	b.Int32("userWriteBlockMode", mode)
	b.Int32("rbid", 1)
}
