package match

var opBitsAllClear = Operator{Name: "$bitsAllClear", Where: Field, Parse: bitsParser(false, false), Doc: "reference/operator/query/bitsAllClear"}
