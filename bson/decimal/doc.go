// Package decimal implements the arithmetic of bson.Decimal128 for $add, $round, $pow and the
// accumulators.
//
// Add, Sub, Mul, Quo, Rem, Sqrt and the roundings are those of IEEE 754-2008: 34 digits, half even, and
// an exact result takes the exponent nearest to the preferred one, so that 0.10 + 0.20 is 0.30. The
// functions of analysis (Exp, Ln, Sin, …) are computed in binary with many guard bits and rounded to 34
// digits once.
//
//	Decimal128 ── 64/128-bit integers ──► Decimal128      small operands
//	           └─ big.Int, then round ──►                 all others
//	           └─ big.Float, then round ►                 analysis
//
// Every operation is bounded: operands with exponents thousands of digits apart are never aligned in
// full.
//
// The result for a NaN is NaN; an undefined result is NaN; a result that is too large is infinite; a
// result that is too small is zero with the least exponent. Callers return the errors ("$sqrt's argument
// must be …").
//
// Manual: reference/bson-types. If MongoDB's results differ from the standard or from the nearest value,
// the comment of the function describes it.
package decimal
