package ratelimit

import "fmt"

// Priority decides who is refused first while a budget runs low.
type Priority uint8

// The priorities. High is the default. Low gives way to High: while there is High traffic it leaves the last fifth of
// each second alone, and while High is refused, in that second and the next, it gets no more than the first tenth of one.
// Source: Azure Cosmos DB, "priority-based-execution", which promises no order and names no share. Background (index builds, TTL deletes, split copies) uses only what is left over, never draws on
// banked or per-minute units and is left out of the autoscale peak.
const (
	High Priority = iota
	Low
	Background
)

// GroupsMax is how many throughput buckets a collection may define.
const GroupsMax = 5

// Class is how one request wants to be admitted. The zero Class is a high-priority request outside all groups.
type Class struct {
	Priority Priority
	Group    uint8 // throughput bucket 1..GroupsMax, 0 for none
	NoMinute bool  // does without the minute's add-on
}

// Group is one throughput bucket of a collection: a cap on what its requests may use, not a reservation.
type Group struct {
	Percent uint8  // of each shard's RU/s, 1..100; 0 leaves the group undefined, so it does not limit
	AppName string // clients with this appName belong to the group unless they say otherwise
}

// Groups are the throughput buckets 1..GroupsMax.
type Groups [GroupsMax]Group

// named is the groups if clients can belong to one by their appName, else nil.
func (g Groups) named() *Groups {
	for i := range g {
		if g[i].Percent != 0 && g[i].AppName != "" {
			return &g
		}
	}
	return nil
}

// byApp is the group of a client, 0 for none. nil has none.
func (g *Groups) byApp(appName string) uint8 {
	if g == nil {
		return 0
	}
	for i := range g {
		if g[i].Percent != 0 && g[i].AppName == appName {
			return uint8(i + 1)
		}
	}
	return 0
}

// ClassOf puts a request that has not chosen a group into the one of its client's appName: of the collection, else of
// the database whose throughput it shares.
func (p *Pool) ClassOf(c Class, appName string) Class {
	if c.Group != 0 || appName == "" {
		return c
	}
	for pool := range p.chain() {
		if c.Group = pool.named.Load().byApp(appName); c.Group != 0 {
			return c
		}
	}
	return c
}

// ClassFor is the class of a request from what it carries: group and priority of its comment document
// (comment: {bucket: 2, priority: "low"}; 0 and "" when absent) and the appName of its connection.
// Errors: a plain error naming the bad value, for the command layer to report as BadValue.
func (g *Groups) ClassFor(group int, priority, appName string) (Class, error) {
	var c Class
	switch priority {
	case "", "high", "High":
	case "low", "Low":
		c.Priority = Low
	default:
		return c, fmt.Errorf("priority must be 'high' or 'low', got '%s'", priority)
	}
	if group < 0 || group > GroupsMax {
		return c, fmt.Errorf("bucket must be between 1 and %d, got %d", GroupsMax, group)
	}
	c.Group = uint8(group)
	if group == 0 && appName != "" {
		c.Group = g.byApp(appName)
	}
	return c, nil
}
