package settings

import (
	"math"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/command"
)

// paramKind is the type of a parameter's value.
type paramKind uint8

// The kinds. A computed parameter is appended by a function.
const (
	paramBool paramKind = iota
	paramInt
	paramLong
	paramDouble
	paramString
	paramComputed
)

// When a parameter may be set.
const (
	atStartup = 1 << iota
	atRuntime
	always = atStartup | atRuntime
)

// paramDef describes a server parameter: its name, type, default, bounds and effect.
type paramDef struct {
	name     string
	kind     paramKind
	when     uint8
	num      float64 // the default, of any kind; 1 is true
	text     string
	min, max float64 // of a number; both 0: unbounded; max also bounds the length of a string
	// value appends the value of a computed parameter to the reply.
	value func(s *State, c *command.Call, name string)
	// set changes a computed parameter; with check it only validates the value.
	set func(s *State, v bson.Value, check bool) error
	// apply makes a new value of the parameter take effect. It is nil for a parameter that is read where it is used,
	// or that has no effect here.
	apply func(s *State, n float64)
}

// paramTable returns the rows of all server parameters in alphabetical order, capitals first. It is a function and no
// variable, because rows refer to methods that read the table.
// Manual: reference/parameters.
func paramTable() []paramDef {
	return []paramDef{
		{name: "KeysRotationIntervalSec", kind: paramInt, when: atStartup, num: 7776000},
		{name: "ShardingTaskExecutorPoolMaxConnecting", kind: paramInt, when: always, num: 2, min: 1, max: math.MaxInt32},
		{name: "ShardingTaskExecutorPoolMinSize", kind: paramInt, when: always, num: 1, max: math.MaxInt32},
		{name: "ShardingTaskExecutorPoolReplicaSetMatching", kind: paramString, when: always, text: "automatic", max: 64},
		{name: "allowDiskUseByDefault", kind: paramBool, when: always, num: 1},
		{name: "auditAuthorizationSuccess", kind: paramBool, when: always},
		{name: "authSchemaVersion", kind: paramInt, num: 5},
		{name: "authenticationMechanisms", kind: paramComputed, when: atStartup, value: appendMechanisms},
		{name: "automationServiceDescriptor", kind: paramString, when: always, max: 64},
		{name: "clientCursorMonitorFrequencySecs", kind: paramInt, when: always, num: 4, min: 1, max: math.MaxInt32},
		{name: "connPoolMaxConnsPerHost", kind: paramInt, when: atStartup, num: 200},
		{name: "connPoolMaxInUseConnsPerHost", kind: paramInt, when: atStartup, num: math.MaxInt32},
		{name: "cursorTimeoutMillis", kind: paramLong, when: always, num: 600000, min: 1, max: math.MaxInt64, apply: func(s *State, n float64) {
			s.Cursors.SetIdleMax(time.Duration(min(n, 1e12)) * time.Millisecond)
		}},
		{name: "diagnosticDataCollectionEnabled", kind: paramBool, when: always},
		{name: "enableLocalhostAuthBypass", kind: paramBool, when: atStartup, num: 1},
		{name: "enableTestCommands", kind: paramComputed, when: atStartup, value: func(s *State, c *command.Call, name string) { c.Reply.Bool(name, s.TestCommands) }},
		{name: "featureCompatibilityVersion", kind: paramComputed, when: 0, value: appendFCV},
		{name: "ingressConnectionEstablishmentBurstCapacitySecs", kind: paramDouble, when: always, num: 1, min: 1e-3, max: math.MaxFloat64, apply: setConnRate(func(e *wire.ConnRateLimit, n float64) {
			e.BurstSeconds = n
		})},
		{name: "ingressConnectionEstablishmentMaxQueueDepth", kind: paramInt, when: always, max: math.MaxInt32, apply: setConnRate(func(e *wire.ConnRateLimit, n float64) {
			e.QueueMax = int(n)
		})},
		{name: "ingressConnectionEstablishmentRateLimiterEnabled", kind: paramBool, when: always, apply: setConnRate(func(e *wire.ConnRateLimit, n float64) {
			e.Enabled = n != 0
		})},
		{name: "ingressConnectionEstablishmentRatePerSec", kind: paramInt, when: always, num: math.MaxInt32, min: 1, max: math.MaxInt32, apply: setConnRate(func(e *wire.ConnRateLimit, n float64) {
			e.PerSecond = n
		})},
		{name: "internalDocumentSourceGroupMaxMemoryBytes", kind: paramLong, when: always, num: mql.StageBytesMax, min: 1, max: math.MaxInt64, apply: func(s *State, n float64) {
			s.Memory.Group.Store(asBytes(n))
		}},
		{name: "internalDocumentSourceSetWindowFieldsMaxMemoryBytes", kind: paramLong, when: always, num: mql.StageBytesMax, min: 1, max: math.MaxInt64, apply: func(s *State, n float64) {
			s.Memory.Windows.Store(asBytes(n))
		}},
		{name: "internalLookupStageIntermediateDocumentMaxSizeBytes", kind: paramLong, when: always, num: 100 << 20, min: 16 << 20, max: math.MaxInt64},
		{name: "internalQueryEnumerationMaxAndSolutions", kind: paramInt, when: always, num: 64, max: 64},
		{name: "internalQueryEnumerationMaxOrSolutions", kind: paramInt, when: always, num: 10, max: math.MaxInt32},
		{name: "internalQueryExecYieldIterations", kind: paramInt, when: always, num: 1000, min: -1, max: math.MaxInt32},
		{name: "internalQueryExecYieldPeriodMS", kind: paramInt, when: always, num: 10, max: math.MaxInt32},
		{name: "internalQueryFacetBufferSizeBytes", kind: paramInt, when: always, num: 100 << 20, min: 1, max: math.MaxInt32},
		{name: "internalQueryForceIntersectionPlans", kind: paramBool, when: always},
		{name: "internalQueryFrameworkControl", kind: paramString, when: always, text: "forceClassicEngine", max: 64},
		{name: "internalQueryMaxAddToSetBytes", kind: paramInt, when: always, num: 100 << 20, min: 1, max: math.MaxInt32},
		{name: "internalQueryMaxBlockingSortMemoryUsageBytes", kind: paramLong, when: always, num: mql.StageBytesMax, max: math.MaxInt64, apply: func(s *State, n float64) {
			s.Memory.Sort.Store(asBytes(n))
		}},
		{name: "internalQueryMaxJsEmitBytes", kind: paramInt, when: always, num: 100 << 20, min: 1, max: math.MaxInt32},
		{name: "internalQueryMaxPushBytes", kind: paramInt, when: always, num: 100 << 20, min: 1, max: math.MaxInt32},
		{name: "internalQueryPlanEvaluationMaxResults", kind: paramInt, when: always, num: 101, max: math.MaxInt32},
		{name: "internalQueryPlanEvaluationWorks", kind: paramInt, when: always, num: 10000, min: 1, max: math.MaxInt32},
		{name: "internalQueryPlannerEnableHashIntersection", kind: paramBool, when: always},
		{name: "internalQueryPlannerEnableIndexIntersection", kind: paramBool, when: always, num: 1},
		{name: "internalQueryPlannerGenerateCoveredWholeIndexScans", kind: paramBool, when: always},
		{name: "internalQueryPlannerMaxIndexedSolutions", kind: paramInt, when: always, num: 64, max: math.MaxInt32},
		{name: "internalQueryStatsCacheSize", kind: paramComputed, when: always, value: appendStatsBytes, set: setStatsBytes},
		{name: "internalQueryStatsRateLimit", kind: paramInt, when: always, min: -1, max: math.MaxInt32, apply: func(s *State, n float64) { s.Sampling.SetPerSecond(n) }},
		{name: "internalQueryStatsSampleRate", kind: paramDouble, when: always, num: command.StatsShare, max: 1, apply: func(s *State, n float64) { s.Sampling.SetReads(n) }},
		{name: "internalQueryStatsWriteCmdSampleRate", kind: paramDouble, when: always, num: command.StatsShare, max: 1, apply: func(s *State, n float64) { s.Sampling.SetWrites(n) }},
		{name: "javascriptProtection", kind: paramBool, when: atStartup},
		{name: "localLogicalSessionTimeoutMinutes", kind: paramComputed, when: atStartup, value: func(s *State, c *command.Call, name string) {
			c.Reply.Int32(name, int32(s.Sessions.IdleMax()/time.Minute))
		}},
		{name: "logComponentVerbosity", kind: paramComputed, when: always, value: appendVerbosity, set: setVerbosity},
		{name: "logLevel", kind: paramInt, when: always, max: math.MaxInt32},
		{name: "logicalSessionRefreshMillis", kind: paramInt, when: atStartup, num: 300000},
		{name: "maxBSONDepth", kind: paramInt, when: atStartup, num: bson.MaxDepth},
		{name: "maxIndexBuildMemoryUsageMegabytes", kind: paramInt, when: always, num: 200, min: 50, max: math.MaxInt32},
		{name: "maxNumActiveUserIndexBuilds", kind: paramInt, when: always, num: 3, max: math.MaxInt32},
		{name: "maxSessions", kind: paramInt, when: atStartup, num: 1_000_000},
		{name: "maxTransactionLockRequestTimeoutMillis", kind: paramInt, when: always, num: 5, min: -1, max: math.MaxInt32, apply: func(s *State, n float64) {
			s.Cluster.SetTxnLockTimeout(time.Duration(n) * time.Millisecond)
		}},
		{name: "minSnapshotHistoryWindowInSeconds", kind: paramInt, when: always, num: cluster.HistoryWindow.Seconds(), max: math.MaxInt32, apply: func(s *State, n float64) {
			s.Cluster.SetHistoryWindow(time.Duration(n) * time.Second)
		}},
		{name: "planCacheSize", kind: paramString, when: always, text: "5%", max: 64},
		{name: "quiet", kind: paramBool, when: always},
		{name: "replyCharge", kind: paramBool, when: always, apply: func(s *State, n float64) { s.ChargeReplies.Store(n != 0) }}, // ours
		{name: "scramIterationCount", kind: paramInt, when: always, num: 10000, min: 5000, max: math.MaxInt32},
		{name: "scramSHA256IterationCount", kind: paramInt, when: always, num: 15000, min: 5000, max: math.MaxInt32},
		{name: "syncdelay", kind: paramDouble, when: always, num: 60, max: 9e6},
		{name: "transactionLifetimeLimitSeconds", kind: paramInt, when: always, num: 60, min: 1, max: math.MaxInt32, apply: func(s *State, n float64) {
			s.Sessions.SetTxnMax(time.Duration(n) * time.Second)
		}},
		{name: "ttlMonitorEnabled", kind: paramBool, when: always, num: 1, apply: func(s *State, n float64) { s.Jobs.SetExpire(n != 0) }},
		{name: "ttlMonitorSleepSecs", kind: paramInt, when: always, num: 60, min: 1, max: math.MaxInt32, apply: func(s *State, n float64) {
			s.Jobs.SetExpireEvery(time.Duration(n) * time.Second)
		}},
		{name: "useInternalAuthzForX509", kind: paramBool, when: always},
	}
}

