package match

var opBitsAllSet = Operator{Name: "$bitsAllSet", Where: Field, Parse: bitsParser(true, false), Doc: "reference/operator/query/bitsAllSet"}
