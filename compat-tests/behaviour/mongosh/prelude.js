// Put in front of all scripts; not a script itself.

// show prints a value as the shell does, without what differs from run to run.
function show(value) {
  if (value !== null && typeof value === "object") {
    for (const name of ["$clusterTime", "operationTime", "requestCharge", "opTime", "electionId"]) {
      delete value[name];
    }
  }
  print(value);
}

// fails prints the error that an action raises, or what it returned instead.
function fails(action) {
  try {
    show(action());
  } catch (error) {
    print(`error ${error.code} ${error.codeName}`);
  }
}

// numbers makes a source of numbers below n that are the same in every run.
function numbers(seed) {
  let state = seed;
  return (n) => {
    state = (state * 48271) % 2147483647;
    return Math.floor((state / 2147483647) * n);
  };
}

// agrees prints whether the server's answer is what plain JavaScript makes of the
// same documents; doubles may differ in their last digits.
function agrees(got, want) {
  const plain = (value) => JSON.stringify(value, (_, v) => (typeof v === "number" && !Number.isInteger(v) ? Number(v.toPrecision(12)) : v));
  print(plain(got) === plain(want) ? "agrees" : `got  ${plain(got)}\nwant ${plain(want)}`);
}
