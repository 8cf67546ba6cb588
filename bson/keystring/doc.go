// Package keystring encodes BSON values so that bytes.Compare of the encodings equals bson.Compare of the values
// (missing counts as null): index keys, sort keys, row keys, shard keys.
//
// A value is encoded as a type byte and a body. No encoding is a prefix of another, so compound keys are
// simply concatenated values, and a descending value has the same bytes inverted.
//
//	05 MinKey   08 undefined   0A null, missing   10 NaN   11 negative   12 zero   13 positive
//	20 string, symbol: bytes with 00 as 00 FF, end 00 01 (of the collation key, if there is one)
//	28 object: per field class byte, name, 00, value; end 00        30 array: values; end 00
//	38 binary: length u32, subtype, bytes    40 ObjectId    48 false    49 true
//	50 date: i64, sign bit flipped    58 timestamp: u64    60 regex: pattern 00 options 00
//	68 DBPointer: length u32, bytes   70 code: as string   78 code with scope: as string, object
//	F0 MaxKey
//
// A number is encoded by its value, independently of its type: equal numbers of different types have
// equal bytes. Let d be the largest double not above the magnitude; its 63 bits are written in groups of
// seven, each shifted left by one with "more follows" in the lowest bit, up to the last group that is
// not zero. A magnitude that is not exactly d writes all nine groups and then, exact and decimal, the
// exponent of its first digit (u16, plus 8000) and its digits in pairs, again with the low bit for
// "more". Negative numbers invert everything after the type byte.
//
// TypeBits hold the information that the bytes do not contain, above all the type. They are empty for
// the common types.
//
// Glossary. Key: the encodings of one or more values. Class: as in bson. Tail: the decimal part of a
// number that is not a double. Bound: bytes below or above all keys that begin with a prefix.
package keystring
