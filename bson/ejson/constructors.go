package ejson

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// constructor is a type in shell notation, such as ObjectId("…"). write appends its value as Extended JSON.
type constructor struct {
	least, most int    // number of arguments; most may be 0 if there is one number
	example     string // for errors
	write       func(p *parser, args []argument) error
}

// constructors are the types by their names. Names of older shells and of mongosh stand side by side.
var constructors = map[string]constructor{
	"ObjectId":                {1, 1, `ObjectId("6123456789abcdef01234567")`, objectID},
	"NumberLong":              {1, 1, `NumberLong("5")`, integer("$numberLong", 64)},
	"Long":                    {1, 1, `Long("5")`, integer("$numberLong", 64)},
	"NumberInt":               {1, 1, `NumberInt(5)`, integer("$numberInt", 32)},
	"Int32":                   {1, 1, `Int32(5)`, integer("$numberInt", 32)},
	"Double":                  {1, 1, `Double(5)`, wrapped("$numberDouble")},
	"NumberDecimal":           {1, 1, `NumberDecimal("1.50")`, wrapped("$numberDecimal")},
	"Decimal128":              {1, 1, `Decimal128("1.50")`, wrapped("$numberDecimal")},
	"Symbol":                  {1, 1, `Symbol("a")`, wrapped("$symbol")},
	"Code":                    {1, 1, `Code("1 + 1")`, wrapped("$code")},
	"ISODate":                 {1, 1, `ISODate("2020-01-31T12:00:00Z")`, date},
	"Date":                    {1, 1, `Date("2020-01-31T12:00:00Z")`, date},
	"Timestamp":               {2, 2, `Timestamp(1577836800, 1)`, timestamp},
	"BinData":                 {2, 2, `BinData(0, "AQ==")`, func(p *parser, args []argument) error { return p.binary(args[1].text, args[0].text) }},
	"Binary.createFromBase64": {1, 2, `Binary.createFromBase64("AQ==", 0)`, binaryOfBase64},
	"UUID":                    {1, 1, `UUID("00112233-4455-6677-8899-aabbccddeeff")`, uuid},
}

// constructorNames returns the names of all types, for an error.
func constructorNames() string {
	return strings.Join(slices.Sorted(maps.Keys(constructors)), ", ")
}

// wrapped returns the function of a type whose Extended JSON has its argument as a text.
func wrapped(tag string) func(*parser, []argument) error {
	return func(p *parser, args []argument) error { return p.wrap(tag, args[0].text) }
}

// integer returns the function of a whole number of a size in bits.
func integer(tag string, bits int) func(*parser, []argument) error {
	return func(p *parser, args []argument) error {
		if _, err := strconv.ParseInt(args[0].text, 10, bits); err != nil {
			return fmt.Errorf("%q is not a whole number of %d bits", args[0].text, bits)
		}
		return p.wrap(tag, args[0].text)
	}
}

func objectID(p *parser, args []argument) error {
	if b, err := hex.DecodeString(args[0].text); err != nil || len(b) != 12 || !args[0].quoted {
		return errors.New("it needs 24 hexadecimal digits in quotes")
	}
	return p.wrap("$oid", args[0].text)
}

// date reads a text by the ISO 8601 rules of Extended JSON, a date without a time of day, or a number of milliseconds
// since 1970.
func date(p *parser, args []argument) error {
	text := args[0].text
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && !args[0].quoted {
		p.out = fmt.Appendf(p.out, `{"$date":{"$numberLong":"%d"}}`, ms)
		return nil
	}
	if !args[0].quoted {
		return errors.New("it needs a date in quotes, or milliseconds since 1970")
	}
	if len(text) == len("2006-01-02") {
		text += "T00:00:00Z"
	}
	return p.wrap("$date", text)
}

func timestamp(p *parser, args []argument) error {
	for _, a := range args {
		if _, err := strconv.ParseUint(a.text, 10, 32); err != nil {
			return errors.New("it needs seconds since 1970 and a number")
		}
	}
	p.out = fmt.Appendf(p.out, `{"$timestamp":{"t":%s,"i":%s}}`, args[0].text, args[1].text)
	return nil
}

func binaryOfBase64(p *parser, args []argument) error {
	kind := "0"
	if len(args) > 1 {
		kind = args[1].text
	}
	return p.binary(args[0].text, kind)
}

// binary appends binary data, of which text is the base64 form.
func (p *parser) binary(text, kind string) error {
	n, err := strconv.ParseUint(kind, 10, 8)
	if err != nil {
		return fmt.Errorf("the subtype %q is not a number from 0 to 255", kind)
	}
	if _, err := base64.StdEncoding.DecodeString(text); err != nil {
		return errors.New("the data is not in base64")
	}
	p.out = fmt.Appendf(p.out, `{"$binary":{"base64":%q,"subType":"%02x"}}`, text, n)
	return nil
}

func uuid(p *parser, args []argument) error {
	b, err := hex.DecodeString(strings.ReplaceAll(args[0].text, "-", ""))
	if err != nil || len(b) != 16 {
		return errors.New("it needs 32 hexadecimal digits")
	}
	return p.binary(base64.StdEncoding.EncodeToString(b), "4")
}
