// Package decimal is the arithmetic of decimal128: what $add, $round, $pow and
// the accumulators do with bson.Decimal128.
//
// Add, Sub, Mul, Quo, Rem, Sqrt and the roundings are those of IEEE 754-2008:
// 34 digits, half even, and an exact result takes the exponent nearest to the
// preferred one, so that 0.10 + 0.20 is 0.30. The functions of analysis (Exp,
// Ln, Sin, …) are computed in binary with many guard bits and rounded to 34
// digits once.
//
//	Decimal128 ── 64/128-bit integers ──► Decimal128      small operands
//	           └─ big.Int, then round ──►                 all others
//	           └─ big.Float, then round ►                 analysis
//
// Every operation is bounded: operands with exponents thousands of digits apart
// are never aligned in full.
//
// NaN in is NaN out; what has no value is NaN; what is too large is infinite;
// what is too small is zero with the least exponent. Errors ("$sqrt's argument
// must be …") are the callers' business.
//
// Manual: reference/bson-types. Where MongoDB's results differ from the standard
// or from the nearest value, the function says so.
package decimal
