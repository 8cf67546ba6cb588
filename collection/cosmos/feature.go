package cosmos

import (
	"fmt"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// Kind is the table to which a feature belongs.
type Kind uint8

// The kinds, in the order of the service's pages.
const (
	Command Kind = iota
	Stage
	Expression
	Variable
	Accumulator
	IndexKind
	Query
	Projection
	Update
	Rule

	kinds
)

// kind is a row of the table of kinds.
type kind struct {
	title string // plural, for people
	rows  []Row
	// code and refusal are the error of an account that lacks a feature of the kind. %s in refusal stands for its
	// name.
	code    mongoerr.Code
	refusal string
}

var tables = [kinds]kind{
	// Source of the text: liquibase/liquibase-mongodb#235.
	Command: {"commands", commands, mongoerr.CommandNotSupported, "Command %s not supported."},
	// Source: "error-codes-solutions", MicrosoftDocs/azure-docs#48875.
	Stage:       {"aggregation stages", stages, 40324, "Unrecognized pipeline stage name: '%s'"},
	Expression:  {"expression operators", expressions, mongoerr.InvalidPipelineOperator, "Unrecognized expression '%s'"},
	Variable:    {"system variables", variables, 17276, "Use of undefined variable: %s"},
	Accumulator: {"accumulators", accumulators, 15952, "unknown group operator '%s'"},
	// Source: Squidex/squidex#278.
	IndexKind: {"kinds of index", indexKinds, mongoerr.CommandNotSupported, "'%s' is not supported"},
	// Source: automatiko-io/automatiko-engine#222.
	Query:      {"query operators", queries, mongoerr.CommandNotSupported, "'%s' is not supported"},
	Projection: {"projection operators", projections, mongoerr.CommandNotSupported, "'%s' is not supported"},
	Update:     {"update operators", updates, mongoerr.FailedToParse, "Unknown modifier: %s"},
	Rule:       {"options, limits and rules of indexes", rules[:], mongoerr.BadValue, "%s"},
}

// Kinds lists all kinds.
func Kinds() []Kind {
	var out []Kind
	for k := range kinds {
		out = append(out, k)
	}
	return out
}

// String returns the name of the kind for people, a plural.
func (k Kind) String() string { return tables[k].title }

// KindOf returns the kind of a name that String returned.
func KindOf(title string) (k Kind, ok bool) {
	for k := range kinds {
		if tables[k].title == title {
			return k, true
		}
	}
	return 0, false
}

// Rows returns the table of the kind, read-only.
func (k Kind) Rows() []Row { return tables[k].rows }

// Row is a feature of the service.
type Row struct {
	// Name is the feature as a client writes it, of a Variable without dollar signs; of a Rule, a description.
	Name string
	// In are the versions that have it.
	In Versions
	// Opens are the capabilities of which any one adds the feature to accounts of the versions that are not in In.
	Opens Capabilities
	// Closes are the capabilities of which any one removes it.
	Closes Capabilities
	// Code and Text are the error of an account that lacks the feature; zero for the error of the kind.
	Code mongoerr.Code
	Text string
	// Source is a page of the service or a public report that proves the row; "" for the pages feature-support.
	Source string
	// Remark is a note for the page of supported features: on the text of the service's page, or on a restriction
	// here.
	Remark string
}

// Find returns the row of the feature of this kind and name; nil if the service does not list it.
func (k Kind) Find(name string) *Row {
	rows := tables[k].rows
	for i := range rows {
		if rows[i].Name == name {
			return &rows[i]
		}
	}
	return nil
}

// Has reports whether the account has the feature.
func (a *Account) Has(r *Row) bool {
	return r != nil && r.Closes&a.Capabilities == 0 && (r.In.Has(a.Version) || r.Opens&a.Capabilities != 0)
}

// refusal returns the error of an account for a missing feature: the error of the service, followed by the setting
// of this server that adds the feature.
func (a *Account) refusal(k Kind, name string, r *Row) *mongoerr.Error {
	e := k.Refusal(name, r)
	return mongoerr.New(e.Code, "%s%s", e.Msg, a.remedy(r))
}

// Refusal returns the error of the service for a missing feature of this kind and name. r is its row, nil if there
// is none.
func (k Kind) Refusal(name string, r *Row) *mongoerr.Error {
	code, text := tables[k].code, fmt.Sprintf(tables[k].refusal, name)
	if r != nil && r.Code != 0 {
		code = r.Code
	}
	if r != nil && r.Text != "" {
		text = r.Text
	}
	return mongoerr.New(code, "%s", text)
}

// remedy returns the text that follows the error of the service: the setting of this server that adds the feature.
func (a *Account) remedy(r *Row) string {
	switch {
	case r == nil:
		return fmt.Sprintf(" (Azure Cosmos DB for MongoDB %s does not list it; --cosmos-lenient accepts it)", a.Version)
	case r.Closes != 0:
		return fmt.Sprintf(" (an account has it without the capability %s: --cosmos-capabilities)", r.Closes)
	case r.Opens != 0:
		return fmt.Sprintf(" (an account has it with the capability %s: --cosmos-capabilities)", r.Opens)
	case r.In != 0:
		return fmt.Sprintf(" (Azure Cosmos DB for MongoDB %s does not have it; versions that do: %s, see --cosmos-version)", a.Version, r.In)
	}
	return fmt.Sprintf(" (Azure Cosmos DB for MongoDB %s does not have it; --cosmos-lenient accepts it)", a.Version)
}
