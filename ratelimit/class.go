package ratelimit

import "fmt"

// Priority decides which requests are refused first while a budget runs low.
type Priority uint8

// The priorities. High is the default. Low yields to High: while there are High requests, Low leaves the last fifth
// of each second's RU to them, and while High is refused, in that second and the next, Low gets at most the first
// tenth of a second's RU. Source: Azure Cosmos DB, "priority-based-execution", which promises no order and names no
// share. Background (index builds, TTL deletes, split copies) starts only while more than half of the second's RU
// are left, and does not count for the autoscale peak.
const (
	High Priority = iota
	Low
	Background
)

// GroupsMax is the maximum number of throughput buckets of a collection.
const GroupsMax = 5

// Class describes how a request is admitted. The zero Class is a high-priority request outside all groups.
type Class struct {
	Priority Priority
	Group    uint8  // throughput bucket 1..GroupsMax, 0 for none
	NoMinute bool   // opts out of the minute's add-on
	Tenant   uint64 // of the collection, by its Tenants.Of; 0 for a request of no single tenant
	// Operator makes the request pay from the allowance of operators (OperatorRUs), whatever the other fields.
	Operator bool
}

// Group is one throughput bucket of a collection: a limit for the requests that belong to it, not a reservation.
type Group struct {
	Percent    uint8   // of each shard's RU/s, 1..100; 0 leaves the group undefined, so it does not limit
	AppName    string  // clients that connect with this appName belong to the group unless they choose another
	RequestMax MicroRU // the default cap of a command of the group; 0 = none
}

// Groups are the throughput buckets 1..GroupsMax.
type Groups [GroupsMax]Group

// named returns g if a group of it is chosen by appName, otherwise nil, so that most requests need not compare
// names.
func (g Groups) named() *Groups {
	for i := range g {
		if g[i].Percent != 0 && g[i].AppName != "" {
			return &g
		}
	}
	return nil
}

// byApp returns the number of the group to which clients with the appName belong, 0 if there is none. g may be nil.
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

// ClassOf returns the class of a request, with a group added if it has none: the group of the client's appName among
// those of the collection, or else of the database whose throughput the collection shares.
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

// ClassFor returns the class of a request. group and priority come from the comment document of the request
// (comment: {bucket: 2, priority: "low"}; 0 and "" if absent), appName from its connection. The caller clears Operator
// for clients that are no operators; the request then has a low priority. Errors: a plain error with the bad value.
func (g *Groups) ClassFor(group int, priority, appName string) (Class, error) {
	var c Class
	switch priority {
	case "", "high", "High":
	case "low", "Low":
		c.Priority = Low
	case "operator":
		c.Priority, c.Operator = Low, true
	default:
		return c, fmt.Errorf("priority must be 'high', 'low' or 'operator', got '%s'", priority)
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
