package match

var opBitsAnyClear = Operator{Name: "$bitsAnyClear", Where: Field, Parse: bitsParser(false, true), Doc: "reference/operator/query/bitsAnyClear"}