// setConnRate returns the function apply for a parameter of the rate limit of new connections; change sets the
// parameter's value n in the limit.
// Manual: tutorial/configure-rate-limiter.
func setConnRate(change func(e *wire.ConnRateLimit, n float64)) func(s *State, n float64) {
	return func(s *State, n float64) {
		change(&s.params.connRateLimit, n)
		if s.SetConnRateLimit != nil {
			s.SetConnRateLimit(s.params.connRateLimit)
		}
	}
}

// parameters holds the current values of all server parameters, which setParameter changes. It is safe for concurrent
// use.
type parameters struct {
	mu    sync.RWMutex
	defs  []paramDef
	at    map[string]int // index in defs and now
	now   []setting
	verbo map[string]int32 // log components that were set, by dotted name

	connRateLimit wire.ConnRateLimit // the parameters about new connections
}

// setting is the current value of a parameter.
type setting struct {
	num  float64
	text string
}

// init sets every parameter to its default.
func (p *parameters) init() {
	p.defs = paramTable()
	p.at = make(map[string]int, len(p.defs))
	p.now = make([]setting, len(p.defs))
	p.verbo = map[string]int32{}
	p.connRateLimit = wire.ConnRateLimit{PerSecond: math.MaxInt32, BurstSeconds: 1}
	for i := range p.defs {
		p.at[p.defs[i].name] = i
		p.now[i] = setting{p.defs[i].num, p.defs[i].text}
	}
}

