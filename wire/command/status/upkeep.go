package status

import (
	"math"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/cantledb/cantle/wire/command"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// autoCompact is what autoCompact asked for. The engine compacts by itself
// whatever is asked.
type autoCompact struct {
	mu     sync.Mutex
	on     bool
	target int64 // MB
	once   bool
}

// runAutoCompact turns background compaction on or off, which changes nothing
// but the answer to a second request.
// Manual: reference/command/autoCompact.
func (s *State) runAutoCompact(c *command.Call) error {
	field := c.Field(c.Name())
	if c.Value.IsNullish() {
		return mongoerr.MissingField(field)
	}
	on, ok := c.Value.Boolean()
	if !ok {
		return mongoerr.WrongType(field, c.Value.Type.String(), "bool")
	}
	target, once := int64(20), false
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		switch name {
		case "freeSpaceTargetMB":
			if v.IsMissing() {
				break
			}
			if target, err = c.LongArg(name, v); err == nil && target < 1 {
				err = mongoerr.OutOfRange(name, target, ">=", 1)
			}
		case "runOnce":
			once, err = c.StrictBool(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if on && target > math.MaxInt64>>20 {
		return mongoerr.New(mongoerr.BadValue, "freeSpaceTargetMB %d is too large", target)
	}
	a := &s.autoCompact
	a.mu.Lock()
	defer a.mu.Unlock()
	if on && a.on && (a.target != target || a.once != once) {
		return mongoerr.New(mongoerr.AlreadyInitialized, "background compaction is already running with another configuration")
	}
	a.on, a.target, a.once = on, target, once
	return nil
}

// runLogRotate starts a new log file. The log goes to the standard output, where
// others rotate it. Manual: reference/command/logRotate.
func runLogRotate(c *command.Call) error {
	switch s, ok := c.Value.Str(); {
	case ok && c.Value.Type == bson.TypeString:
		if s != "server" {
			return mongoerr.New(mongoerr.NoSuchKey, "Unknown log type '%s'", s)
		}
	case c.Value.IsNumber() || c.Value.Type == bson.TypeBool:
	default:
		return mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "bool", "int", "long", "double", "decimal", "string")
	}
	return c.NoArguments()
}

// runDropConnections closes connections to other servers, of which there are
// none. Manual: reference/command/dropConnections.
func runDropConnections(c *command.Call) error {
	has := false
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		if name != "hostAndPort" {
			return false, nil
		}
		if v.IsMissing() {
			return true, nil
		}
		has = true
		list, ok := v.Array()
		if !ok {
			return true, mongoerr.WrongType(c.Field(name), v.Type.String(), "array")
		}
		for it := list.Iter(); it.Next(); {
			if it.Value.IsNullish() {
				continue
			}
			if it.Value.Type != bson.TypeString {
				return true, mongoerr.WrongType(c.Field(name)+"."+string(it.Name), it.Value.Type.String(), "string")
			}
			s, _ := it.Value.Str()
			if err := checkHostAndPort(s); err != nil {
				return true, err
			}
		}
		return true, nil
	})
	if err == nil && !has {
		err = mongoerr.MissingField(c.Field("hostAndPort"))
	}
	return err
}

// checkHostAndPort refuses what is no "host" or "host:port".
// Errors: FailedToParse (9).
func checkHostAndPort(s string) error {
	if s != "" && !strings.Contains(s, ":") {
		return nil
	}
	host, port, err := net.SplitHostPort(s)
	n, perr := strconv.Atoi(port)
	if err != nil || host == "" || perr != nil || n < 1 || n > 65535 {
		return mongoerr.New(mongoerr.FailedToParse, "Bad HostAndPort: '%s'", s)
	}
	return nil
}

// runLockInfo lists the locks that are held, of which there are none.
// Manual: reference/command/lockInfo.
func runLockInfo(c *command.Call) error {
	err := c.Each(func(name string, v bson.Value) (bool, error) { return name == "includeStorageEngineDump", nil })
	if err == nil {
		emptyArray(c.Reply, "lockInfo")
	}
	return err
}

// runConnPoolStats tells of connections to other servers, of which there are
// none. Unknown arguments are ignored. Manual: reference/command/connPoolStats.
func runConnPoolStats(c *command.Call) error {
	b := c.Reply
	for _, name := range [...]string{"numClientConnections", "numAScopedConnections", "totalInUse", "totalAvailable", "totalLeased", "totalCreated", "totalRefreshing"} {
		b.Int32(name, 0)
	}
	for _, name := range [...]string{"pools", "hosts", "replicaSets"} {
		b.BeginDoc(name)
		b.End()
	}
	return nil
}

// runCompactEncrypted compacts what Queryable Encryption keeps beside a
// collection; no collection has it here.
// Manual: reference/command/compactStructuredEncryptionData.
func runCompactEncrypted(c *command.Call) error {
	name, ok := c.Value.Str()
	if !ok || c.Value.Type != bson.TypeString {
		return mongoerr.New(mongoerr.InvalidNamespace, "collection name has invalid type %s", c.Value.Type)
	}
	if name == "" {
		return mongoerr.BadNamespace(c.DB + ".")
	}
	tokens := false
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		switch name {
		case "compactionTokens":
			tokens = !v.IsMissing()
			_, err = c.DocArg(name, v)
		case "encryptionInformation", "anchorPaddingFactor":
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && !tokens {
		err = mongoerr.MissingField(c.Field("compactionTokens"))
	}
	if err != nil {
		return err
	}
	for _, coll := range c.Cluster.Catalog.Peek().Collections(c.DB) {
		if coll.Namespace.Coll == name {
			if coll.IsView() {
				return mongoerr.ViewNotAllowed(coll.Namespace.String())
			}
			return mongoerr.New(6346807, "Target namespace is not an encrypted collection")
		}
	}
	return mongoerr.NoNamespace(c.DB + "." + name)
}
