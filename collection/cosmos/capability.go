package cosmos

import (
	"fmt"
	"strings"
)

// Capabilities is a bit set of the features that a customer can add to an account by name.
// Source: "how-to-configure-capabilities".
type Capabilities uint16

// The capabilities.
const (
	DisableRateLimitingResponses Capabilities = 1 << iota
	EnableMongoRoleBasedAccessControl
	EnableMongoRetryableWrites
	EnableMongo16MBDocumentSupport
	EnableUniqueCompoundNestedDocs
	EnableTTLOnCustomPath
	EnablePartialUniqueIndex
	EnableUniqueIndexReIndex
)

// Capability is a row of CapabilityTable.
type Capability struct {
	Bit  Capabilities
	Name string // of the service
	Adds string // for people, as a sentence
}

// CapabilityTable lists the capabilities in the order of the service's page.
var CapabilityTable = []Capability{
	{DisableRateLimitingResponses, "DisableRateLimitingResponses", "The server retries requests that exceed the throughput, for up to a minute."},
	{EnableMongoRoleBasedAccessControl, "EnableMongoRoleBasedAccessControl", "Commands for users and roles."},
	{EnableMongoRetryableWrites, "EnableMongoRetryableWrites", "Retryable writes."},
	{EnableMongo16MBDocumentSupport, "EnableMongo16MBDocumentSupport", "Documents of up to 16 MB instead of 2 MB."},
	{EnableUniqueCompoundNestedDocs, "EnableUniqueCompoundNestedDocs", "Compound and unique indexes on nested fields."},
	{EnableTTLOnCustomPath, "EnableTtlOnCustomPath", "A TTL index on any one field instead of _ts."},
	{EnablePartialUniqueIndex, "EnablePartialUniqueIndex", "Unique indexes with a partialFilterExpression."},
	{EnableUniqueIndexReIndex, "EnableUniqueIndexReIndex", "Unique indexes on collections that have documents."},
}

// ParseCapabilities parses names of capabilities, separated by commas. EnableMongo, which every account has, is
// accepted.
// Errors: for an unknown name, one that lists all names.
func ParseCapabilities(list string) (Capabilities, error) {
	var set Capabilities
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" || name == "EnableMongo" {
			continue
		}
		bit := named(name)
		if bit == 0 {
			return 0, fmt.Errorf("%q is no capability of an account for MongoDB: choose of %s", name, ^Capabilities(0))
		}
		set |= bit
	}
	return set, nil
}

func named(name string) Capabilities {
	for _, c := range CapabilityTable {
		if strings.EqualFold(c.Name, name) {
			return c.Bit
		}
	}
	return 0
}

// String lists the names, separated by commas.
func (s Capabilities) String() string {
	var names []string
	for _, c := range CapabilityTable {
		if s&c.Bit != 0 {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}
