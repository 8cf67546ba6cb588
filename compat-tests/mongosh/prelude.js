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