// number returns the value of a numeric or boolean parameter.
func (p *parameters) number(name string) float64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.now[p.at[name]].num
}

// Parameter returns the value of a numeric or boolean server parameter, for code outside of the room whose behaviour
// depends on it; true is 1.
func (s *State) Parameter(name string) float64 { return s.params.number(name) }

// convert returns a new value of a parameter as a setting, if it can be converted to the parameter's type and is
// within its bounds. A boolean can be converted to a number, and any value to a boolean.
// Errors: TypeMismatch (14), BadValue (2), Overflow (15).
func (d *paramDef) convert(v bson.Value) (setting, error) {
	switch d.kind {
	case paramBool:
		if v.Truthy() {
			return setting{num: 1}, nil
		}
		return setting{}, nil
	case paramString:
		s, ok := v.Str()
		if !ok {
			return setting{}, mongoerr.New(mongoerr.TypeMismatch, "Invalid type '%s' for parameter %s, expected string", v.Type, d.name)
		}
		if d.max > 0 && len(s) > int(d.max) {
			return setting{}, mongoerr.New(mongoerr.Overflow, "Value for parameter %s must be no more than %d bytes", d.name, int(d.max))
		}
		return setting{text: s}, nil
	}
	n, ok := v.AsFloat()
	if b, isBool := v.Boolean(); isBool {
		n, ok = 0, true
		if b {
			n = 1
		}
	}
	if !ok || math.IsNaN(n) {
		return setting{}, mongoerr.New(mongoerr.BadValue, "Invalid value for parameter %s: expected a number", d.name)
	}
	if d.kind != paramDouble {
		n = math.Trunc(n)
	}
	if (d.min != 0 || d.max != 0) && (n < d.min || n > d.max) {
		return setting{}, mongoerr.New(mongoerr.BadValue, "Invalid value for parameter %s: %g is not between %g and %g", d.name, n, d.min, d.max)
	}
	return setting{num: n}, nil
}

