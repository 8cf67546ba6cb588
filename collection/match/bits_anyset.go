package match

var opBitsAnySet = Operator{Name: "$bitsAnySet", Where: Field, Parse: bitsParser(true, true), Doc: "reference/operator/query/bitsAnySet"}