// appendValue appends the current value under a name.
func (p *parameters) appendValue(s *State, c *command.Call, name string, i int) {
	b := c.Reply
	d, now := &p.defs[i], p.now[i]
	switch d.kind {
	case paramBool:
		b.Bool(name, now.num != 0)
	case paramInt:
		b.Int32(name, int32(now.num))
	case paramLong:
		b.Int64(name, longOf(now.num))
	case paramDouble:
		b.Double(name, now.num)
	case paramString:
		b.String(name, now.text)
	default:
		d.value(s, c, name)
	}
}

// longOf converts f to int64, clamped.
func longOf(f float64) int64 {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(f)
}

// appendMechanisms appends the login mechanisms.
func appendMechanisms(_ *State, c *command.Call, name string) {
	b := c.Reply
	b.BeginArray(name)
	b.String("", "SCRAM-SHA-1")
	b.String("", "SCRAM-SHA-256")
	b.String("", "MONGODB-X509")
	b.End()
}

// appendFCV appends the feature compatibility version.
func appendFCV(_ *State, c *command.Call, name string) {
	c.Reply.BeginDoc(name)
	c.Reply.String("version", c.FeatureVersion())
	c.Reply.End()
}

// asBytes returns a parameter's value as a number of bytes, at most 1<<62.
func asBytes(n float64) int64 { return int64(min(n, 1<<62)) }
